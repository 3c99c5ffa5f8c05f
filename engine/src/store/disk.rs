//! The file beneath the store: one batch is one transaction, and rows go down many at a time.

use std::path::Path;
use std::sync::Arc;

use hearth_meta::{FieldDiff, Timestamp};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::cipher::Cipher;
use super::error::{WriteError, code_of};
use super::events::{EventNote, KEPT_DAYS, KEPT_ROWS};
use super::intent::Intent;
use super::recent::RECENT_CHANGES;
use super::script::Script;
use super::trust::{self, Note};
use super::watch::Change;
use super::{meta, rows};
use crate::object::Key;

/// How many changes and events go by between compactions.
const COMPACT_EVERY: usize = 4_096;

/// Bytes of a page of a new file. An object of 2 KiB leaves half of SQLite's own 4 KiB empty, and each page costs two calls.
const PAGE: u32 = 8192;

const DROP_CHANGES: &str = "DELETE FROM changes WHERE rv <= ? AND rv NOT IN (SELECT rv FROM standing)";

/// SQLite's code for a disk, or a file's bound, that is reached. Of what a system says only `ENOSPC` becomes this one: a
/// quota that is used up (`EDQUOT`) comes as a failed write (`IOERR_WRITE`), and our library does not hand on the
/// system's own number. So it is told as any other fault of a disk, [`WriteError::Storage`]: nothing of the batch is
/// kept, and the reserve is not given up for it.
const FULL: i32 = 13;

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

/// Why a batch is not down.
#[derive(Debug)]
pub(super) enum CommitError {
    /// There is no room for it.
    Full(String),
    /// Anything else.
    Other(WriteError),
}

impl From<sqlx::Error> for CommitError {
    fn from(error: sqlx::Error) -> Self {
        if code_of(&error) == Some(FULL) {
            Self::Full(error.to_string())
        } else {
            Self::Other(WriteError::Storage(error.to_string()))
        }
    }
}

/// The one connection that writes.
pub(super) struct Disk {
    connection: SqliteConnection,
    cipher: Cipher,
    /// How often intents were put down, ever.
    intents: u64,
    /// Changes and events since the last compaction.
    since_compaction: usize,
    /// Up to which resourceVersion changes were dropped.
    compacted: u64,
}

pub(super) async fn connect(file: &Path, read_only: bool) -> Result<SqliteConnection, sqlx::Error> {
    let options =
        SqliteConnectOptions::new().filename(file).create_if_missing(!read_only).read_only(read_only);
    // A copy has another journal until it is written to, and who only reads cannot change that.
    let options = if read_only {
        // Pages that are read now and then need not stay in memory; negative means KiB.
        options.pragma("cache_size", "-256")
    } else {
        options.page_size(PAGE).journal_mode(SqliteJournalMode::Wal)
    };
    options
        // Durable before it is acknowledged: every commit reaches the disk (DESIGN section 5).
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "1000")
        // A statement that puts down many rows keeps the pages it changes, to undo itself alone. That copy needs no
        // disk: it ends with the statement, and the transaction has its own.
        .pragma("temp_store", "MEMORY")
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging()
        .connect()
        .await
}

impl Disk {
    pub(super) fn new(connection: SqliteConnection, cipher: Cipher, intents: u64, compacted: u64) -> Self {
        // What an earlier process left is dropped soon after the start.
        Self { connection, cipher, intents, since_compaction: COMPACT_EVERY, compacted }
    }

    /// How often intents were put down.
    pub(super) fn intents(&self) -> u64 {
        self.intents
    }

    /// Puts a batch down, whole or not at all.
    ///
    /// The library runs each query on a thread of its own, and a trip there and back costs more than a small insert.
    /// So the transaction goes over as one query of several statements, from its begin to its commit. It is spelt out
    /// also because, where a disk is full, SQLite has often rolled back already, and then the library's own
    /// bookkeeping of transactions would be off for ever.
    pub(super) async fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        let intents = self.intents + u64::from(!batch.intents.is_empty());
        if let Err(error) = self.put(batch, intents).await {
            // Refused where there is nothing left to roll back, which is as good.
            let _ = sqlx::query("ROLLBACK").execute(&mut self.connection).await;
            return Err(error);
        }
        self.intents = intents;
        self.since_compaction += batch.changes.len() + batch.events.len();
        Ok(())
    }

    async fn put(&mut self, batch: &Batch, intents: u64) -> Result<(), CommitError> {
        let mut script = Script::new("BEGIN IMMEDIATE");
        if let Some((index, bodies)) =
            rows::changes(&batch.changes, &self.cipher).map_err(CommitError::Other)?
        {
            script.add(rows::INSERT_CHANGES).bind(bodies).bind(index);
        }
        if !batch.history.is_empty() {
            let (index, bodies) = rows::history(&batch.history);
            script.add(rows::INSERT_HISTORY).bind(bodies.clone()).bind(bodies).bind(index);
        }
        if !batch.events.is_empty() {
            script.add(rows::UPSERT_EVENTS).bind(rows::events(&batch.events));
        }
        if !batch.intents.is_empty() {
            script.add(rows::UPSERT_INTENTS).bind(rows::intents(&batch.intents));
            let count = intents.to_string();
            let sum = meta::sum_of(meta::INTENTS, &count);
            script.add(meta::PUT).bind(meta::INTENTS).bind(count).bind(sum);
        }
        if batch.trust.is_empty() && batch.taken_up.is_empty() {
            script.add("COMMIT");
            return Ok(script.run(&mut self.connection).await?);
        }
        // Rare, and some of it asks before it writes.
        script.run(&mut self.connection).await?;
        for note in &batch.trust {
            note.put(&mut self.connection).await?;
        }
        for key in &batch.taken_up {
            trust::taken_up(&mut self.connection, key).await?;
        }
        sqlx::query("COMMIT").execute(&mut self.connection).await?;
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
        let dropped = self.drop_changes().await;
        let aged = sqlx::query("DELETE FROM events WHERE last_at < ?")
            .bind(oldest.to_string())
            .execute(&mut self.connection)
            .await;
        let over = "DELETE FROM events WHERE id IN (SELECT id FROM
                    (SELECT id, row_number() OVER (PARTITION BY namespace ORDER BY last_at DESC, id DESC) AS place
                     FROM events) WHERE place > ?)";
        let over = sqlx::query(over).bind(KEPT_ROWS).execute(&mut self.connection).await;
        if let Some(error) = dropped.err().or(aged.err()).or(over.err()) {
            tracing::warn!(error = %error, "the store could not drop old changes and events");
        }
    }

    /// Drops changes that no watcher can go on from, but for those that made something what it is. Up to where is put
    /// down with it, so that a gap that nobody made is noticed.
    async fn drop_changes(&mut self) -> Result<(), sqlx::Error> {
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(rv) FROM changes").fetch_one(&mut self.connection).await?;
        let up_to = newest.unwrap_or(0).cast_unsigned().saturating_sub(RECENT_CHANGES as u64);
        if up_to <= self.compacted {
            return Ok(());
        }
        let said = up_to.to_string();
        let mut script = Script::new("BEGIN IMMEDIATE");
        script.add(DROP_CHANGES).bind(up_to.cast_signed());
        script.add(meta::PUT).bind(meta::COMPACTED).bind(&*said).bind(meta::sum_of(meta::COMPACTED, &said));
        script.add("COMMIT");
        if let Err(error) = script.run(&mut self.connection).await {
            // As with a commit: SQLite may have rolled back already.
            let _ = sqlx::query("ROLLBACK").execute(&mut self.connection).await;
            return Err(error);
        }
        self.compacted = up_to;
        Ok(())
    }

    /// Bounds the file, as a disk without room does.
    #[cfg(test)]
    pub(super) async fn confine(&mut self, pages: u32) {
        let pragma = format!("PRAGMA max_page_count = {pages}");
        sqlx::query(sqlx::AssertSqlSafe(pragma)).execute(&mut self.connection).await.unwrap();
    }

    pub(super) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(error = %error, "the store did not close cleanly; nothing is lost");
        }
    }
}

#[cfg(test)]
mod tests;
