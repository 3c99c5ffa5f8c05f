//! The author's and the rendered files of an instance: Hearth's own, so there is no leaf and no stranger in them.

use std::collections::BTreeMap;
use std::io::Write as _;

use hearth_capabilities::Fault;
use rustix::fs::{FileType, Mode, OFlags};

use super::fault::WriteFault;
use super::folder::{Folder, Found};
use super::given::GIVEN;
use super::{Disk, NEW, check_instance, erase, plain_parts};

/// Where an instance's files are, beside its `data`.
pub(super) const FILES: &str = "files";

/// Far above what Hearth writes; a bound, so that a strange file cannot fill the memory.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How deep folders of files may be nested.
const MAX_DEPTH: usize = 16;

impl Disk {
    pub(super) fn save_files(&self, instance: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
        check_instance(instance)?;
        for path in files.keys() {
            check_path(path, files)?;
        }
        let root = self.open_to_change()?;
        let instance_folder = own(root.find_or_make(instance)?, &root, instance)?;
        let folder = own(instance_folder.find_or_make(FILES)?, &instance_folder, FILES)?;
        for (path, bytes) in files {
            save(&folder, path, bytes)?;
        }
        // Last, so that at every moment each file is there as it was or as it will be.
        remove_others(&folder, &mut Vec::new(), files)
    }

    pub(super) fn load_files(&self, instance: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Fault> {
        check_instance(instance)?;
        let root = self.open()?;
        let Some(instance_folder) = own_or_none(root.find(instance)?, &root, instance)? else {
            return Ok(None);
        };
        let Some(folder) = own_or_none(instance_folder.find(FILES)?, &instance_folder, FILES)? else {
            return Ok(None);
        };
        let mut files = BTreeMap::new();
        load(&folder, &mut Vec::new(), &mut files)?;
        Ok(Some(files))
    }

    pub(super) fn remove_files(&self, instance: &str) -> Result<(), Fault> {
        check_instance(instance)?;
        let root = self.open_to_change()?;
        let Some(folder) = own_or_none(root.find(instance)?, &root, instance)? else { return Ok(()) };
        erase::hide(&folder, FILES)?;
        erase::hide(&folder, GIVEN)?;
        erase::clear_hidden(&folder)?;
        // `data` is in the way as long as a leaf or anything else is in it, which is what keeps it.
        folder.remove_if_empty("data")?;
        root.remove_if_empty(instance)?;
        root.sync()
    }
}

/// A path must be plain, and no file may stand where another path needs a folder.
fn check_path(path: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
    let parts = plain_parts(path)?;
    if parts.len() > MAX_DEPTH {
        return Err(Fault::Refused(format!("the path {path:?} has more than {MAX_DEPTH} parts")));
    }
    for (at, _) in path.match_indices('/') {
        if files.contains_key(&path[..at]) {
            return Err(Fault::Refused(format!(
                "{:?} is a file, so {path:?} cannot be below it",
                &path[..at]
            )));
        }
    }
    Ok(())
}

pub(super) fn own(found: Found, parent: &Folder, name: &str) -> Result<Folder, Fault> {
    own_or_none(found, parent, name)?
        .ok_or_else(|| Fault::Failed(format!("{} vanished", parent.path_of(name).display())))
}

pub(super) fn own_or_none(found: Found, parent: &Folder, name: &str) -> Result<Option<Folder>, Fault> {
    match found {
        Found::Nothing => Ok(None),
        Found::Folder(folder) => Ok(Some(folder)),
        Found::Other(what) => {
            Err(Fault::Refused(format!("{} is {what}, not a folder", parent.path_of(name).display())))
        }
    }
}

/// Writes one file beside its place and moves it there, so that it is never half.
fn save(top: &Folder, path: &str, bytes: &[u8]) -> Result<(), Fault> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut reached: Option<Folder> = None;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let here = reached.as_ref().unwrap_or(top);
        let next = match here.find_or_make(part)? {
            // A file from before stands where a folder is needed now.
            Found::Other(_) => {
                erase::hide(here, part)?;
                erase::clear_hidden(here)?;
                here.find_or_make(part)?
            }
            found => found,
        };
        reached = Some(own(next, here, part)?);
    }
    let folder = reached.as_ref().unwrap_or(top);
    match folder.find(name)? {
        Found::Other("a file") if is_same(folder, name, bytes)? => return Ok(()),
        Found::Folder(_) => {
            erase::hide(folder, name)?;
            erase::clear_hidden(folder)?;
        }
        _ => {}
    }
    let hidden = format!("{NEW}{name}");
    let target = folder.path_of(name);
    // A leftover of that name may be anything, so it is not written into.
    erase::clear_unfinished(folder)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder.fd(), &hidden, flags, Mode::from_raw_mode(0o600))
        .failed("write", &target)?;
    let mut file = std::fs::File::from(fd);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Fault::Failed(format!("cannot write {}: {error}", target.display())))?;
    rustix::fs::renameat(folder.fd(), &hidden, folder.fd(), name).failed("put in place", &target)?;
    folder.sync()
}

fn is_same(folder: &Folder, name: &str, bytes: &[u8]) -> Result<bool, Fault> {
    Ok(folder.read_file(name, bytes.len() as u64)?.as_deref() == Some(bytes))
}

fn remove_others(
    folder: &Folder,
    path: &mut Vec<String>,
    wanted: &BTreeMap<String, Vec<u8>>,
) -> Result<(), Fault> {
    for entry in folder.entries()? {
        let name = entry.name.to_string_lossy().into_owned();
        path.push(name.clone());
        let here = path.join("/");
        let below = format!("{here}/");
        let holds_wanted =
            wanted.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below));
        if entry.kind == FileType::Directory && holds_wanted {
            let child = own(folder.find(&name)?, folder, &name)?;
            remove_others(&child, path, wanted)?;
        } else if entry.kind == FileType::Directory || !wanted.contains_key(&here) {
            erase::hide(folder, &name)?;
        }
        path.pop();
    }
    erase::clear_hidden(folder)?;
    folder.sync()
}

fn load(folder: &Folder, path: &mut Vec<String>, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
    for entry in folder.entries()? {
        let Ok(name) = entry.name.into_string() else { continue };
        if name.starts_with(super::HIDDEN) {
            continue;
        }
        path.push(name.clone());
        if entry.kind == FileType::Directory && path.len() <= MAX_DEPTH {
            if let Some(child) = own_or_none(folder.find(&name)?, folder, &name)? {
                load(&child, path, files)?;
            }
        } else if let Some(bytes) = folder.read_file(&name, MAX_FILE_BYTES)? {
            files.insert(path.join("/"), bytes);
        }
        path.pop();
    }
    Ok(())
}
