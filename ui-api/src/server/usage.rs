//! What containers use this very moment: counters and amounts, from which whoever asks twice knows how busy each is.

use std::collections::HashMap;

use axum::extract::{Query as Parameters, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use futures::StreamExt;
use hearth_capabilities::containers::Usage;
use hearth_engine::{Object, Query};
use hearth_wire::{Actor, Asked, Failure};
use serde_json::{Value, json};

use super::places::Door;

/// How many containers are asked about at once.
const AT_ONCE: usize = 16;

/// Of every container that runs, with `?namespace=` of those there. One that cannot be read says so beside the others.
///
/// Whoever asks must be one who may list these containers.
pub(super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Parameters(mut asked): Parameters<HashMap<String, String>>,
) -> Result<Json<Value>, Failure> {
    let kind = door.kinds().find(|kind| kind.kind == "Container").ok_or_else(Failure::no_such_place)?;
    let namespace = asked.remove("namespace").filter(|namespace| !namespace.is_empty());
    let right = Asked::of("list", kind, namespace.as_deref().unwrap_or_default(), "");
    let inside = door.open(&actor, &right)?;
    let Some(machine) = &inside.behind().machine else { return Err(Failure::no_such_place()) };
    let containers = &*machine.hands.containers;
    let listed = containers.list().await.map_err(|fault| {
        Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            format!("Docker does not answer: {fault}"),
        )
    })?;
    let clock = inside.store().clock();
    let objects = inside.store().list(&Query { namespace, ..Query::of("Container") }).items;
    let mut running = Vec::new();
    for object in objects {
        let name = machine.naming.of(object.metadata.namespace.as_deref().unwrap_or_default(), object.name());
        running.extend(listed.iter().find(|seen| seen.name == name).map(|seen| (object, seen.id.clone())));
    }
    let read = running.into_iter().map(|(object, id)| async move {
        let used = containers.usage(&id).await;
        shown(&object, used.map_err(|fault| fault.to_string()), clock.elapsed().as_nanos())
    });
    let items: Vec<Option<Value>> = futures::stream::iter(read).buffered(AT_ONCE).collect().await;
    Ok(Json(json!({ "items": items.into_iter().flatten().collect::<Vec<_>>() })))
}

fn shown(object: &Object, used: Result<Option<Usage>, String>, at: u128) -> Option<Value> {
    let mut shown = json!({
        "namespace": object.metadata.namespace,
        "name": object.name(),
        "app": object.metadata.labels.as_ref().and_then(|labels| labels.get(hearth_meta::labels::APP)),
        "atNanos": u64::try_from(at).unwrap_or(u64::MAX),
    });
    match used {
        // What does not run uses nothing, and is no news.
        Ok(None) => return None,
        Ok(Some(used)) => {
            shown["processorNanos"] = u64::try_from(used.processor.as_nanos()).unwrap_or(u64::MAX).into();
            shown["memoryBytes"] = used.memory_bytes.into();
        }
        Err(why) => shown["unknown"] = why.into(),
    }
    Some(shown)
}
