//! Where a leaf's marker is kept: an extended attribute that no app can reach, as far as this process may set one.

use hearth_capabilities::Fault;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::fault::{ReadFault, WriteFault};
use super::folder::Folder;

/// The longest marker there is; a uid has 36 bytes.
const MAX_BYTES: usize = 256;

/// The attribute in use, decided once at the start.
#[derive(Clone, Copy, Debug)]
pub(super) enum Marker {
    /// Only root can see or change it, so no app can, not even one that owns the leaf.
    Trusted,
    /// For a process that is not root, as in development: whoever owns the leaf could change it.
    User,
}

impl Marker {
    /// Tries what this process may set on the root's file system.
    ///
    /// Reading cannot decide this: to a process without the right, a trusted attribute simply looks absent.
    pub(super) fn choose(root: &Folder) -> Result<Self, Fault> {
        for (marker, probe) in [(Self::Trusted, "trusted.hearth.probe"), (Self::User, "user.hearth.probe")] {
            match rustix::fs::fsetxattr(root.fd(), probe, b"1", XattrFlags::empty()) {
                Ok(()) => {
                    return match rustix::fs::fremovexattr(root.fd(), probe) {
                        // Another process that starts just now may have taken it away.
                        Ok(()) | Err(Errno::NODATA) => Ok(marker),
                        Err(errno) => Err(errno).refused("set attributes on", root.path()),
                    };
                }
                Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => {}
                Err(errno) => return Err(errno).refused("set attributes on", root.path()),
            }
        }
        Err(Fault::Refused(format!(
            "{} holds no extended attributes, which leaves need for their markers; put it on ext4, xfs or btrfs",
            root.path().display()
        )))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted.hearth.uid",
            Self::User => "user.hearth.uid",
        }
    }

    /// The marker a folder carries; `None` means it carries none.
    pub(super) fn read(self, folder: &Folder) -> Result<Option<String>, Fault> {
        let mut buffer = [0_u8; MAX_BYTES];
        match rustix::fs::fgetxattr(folder.fd(), self.name(), &mut buffer[..]) {
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                let marker = std::str::from_utf8(bytes).map_err(|_| {
                    Fault::Blind(format!("the marker of {} is not text", folder.path().display()))
                })?;
                Ok(Some(marker.to_owned()))
            }
            Err(Errno::NODATA) => Ok(None),
            Err(errno) => Err(errno).blind("read the marker of", folder.path()),
        }
    }

    /// Marks a folder that carries no marker.
    pub(super) fn write(self, folder: &Folder, marker: &str) -> Result<(), Fault> {
        self.set(folder, marker, XattrFlags::CREATE)
    }

    /// Marks a folder, whatever marker it carries.
    pub(super) fn replace(self, folder: &Folder, marker: &str) -> Result<(), Fault> {
        self.set(folder, marker, XattrFlags::empty())
    }

    fn set(self, folder: &Folder, marker: &str, flags: XattrFlags) -> Result<(), Fault> {
        if marker.is_empty() || marker.len() > MAX_BYTES {
            return Err(Fault::Refused(format!("the marker {marker:?} must have 1 to {MAX_BYTES} bytes")));
        }
        rustix::fs::fsetxattr(folder.fd(), self.name(), marker.as_bytes(), flags)
            .failed("mark", folder.path())
    }
}
