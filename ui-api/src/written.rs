//! What people write of an object, and in which fields two of its versions differ.

use std::collections::BTreeSet;

use hearth_meta::difference::SECRET;
use hearth_meta::{FieldDiff, KindInfo};
use serde_json::{Map, Value};

use crate::support::redact::LAST_APPLIED;

/// The parts of an object that people write.
const WRITTEN: [&str; 4] = ["spec", "data", "metadata.labels", "metadata.annotations"];

/// The fields that people write and in which an object differs from what it was, leaf by leaf. What is secret is told
/// as such.
pub(crate) fn differences(old: &Value, new: &Value, kind: &KindInfo) -> Vec<FieldDiff> {
    let part =
        |value: &Value, path: &str| path.split('.').fold(value.clone(), |value, name| value[name].clone());
    let schema = kind.schema.as_ref().unwrap_or(&Value::Null);
    let mut found = Vec::new();
    for path in WRITTEN {
        let schema = path.split('.').fold(schema, |schema, name| &schema["properties"][name]);
        compare(&part(old, path), &part(new, path), schema, path, &mut found);
    }
    if kind.is_secret {
        let applied = format!("metadata.annotations[{LAST_APPLIED}]");
        let tells = |field: &str| field.starts_with("data") || field == applied;
        for difference in found.iter_mut().filter(|difference| tells(&difference.field)) {
            difference.wanted = difference.wanted.take().map(|_| SECRET.to_owned());
            difference.seen = difference.seen.take().map(|_| SECRET.to_owned());
        }
    }
    found
}

/// The field by whose value an item of a list is known, where there is one.
pub(crate) fn key_of(schema: &Value) -> Option<&str> {
    let is_map = schema["x-kubernetes-list-type"] == "map";
    match schema["x-kubernetes-list-map-keys"].as_array().filter(|_| is_map)?.as_slice() {
        [key] => key.as_str(),
        _ => None,
    }
}

fn compare(old: &Value, new: &Value, schema: &Value, path: &str, found: &mut Vec<FieldDiff>) {
    if old == new {
        return;
    }
    if let Some(key) = key_of(schema)
        && let (Some(before), Some(after)) = (by_key(old, key), by_key(new, key))
    {
        let before_moved = found.len();
        let names: BTreeSet<&str> = before.iter().chain(&after).map(|(name, _)| *name).collect();
        for name in names {
            let item = |items: &[(&str, &Value)]| {
                items
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map_or(Value::Null, |(_, item)| without(item, key))
            };
            compare(&item(&before), &item(&after), &schema["items"], &format!("{path}[{name}]"), found);
        }
        if found.len() > before_moved {
            return;
        }
        // Only their order differs, or whether an empty list is written at all.
        return found.push(FieldDiff::new(path, shown(new), shown(old)));
    }
    let empty = Map::new();
    let maps = match (old, new) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Null, Value::Object(new)) => (&empty, new),
        (Value::Object(old), Value::Null) => (old, &empty),
        _ => return found.push(FieldDiff::new(path, shown(new), shown(old))),
    };
    let names: BTreeSet<&String> = maps.0.keys().chain(maps.1.keys()).collect();
    for name in names {
        let field = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or(Value::Null);
        let inner = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            known => known,
        };
        // Names with dots in them, as labels have, are put in brackets.
        let path = if name.contains('.') { format!("{path}[{name}]") } else { format!("{path}.{name}") };
        compare(&field(maps.0), &field(maps.1), inner, &path, found);
    }
}

/// The items of a list by what they are known by; `None` where one has no such name, or two have the same.
fn by_key<'a>(list: &'a Value, key: &str) -> Option<Vec<(&'a str, &'a Value)>> {
    let items = match list {
        Value::Null => return Some(Vec::new()),
        list => list.as_array()?,
    };
    let named: Vec<(&str, &Value)> =
        items.iter().map(|item| Some((item[key].as_str()?, item))).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = named.iter().map(|(name, _)| *name).collect();
    (names.len() == named.len()).then_some(named)
}

fn without(item: &Value, key: &str) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove(key);
    }
    item
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use hearth_kinds::{Settings, all};
    use hearth_meta::KindInfo;
    use serde_json::{Value, json};

    use super::{LAST_APPLIED, differences};

    fn kind(name: &str) -> KindInfo {
        all(&Settings::default()).into_iter().find(|kind| kind.kind == name).unwrap()
    }

    fn told(kind_name: &str, old: Value, new: Value) -> Vec<String> {
        differences(&old, &new, &kind(kind_name)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn differences_are_told_leaf_by_leaf_and_secrets_not_at_all() {
        let old = json!({"spec": {"slug": "a", "state": "Running"}, "metadata": {"labels": {"a.b/c": "x"}}});
        let new = json!({"spec": {"slug": "b", "state": "Running"}, "metadata": {"labels": {"a.b/c": "y"}}});
        assert_eq!(
            told("App", old, new),
            ["spec.slug: seen a, wanted b", "metadata.labels[a.b/c]: seen x, wanted y"]
        );
        assert_eq!(
            told("Secret", json!({"data": {"k": "b2xk"}}), json!({"data": {"k": "bmV3", "l": "bmV3"}})),
            ["data.k: seen (secret), wanted (secret)", "data.l: seen (absent), wanted (secret)"]
        );
        let applied = |text: &str| json!({ "metadata": { "annotations": { LAST_APPLIED: text } } });
        assert_eq!(
            told("Secret", applied("a: hunter2"), applied("a: hunter3")),
            [format!("metadata.annotations[{LAST_APPLIED}]: seen (secret), wanted (secret)")]
        );
    }

    #[test]
    fn items_of_a_list_that_are_known_by_a_name_are_told_by_it() {
        let of = |values: Value| json!({ "spec": { "values": values } });
        let both = json!([{ "name": "TZ", "value": "UTC" }, { "name": "PW", "value": "x" }]);
        let one = json!([{ "name": "TZ", "value": "Europe/Paris" }]);
        assert_eq!(
            told("App", of(both.clone()), of(one)),
            [
                "spec.values[PW].value: seen x, wanted (absent)",
                "spec.values[TZ].value: seen UTC, wanted Europe/Paris"
            ]
        );
        let turned = json!([both[1], both[0]]);
        assert_eq!(told("App", of(both), of(turned)).len(), 1, "another order is another list");
        assert_eq!(
            told("App", json!({ "spec": {} }), of(json!([]))),
            ["spec.values: seen (absent), wanted []"]
        );
        let twice = json!([{ "name": "TZ", "value": "a" }, { "name": "TZ", "value": "b" }]);
        assert_eq!(told("App", of(json!([])), of(twice)).len(), 1, "what has no one name is told whole");
    }
}
