//! What would change if an object were applied: a dry run, the fields in which its result differs, and what would come
//! of it.

use std::collections::BTreeSet;

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use hearth_engine::{Key, Object};
use hearth_meta::difference::SECRET;
use hearth_meta::{FieldDiff, KindInfo, Problem, Scope};
use hearth_wire::{Actor, Asked, Failure};
use serde_json::{Map, Value, json};

use super::effects;
use super::places::Door;

/// The parts of an object that people write.
const WRITTEN: [&str; 4] = ["spec", "data", "metadata.labels", "metadata.annotations"];

/// Answers `{exists, differences}`; what is wrong with the object is told as in a write.
///
/// Whoever asks must be one who may see the object and may write it so.
pub(super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    sent: Bytes,
) -> Result<Json<Value>, Failure> {
    let sent: Value = serde_json::from_slice(&sent)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))?;
    let kind = kind_of(&door, &sent)?;
    let object = Object::from_value(sent).map_err(Failure::bad_request)?;
    let key = key_of(kind, &object)?;
    let asked = |verb: &str| Asked::of(verb, kind, &key.namespace, &key.name);
    for verb in ["get", "create"] {
        actor.check(&asked(verb))?;
    }
    let inside = door.open(&actor, &asked("patch"))?;
    let (store, options) = (inside.store(), inside.write_options(true));
    let old = store.get(&key);
    let tried = match &old {
        None => store.create(object, &options).await,
        Some(_) => store.update(&key, &options, move |old| Ok(applied(old, object))).await,
    };
    let new = tried.map_err(|error| Failure::of_write(error, kind, &key.name))?;
    let (mut before, mut after) = (old.as_ref().map_or(Value::Null, |old| old.to_value()), new.to_value());
    [&mut before, &mut after].into_iter().for_each(|value| kind.hide(value));
    let differences = differences(&before, &after, kind.is_secret);
    let mut answer = json!({ "exists": old.is_some(), "differences": differences, "effects": [] });
    if old.is_some() && !differences.is_empty() {
        match effects::of(&inside, &new).await {
            Ok(effects) => answer["effects"] = effects.into(),
            // Could not tell is not nothing.
            Err(blind) => answer["effectsUnknown"] = blind.0.into(),
        }
    }
    Ok(Json(answer))
}

fn kind_of<'a>(door: &'a Door, sent: &Value) -> Result<&'a KindInfo, Failure> {
    let said = |field: &str| sent[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (said("apiVersion"), said("kind"));
    let found = door.kinds().find(|known| known.kind == kind && known.api_version() == api_version);
    found.ok_or_else(|| {
        Failure::bad_request(format!("{kind:?} of {api_version:?} is not a kind of this server"))
    })
}

fn key_of(kind: &KindInfo, object: &Object) -> Result<Key, Failure> {
    let mut problems = Vec::new();
    if object.name().is_empty() {
        problems.push(Problem::new("metadata.name", "is required"));
    }
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    if kind.scope == Scope::Namespaced && namespace.is_empty() {
        problems.push(Problem::new("metadata.namespace", "is required"));
    }
    if problems.is_empty() { Ok(object.key()) } else { Err(Failure::invalid(kind, object.name(), &problems)) }
}

/// What applying makes of an object: its parts are replaced; labels and annotations of others are kept.
fn applied(old: &Object, wanted: Object) -> Object {
    let mut new = Object::clone(old);
    new.metadata.labels.get_or_insert_default().extend(wanted.metadata.labels.unwrap_or_default());
    new.metadata.annotations.get_or_insert_default().extend(wanted.metadata.annotations.unwrap_or_default());
    let status = new.body.remove("status");
    new.body = wanted.body;
    new.body.remove("status");
    new.body.extend(status.map(|status| ("status".to_owned(), status)));
    new
}

fn differences(old: &Value, new: &Value, is_secret: bool) -> Vec<FieldDiff> {
    let part =
        |value: &Value, path: &str| path.split('.').fold(value.clone(), |value, name| value[name].clone());
    let mut found = Vec::new();
    for path in WRITTEN {
        compare(&part(old, path), &part(new, path), path, &mut found);
    }
    if is_secret {
        for difference in found.iter_mut().filter(|difference| difference.field.starts_with("data")) {
            difference.wanted = difference.wanted.take().map(|_| SECRET.to_owned());
            difference.seen = difference.seen.take().map(|_| SECRET.to_owned());
        }
    }
    found
}

fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<FieldDiff>) {
    let empty = Map::new();
    let maps = match (old, new) {
        _ if old == new => return,
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Null, Value::Object(new)) => (&empty, new),
        (Value::Object(old), Value::Null) => (old, &empty),
        _ => return found.push(FieldDiff::new(path, shown(new), shown(old))),
    };
    let names: BTreeSet<&String> = maps.0.keys().chain(maps.1.keys()).collect();
    for name in names {
        let field = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or(Value::Null);
        // Names with dots in them, as labels have, are put in brackets.
        let path = if name.contains('.') { format!("{path}[{name}]") } else { format!("{path}.{name}") };
        compare(&field(maps.0), &field(maps.1), &path, found);
    }
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
    use serde_json::json;

    use super::differences;

    #[test]
    fn differences_are_told_leaf_by_leaf_and_secrets_not_at_all() {
        let old = json!({"spec": {"slug": "a", "state": "Running"}, "metadata": {"labels": {"a.b/c": "x"}}});
        let new = json!({"spec": {"slug": "b", "state": "Running"}, "metadata": {"labels": {"a.b/c": "y"}}});
        let found: Vec<String> = differences(&old, &new, false).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["spec.slug: seen a, wanted b", "metadata.labels[a.b/c]: seen x, wanted y"]);
        let secret =
            differences(&json!({"data": {"k": "b2xk"}}), &json!({"data": {"k": "bmV3", "l": "bmV3"}}), true);
        let found: Vec<String> = secret.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["data.k: seen (secret), wanted (secret)", "data.l: seen (absent), wanted (secret)"]
        );
    }
}
