//! The manifests folder: what it declares, what is wrong with it, and what it asks a person.

use axum::Json;
use axum::http::StatusCode;
use hearth_wire::Failure;
use serde_json::{Value, json};

use super::places::{Allowed, Inside};
use crate::serve::manifests::Answer;

/// How it stood at the last look; null where this server keeps none.
pub(super) async fn status(Allowed(inside): Allowed) -> Json<Value> {
    told(&inside)
}

fn told(inside: &Inside) -> Json<Value> {
    Json(json!({ "manifests": inside.behind().manifests.as_ref().map(|folder| folder.standing()) }))
}

/// A person answers its question.
pub(super) async fn answer(
    Allowed(inside): Allowed,
    Json(answer): Json<Answer>,
) -> Result<Json<Value>, Failure> {
    let Some(folder) = &inside.behind().manifests else { return Err(Failure::no_such_place()) };
    if !folder.answer(Answer { actor: inside.actor().told(), ..answer }) {
        let message = "that is not what is asked now; look at it again with `hearth recover status`";
        return Err(Failure::new(StatusCode::CONFLICT, "Conflict", message));
    }
    Ok(told(&inside))
}
