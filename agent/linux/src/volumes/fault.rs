//! What an error of the system means for the caller.

use std::path::Path;

use hearth_capabilities::Fault;
use rustix::io::Errno;

/// Errors of looking: nothing is known then, whatever the reason.
pub(super) trait ReadFault<T> {
    fn blind(self, doing: &str, path: &Path) -> Result<T, Fault>;
}

/// Errors of changing something.
pub(super) trait WriteFault<T> {
    /// What may succeed another time is failed, what will not is refused, the rest is not known.
    fn failed(self, doing: &str, path: &Path) -> Result<T, Fault>;

    /// At the start, when a person is there to read it.
    fn refused(self, doing: &str, path: &Path) -> Result<T, Fault>;
}

impl<T> ReadFault<T> for Result<T, Errno> {
    fn blind(self, doing: &str, path: &Path) -> Result<T, Fault> {
        self.map_err(|errno| Fault::Blind(sentence(doing, path, errno)))
    }
}

impl<T> WriteFault<T> for Result<T, Errno> {
    fn failed(self, doing: &str, path: &Path) -> Result<T, Fault> {
        self.map_err(|errno| {
            let sentence = sentence(doing, path, errno);
            match errno {
                Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::NOTSUP | Errno::NAMETOOLONG => {
                    Fault::Refused(sentence)
                }
                Errno::NOSPC
                | Errno::DQUOT
                | Errno::ROFS
                | Errno::BUSY
                | Errno::NOTEMPTY
                | Errno::XDEV
                | Errno::MFILE
                | Errno::NFILE
                | Errno::MLINK => Fault::Failed(sentence),
                Errno::EXIST => Fault::Conflict(sentence),
                Errno::NOENT => Fault::Missing(sentence),
                _ => Fault::Blind(sentence),
            }
        })
    }

    fn refused(self, doing: &str, path: &Path) -> Result<T, Fault> {
        self.map_err(|errno| Fault::Refused(sentence(doing, path, errno)))
    }
}

fn sentence(doing: &str, path: &Path, errno: Errno) -> String {
    format!("cannot {doing} {}: {}", path.display(), std::io::Error::from(errno))
}
