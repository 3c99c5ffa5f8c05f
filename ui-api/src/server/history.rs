//! The history of an object: every write of its spec, who made it, and what it changed.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use hearth_engine::Key;
use hearth_engine::store::HistoryRow;
use hearth_meta::{FieldDiff, KindInfo};
use hearth_wire::{Actor, Asked, Failure};
use serde_json::{Value, json};

use super::places::Door;

/// Of a kind of the whole machine.
pub(super) async fn of_machine(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((plural, name)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    history(&door, &actor, &plural, (String::new(), name)).await
}

/// Of a kind that lives in namespaces.
pub(super) async fn of_namespace(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((plural, namespace, name)): Path<(String, String, String)>,
) -> Result<Json<Value>, Failure> {
    history(&door, &actor, &plural, (namespace, name)).await
}

/// An object that is gone still has its history, so what has none at all is what is not found.
async fn history(
    door: &Door,
    actor: &Actor,
    plural: &str,
    (namespace, name): (String, String),
) -> Result<Json<Value>, Failure> {
    let kind = door.kinds().find(|kind| kind.plural == plural).ok_or_else(Failure::no_such_place)?;
    let inside = door.open(actor, &Asked::of("get", kind, &namespace, &name).part("history"))?;
    let key = Key::new(kind.kind, namespace, name);
    let rows = inside.store().history(&key).await.map_err(|error| Failure::internal(error.to_string()))?;
    if rows.is_empty() {
        return Err(Failure::not_found(kind, &key.name));
    }
    Ok(Json(json!({ "items": rows.iter().map(|row| shown(row, kind)).collect::<Vec<_>>() })))
}

fn shown(row: &HistoryRow, kind: &KindInfo) -> Value {
    let is_told = |difference: &&FieldDiff| !kind.hidden.contains(&difference.field.as_str());
    let mut whole = json!({ "spec": row.spec });
    kind.hide(&mut whole);
    json!({
        "resourceVersion": row.resource_version.to_string(),
        "at": row.at,
        "generation": row.generation,
        "verb": row.verb,
        "actor": row.actor,
        "source": row.source,
        "differences": row.differences.iter().filter(is_told).collect::<Vec<_>>(),
        "spec": whole["spec"],
    })
}
