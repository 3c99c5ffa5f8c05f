//! An opened folder. Everything below it is reached by one plain name at a time, never through a link.

use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use hearth_capabilities::Fault;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::fault::{ReadFault, WriteFault};

/// A folder that is open, and the path to show people.
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// What a name leads to.
pub(super) enum Found {
    Nothing,
    Folder(Folder),
    /// Something that is not a folder: `a link`, `a file`, `a special file`.
    Other(&'static str),
}

/// One name in a folder. An app chooses its own names, so they are bytes.
pub(super) struct Entry {
    pub(super) name: CString,
    pub(super) kind: FileType,
}

impl Folder {
    /// Opens a folder by its whole path. Only for the root, which the administrator chose and no app can reach.
    pub(super) fn open_root(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { fd, path: path.to_path_buf() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the folder of that name. A single name without a slash can only lead out through a link, and
    /// `NOFOLLOW` refuses one.
    pub(super) fn find(&self, name: &str) -> Result<Found, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Found::Folder(Self { fd, path: self.path_of(name) })),
            Err(Errno::NOENT) => Ok(Found::Nothing),
            Err(Errno::NOTDIR | Errno::LOOP) => self.describe(name),
            Err(errno) => Err(errno).blind("open", &self.path_of(name)),
        }
    }

    fn describe(&self, name: &str) -> Result<Found, Fault> {
        match self.kind_of(name)? {
            None => Ok(Found::Nothing),
            Some(FileType::Symlink) => Ok(Found::Other("a link")),
            Some(FileType::RegularFile) => Ok(Found::Other("a file")),
            // It became a folder between the two looks, so nothing sure can be said.
            Some(FileType::Directory) => {
                Err(Fault::Blind(format!("{} keeps changing", self.path_of(name).display())))
            }
            Some(_) => Ok(Found::Other("a special file")),
        }
    }

    fn kind_of(&self, name: &str) -> Result<Option<FileType>, Fault> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno).blind("look at", &self.path_of(name)),
        }
    }

    /// Opens the folder of that name and makes it first where nothing is there. It is Hearth's own, so private.
    pub(super) fn find_or_make(&self, name: &str) -> Result<Found, Fault> {
        match rustix::fs::mkdirat(&self.fd, name, super::private()) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).failed("make the folder", &self.path_of(name)),
        }
        self.find(name)
    }

    /// Opens the regular file of that name for reading; `None` means nothing is there.
    pub(super) fn read_file(&self, name: &str, most_bytes: u64) -> Result<Option<Vec<u8>>, Fault> {
        let path = self.path_of(name);
        // NONBLOCK, so that a pipe somebody put there does not hold us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Fault::Refused(format!("{} is a link", path.display()))),
            Err(errno) => return Err(errno).blind("open", &path),
        };
        let stat = rustix::fs::fstat(&fd).blind("look at", &path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Fault::Refused(format!("{} is not a regular file", path.display())));
        }
        let mut bytes = Vec::new();
        let read = std::fs::File::from(fd).take(most_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Fault::Blind(format!("cannot read {}: {error}", path.display())))?;
        Ok(Some(bytes))
    }

    /// Every name in it, sorted, without `.` and `..`.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, Fault> {
        let mut entries = Vec::new();
        let dir = Dir::read_from(&self.fd).blind("list", &self.path)?;
        for entry in dir {
            let entry = entry.blind("list", &self.path)?;
            let name = entry.file_name().to_owned();
            if name.as_bytes() == b"." || name.as_bytes() == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match self.kind_of_entry(&name)? {
                    Some(kind) => kind,
                    None => continue,
                },
                known => known,
            };
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Some file systems do not say in a listing what an entry is.
    fn kind_of_entry(&self, name: &CStr) -> Result<Option<FileType>, Fault> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno).blind("look into", &self.path),
        }
    }

    /// Owner, mode and the rest of the folder itself.
    pub(super) fn stat(&self) -> Result<Stat, Fault> {
        rustix::fs::fstat(&self.fd).blind("look at", &self.path)
    }

    /// Makes what happened to the names in it last through a power cut.
    pub(super) fn sync(&self) -> Result<(), Fault> {
        rustix::fs::fsync(&self.fd).failed("write out", &self.path)
    }

    /// Removes a folder if it is there and empty; anything else is left alone.
    pub(super) fn remove_if_empty(&self, name: &str) -> Result<bool, Fault> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
            Err(errno) => Err(errno).failed("remove", &self.path_of(name)),
        }
    }
}
