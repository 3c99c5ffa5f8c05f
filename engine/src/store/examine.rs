//! Looks at a store that is not open, without changing anything: what is there, and why it could not be opened.

use std::path::Path;

use super::cipher::Cipher;
use super::error::OpenError;
use super::lock::StoreLock;
use super::mark::{self, Reached};
use super::open::{MARK, check, is_there, told};
use super::trust::OBSERVE_ONLY;
use super::{disk, migrations};

/// What a store that could be opened says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its lineage.
    pub lineage: String,
    /// The resourceVersion it has come to.
    pub resource_version: u64,
    /// Why it would only be looked at, if so.
    pub observe_only: Option<String>,
    /// The lineage and the version of the mark beside it, where there is one.
    pub mark: Option<(String, u64)>,
}

/// Looks at the store in a folder. `None` means that there never was one.
///
/// # Errors
/// What opening it would say: in use, lost, damaged, newer, or with a key that does not fit.
pub async fn examine(data_dir: &Path) -> Result<Option<Examined>, OpenError> {
    let (file, key) = (data_dir.join("store.db"), data_dir.join("store.key"));
    if !is_there(data_dir)? {
        return Ok(None);
    }
    let _lock = StoreLock::take(data_dir)?;
    let (has_file, has_key) = (is_there(&file)?, is_there(&key)?);
    let size = if has_file { size_of(&file)? } else { 0 };
    if size == 0 {
        let lost = || OpenError::Missing(file.display().to_string());
        return if has_key { Err(lost()) } else { Ok(None) };
    }
    let mut connection = disk::connect(&file, true).await?;
    check(&mut connection).await?;
    let (found, known) = (migrations::read_version(&mut connection).await?, migrations::newest());
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    if found == 0 {
        return if has_key { Err(OpenError::Missing(file.display().to_string())) } else { Ok(None) };
    }
    let cipher = Cipher::load(&key, false)?;
    if told(&mut connection, "key").await?.is_some_and(|mark| mark != cipher.mark()) {
        return Err(OpenError::Key(key.display().to_string()));
    }
    let lineage = told(&mut connection, "lineage").await?.unwrap_or_default();
    let loaded = disk::load(&mut connection, &cipher, 1).await?;
    let reached = mark::read(&data_dir.join(MARK))?;
    let behind = |reached: &Reached| mark::why_observe_only(reached, &lineage, loaded.resource_version);
    let observe_only = match told(&mut connection, OBSERVE_ONLY).await? {
        Some(why) => Some(why),
        None => reached.as_ref().and_then(behind),
    };
    Ok(Some(Examined {
        resource_version: loaded.resource_version,
        observe_only,
        mark: reached.map(|reached| (reached.lineage, reached.resource_version)),
        lineage,
    }))
}

/// What the mark in a folder says: the lineage of the store that was there, and how far it had come.
///
/// # Errors
/// Where it cannot be read.
pub fn read_mark(data_dir: &Path) -> Result<Option<(String, u64)>, OpenError> {
    Ok(mark::read(&data_dir.join(MARK))?.map(|reached| (reached.lineage, reached.resource_version)))
}

#[expect(clippy::disallowed_methods, reason = "the store looks at its own files")]
fn size_of(file: &Path) -> Result<u64, OpenError> {
    let metadata = std::fs::metadata(file);
    metadata
        .map(|metadata| metadata.len())
        .map_err(|source| OpenError::File { action: format!("looking at {}", file.display()), source })
}
