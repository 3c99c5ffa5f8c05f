//! How everything stands that the server leans on, found by looking.

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::VERSION;
use super::routes::Places;
use crate::doctor::{Home, online, to_value};

/// Every check, with the version that made it.
pub(super) async fn answer(State(places): State<Places>) -> Json<Value> {
    let home = Home {
        store: &places.store,
        hands: places.machine.as_ref().map(|machine| &machine.hands),
        engine: places.engine.as_ref(),
        manifests: places.manifests.as_ref(),
        started: places.started,
    };
    let mut told = to_value(&online(&home).await);
    told["version"] = VERSION.into();
    Json(told)
}
