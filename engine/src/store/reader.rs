//! What is read from the file while the store runs, over a connection of its own, so that long reads never stop a
//! write.

use std::collections::BTreeMap;

use hearth_meta::Timestamp;
use serde_json::Value;
use sqlx::{Connection, Row, SqliteConnection};
use tokio::sync::Mutex;

use super::error::WriteError;
use super::events::{EventQuery, EventRow};
use super::history::{HistoryRow, Past};
use crate::object::Key;

pub(super) struct Reader {
    /// Absent once the store was closed.
    connection: Mutex<Option<SqliteConnection>>,
}

impl Reader {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection: Mutex::new(Some(connection)) }
    }

    /// Closes the connection. It goes before the one that writes, which then takes the log into the file and removes
    /// it, so that a store at rest is one file.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(error = %error, "the store's reader did not close cleanly; nothing is lost");
        }
    }

    /// The events a query asks for that last happened at that time or later, the whole second of it included.
    pub(super) async fn events(
        &self,
        query: &EventQuery,
        since: Option<Timestamp>,
    ) -> Result<Vec<EventRow>, WriteError> {
        let sql = "SELECT * FROM events WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR kind = ?2)
                   AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR uid = ?4) AND last_at >= ?5
                   ORDER BY last_at, id";
        // Times stand there as texts with as many digits as they need, so within a second they are not in order. The
        // second alone, without what ends it, is before all of them.
        let second = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let mut connection = self.connection.lock().await;
        let connection = connection.as_mut().ok_or(WriteError::Closed)?;
        let rows = sqlx::query(sql)
            .bind(&query.namespace)
            .bind(&query.kind)
            .bind(&query.name)
            .bind(&query.uid)
            .bind(since.map(second).unwrap_or_default())
            .fetch_all(connection)
            .await
            .map_err(unread)?;
        rows.iter().map(EventRow::read).collect::<Result<_, _>>().map_err(unread)
    }

    pub(super) async fn pasts(&self, uids: &[String]) -> Result<BTreeMap<String, Past>, WriteError> {
        let sql = "SELECT uid, kind, namespace, name, verb, actor, source FROM history
                   WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY id";
        let mut connection = self.connection.lock().await;
        let connection = connection.as_mut().ok_or(WriteError::Closed)?;
        let rows = sqlx::query(sql)
            .bind(Value::from(uids.to_vec()).to_string())
            .fetch_all(connection)
            .await
            .map_err(unread)?;
        let mut pasts: BTreeMap<String, Past> = BTreeMap::new();
        for row in rows {
            let text = |name: &str| row.try_get::<String, _>(name).map_err(unread);
            let object = Key::new(text("kind")?, text("namespace")?, text("name")?);
            let past = pasts.entry(text("uid")?).or_insert(Past { object, deleted_by: None });
            if text("verb")? == "delete" {
                past.deleted_by = Some((text("actor")?, text("source")?));
            }
        }
        Ok(pasts)
    }

    pub(super) async fn history(&self, key: &Key) -> Result<Vec<HistoryRow>, WriteError> {
        // Always back, so that it ends also where the file is damaged.
        let sql = "WITH RECURSIVE found (id) AS (
                       SELECT id FROM history_last WHERE kind = ? AND namespace = ? AND name = ?
                       UNION ALL
                       SELECT before FROM found JOIN history_before USING (id) WHERE before < id)
                   SELECT history.* FROM found LEFT JOIN history USING (id) ORDER BY found.id";
        let mut connection = self.connection.lock().await;
        let connection = connection.as_mut().ok_or(WriteError::Closed)?;
        let rows = sqlx::query(sql)
            .bind(&key.kind)
            .bind(&key.namespace)
            .bind(&key.name)
            .fetch_all(connection)
            .await
            .map_err(unread)?;
        rows.iter().map(|row| HistoryRow::read_of(key, row)).collect::<Result<_, _>>().map_err(unread)
    }
}

fn unread(error: sqlx::Error) -> WriteError {
    WriteError::Storage(error.to_string())
}
