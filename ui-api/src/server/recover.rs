//! What a person is told, and asked, when the store and what stands on the machine do not belong together: the store
//! is an older copy, or new, or of another home; things stand without an object; data is lost.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hearth_controllers::naming::Naming;
use hearth_engine::{Query, Store, WriteOptions};
use hearth_kinds::{App, SYSTEM};
use hearth_meta::Reason;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pauses::sentence;
use super::places::{Allowed, Inside};
use super::tokens;
use crate::recover::adopt::{Adoption, own_parts};
use crate::recover::look::{Standing, look, title};
use crate::recover::restore::has_secret;
use crate::serve::bundle;
use crate::serve::wiring::Hands;

/// What the machine is looked at with.
#[derive(Clone)]
pub struct MachineView {
    /// The hands.
    pub hands: Hands,
    /// How things are called there.
    pub naming: Naming,
}

/// The reasons of a Volume whose data is not there, or not its own.
const LOST: [Reason; 3] = [Reason::MarkerMissing, Reason::NotOurs, Reason::UnsafePath];

/// Whether anything is held back, and everything that stands without belonging to an object, or the other way round.
pub(super) async fn status(Allowed(inside): Allowed) -> Json<Value> {
    Json(told(&inside).await)
}

async fn told(inside: &Inside) -> Value {
    let (store, behind) = (inside.store(), inside.behind());
    let controllers = behind.engine.as_ref().map(|engine| engine.diagnostics()).unwrap_or_default();
    let orphans: Vec<Value> = controllers
        .iter()
        .filter(|controller| controller.orphans > 0 || controller.breaker.is_some())
        .map(|controller| json!({"kind": controller.kind, "orphans": controller.orphans, "breaker": controller.breaker}))
        .collect();
    let copies = store.copies_report();
    let mut told = json!({
        "observeOnly": store.observe_only(),
        "lineage": store.lineage(),
        "resourceVersion": store.resource_version().to_string(),
        "orphans": orphans,
        "questions": behind.engine.as_ref().map(|engine| engine.orphans()).unwrap_or_default(),
        "paused": hearth_engine::pause::standing(store).iter().map(sentence).collect::<Vec<_>>(),
        "volumes": lost_volumes(store),
        "secrets": missing_secrets(store),
        "disk": store.room().trouble(),
        "copies": { "newest": copies.newest.map(|at| at.to_string()), "failing": copies.failing },
    });
    if store.observe_only().is_some() {
        told["tokens"] = tokens::names(store).into();
    }
    let Some(machine) = &behind.machine else { return told };
    match look(&machine.hands, &machine.naming).await {
        Ok(standing) => {
            told["foreign"] = foreign(store, &standing).into();
            told["instances"] = instances(store, &standing).into();
            told["kept"] = kept(store, &standing).into();
            told["ownParts"] = own_parts(store, &standing).len().into();
        }
        // Could not tell is not nothing there.
        Err(fault) => told["cannotSee"] = fault.to_string().into(),
    }
    told
}

/// What other homes made, by lineage. None of it is ever touched.
fn foreign(store: &Store, standing: &Standing) -> Vec<Value> {
    let mut homes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for thing in &standing.things {
        let is_ours = thing.lineage == store.lineage()
            || store.is_adopted(&thing.lineage) && store.by_uid(&thing.uid).is_some();
        if !is_ours {
            let what = format!("{} {}", thing.kind, thing.name);
            homes.entry(&thing.lineage).or_default().push(what);
        }
    }
    homes.into_iter().map(|(lineage, things)| json!({ "lineage": lineage, "things": things })).collect()
}

/// Folders of instances that no object stands for.
fn instances(store: &Store, standing: &Standing) -> Vec<Value> {
    let volumes = store.list(&Query::of("Volume")).items;
    let used: BTreeSet<&str> =
        volumes.iter().filter_map(|volume| volume.spec()["instance"].as_str()).collect();
    let without = standing.instances.iter().filter(|instance| {
        instance.name != bundle::INSTANCE
            && store.by_uid(&instance.name).is_none()
            && !used.contains(instance.name.as_str())
    });
    let shown = |instance: &crate::recover::look::Instance| {
        let record = instance.readable();
        let unreadable = instance.record.as_ref().and_then(|record| record.as_ref().err());
        json!({
            "name": instance.name,
            "app": record.map(|_| instance.title()),
            "deleted": record.is_some_and(|record| record.is_retired),
            "lineage": record.and_then(|record| record.lineage.as_ref()),
            "folders": instance.leaves.iter().map(|leaf| &leaf.leaf.path).collect::<Vec<_>>(),
            "unreadable": unreadable,
        })
    };
    without.map(shown).collect()
}

/// What stands and waits for its object to be declared again.
fn kept(store: &Store, standing: &Standing) -> Vec<Value> {
    let stands = |uid: &str| {
        standing.things.iter().any(|thing| thing.uid == uid)
            || standing.instances.iter().flat_map(|i| &i.leaves).any(|leaf| leaf.marker == uid)
    };
    let remembered =
        store.remembered().into_iter().filter(|(key, uid)| key.namespace != SYSTEM && stands(uid));
    remembered.map(|(key, uid)| json!({ "kind": key.kind, "name": title(&key), "uid": uid })).collect()
}

fn lost_volumes(store: &Store) -> Vec<Value> {
    let volumes = store.list(&Query::of("Volume")).items;
    let is_lost = |reason: &str| LOST.iter().any(|lost| lost.as_str() == reason);
    volumes
        .iter()
        .filter(|volume| volume.status()["reason"].as_str().is_some_and(is_lost))
        .map(|volume| {
            let status = volume.status();
            json!({ "name": title(&volume.key()), "reason": status["reason"], "message": status["message"] })
        })
        .collect()
}

/// Secrets that apps name and that are not there.
fn missing_secrets(store: &Store) -> Vec<Value> {
    let mut missing = BTreeMap::new();
    for app in store.list(&Query::of("App")).items {
        let namespace = app.metadata.namespace.clone().unwrap_or_default();
        let Ok(typed) = app.typed::<App>() else { continue };
        for secret in typed.spec.values.into_iter().filter_map(|value| Some(value.value_from?.secret_key_ref))
        {
            if !has_secret(store, &namespace, &secret.name, &secret.key) {
                missing.insert((namespace.clone(), secret.name, secret.key), title(&app.key()));
            }
        }
    }
    let shown = |((namespace, name, key), app): ((String, String, String), String)| json!({ "name": format!("{namespace}/{name}"), "key": key, "app": app });
    missing.into_iter().map(shown).collect()
}

/// The person says go.
pub(super) async fn accept(Allowed(inside): Allowed) -> Response {
    if let Err(error) = inside.store().accept(&inside.actor().told()).await {
        return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response();
    }
    if let Some(engine) = &inside.behind().engine {
        engine.wake_all();
    }
    Json(told(&inside).await).into_response()
}

/// What to take over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// By name; none means everything that was not deleted.
    items: Vec<String>,
}

/// A person names what stands here and is to be this home's.
pub(super) async fn adopt(Allowed(inside): Allowed, Json(asked): Json<Asked>) -> Response {
    let Some(MachineView { hands, naming }) = &inside.behind().machine else {
        return (StatusCode::NOT_FOUND, "this server has no machine").into_response();
    };
    let options = WriteOptions { source: "adopt".into(), ..inside.write_options(false) };
    let adoption = Adoption { store: inside.store(), hands, naming, options };
    let adopted = match adoption.of(&asked.items).await {
        Ok(adopted) => adopted,
        Err(why) => return (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    };
    if let Some(engine) = &inside.behind().engine {
        engine.wake_all();
    }
    let refused: Vec<Value> =
        adopted.refused.iter().map(|(item, why)| json!({ "item": item, "why": why })).collect();
    Json(json!({ "adopted": adopted.adopted, "refused": refused, "missing": adopted.missing }))
        .into_response()
}
