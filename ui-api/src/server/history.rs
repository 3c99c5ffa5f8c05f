//! The history of an object: every write of its spec, who made it, and what it changed.

use axum::Json;
use axum::extract::{Path, State};
use hearth_engine::Key;
use hearth_engine::store::HistoryRow;
use hearth_wire::Failure;
use serde_json::{Value, json};

use super::routes::Places;

/// Of a kind of the whole machine.
pub(super) async fn of_machine(
    State(places): State<Places>,
    Path((plural, name)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    history(&places, &plural, String::new(), name).await
}

/// Of a kind that lives in namespaces.
pub(super) async fn of_namespace(
    State(places): State<Places>,
    Path((plural, namespace, name)): Path<(String, String, String)>,
) -> Result<Json<Value>, Failure> {
    history(&places, &plural, namespace, name).await
}

/// An object that is gone still has its history, so what has none at all is what is not found.
async fn history(
    places: &Places,
    plural: &str,
    namespace: String,
    name: String,
) -> Result<Json<Value>, Failure> {
    let kind = places.store.kinds().find(|kind| kind.plural == plural).ok_or_else(Failure::no_such_place)?;
    let key = Key::new(kind.kind, namespace, name);
    let rows = places.store.history(&key).await.map_err(|error| Failure::internal(error.to_string()))?;
    if rows.is_empty() {
        return Err(Failure::not_found(kind, &key.name));
    }
    Ok(Json(json!({ "items": rows.iter().map(shown).collect::<Vec<_>>() })))
}

fn shown(row: &HistoryRow) -> Value {
    json!({
        "resourceVersion": row.resource_version.to_string(),
        "at": row.at,
        "generation": row.generation,
        "verb": row.verb,
        "actor": row.actor,
        "source": row.source,
        "differences": row.differences,
        "spec": row.spec,
    })
}
