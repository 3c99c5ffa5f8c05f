//! How everything stands that the server leans on, found by looking.

use axum::Json;
use serde_json::Value;

use super::VERSION;
use super::places::Allowed;
use crate::doctor::{Home, online, to_value};

/// Every check, with the version that made it.
pub(super) async fn answer(Allowed(inside): Allowed) -> Json<Value> {
    let behind = inside.behind();
    let home = Home {
        store: inside.store(),
        hands: behind.machine.as_ref().map(|machine| &machine.hands),
        engine: behind.engine.as_ref(),
        manifests: behind.manifests.as_ref(),
        started: behind.started,
    };
    let mut told = to_value(&online(&home).await);
    told["version"] = VERSION.into();
    Json(told)
}
