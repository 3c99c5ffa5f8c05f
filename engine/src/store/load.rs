//! Everything the file holds, read at the start, and whether it can be believed.
//!
//! SQLite finds pages that lost their shape; the sums find values that changed; and what the rows say of each other
//! finds pages that are sound and of another time, as a log left beside a copy makes them.

use futures::TryStreamExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::cipher::Cipher;
use super::error::OpenError;
use super::intent::Intent;
use super::meta;
use super::recent::RECENT_CHANGES;
use super::rows::ChangeRow;
use super::sum::fits;
use crate::object::Object;

/// What a file held when it was opened.
pub(super) struct Loaded {
    pub(super) objects: Vec<Object>,
    pub(super) changes: Vec<(u64, bool, Object)>,
    pub(super) intents: Vec<Intent>,
    pub(super) resource_version: u64,
}

/// Whether SQLite finds its own structures whole.
pub(super) async fn check_shape(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    check_by(connection, "PRAGMA quick_check(1)").await
}

/// Whether the names of what stands are in order, in a file of this schema: one that is not found would let a second
/// object of that name in.
pub(super) async fn check_index(connection: &mut SqliteConnection, schema: i64) -> Result<(), OpenError> {
    match schema {
        0 => Ok(()),
        _ if schema < meta::WITH_STANDING => check_by(connection, "PRAGMA integrity_check(objects)").await,
        _ => check_by(connection, "PRAGMA integrity_check(standing)").await,
    }
}

async fn check_by(connection: &mut SqliteConnection, pragma: &'static str) -> Result<(), OpenError> {
    let found: String = sqlx::query_scalar(pragma).fetch_one(connection).await?;
    if found == "ok" { Ok(()) } else { Err(OpenError::damaged(found)) }
}

/// The newest change of each object is what stands; nothing stands that no change has made; and there are none between
/// that nobody made. Answers how many rows break that.
const DISAGREEING: &str = "
    SELECT (SELECT count(*) FROM
               (SELECT kind, namespace, name, gone, max(rv) AS rv FROM changes GROUP BY kind, namespace, name) AS newest
               FULL JOIN standing USING (kind, namespace, name)
            WHERE CASE newest.gone WHEN 0 THEN standing.rv IS NOT newest.rv ELSE standing.rv IS NOT NULL END)
         + (SELECT coalesce(max(rv) - min(rv) + 1 - count(*), 0) FROM changes WHERE rv > ?1)";

/// Whether what stands and the changes tell one story. Up to `from` versions may be missing: there changes were
/// dropped, or an older copy went on past what had been given out.
pub(super) async fn check_agreement(connection: &mut SqliteConnection, from: u64) -> Result<(), OpenError> {
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let found: i64 = sqlx::query_scalar(DISAGREEING).bind(from).fetch_one(connection).await?;
    match found {
        0 => Ok(()),
        _ => Err(OpenError::damaged("its objects and its changes do not agree")),
    }
}

/// How much of what leads to the lines of the audit log is not as it was written. Each line has a row of its own, and is
/// either the last of its object or the one before exactly one other.
const UNTOLD: &str = "
    SELECT (SELECT count(*) FROM history_last
            WHERE again IS NOT kind || ' ' || namespace || ' ' || name || ' ' || id)
         + (SELECT count(*) FROM history_before WHERE before >= id)
         + ((SELECT count(*) FROM history_before) IS NOT (SELECT coalesce(max(id), 0) FROM history))
         + ((SELECT coalesce(sum(id), 0) - coalesce(sum(before), 0) FROM history_before)
            IS NOT (SELECT coalesce(sum(id), 0) FROM history_last))";

/// Whether each line of the audit log is found by the object it is of. The lines themselves are not read.
pub(super) async fn check_history(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    match sqlx::query_scalar::<_, i64>(UNTOLD).fetch_one(connection).await? {
        0 => Ok(()),
        _ => Err(OpenError::damaged("its audit log is not whole")),
    }
}

/// Reads everything that memory holds; of the changes the newest, if they came after `compacted`.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    cipher: &Cipher,
    compacted: u64,
) -> Result<Loaded, OpenError> {
    let sql = "SELECT rv, 0 AS gone, kind, namespace, name, uid, sealed, body, sum FROM objects";
    let mut objects = Vec::new();
    // Row by row: all at once would hold every object twice, as bytes and as what they say.
    let mut rows = sqlx::query(sql).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        objects.push(read_object(&row, cipher)?);
    }
    drop(rows);
    let sql = "SELECT rv, gone, kind, namespace, name, uid, sealed, body, sum FROM changes WHERE rv > ?
               ORDER BY rv DESC LIMIT ?";
    let [compacted, recent] =
        [compacted, RECENT_CHANGES as u64].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let rows = sqlx::query(sql).bind(compacted).bind(recent).fetch_all(&mut *connection).await?;
    let changes: Vec<(u64, bool, Object)> = rows
        .iter()
        .rev()
        .map(|row| Ok((version(row)?, row.try_get::<i64, _>("gone")? == 1, read_object(row, cipher)?)))
        .collect::<Result<_, OpenError>>()?;
    let rows = sqlx::query("SELECT uid, body, sum FROM intents").fetch_all(&mut *connection).await?;
    let intents = rows.iter().map(read_intent).collect::<Result<_, _>>()?;
    let newest: i64 =
        sqlx::query_scalar("SELECT coalesce(max(rv), 0) FROM changes").fetch_one(&mut *connection).await?;
    let resource_version = newest.cast_unsigned();
    if compacted.cast_unsigned() > resource_version {
        return Err(OpenError::damaged("it says that more changes were dropped than there ever were"));
    }
    Ok(Loaded { objects, changes, intents, resource_version })
}

fn version(row: &SqliteRow) -> Result<u64, OpenError> {
    u64::try_from(row.try_get::<i64, _>("rv")?).map_err(|_| OpenError::damaged("a version is below zero"))
}

/// An intent that cannot be read is not one that is not there: what was interrupted would look untouched.
pub(super) fn read_intent(row: &SqliteRow) -> Result<Intent, OpenError> {
    let (uid, body): (String, String) = (row.try_get("uid")?, row.try_get("body")?);
    if !fits(row.try_get("sum")?, &[uid.as_bytes(), body.as_bytes()]) {
        return Err(OpenError::damaged(format!("the intent of {uid} is not what was written")));
    }
    serde_json::from_str(&body).map_err(|error| OpenError::damaged(format!("the intent of {uid}: {error}")))
}

/// One row of `objects` or `changes`.
pub(super) fn read_object(row: &SqliteRow, cipher: &Cipher) -> Result<Object, OpenError> {
    let text = |column: &str| row.try_get::<&str, _>(column);
    let (uid, body) = (text("uid")?, row.try_get::<&[u8], _>("body")?);
    let found = ChangeRow {
        resource_version: version(row)?,
        gone: row.try_get::<i64, _>("gone")? == 1,
        kind: text("kind")?,
        namespace: text("namespace")?,
        name: text("name")?,
        uid,
        sealed: row.try_get::<i64, _>("sealed")? == 1,
        body,
    };
    let damaged =
        |what: &str| OpenError::damaged(format!("{} {}/{} {what}", found.kind, found.namespace, found.name));
    if row.try_get::<Option<i64>, _>("sum")?.is_some_and(|kept| kept != found.sum()) {
        return Err(damaged("is not what was written"));
    }
    let opened;
    let plain = if found.sealed {
        // The key fits, as was seen before.
        opened = cipher.decrypt(uid, body).ok_or_else(|| damaged("cannot be decrypted"))?;
        &opened[..]
    } else {
        body
    };
    serde_json::from_slice(plain).map_err(|error| damaged(&format!("cannot be read: {error}")))
}
