//! Files that are given to containers: `instances/<instance>/given/<holder>/<place>-<inode>`.
//!
//! A file's name ends in its own inode's number, so that one which was put in its place by hand is told from it: who
//! has the first mounted goes on seeing that, whatever bears its name now. The folders are closed to everybody but
//! root, whatever the mode of the files in them; a container sees a file through its mount alone.

use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};

use hearth_capabilities::Fault;
use hearth_capabilities::volumes::{Given, GivenFile};
use rustix::fs::{FileType, Gid, Mode, OFlags, Stat, Uid};

use super::fault::{ReadFault, WriteFault};
use super::files::{own, own_or_none};
use super::folder::Folder;
use super::{Disk, GONE, NEW, check_instance, erase};

/// Where they are, beside the instance's `data` and `files`.
pub(super) const GIVEN: &str = "given";

/// The most files one holder is given; a bound far above what any app has.
const MAX_FILES: usize = 1000;

impl Disk {
    pub(super) fn find_given(&self, given: &Given) -> Result<Option<Vec<String>>, Fault> {
        check(given)?;
        let root = self.open()?;
        let Some(all) = open(&root, &given.instance)? else { return Ok(None) };
        let Some(folder) = own_or_none(all.find(&given.holder)?, &all, &given.holder)? else {
            let is_left = given.files.is_empty() && has_remains(&all, &given.holder)?;
            return Ok(is_left.then(Vec::new));
        };
        let names = names(&folder)?;
        let found: Vec<Option<String>> = given
            .files
            .iter()
            .enumerate()
            .map(|(place, file)| find(&folder, &names, place, file))
            .collect::<Result<_, _>>()?;
        found.into_iter().map(|name| name.map(|name| shown(&folder, &name)).transpose()).collect()
    }

    pub(super) fn give(&self, given: &Given) -> Result<Vec<String>, Fault> {
        check(given)?;
        let root = self.open_to_change()?;
        let instance = own(root.find_or_make(&given.instance)?, &root, &given.instance)?;
        let all = own(instance.find_or_make(GIVEN)?, &instance, GIVEN)?;
        let folder = own(all.find_or_make(&given.holder)?, &all, &given.holder)?;
        erase::clear_unfinished(&folder)?;
        let before = names(&folder)?;
        let mut kept = Vec::new();
        for (place, file) in given.files.iter().enumerate() {
            kept.push(match find(&folder, &before, place, file)? {
                Some(name) => name,
                None => write(&folder, place, file)?,
            });
        }
        for name in before.iter().filter(|name| !kept.contains(name)) {
            erase::hide(&folder, name)?;
        }
        erase::clear_hidden(&folder)?;
        folder.sync()?;
        kept.iter().map(|name| shown(&folder, name)).collect()
    }

    pub(super) fn take_back(&self, instance: &str, holder: &str) -> Result<(), Fault> {
        check_instance(instance)?;
        check_instance(holder)?;
        let root = self.open_to_change()?;
        let Some(folder) = own_or_none(root.find(instance)?, &root, instance)? else { return Ok(()) };
        let Some(all) = own_or_none(folder.find(GIVEN)?, &folder, GIVEN)? else { return Ok(()) };
        erase::hide(&all, holder)?;
        erase::clear_hidden(&all)?;
        folder.remove_if_empty(GIVEN)?;
        root.remove_if_empty(instance)?;
        root.sync()
    }
}

fn check(given: &Given) -> Result<(), Fault> {
    check_instance(&given.instance)?;
    check_instance(&given.holder)?;
    if given.files.len() > MAX_FILES {
        return Err(Fault::Refused(format!("{} has more than {MAX_FILES} files", given.holder)));
    }
    match given.files.iter().find(|file| file.mode > 0o777) {
        Some(file) => Err(Fault::Refused(format!("the mode {:o} has more than 9 bits", file.mode))),
        None => Ok(()),
    }
}

/// The folder of all holders of an instance.
fn open(root: &Folder, instance: &str) -> Result<Option<Folder>, Fault> {
    let Some(folder) = own_or_none(root.find(instance)?, root, instance)? else { return Ok(None) };
    own_or_none(folder.find(GIVEN)?, &folder, GIVEN)
}

/// Whether a process died while it took files back from this holder: what it had hidden may be secret.
fn has_remains(all: &Folder, holder: &str) -> Result<bool, Fault> {
    let is_of_holder = |name: &[u8]| {
        let hidden = std::str::from_utf8(name).ok().and_then(|name| name.strip_prefix(GONE)?.split_once('-'));
        hidden.is_some_and(|(_, hidden)| hidden == holder)
    };
    Ok(all.entries()?.iter().any(|entry| is_of_holder(entry.name.as_bytes())))
}

/// Every name in the folder that is not hidden.
fn names(folder: &Folder) -> Result<Vec<String>, Fault> {
    let entries = folder.entries()?.into_iter().filter_map(|entry| entry.name.into_string().ok());
    Ok(entries.filter(|name| !name.starts_with(super::HIDDEN)).collect())
}

/// The file of a place, if it is the one that was given and is as it should be.
fn find(folder: &Folder, names: &[String], place: usize, file: &GivenFile) -> Result<Option<String>, Fault> {
    let prefix = format!("{place}-");
    for name in names.iter().filter(|name| name.starts_with(&prefix)) {
        let Some(stat) = stat(folder, name)? else { continue };
        let is_itself = name[prefix.len()..] == stat.st_ino.to_string();
        let as_wanted = (stat.st_mode & 0o7777, stat.st_uid, stat.st_gid) == (file.mode, file.uid, file.gid);
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_file && is_itself && as_wanted {
            let bytes = folder.read_file(name, file.bytes.len() as u64)?;
            if bytes.as_ref() == Some(&file.bytes) {
                return Ok(Some(name.clone()));
            }
        }
    }
    Ok(None)
}

fn stat(folder: &Folder, name: &str) -> Result<Option<Stat>, Fault> {
    match rustix::fs::statat(folder.fd(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno).blind("look at", &folder.path_of(name)),
    }
}

/// Writes a file beside its place, whole and with its owner, and moves it there under the name of its inode.
fn write(folder: &Folder, place: usize, file: &GivenFile) -> Result<String, Fault> {
    let hidden = format!("{NEW}{place}");
    let target = folder.path_of(&hidden);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd: OwnedFd = rustix::fs::openat(folder.fd(), &hidden, flags, Mode::from_raw_mode(0o600))
        .failed("write", &target)?;
    let stat = rustix::fs::fstat(&fd).failed("look at", &target)?;
    if (stat.st_uid, stat.st_gid) != (file.uid, file.gid) {
        let (uid, gid) = (Uid::from_raw(file.uid), Gid::from_raw(file.gid));
        rustix::fs::fchown(fd.as_fd(), Some(uid), Some(gid)).failed("give away", &target)?;
    }
    rustix::fs::fchmod(fd.as_fd(), Mode::from_raw_mode(file.mode)).failed("set the mode of", &target)?;
    let mut open = std::fs::File::from(fd);
    let written = open.write_all(&file.bytes).and_then(|()| open.sync_all());
    written.map_err(|error| Fault::Failed(format!("cannot write {}: {error}", target.display())))?;
    let name = format!("{place}-{}", stat.st_ino);
    rustix::fs::renameat(folder.fd(), &hidden, folder.fd(), &name).failed("put in place", &target)?;
    Ok(name)
}

fn shown(folder: &Folder, name: &str) -> Result<String, Fault> {
    let path = folder.path_of(name);
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Fault::Refused(format!("the path {} is not text", path.display())))
}
