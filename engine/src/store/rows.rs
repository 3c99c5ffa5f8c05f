//! The rows of a batch, many in one statement each, with the sum of what they hold.

use std::sync::Arc;

use serde_json::{Value, json};

use super::cipher::Cipher;
use super::disk::HistoryEntry;
use super::error::WriteError;
use super::events::EventNote;
use super::intent::Intent;
use super::sum::sum;
use super::watch::Change;
use hearth_meta::Timestamp;

/// Binds the bodies as one long value, and an index of places in it: exact bytes, and no JSON within JSON.
pub(super) const INSERT_CHANGES: &str =
    "INSERT INTO changes (rv, gone, kind, namespace, name, uid, sealed, body, sum)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
           substr(?, value ->> 7, value ->> 8), value ->> 9
    FROM json_each(?) ORDER BY key";

/// Binds differences and specs as one long value, the same again, and an index of places in it.
pub(super) const INSERT_HISTORY: &str = "INSERT INTO history
    (rv, at, kind, namespace, name, uid, generation, verb, actor, source, sum, differences, spec)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
           value ->> 8, value ->> 9, value ->> 10,
           CAST(substr(?, value ->> 11, value ->> 12) AS TEXT), CAST(substr(?, value ->> 13, value ->> 14) AS TEXT)
    FROM json_each(?) ORDER BY key";

pub(super) const UPSERT_EVENTS: &str = "INSERT INTO events
    (uid, kind, namespace, name, type, reason, message, reporter, count, first_at, last_at)
    SELECT value ->> 'uid', value ->> 'kind', value ->> 'namespace', value ->> 'name', value ->> 'type',
           value ->> 'reason', value ->> 'message', value ->> 'reporter', 1, value ->> 'at', value ->> 'at'
    FROM json_each(?) WHERE true ORDER BY key
    ON CONFLICT (namespace, kind, name, uid, type, reason, message) DO UPDATE SET count = count + 1, last_at = excluded.last_at";

pub(super) const UPSERT_INTENTS: &str = "INSERT INTO intents (uid, body, sum)
    SELECT value ->> 'uid', value ->> 'body', value ->> 'sum' FROM json_each(?) WHERE true ORDER BY key
    ON CONFLICT (uid) DO UPDATE SET body = excluded.body, sum = excluded.sum";

/// A row of `changes` or `objects` as it is summed.
pub(super) struct ChangeRow<'a> {
    pub(super) resource_version: u64,
    pub(super) gone: bool,
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
    pub(super) sealed: bool,
    pub(super) body: &'a [u8],
}

impl ChangeRow<'_> {
    /// The sum of all of it.
    pub(super) fn sum(&self) -> i64 {
        let flags = [u8::from(self.gone), u8::from(self.sealed)];
        sum(&[
            &self.resource_version.to_le_bytes(),
            &flags,
            self.kind.as_bytes(),
            self.namespace.as_bytes(),
            self.name.as_bytes(),
            self.uid.as_bytes(),
            self.body,
        ])
    }
}

/// The rows of changes as an index of places in one long body; `None` where there are none.
pub(super) fn changes(
    changes: &[(Arc<Change>, bool)],
    cipher: &Cipher,
) -> Result<Option<(String, Vec<u8>)>, WriteError> {
    let (mut index, mut bodies) = (Vec::with_capacity(changes.len()), Vec::new());
    for (change, is_secret) in changes {
        let Some(object) = change.new.as_ref().or(change.last.as_ref()) else { continue };
        let plain =
            serde_json::to_vec(object.as_ref()).map_err(|error| WriteError::Storage(error.to_string()))?;
        let body = if *is_secret {
            cipher.encrypt(object.uid(), &plain).map_err(|error| WriteError::Storage(error.to_string()))?
        } else {
            plain
        };
        let row = ChangeRow {
            resource_version: change.resource_version,
            gone: change.new.is_none(),
            kind: &change.key.kind,
            namespace: &change.key.namespace,
            name: &change.key.name,
            uid: object.uid(),
            sealed: *is_secret,
            body: &body,
        };
        index.push(json!([
            row.resource_version,
            i32::from(row.gone),
            row.kind,
            row.namespace,
            row.name,
            row.uid,
            i32::from(row.sealed),
            bodies.len() + 1,
            body.len(),
            row.sum(),
        ]));
        bodies.extend_from_slice(&body);
    }
    Ok((!index.is_empty()).then(|| (Value::from(index).to_string(), bodies)))
}

/// The rows of the audit log as an index of places in one long body.
pub(super) fn history(entries: &[HistoryEntry]) -> (String, Vec<u8>) {
    let mut bodies = Vec::new();
    let index: Vec<Value> = entries.iter().map(|entry| history_row(entry, &mut bodies)).collect();
    (Value::from(index).to_string(), bodies)
}

fn history_row(entry: &HistoryEntry, bodies: &mut Vec<u8>) -> Value {
    let (at, spec) = (entry.at.to_string(), entry.spec.to_string());
    let differences = json!(entry.differences).to_string();
    let numbers = [entry.resource_version.cast_signed(), entry.generation];
    let HistoryEntry { object, uid, verb, actor, source, .. } = entry;
    let texts =
        [&at, &object.kind, &object.namespace, &object.name, uid, verb, actor, source, &differences, &spec];
    let sum = history_sum(numbers, texts.map(String::as_str));
    let mut place = |text: &str| {
        bodies.extend_from_slice(text.as_bytes());
        (bodies.len() - text.len() + 1, text.len())
    };
    let ((differences_at, differences_length), (spec_at, spec_length)) = (place(&differences), place(&spec));
    json!([
        entry.resource_version,
        at,
        object.kind,
        object.namespace,
        object.name,
        uid,
        entry.generation,
        verb,
        actor,
        source,
        sum,
        differences_at,
        differences_length,
        spec_at,
        spec_length,
    ])
}

/// The sum of a row of the audit log: version and generation, and its texts in the order of the columns.
pub(super) fn history_sum(numbers: [i64; 2], texts: [&str; 10]) -> i64 {
    let [version, generation] = numbers.map(i64::to_le_bytes);
    let mut parts: Vec<&[u8]> = vec![&version, &generation];
    parts.extend(texts.iter().map(|text| text.as_bytes()));
    sum(&parts)
}

/// The rows of events.
pub(super) fn events(events: &[(EventNote, Timestamp)]) -> String {
    let row = |(note, at): &(EventNote, Timestamp)| {
        json!({
            "uid": note.uid, "kind": note.about.kind, "namespace": note.about.namespace.clone().unwrap_or_default(),
            "name": note.about.name, "type": note.kind.as_str(), "reason": note.reason,
            "message": note.message, "reporter": note.reporter, "at": at.to_string(),
        })
    };
    Value::from(events.iter().map(row).collect::<Vec<_>>()).to_string()
}

/// The rows of intents.
pub(super) fn intents(intents: &[Intent]) -> String {
    let row = |intent: &Intent| {
        let body = json!(intent).to_string();
        json!({"uid": intent.uid, "sum": sum(&[intent.uid.as_bytes(), body.as_bytes()]), "body": body})
    };
    Value::from(intents.iter().map(row).collect::<Vec<_>>()).to_string()
}
