//! The manifests folder: what it declares, what is wrong with it, and what it asks a person.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hearth_wire::Failure;
use serde_json::{Value, json};

use super::routes::Places;
use crate::serve::manifests::Answer;

/// How it stood at the last look; null where this server keeps none.
pub(super) async fn status(State(places): State<Places>) -> Json<Value> {
    Json(json!({ "manifests": places.manifests.map(|folder| folder.standing()) }))
}

/// A person answers its question.
pub(super) async fn answer(
    State(places): State<Places>,
    Json(answer): Json<Answer>,
) -> Result<Json<Value>, Failure> {
    let Some(folder) = &places.manifests else { return Err(Failure::no_such_place()) };
    if !folder.answer(Answer { actor: "admin".into(), ..answer }) {
        let message = "that is not what is asked now; look at it again with `hearth recover status`";
        return Err(Failure::new(StatusCode::CONFLICT, "Conflict", message));
    }
    Ok(status(State(places)).await)
}
