//! One process at a time may have a store open.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::error::OpenError;

/// Holds the store for this process; the kernel lets go when the process ends, however it ends.
pub(super) struct StoreLock {
    _file: File,
}

impl StoreLock {
    pub(super) fn take(data_dir: &Path) -> Result<Self, OpenError> {
        let path = data_dir.join("store.lock");
        let failed = |source| OpenError::File { action: format!("opening {}", path.display()), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(data_dir.display().to_string())),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}
