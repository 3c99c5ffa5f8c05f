//! How a home stands: every object and everything on the machine, without what differs from run to run.
//!
//! Uids become the names of their objects; times, the ids that the machine gives, addresses, and the subnets that are
//! dealt out first come first served become one word each. Versions, generations and counts are left out, and of the
//! Revisions, whose names are made of what they hold, only how many each app has is told.

use std::collections::BTreeMap;

use hearth_meta::Timestamp;
use serde_json::{Map, Value};

use super::World;

/// Fields that tell when or how often, and not how something stands.
const VOLATILE: &[&str] = &[
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
    "observedGeneration",
    "managedFields",
    "lastTransitionTime",
    "since",
    "restarts",
    "exitCode",
    "recentDeaths",
    "hearth.dev/lineage",
];
/// The same of the machine.
const PASSING: &[&str] = &[
    "ids_given",
    "now",
    "writes",
    "log",
    "started_at",
    "finished_at",
    "running_since",
    "restarts",
    "exit_code",
    "backoff",
    "checked",
    "version",
    "behaviours",
    "created_at",
    "hearth.dev/applied",
    "hearth.dev/made-at",
    "hearth.dev/lineage",
];

/// How a home stands, by object and by thing on the machine.
pub type Snapshot = BTreeMap<String, Value>;

impl World {
    /// How the home stands now.
    pub fn snapshot(&self) -> Snapshot {
        let objects = self.store().all();
        let names = self.names();
        let mut snapshot = Snapshot::new();
        for object in objects.iter().filter(|object| object.kind != "Revision") {
            let value = plain(&object.to_value(), &names, VOLATILE);
            snapshot.insert(object.key().to_string(), value);
        }
        for revision in objects.iter().filter(|object| object.kind == "Revision") {
            let namespace = revision.metadata.namespace.as_deref().unwrap_or_default();
            let of = revision.spec()["app"].as_str().unwrap_or_default();
            let count = snapshot.entry(format!("revisions {namespace}/{of}")).or_insert(Value::from(0));
            *count = Value::from(count.as_u64().unwrap_or_default() + 1);
        }
        snapshot.extend(self.machine_snapshot(&names));
        snapshot
    }

    /// How often each change of the machine was asked for, by the names of what stands: what is asked for anew after
    /// a crash has another uid.
    pub fn writes(&self) -> BTreeMap<String, u64> {
        let names = self.names();
        let mut writes = BTreeMap::new();
        for (change, count) in self.machine.writes() {
            *writes.entry(in_words(&change, &names)).or_default() += count;
        }
        writes
    }

    fn names(&self) -> BTreeMap<String, String> {
        let objects = self.store().all();
        let mut names: BTreeMap<String, String> =
            objects.iter().map(|object| (object.uid().to_owned(), object.key().to_string())).collect();
        names.insert(self.store().lineage().to_owned(), "this home".to_owned());
        names
    }

    fn machine_snapshot(&self, names: &BTreeMap<String, String>) -> Snapshot {
        // Files on the machine hold records of objects.
        let mut machine = plain(&self.machine.as_value(), names, &[VOLATILE, PASSING].concat());
        if let Some(routes) = machine["proxy"]["routes"].as_array_mut() {
            // No two have a host in common, so their order, which is that of uids, says nothing.
            routes.sort_by_key(|route| (route == "CatchAll", route.to_string()));
        }
        let mut snapshot = Snapshot::new();
        for (part, value) in machine.as_object().into_iter().flatten() {
            match value {
                Value::Object(things) => {
                    let named = things.iter().map(|(name, thing)| (format!("{part} {name}"), thing.clone()));
                    snapshot.extend(named);
                }
                value => drop(snapshot.insert(part.clone(), value.clone())),
            }
        }
        snapshot
    }
}

/// How two homes differ, in lines; none where they stand alike.
pub fn differences(one: &Snapshot, other: &Snapshot) -> Vec<String> {
    let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
    let mut lines = Vec::new();
    for key in keys {
        compare(
            key,
            one.get(key).unwrap_or(&Value::Null),
            other.get(key).unwrap_or(&Value::Null),
            &mut lines,
        );
    }
    lines
}

fn compare(path: &str, one: &Value, other: &Value, lines: &mut Vec<String>) {
    match (one, other) {
        _ if one == other => {}
        (Value::Object(a), Value::Object(b)) => {
            for field in a.keys().chain(b.keys().filter(|field| !a.contains_key(*field))) {
                let (one, other) =
                    (a.get(field).unwrap_or(&Value::Null), b.get(field).unwrap_or(&Value::Null));
                compare(&format!("{path}.{field}"), one, other, lines);
            }
        }
        _ => lines.push(format!("{path}: {one} and {other}")),
    }
}

fn plain(value: &Value, names: &BTreeMap<String, String>, left_out: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (field, value) in fields.iter().filter(|(field, _)| !left_out.contains(&field.as_str())) {
                kept.insert(in_words(field, names), plain(value, names, left_out));
            }
            Value::Object(kept)
        }
        Value::Array(list) => {
            if let Some(text) = as_text(list) {
                let record = serde_json::from_str(&text).unwrap_or(Value::String(text));
                return plain(&record, names, left_out);
            }
            // That somebody once changed it and it was put back is told for good.
            let is_over = |value: &Value| value["type"] == "Drifted" && value["status"] == "False";
            list.iter().filter(|value| !is_over(value)).map(|value| plain(value, names, left_out)).collect()
        }
        // What was made in the name of something that is gone: which uid that had differs from run to run.
        Value::String(text) if is_uid(text) && !names.contains_key(text) => "a uid of nobody".into(),
        Value::String(text) => Value::String(in_words(text, names)),
        value => value.clone(),
    }
}

fn is_uid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// The text of a file, which the machine keeps as a list of bytes.
fn as_text(list: &[Value]) -> Option<String> {
    let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    let bytes: Vec<u8> = list.iter().map(byte).collect::<Option<_>>()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() > 8)
}

fn in_words(text: &str, names: &BTreeMap<String, String>) -> String {
    if text.parse::<Timestamp>().is_ok() {
        return "a time".to_owned();
    }
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return "an id".to_owned();
    }
    let mut words = text.to_owned();
    for (uid, name) in names {
        if words.contains(uid) {
            words = words.replace(uid, name);
        }
    }
    if words.starts_with("10.89.") {
        "an address".to_owned()
    } else {
        without_number(&words).unwrap_or(words)
    }
}

/// A file that is given to a container is called by its place and by a number that the machine gives.
fn without_number(text: &str) -> Option<String> {
    let (above, name) = text.rsplit_once('/').unwrap_or(("", text));
    let (place, number) = name.split_once('-')?;
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_given = above.is_empty() || above.contains("/given/");
    (is_given && is_number(place) && is_number(number))
        .then(|| text[..text.len() - number.len()].to_owned() + "a number")
}
