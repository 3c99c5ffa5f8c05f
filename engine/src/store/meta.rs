//! What the store says of itself: lineage, epoch, whose key it needs, and why it is only looked at.

use std::collections::BTreeMap;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::error::OpenError;
use super::sum::{fits, sum};

/// Names this store for ever.
pub(super) const LINEAGE: &str = "lineage";
/// Counts the processes that opened it.
pub(super) const EPOCH: &str = "epoch";
/// A keyed hash that only the right key gives.
pub(super) const KEY: &str = "key";
/// Why it is only looked at, until a person says go.
pub(super) const OBSERVE_ONLY: &str = "observe-only";
/// From which resourceVersion on watches may go on.
pub(super) const WATCHED_FROM: &str = "watched-from";
/// Up to which resourceVersion changes were dropped, but for those that made something what it is.
pub(super) const COMPACTED: &str = "compacted";
/// How often intents were put down, so that a lost one is noticed.
pub(super) const INTENTS: &str = "intents";

/// From which schema on rows have sums.
pub(super) const WITH_SUMS: i64 = 2;
/// From which schema on an object stands once, as its newest change.
pub(super) const WITH_STANDING: i64 = 4;

/// The same from a file of any schema this program knows.
pub(super) async fn load_of(
    connection: &mut SqliteConnection,
    schema: i64,
) -> Result<BTreeMap<String, String>, OpenError> {
    if schema >= WITH_SUMS {
        return load(connection).await;
    }
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT key, value FROM meta").fetch_all(connection).await?;
    Ok(rows.into_iter().collect())
}

/// Everything the store says of itself.
///
/// # Errors
/// Where a row is not what was written.
pub(super) async fn load(connection: &mut SqliteConnection) -> Result<BTreeMap<String, String>, OpenError> {
    let rows = sqlx::query("SELECT key, value, sum FROM meta").fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<(String, String), OpenError> {
    let (key, value): (String, String) = (row.try_get("key")?, row.try_get("value")?);
    match fits(row.try_get("sum")?, &[key.as_bytes(), value.as_bytes()]) {
        true => Ok((key, value)),
        false => Err(OpenError::damaged(format!("what it says of its {key} is not what was written"))),
    }
}

/// Puts a word down in the place of an earlier one.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    key: &str,
    value: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(PUT).bind(key).bind(value).bind(sum_of(key, value)).execute(connection).await.map(|_| ())
}

/// Puts a word down in the place of an earlier one; binds key, value and sum.
pub(super) const PUT: &str = "INSERT INTO meta (key, value, sum) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, sum = excluded.sum";

/// The sum of a word.
pub(super) fn sum_of(key: &str, value: &str) -> i64 {
    sum(&[key.as_bytes(), value.as_bytes()])
}

/// What the store says; the first word stays.
pub(super) async fn keep(
    connection: &mut SqliteConnection,
    key: &str,
    first: &str,
) -> Result<String, OpenError> {
    let sql = "SELECT key, value, sum FROM meta WHERE key = ?";
    match sqlx::query(sql).bind(key).fetch_optional(&mut *connection).await? {
        Some(row) => Ok(read(&row)?.1),
        None => {
            put(connection, key, first).await?;
            Ok(first.to_owned())
        }
    }
}
