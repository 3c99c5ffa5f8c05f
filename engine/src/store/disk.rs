//! The file beneath the store: one batch is one transaction, and rows go down many at a time.

use std::path::Path;
use std::sync::Arc;

use hearth_meta::{FieldDiff, Timestamp};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::cipher::Cipher;
use super::error::{WriteError, code_of};
use super::events::{EventNote, KEPT_DAYS};
use super::intent::Intent;
use super::trust::{self, Note};
use super::watch::Change;
use super::{meta, rows};
use crate::object::Key;

/// Changes kept in the file for watchers that come back after a restart.
const KEPT_CHANGES: i64 = 10_000;
/// How many changes and events go by between compactions.
const COMPACT_EVERY: usize = 4_096;

/// SQLite's code for a disk, or a file's bound, that is reached.
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
    pub(super) fn new(connection: SqliteConnection, cipher: Cipher, intents: u64) -> Self {
        // What an earlier process left is dropped soon after the start.
        Self { connection, cipher, intents, since_compaction: COMPACT_EVERY }
    }

    /// How often intents were put down.
    pub(super) fn intents(&self) -> u64 {
        self.intents
    }

    /// Puts a batch down, whole or not at all.
    ///
    /// The transaction is spelt out here: where a disk is full SQLite has often rolled back already, and then the
    /// library's own bookkeeping of transactions would be off for ever.
    pub(super) async fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        let changes = rows::changes(&batch.changes, &self.cipher).map_err(CommitError::Other)?;
        let intents = self.intents + u64::from(!batch.intents.is_empty());
        self.say("BEGIN IMMEDIATE").await?;
        let put = match self.put(batch, changes, intents).await {
            Ok(()) => self.say("COMMIT").await,
            Err(error) => Err(error),
        };
        if let Err(error) = put {
            // Refused where there is nothing left to roll back, which is as good.
            let _ = self.say("ROLLBACK").await;
            return Err(error.into());
        }
        self.intents = intents;
        self.since_compaction += batch.changes.len() + batch.events.len();
        Ok(())
    }

    async fn say(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(sql).execute(&mut self.connection).await.map(|_| ())
    }

    async fn put(
        &mut self,
        batch: &Batch,
        changes: Option<(String, Vec<u8>)>,
        intents: u64,
    ) -> Result<(), sqlx::Error> {
        let connection = &mut self.connection;
        if let Some((index, bodies)) = changes {
            sqlx::query(rows::INSERT_CHANGES).bind(index).bind(bodies).execute(&mut *connection).await?;
        }
        if !batch.history.is_empty() {
            let rows = rows::history(&batch.history);
            sqlx::query(rows::INSERT_HISTORY).bind(rows).execute(&mut *connection).await?;
        }
        if !batch.events.is_empty() {
            let rows = rows::events(&batch.events);
            sqlx::query(rows::UPSERT_EVENTS).bind(rows).execute(&mut *connection).await?;
        }
        if !batch.intents.is_empty() {
            let rows = rows::intents(&batch.intents);
            sqlx::query(rows::UPSERT_INTENTS).bind(rows).execute(&mut *connection).await?;
            meta::put(connection, meta::INTENTS, &intents.to_string()).await?;
        }
        for note in &batch.trust {
            note.put(&mut *connection).await?;
        }
        for key in &batch.taken_up {
            trust::taken_up(&mut *connection, key).await?;
        }
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
