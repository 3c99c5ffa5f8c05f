//! The file beneath the store: one batch is one transaction, and rows go down many at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hearth_meta::{FieldDiff, Timestamp};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use tokio::sync::Mutex;

use super::cipher::Cipher;
use super::error::{OpenError, WriteError};
use super::events::{EventNote, EventQuery, EventRow, KEPT_DAYS};
use super::history::{HistoryRow, Past};
use super::intent::Intent;
use super::trust::{self, Note};
use super::watch::Change;
use crate::object::{Key, Object};

/// Changes kept in the file for watchers that come back after a restart.
const KEPT_CHANGES: i64 = 10_000;
/// How many changes and events go by between compactions.
const COMPACT_EVERY: usize = 4_096;

/// One line of the audit log, to be put down.
pub(super) struct HistoryEntry {
    pub(super) resource_version: u64,
    pub(super) at: Timestamp,
    pub(super) object: Key,
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) verb: String,
    pub(super) actor: String,
    pub(super) source: String,
    pub(super) differences: Vec<FieldDiff>,
    pub(super) spec: Value,
}

/// What goes down in one transaction.
#[derive(Default)]
pub(super) struct Batch {
    /// Each change, and whether its kind is secret.
    pub(super) changes: Vec<(Arc<Change>, bool)>,
    pub(super) history: Vec<HistoryEntry>,
    pub(super) events: Vec<(EventNote, Timestamp)>,
    pub(super) intents: Vec<Intent>,
    /// What is said of how far the store may be trusted.
    pub(super) trust: Vec<Note>,
    /// Keys that have an object again whose uid was remembered.
    pub(super) taken_up: Vec<Key>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.history.is_empty()
            && self.events.is_empty()
            && self.intents.is_empty()
            && self.trust.is_empty()
    }
}

/// The one connection that writes.
pub(super) struct Disk {
    connection: SqliteConnection,
    cipher: Cipher,
    /// Changes and events since the last compaction.
    since_compaction: usize,
}

pub(super) async fn connect(file: &Path, read_only: bool) -> Result<SqliteConnection, sqlx::Error> {
    let options =
        SqliteConnectOptions::new().filename(file).create_if_missing(!read_only).read_only(read_only);
    // A copy has another journal until it is written to, and who only reads cannot change that.
    let options = if read_only { options } else { options.journal_mode(SqliteJournalMode::Wal) };
    options
        // Durable before it is acknowledged: every commit reaches the disk (DESIGN section 5).
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "1000")
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging()
        .connect()
        .await
}

impl Disk {
    pub(super) fn new(connection: SqliteConnection, cipher: Cipher) -> Self {
        // What an earlier process left is dropped soon after the start.
        Self { connection, cipher, since_compaction: COMPACT_EVERY }
    }

    /// Puts a batch down, whole or not at all.
    pub(super) async fn commit(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let failed = |error: sqlx::Error| WriteError::Storage(error.to_string());
        let rows = self.rows(&batch.changes)?;
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        if let Some((index, bodies)) = rows {
            sqlx::query(INSERT_CHANGES)
                .bind(index)
                .bind(bodies)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
        }
        if !batch.history.is_empty() {
            let rows: Vec<Value> = batch.history.iter().map(history_row).collect();
            sqlx::query(INSERT_HISTORY)
                .bind(Value::from(rows).to_string())
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
        }
        if !batch.events.is_empty() {
            let rows: Vec<Value> = batch.events.iter().map(event_row).collect();
            sqlx::query(UPSERT_EVENTS)
                .bind(Value::from(rows).to_string())
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
        }
        if !batch.intents.is_empty() {
            let rows: Vec<Value> =
                batch.intents.iter().map(|intent| json!({"uid": intent.uid, "body": intent})).collect();
            sqlx::query(UPSERT_INTENTS)
                .bind(Value::from(rows).to_string())
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
        }
        for note in &batch.trust {
            note.put(&mut transaction).await.map_err(failed)?;
        }
        for key in &batch.taken_up {
            trust::taken_up(&mut transaction, key).await.map_err(failed)?;
        }
        transaction.commit().await.map_err(failed)?;
        self.since_compaction += batch.changes.len() + batch.events.len();
        Ok(())
    }

    /// Drops what is no longer kept, now and then. A failure costs only space, and the next time is soon.
    pub(super) async fn compact_if_due(&mut self, now: Timestamp) {
        if self.since_compaction < COMPACT_EVERY {
            return;
        }
        self.since_compaction = 0;
        let oldest = now
            .checked_sub(hearth_meta::SignedDuration::from_hours(24 * KEPT_DAYS))
            .unwrap_or(Timestamp::MIN);
        let changes = "DELETE FROM changes WHERE rv <= (SELECT max(rv) FROM changes) - ?";
        let dropped = sqlx::query(changes).bind(KEPT_CHANGES).execute(&mut self.connection).await;
        let aged = sqlx::query("DELETE FROM events WHERE last_at < ?")
            .bind(oldest.to_string())
            .execute(&mut self.connection)
            .await;
        if let Some(error) = dropped.err().or(aged.err()) {
            tracing::warn!(error = %error, "the store could not drop old changes and events");
        }
    }

    /// The rows of changes as an index of places in one long body, so that one statement inserts them all.
    fn rows(&self, changes: &[(Arc<Change>, bool)]) -> Result<Option<(String, Vec<u8>)>, WriteError> {
        let (mut index, mut bodies) = (Vec::with_capacity(changes.len()), Vec::new());
        for (change, is_secret) in changes {
            let Some(object) = change.new.as_ref().or(change.last.as_ref()) else { continue };
            let plain = serde_json::to_vec(object.as_ref())
                .map_err(|error| WriteError::Storage(error.to_string()))?;
            let body = if *is_secret {
                self.cipher
                    .encrypt(object.uid(), &plain)
                    .map_err(|error| WriteError::Storage(error.to_string()))?
            } else {
                plain
            };
            index.push(json!([
                change.resource_version,
                i32::from(change.new.is_none()),
                change.key.kind,
                change.key.namespace,
                change.key.name,
                object.uid(),
                i32::from(*is_secret),
                bodies.len() + 1,
                body.len(),
            ]));
            bodies.extend_from_slice(&body);
        }
        Ok((!index.is_empty()).then(|| (Value::from(index).to_string(), bodies)))
    }

    pub(super) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(error = %error, "the store did not close cleanly; nothing is lost");
        }
    }
}

const INSERT_CHANGES: &str = "INSERT INTO changes (rv, gone, kind, namespace, name, uid, sealed, body)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
           substr(?2, value ->> 7, value ->> 8)
    FROM json_each(?1) ORDER BY key";

const INSERT_HISTORY: &str = "INSERT INTO history
    (rv, at, kind, namespace, name, uid, generation, verb, actor, source, differences, spec)
    SELECT value ->> 'rv', value ->> 'at', value ->> 'kind', value ->> 'namespace', value ->> 'name', value ->> 'uid',
           value ->> 'generation', value ->> 'verb', value ->> 'actor', value ->> 'source',
           value -> 'differences', coalesce(value -> 'spec', 'null')
    FROM json_each(?1) ORDER BY key";

const UPSERT_EVENTS: &str = "INSERT INTO events
    (uid, kind, namespace, name, type, reason, message, reporter, count, first_at, last_at)
    SELECT value ->> 'uid', value ->> 'kind', value ->> 'namespace', value ->> 'name', value ->> 'type',
           value ->> 'reason', value ->> 'message', value ->> 'reporter', 1, value ->> 'at', value ->> 'at'
    FROM json_each(?1) WHERE true ORDER BY key
    ON CONFLICT (uid, type, reason, message) DO UPDATE SET count = count + 1, last_at = excluded.last_at";

const UPSERT_INTENTS: &str = "INSERT INTO intents (uid, body)
    SELECT value ->> 'uid', value -> 'body' FROM json_each(?1) WHERE true ORDER BY key
    ON CONFLICT (uid) DO UPDATE SET body = excluded.body";

fn history_row(entry: &HistoryEntry) -> Value {
    json!({
        "rv": entry.resource_version, "at": entry.at.to_string(),
        "kind": entry.object.kind, "namespace": entry.object.namespace, "name": entry.object.name,
        "uid": entry.uid, "generation": entry.generation, "verb": entry.verb,
        "actor": entry.actor, "source": entry.source,
        "differences": entry.differences, "spec": entry.spec,
    })
}

fn event_row((note, at): &(EventNote, Timestamp)) -> Value {
    json!({
        "uid": note.uid, "kind": note.about.kind, "namespace": note.about.namespace.clone().unwrap_or_default(),
        "name": note.about.name, "type": note.kind.as_str(), "reason": note.reason,
        "message": note.message, "reporter": note.reporter, "at": at.to_string(),
    })
}

/// A connection of its own for what is read from the file, so that long reads never stop a write.
pub(super) struct Reader {
    connection: Mutex<SqliteConnection>,
}

impl Reader {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection: Mutex::new(connection) }
    }

    pub(super) async fn copy_to(&self, file: &Path) -> Result<(), WriteError> {
        let mut connection = self.connection.lock().await;
        let copied =
            sqlx::query("VACUUM INTO ?").bind(file.display().to_string()).execute(&mut *connection).await;
        copied.map(|_| ()).map_err(|error| WriteError::Storage(error.to_string()))
    }

    pub(super) async fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>, WriteError> {
        let sql = "SELECT * FROM events WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR kind = ?2)
                   AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR uid = ?4) ORDER BY last_at, id";
        let mut connection = self.connection.lock().await;
        let rows = sqlx::query(sql)
            .bind(&query.namespace)
            .bind(&query.kind)
            .bind(&query.name)
            .bind(&query.uid)
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| WriteError::Storage(error.to_string()))?;
        rows.iter().map(EventRow::read).collect()
    }

    pub(super) async fn pasts(&self, uids: &[String]) -> Result<BTreeMap<String, Past>, WriteError> {
        let sql = "SELECT uid, kind, namespace, name, verb, actor, source FROM history
                   WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY id";
        let mut connection = self.connection.lock().await;
        let rows = sqlx::query(sql)
            .bind(Value::from(uids.to_vec()).to_string())
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| WriteError::Storage(error.to_string()))?;
        let mut pasts: BTreeMap<String, Past> = BTreeMap::new();
        for row in rows {
            let text = |name: &str| row.get::<String, _>(name);
            let object = Key::new(text("kind"), text("namespace"), text("name"));
            let past = pasts.entry(text("uid")).or_insert(Past { object, deleted_by: None });
            if text("verb") == "delete" {
                past.deleted_by = Some((text("actor"), text("source")));
            }
        }
        Ok(pasts)
    }

    pub(super) async fn history(&self, key: &Key) -> Result<Vec<HistoryRow>, WriteError> {
        let sql = "SELECT * FROM history WHERE kind = ? AND namespace = ? AND name = ? ORDER BY id";
        let mut connection = self.connection.lock().await;
        let rows = sqlx::query(sql)
            .bind(&key.kind)
            .bind(&key.namespace)
            .bind(&key.name)
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| WriteError::Storage(error.to_string()))?;
        Ok(rows.iter().map(HistoryRow::read).collect())
    }
}

/// What a file held when it was opened.
pub(super) struct Loaded {
    pub(super) objects: Vec<Object>,
    pub(super) changes: Vec<(u64, bool, Object)>,
    pub(super) intents: Vec<Intent>,
    pub(super) resource_version: u64,
}

/// Reads everything that memory holds.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    cipher: &Cipher,
    recent: usize,
) -> Result<Loaded, OpenError> {
    let rows = sqlx::query("SELECT uid, sealed, body FROM objects").fetch_all(&mut *connection).await?;
    let objects = rows.iter().map(|row| read_object(row, cipher)).collect::<Result<_, _>>()?;
    let sql = "SELECT rv, gone, uid, sealed, body FROM changes ORDER BY rv DESC LIMIT ?";
    let rows =
        sqlx::query(sql).bind(i64::try_from(recent).unwrap_or(i64::MAX)).fetch_all(&mut *connection).await?;
    let changes: Vec<(u64, bool, Object)> = rows
        .iter()
        .rev()
        .map(|row| {
            let rv = u64::try_from(row.get::<i64, _>("rv")).unwrap_or(0);
            Ok((rv, row.get::<i64, _>("gone") == 1, read_object(row, cipher)?))
        })
        .collect::<Result<_, OpenError>>()?;
    let rows = sqlx::query("SELECT uid, body FROM intents").fetch_all(&mut *connection).await?;
    let intents = rows.iter().map(read_intent).collect::<Result<_, _>>()?;
    let resource_version = changes.last().map_or(0, |(rv, ..)| *rv);
    Ok(Loaded { objects, changes, intents, resource_version })
}

/// An intent that cannot be read is not one that is not there: what was interrupted would look untouched.
fn read_intent(row: &sqlx::sqlite::SqliteRow) -> Result<Intent, OpenError> {
    serde_json::from_str(&row.get::<String, _>("body"))
        .map_err(|error| OpenError::Damaged(format!("intent {}: {error}", row.get::<String, _>("uid"))))
}

fn read_object(row: &sqlx::sqlite::SqliteRow, cipher: &Cipher) -> Result<Object, OpenError> {
    let (uid, sealed, body) =
        (row.get::<String, _>("uid"), row.get::<i64, _>("sealed") == 1, row.get::<Vec<u8>, _>("body"));
    let plain = if sealed {
        cipher.decrypt(&uid, &body).ok_or_else(|| OpenError::Key("beside the store".into()))?
    } else {
        body
    };
    serde_json::from_slice(&plain).map_err(|error| OpenError::Damaged(format!("object {uid}: {error}")))
}
