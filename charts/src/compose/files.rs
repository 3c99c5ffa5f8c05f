//! Where the files of a project come from: a package in memory, or a folder when a person asks.

use std::collections::BTreeMap;

/// Files by their path in the project folder (`compose.yml`, `conf/common.yml`).
///
/// Implementations answer only for what lies inside; a path that leads out is not there.
pub trait Files {
    /// The text of a file; none when it does not exist.
    ///
    /// # Errors
    /// A sentence when the file is there and cannot be read.
    fn read(&self, path: &str) -> Result<Option<String>, String>;

    /// Whether the caller itself named this file: then it is read wherever it lies. What files
    /// name in their text never is.
    fn is_given(&self, _path: &str) -> bool {
        false
    }
}

impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let Some(bytes) = self.get(path) else { return Ok(None) };
        let text = std::str::from_utf8(bytes).map_err(|_| format!("the file {path} is not UTF-8 text"))?;
        Ok(Some(text.to_owned()))
    }
}
