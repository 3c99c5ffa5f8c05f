//! Looks at a store that is not open, without changing anything: what is there, and why it could not be opened.

use std::path::Path;

use super::cipher::Cipher;
use super::error::OpenError;
use super::lock::StoreLock;
use super::mark::{self, Reached};
use super::open::is_there;
use super::{disk, load, meta, migrations};

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
    look(data_dir, &file, &key).await.map_err(|error| error.of(data_dir))
}

async fn look(data_dir: &Path, file: &Path, key: &Path) -> Result<Option<Examined>, OpenError> {
    let (has_file, has_key) = (is_there(file)?, is_there(key)?);
    let lost = || OpenError::Missing { file: file.display().to_string(), folder: String::new() };
    let size = if has_file { size_of(file)? } else { 0 };
    if size == 0 {
        return if has_key { Err(lost()) } else { Ok(None) };
    }
    let mut connection = disk::connect(file, true).await?;
    load::check_shape(&mut connection).await?;
    let (found, known) = (migrations::read_version(&mut connection).await?, migrations::newest());
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    if found == 0 {
        return if has_key { Err(lost()) } else { Ok(None) };
    }
    let cipher = Cipher::load(key, false)?;
    let words = meta::load_of(&mut connection, found).await?;
    if words.get(meta::KEY).is_some_and(|mark| *mark != cipher.mark()) {
        return Err(OpenError::Key { key: key.display().to_string(), folder: String::new() });
    }
    load::check_index(&mut connection, found).await?;
    let number = |word: &str| words.get(word).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    let resource_version = if found == known {
        let compacted = number(meta::COMPACTED);
        load::check_agreement(&mut connection, compacted.max(number(meta::WATCHED_FROM))).await?;
        load::check_history(&mut connection).await?;
        load::load(&mut connection, &cipher, compacted).await?.resource_version
    } else if found >= meta::WITH_SUMS {
        load::load(&mut connection, &cipher, 0).await?.resource_version
    } else {
        // It is read in full once it has been brought to the schema of this program.
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(rv) FROM changes").fetch_one(&mut connection).await?;
        u64::try_from(newest.unwrap_or(0)).unwrap_or(0)
    };
    let lineage = words.get(meta::LINEAGE).cloned().unwrap_or_default();
    let reached = mark::read(&data_dir.join(mark::FILE))?;
    let come_to = Reached {
        lineage: lineage.clone(),
        resource_version: resource_version.max(number(meta::WATCHED_FROM)),
        intents: number(meta::INTENTS),
    };
    let behind = |reached: &Reached| mark::why_observe_only(reached, &come_to);
    let observe_only = match words.get(meta::OBSERVE_ONLY) {
        Some(why) => Some(why.clone()),
        None => reached.as_ref().and_then(behind),
    };
    Ok(Some(Examined {
        resource_version,
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
    Ok(mark::read(&data_dir.join(mark::FILE))?.map(|reached| (reached.lineage, reached.resource_version)))
}

#[expect(clippy::disallowed_methods, reason = "the store looks at its own files")]
fn size_of(file: &Path) -> Result<u64, OpenError> {
    let metadata = std::fs::metadata(file);
    metadata
        .map(|metadata| metadata.len())
        .map_err(|source| OpenError::File { action: format!("looking at {}", file.display()), source })
}
