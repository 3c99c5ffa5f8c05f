//! Deleting a tree that somebody else filled.
//!
//! It may be deep, hold links and be written to meanwhile. No link is followed, no mount is entered, and the depth
//! costs nothing: folders found inside are moved up to the top of the tree before they are looked into, so that two
//! are open at a time however deep it goes.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use hearth_capabilities::Fault;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::fault::WriteFault;
use super::folder::Folder;
use super::{GONE, NEW};

/// How many names are read at a time, so that a folder of millions fits.
const MAX_NAMES: usize = 4096;

/// How often a folder is looked through again because something new had appeared in it.
const MAX_ROUNDS: u32 = 8;

/// Moves what bears a name to a hidden one beside it, to be erased. `false` means nothing was there.
pub(super) fn hide(parent: &Folder, name: &str) -> Result<bool, Fault> {
    for attempt in 0..1000_u32 {
        let hidden = format!("{GONE}{attempt}-{name}");
        match rustix::fs::renameat_with(parent.fd(), name, parent.fd(), &hidden, RenameFlags::NOREPLACE) {
            Ok(()) => {
                // Before anything in it goes: a power cut must not bring back a leaf with half of its data.
                parent.sync()?;
                return Ok(true);
            }
            Err(Errno::NOENT) => return Ok(false),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).failed("take away", &parent.path_of(name)),
        }
    }
    Err(Fault::Failed(format!(
        "too many remains of {} that cannot be deleted",
        parent.path_of(name).display()
    )))
}

/// Clears what was hidden for deletion, by this call or by one that did not come to its end.
pub(super) fn clear_hidden(parent: &Folder) -> Result<(), Fault> {
    clear(parent, GONE)
}

/// Clears what was being prepared by a process that died. Only under the lock on the root.
pub(super) fn clear_unfinished(parent: &Folder) -> Result<(), Fault> {
    clear(parent, NEW)
}

fn clear(parent: &Folder, prefix: &str) -> Result<(), Fault> {
    for entry in parent.entries()? {
        if entry.name.as_bytes().starts_with(prefix.as_bytes()) {
            erase(parent, &entry.name)?;
        }
    }
    Ok(())
}

/// Deletes whatever bears that name, with everything in it. Two may do so at once.
fn erase(parent: &Folder, name: &CStr) -> Result<(), Fault> {
    if unlink_file(parent.fd(), name, parent)? {
        return Ok(());
    }
    let Some(top) = open_inside(parent.fd(), name, parent)? else { return Ok(()) };
    let mut moved = 0_u64;
    for _ in 0..MAX_ROUNDS {
        while empty_once(&top, &mut moved, parent)? {}
        match rustix::fs::unlinkat(parent.fd(), name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(errno).failed("remove", &parent.path_of(&name.to_string_lossy())),
        }
    }
    Err(Fault::Failed(format!(
        "{} is still being written to; stop what uses it",
        parent.path_of(&name.to_string_lossy()).display()
    )))
}

/// Goes once through the top of the tree; `true` means there was something in it.
fn empty_once(top: &OwnedFd, moved: &mut u64, parent: &Folder) -> Result<bool, Fault> {
    let entries = names(top, parent)?;
    for (name, kind) in &entries {
        if *kind != FileType::Directory && unlink_file(top, name, parent)? {
            continue;
        }
        let Some(child) = open_inside(top, name, parent)? else { continue };
        for (inner, kind) in names(&child, parent)? {
            if kind != FileType::Directory && unlink_file(&child, &inner, parent)? {
                continue;
            }
            move_up(&child, &inner, top, moved, parent)?;
        }
        match rustix::fs::unlinkat(top, name.as_c_str(), AtFlags::REMOVEDIR) {
            // Something new appeared in it; the next round sees it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(errno).failed("delete something in", parent.path()),
        }
    }
    Ok(!entries.is_empty())
}

fn move_up(
    child: &OwnedFd,
    inner: &CStr,
    top: &OwnedFd,
    moved: &mut u64,
    parent: &Folder,
) -> Result<(), Fault> {
    loop {
        let place = format!("{NEW}{moved}");
        *moved += 1;
        match rustix::fs::renameat_with(child, inner, top, &place, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).failed("delete something in", parent.path()),
        }
    }
}

/// Unlinks anything but a folder; `false` means it is a folder.
fn unlink_file(at: impl std::os::fd::AsFd, name: &CStr, parent: &Folder) -> Result<bool, Fault> {
    match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(errno) => Err(errno).failed("delete something in", parent.path()),
    }
}

/// Opens a folder of the tree, but no link and nothing that is mounted there: what is mounted is not part of the
/// leaf, and may be somebody's photos.
fn open_inside(at: impl std::os::fd::AsFd, name: &CStr, parent: &Folder) -> Result<Option<OwnedFd>, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV | ResolveFlags::BENEATH;
    let opened = match rustix::fs::openat2(&at, name, flags, Mode::empty(), resolve) {
        // Kernels before 5.6. A mount of another file system is told by its device.
        Err(Errno::NOSYS) => open_same_device(&at, name, flags),
        other => other,
    };
    match opened {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::XDEV) => Err(Fault::Failed(format!(
            "something is mounted inside {}; unmount it, it is not deleted",
            parent.path_of(&name.to_string_lossy()).display()
        ))),
        Err(errno) => Err(errno).failed("delete something in", parent.path()),
    }
}

fn open_same_device(at: &impl std::os::fd::AsFd, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let fd = rustix::fs::openat(at, name, flags, Mode::empty())?;
    if rustix::fs::fstat(&fd)?.st_dev == rustix::fs::fstat(at)?.st_dev { Ok(fd) } else { Err(Errno::XDEV) }
}

fn names(fd: &OwnedFd, parent: &Folder) -> Result<Vec<(CString, FileType)>, Fault> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(fd).failed("list something in", parent.path())? {
        let entry = entry.failed("list something in", parent.path())?;
        let name = entry.file_name();
        if name.to_bytes() != b"." && name.to_bytes() != b".." {
            names.push((name.to_owned(), entry.file_type()));
        }
        if names.len() == MAX_NAMES {
            break;
        }
    }
    Ok(names)
}
