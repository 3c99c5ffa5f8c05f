//! The files of a project in a folder of this machine, for the commands people run.
//!
//! Only what lies inside is there: a link that leads out, or a path that climbs out, is a file that
//! does not exist. Nothing but these reads touches the disk.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::Files;
use crate::yaml::limits::MOST_BYTES;

/// A folder as a source of files.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at a path.
    ///
    /// # Errors
    /// When there is no such folder, or it cannot be read.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self { root: fs::canonicalize(path)? })
    }

    /// The folder itself, absolute and without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let Ok(found) = fs::canonicalize(self.root.join(path)) else { return Ok(None) };
        if !found.starts_with(&self.root) || !found.is_file() {
            return Ok(None);
        }
        read(&found, path)
    }
}

/// Reads a file whole; `shown` is what people call it.
pub(super) fn read(file: &Path, shown: &str) -> Result<Option<String>, String> {
    let wrong = |error: std::io::Error| format!("the file {shown} cannot be read: {error}");
    let length = match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(wrong)?.len(),
    };
    if length > 16 * MOST_BYTES as u64 {
        return Err(format!("the file {shown} is too large"));
    }
    let bytes = fs::read(file).map_err(wrong)?;
    String::from_utf8(bytes).map(Some).map_err(|_| format!("the file {shown} is not UTF-8 text"))
}
