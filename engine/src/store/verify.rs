//! Whether a file is a sound copy of a store: everything in it is read, and it is never changed.

use std::path::Path;

use futures::TryStreamExt;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::cipher::Cipher;
use super::error::OpenError;
use super::history::HistoryRow;
use super::load::{check_agreement, check_history, read_intent, read_object};
use super::{meta, migrations};

/// What a sound copy says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFacts {
    /// Which store it is a copy of.
    pub lineage: String,
    /// How far it had come.
    pub resource_version: u64,
    /// The version of its schema.
    pub schema: i64,
}

/// Reads all of a copy: its structures, its sums, and with the key in `key` its secrets.
///
/// # Errors
/// Where it cannot be read, is damaged or newer than this program, or the key does not fit.
pub async fn verify(file: &Path, key: &Path) -> Result<CopyFacts, OpenError> {
    let cipher = Cipher::load(key, false)?;
    verify_with(file, &cipher, key).await
}

pub(super) async fn verify_with(file: &Path, cipher: &Cipher, key: &Path) -> Result<CopyFacts, OpenError> {
    super::open::check_file(file)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    // Immutable: neither a log nor a lock is looked for beside it, nor made.
    let options = SqliteConnectOptions::new().filename(file).read_only(true).immutable(true);
    let mut connection = options.disable_statement_logging().connect().await?;
    let read = read_all(&mut connection, cipher, key).await.map_err(|error| error.of(folder));
    connection.close().await?;
    read
}

async fn read_all(
    connection: &mut SqliteConnection,
    cipher: &Cipher,
    key: &Path,
) -> Result<CopyFacts, OpenError> {
    let found: String = sqlx::query_scalar("PRAGMA integrity_check(1)").fetch_one(&mut *connection).await?;
    if found != "ok" {
        return Err(OpenError::damaged(found));
    }
    let schema = migrations::read_version(connection).await?;
    match schema {
        0 => return Err(OpenError::damaged("it holds no store")),
        _ if schema > migrations::newest() => {
            return Err(OpenError::Newer { found: schema, known: migrations::newest() });
        }
        _ => {}
    }
    let words = meta::load_of(connection, schema).await?;
    let word = |name: &str| words.get(name).cloned();
    let lineage =
        word(meta::LINEAGE).ok_or_else(|| OpenError::damaged("it does not say which store it is"))?;
    if word(meta::KEY).is_some_and(|kept| kept != cipher.mark()) {
        return Err(OpenError::Key { key: key.display().to_string(), folder: String::new() });
    }
    let from = word(meta::WATCHED_FROM).and_then(|from| from.parse().ok()).unwrap_or(0);
    if schema == migrations::newest() {
        let compacted = word(meta::COMPACTED).and_then(|up_to| up_to.parse().ok()).unwrap_or(0);
        check_agreement(connection, from.max(compacted)).await?;
        check_history(connection).await?;
    }
    if schema >= meta::WITH_SUMS {
        read_rows(connection, cipher, schema).await?;
    }
    let newest: Option<i64> =
        sqlx::query_scalar("SELECT max(rv) FROM changes").fetch_one(&mut *connection).await?;
    let newest = u64::try_from(newest.unwrap_or(0)).unwrap_or(0);
    Ok(CopyFacts { lineage, resource_version: newest.max(from), schema })
}

/// Every row, one at a time: the audit log alone may be larger than memory.
async fn read_rows(connection: &mut SqliteConnection, cipher: &Cipher, schema: i64) -> Result<(), OpenError> {
    let objects = "SELECT rv, 0 AS gone, kind, namespace, name, uid, sealed, body, sum FROM objects";
    let changes = "SELECT rv, gone, kind, namespace, name, uid, sealed, body, sum FROM changes";
    // Since then what stands is among the changes.
    let tables = if schema < meta::WITH_STANDING { vec![objects, changes] } else { vec![changes] };
    for sql in tables {
        let mut rows = sqlx::query(sql).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            read_object(&row, cipher)?;
        }
    }
    let mut rows = sqlx::query("SELECT uid, body, sum FROM intents").fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        read_intent(&row)?;
    }
    drop(rows);
    let mut rows = sqlx::query("SELECT * FROM history").fetch(&mut *connection);
    let mut lines = 0;
    while let Some(row) = rows.try_next().await? {
        HistoryRow::read(&row)?;
        lines += 1;
    }
    drop(rows);
    let made: i64 =
        sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM history").fetch_one(&mut *connection).await?;
    if lines == made { Ok(()) } else { Err(OpenError::damaged("its audit log is not whole")) }
}
