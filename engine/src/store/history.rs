//! History: every write of a spec, and whatever else people write; who made it and what it changed. It is the audit
//! log, and it only grows.

use std::collections::{BTreeMap, BTreeSet};

use hearth_meta::difference::SECRET;
use hearth_meta::labels::is_order;
use hearth_meta::{FieldDiff, Timestamp};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::cipher::Cipher;
use super::rows::history_sum;
use crate::object::{Key, Object};

/// One write of a spec.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRow {
    /// The resourceVersion the write made.
    pub resource_version: i64,
    /// When.
    pub at: Timestamp,
    /// The generation it made.
    pub generation: i64,
    /// `create`, `update` or `delete`.
    pub verb: String,
    /// Who asked.
    pub actor: String,
    /// Through what.
    pub source: String,
    /// What changed.
    pub differences: Vec<FieldDiff>,
    /// The whole spec after the write; null for kinds that hold secrets.
    pub spec: Value,
}

/// What the history knows of an object that stands no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// What it was called.
    pub object: Key,
    /// Who asked for its deletion and through what; `None` where nobody ever did.
    pub deleted_by: Option<(String, String)>,
}

impl Past {
    /// Whether a named actor deleted it, rather than a controller or nobody.
    pub fn was_deleted_by_somebody(&self) -> bool {
        self.deleted_by.as_ref().is_some_and(|(actor, source)| !actor.is_empty() && source != "controller")
    }
}

impl HistoryRow {
    /// A row that is of something else than what it was found by is an error too, and so is one that is not there.
    pub(super) fn read_of(key: &Key, row: &SqliteRow) -> Result<Self, sqlx::Error> {
        if row.try_get::<Option<&str>, _>("kind")?.is_none() {
            return Err(sqlx::Error::Decode(
                format!("a write of {key} is missing from the audit log").into(),
            ));
        }
        let is = |column: &str, said: &str| Ok::<_, sqlx::Error>(row.try_get::<&str, _>(column)? == said);
        if is("kind", &key.kind)? && is("namespace", &key.namespace)? && is("name", &key.name)? {
            return Self::read(row);
        }
        Err(sqlx::Error::Decode(format!("the writes of {key} are mixed up with those of another").into()))
    }

    /// A row that is not what was written is an error: it is the audit log.
    pub(super) fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let text = |name: &str| row.try_get::<&str, _>(name);
        let resource_version = row.try_get("rv")?;
        let damaged = |what: String| sqlx::Error::Decode(what.into());
        if row.try_get::<Option<i64>, _>("sum")?.is_some_and(|kept| Self::sum(row).ok() != Some(kept)) {
            return Err(damaged(format!("the write of version {resource_version} is not what was put down")));
        }
        let unread = |error: serde_json::Error| sqlx::Error::Decode(Box::new(error));
        Ok(Self {
            resource_version,
            at: text("at")?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            generation: row.try_get("generation")?,
            verb: row.try_get("verb")?,
            actor: row.try_get("actor")?,
            source: row.try_get("source")?,
            differences: serde_json::from_str(text("differences")?).map_err(unread)?,
            spec: serde_json::from_str(text("spec")?).map_err(unread)?,
        })
    }

    fn sum(row: &SqliteRow) -> Result<i64, sqlx::Error> {
        let text = |name: &str| row.try_get::<&str, _>(name);
        let numbers = [row.try_get("rv")?, row.try_get("generation")?];
        Ok(history_sum(
            numbers,
            [
                text("at")?,
                text("kind")?,
                text("namespace")?,
                text("name")?,
                text("uid")?,
                text("verb")?,
                text("actor")?,
                text("source")?,
                text("differences")?,
                text("spec")?,
            ],
        ))
    }
}

/// The fields in which two specs differ, leaf by leaf.
pub(super) fn differences(old: Option<&Value>, new: Option<&Value>) -> Vec<FieldDiff> {
    let mut found = Vec::new();
    compare(old.unwrap_or(&Value::Null), new.unwrap_or(&Value::Null), "spec", &mut found);
    found
}

/// The orders of a person that came, changed or went: annotations that are acted on like a wish.
pub(super) fn orders(old: &Object, new: &Object) -> Vec<FieldDiff> {
    let of = |object: &Object| {
        let all = object.metadata.annotations.clone().unwrap_or_default();
        all.into_iter().filter(|(name, _)| is_order(name)).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (of(old), of(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    changed
        .map(|name| {
            let (wanted, seen) = (new.get(name).cloned(), old.get(name).cloned());
            FieldDiff::new(format!("metadata.annotations[{name}]"), wanted, seen)
        })
        .collect()
}

/// What a client keeps on an object for itself, which repeats what it sets besides.
const OF_CLIENTS: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What people changed of labels, annotations, finalizers and owners; orders are told by [`orders`].
pub(super) fn marks(old: &Object, new: &Object) -> Vec<FieldDiff> {
    let texts = |texts: &Option<BTreeMap<String, String>>| {
        let kept = texts.iter().flatten().filter(|(name, _)| !is_order(name) && *name != OF_CLIENTS);
        kept.map(|(name, value)| (name.clone(), value.clone())).collect::<BTreeMap<_, _>>()
    };
    let mut found = Vec::new();
    let (was, is) = (&old.metadata, &new.metadata);
    let parts = [("labels", &was.labels, &is.labels), ("annotations", &was.annotations, &is.annotations)];
    for (part, old, new) in parts {
        let (old, new) = (texts(old), texts(new));
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
        found.extend(changed.map(|name| {
            let value = |texts: &BTreeMap<String, String>| shown(&texts.get(name).cloned().into());
            FieldDiff::new(format!("metadata.{part}[{name}]"), value(&new), value(&old))
        }));
    }
    let finalizers = [&was.finalizers, &is.finalizers].map(|names| serde_json::json!(names));
    let owners = [&was.owner_references, &is.owner_references].map(|owners| serde_json::json!(owners));
    for (part, [old, new]) in [("finalizers", finalizers), ("ownerReferences", owners)] {
        if old != new {
            found.push(FieldDiff::new(format!("metadata.{part}"), shown(&new), shown(&old)));
        }
    }
    found
}

fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<FieldDiff>) {
    if old == new {
        return;
    }
    let empty = serde_json::Map::new();
    let maps = match (old, new) {
        (Value::Object(old), Value::Object(new)) => Some((old, new)),
        (Value::Null, Value::Object(new)) => Some((&empty, new)),
        (Value::Object(old), Value::Null) => Some((old, &empty)),
        _ => None,
    };
    let Some((old_fields, new_fields)) = maps else {
        found.push(FieldDiff::new(path, shown(new), shown(old)));
        return;
    };
    let names: BTreeSet<&String> = old_fields.keys().chain(new_fields.keys()).collect();
    for name in names {
        let (old, new) = (old_fields.get(name), new_fields.get(name));
        if old != new {
            let path = format!("{path}.{name}");
            compare(old.unwrap_or(&Value::Null), new.unwrap_or(&Value::Null), &path, found);
        }
    }
}

/// Longer values are cut in a difference: the whole spec stands beside it, and each write would otherwise put a
/// compose file down three times.
const LONGEST_SHOWN: usize = 200;

fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => Some(format!("{} ...", &text[..end])),
        None => Some(text),
    }
}

/// What may be kept of a secret: which keys changed, by keyed hash.
pub(super) fn secret_differences(old: Option<&Object>, new: &Object, cipher: &Cipher) -> Vec<FieldDiff> {
    let empty = serde_json::Map::new();
    let data = |object: Option<&Object>| {
        object.and_then(|o| o.body.get("data")).and_then(Value::as_object).unwrap_or(&empty).clone()
    };
    let (old, new) = (data(old), data(Some(new)));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let hashed = |value: Option<&Value>| {
        value.map(|value| format!("{SECRET} {}", cipher.keyed_hash(value.to_string().as_bytes())))
    };
    names
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name))
        .map(|name| FieldDiff::new(format!("data.{name}"), hashed(new.get(name)), hashed(old.get(name))))
        .collect()
}
