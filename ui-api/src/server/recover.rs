//! What a person is told, and asked, when the store may not be trusted: it is an older copy, or of another home.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::pauses::sentence;
use super::routes::Places;

/// Whether anything is held back, and what the controllers found without an object.
pub(super) async fn status(State(places): State<Places>) -> Json<Value> {
    let controllers = places.engine.as_ref().map(|engine| engine.diagnostics()).unwrap_or_default();
    let orphans: Vec<Value> = controllers
        .iter()
        .filter(|controller| controller.orphans > 0 || controller.breaker.is_some())
        .map(|controller| json!({"kind": controller.kind, "orphans": controller.orphans, "breaker": controller.breaker}))
        .collect();
    Json(json!({
        "observeOnly": places.store.observe_only(),
        "lineage": places.store.lineage(),
        "resourceVersion": places.store.resource_version().to_string(),
        "orphans": orphans,
        "questions": places.engine.as_ref().map(|engine| engine.orphans()).unwrap_or_default(),
        "paused": hearth_engine::pause::standing(&places.store).iter().map(sentence).collect::<Vec<_>>(),
    }))
}

/// The person says go.
pub(super) async fn accept(State(places): State<Places>) -> Response {
    if let Err(error) = places.store.accept("admin").await {
        return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response();
    }
    if let Some(engine) = &places.engine {
        engine.wake_all();
    }
    status(State(places)).await.into_response()
}
