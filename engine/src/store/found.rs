//! Founds a store in the place of one that was lost: of the same lineage, past every version that was given out, and
//! only looked at until a person says go.

use std::path::Path;

use crate::object::Key;

use super::disk;
use super::error::OpenError;
use super::lock::StoreLock;
use super::meta;
use super::migrations;
use super::open::is_there;
use super::trust::Note;

/// What a new store is founded with.
#[derive(Clone, Debug)]
pub struct Founding {
    /// The lineage of the store that was lost.
    pub lineage: String,
    /// The latest resourceVersion that is known to have been given out.
    pub resource_version: u64,
    /// Why it is only looked at, in one sentence.
    pub observe_only: String,
    /// The uids that objects had which are not brought back: whoever declares one again gets its uid.
    pub uids: Vec<(Key, String)>,
}

/// Founds a store in a folder where there is none; it is opened afterwards like any other, and makes its key then
/// where none is there. Dying half way leaves a file without a lineage, which is no store yet.
///
/// # Errors
/// Where a store is there already, or the folder cannot be written.
pub async fn found(data_dir: &Path, founding: &Founding) -> Result<(), OpenError> {
    let _lock = StoreLock::take(data_dir)?;
    let file = data_dir.join("store.db");
    if is_there(&file)? {
        let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(OpenError::File { action: format!("founding a store in {}", file.display()), source });
    }
    let mut connection = disk::connect(&file, false).await?;
    migrations::migrate(&mut connection, &file).await?;
    let Founding { lineage, resource_version, observe_only, uids } = founding;
    let next = (resource_version + 1).to_string();
    let mut transaction = sqlx::Connection::begin_with(&mut connection, "BEGIN IMMEDIATE").await?;
    let words = [(meta::LINEAGE, lineage), (meta::OBSERVE_ONLY, observe_only), (meta::WATCHED_FROM, &next)];
    for (key, value) in words {
        meta::put(&mut transaction, key, value).await?;
    }
    for (key, uid) in uids {
        Note::Remember(key.clone(), uid.clone()).put(&mut transaction).await?;
    }
    transaction.commit().await?;
    sqlx::Connection::close(connection).await?;
    Ok(())
}
