//! What would change if an object were applied: a dry run, the fields in which its result differs, and what would come
//! of it.

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use hearth_engine::{Key, Object};
use hearth_meta::{KindInfo, Problem, Scope};
use hearth_wire::{Actor, Asked, Failure};
use serde_json::{Value, json};

use super::effects;
use super::places::Door;
use crate::written;

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
    let differences = written::differences(&before, &after, kind);
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
