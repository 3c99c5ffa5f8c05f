//! How the server stands this moment: for supervisors, for Prometheus, for support.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use hearth_engine::diagnostics::Diagnostics;
use serde_json::{Value, json};

use super::VERSION;
use super::places::{Allowed, Inside, LifeSigns};
use crate::serve::manifests::Standing;

/// Whether the program runs. It checks nothing.
pub(super) async fn alive() -> &'static str {
    "ok"
}

/// Whether it takes requests: it does from the moment it accepts until it stops, unless it cannot write any. A disk
/// that is nearly full is told, and most of what people ask still works.
pub(super) async fn ready(State(signs): State<LifeSigns>) -> Response {
    if signs.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping").into_response();
    }
    let room = signs.store.room();
    // Anybody may ask, so it says no more; `hearth doctor` does.
    match (room.full.is_some(), room.low.is_some()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "disk full").into_response(),
        (false, true) => "ok, but the disk is nearly full".into_response(),
        (false, false) => "ok".into_response(),
    }
}

/// How every controller stands.
pub(super) async fn controllers(Allowed(places): Allowed) -> Json<Value> {
    Json(json!({ "controllers": diagnostics(&places) }))
}

fn diagnostics(places: &Inside) -> Vec<Diagnostics> {
    places.behind().engine.as_ref().map(|engine| engine.diagnostics()).unwrap_or_default()
}

/// Everything that is counted, as Prometheus reads it.
pub(super) async fn metrics(Allowed(places): Allowed) -> Response {
    let mut text = String::new();
    family(
        &mut text,
        "hearth_build_info",
        "gauge",
        "The version that runs",
        &[(format!("version=\"{VERSION}\""), 1)],
    );
    let version = places.store().resource_version();
    family(
        &mut text,
        "hearth_store_resource_version",
        "counter",
        "Changes ever made in the store",
        &[(String::new(), version)],
    );
    let epoch = places.store().epoch().unsigned_abs();
    family(
        &mut text,
        "hearth_store_epoch",
        "counter",
        "Processes that ever opened the store",
        &[(String::new(), epoch)],
    );
    store_families(&mut text, &places);
    family(&mut text, "hearth_objects", "gauge", "Objects by kind", &by_kind(&places));
    let verdicts = by_verdict(&places);
    family(&mut text, "hearth_objects_by_summary", "gauge", "Objects by kind and verdict", &verdicts);
    controller_families(&mut text, &diagnostics(&places));
    if let Some(folder) = &places.behind().manifests {
        folder_families(&mut text, &folder.standing());
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// How the store stands on its disk, and its copies.
fn store_families(text: &mut String, places: &Inside) {
    let (room, copies) = (places.store().room(), places.store().copies_report());
    let mut gauge = |name: &str, help: &str, value: Option<u64>| {
        if let Some(value) = value {
            family(text, name, "gauge", help, &[(String::new(), value)]);
        }
    };
    let space = room.space;
    gauge("hearth_store_disk_free_bytes", "Free space of the store's disk", space.map(|s| s.free_bytes));
    gauge("hearth_store_disk_size_bytes", "Size of the store's disk", space.map(|s| s.total_bytes));
    let low = Some(u64::from(room.low.is_some()));
    gauge("hearth_store_disk_low", "Whether nothing new is taken for want of room", low);
    let full = Some(u64::from(room.full.is_some()));
    gauge("hearth_store_disk_full", "Whether the last write found no room", full);
    let reserve = Some(u64::from(room.has_reserve));
    gauge("hearth_store_reserve", "Whether the reserve for a full disk is there", reserve);
    let newest = copies.newest.and_then(|at| u64::try_from(at.as_second()).ok());
    gauge("hearth_store_copy_timestamp_seconds", "When the newest copy of the store was made", newest);
    let failing = Some(u64::from(copies.failing.is_some()));
    gauge("hearth_store_copy_failing", "Whether the last copy could not be made", failing);
}

fn by_kind(places: &Inside) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> =
        places.store().kinds().map(|kind| (kind.kind.to_owned(), 0)).collect();
    for object in places.store().all() {
        *counts.entry(object.kind.clone()).or_default() += 1;
    }
    counts.into_iter().map(|(kind, count)| (format!("kind=\"{kind}\""), count)).collect()
}

fn by_verdict(places: &Inside) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for object in places.store().all() {
        if let Some(summary) = object.status()["summary"].as_str() {
            *counts.entry(format!("kind=\"{}\",summary=\"{summary}\"", object.kind)).or_default() += 1;
        }
    }
    counts.into_iter().collect()
}

/// One number of each controller.
type Counted = (&'static str, &'static str, &'static str, fn(&Diagnostics) -> u64);

const COUNTED: [Counted; 8] = [
    ("hearth_controller_turns_total", "counter", "Turns taken", |d| d.turns),
    ("hearth_controller_steps_total", "counter", "Steps carried out", |d| d.steps),
    ("hearth_controller_failures_total", "counter", "Steps that failed", |d| d.failures),
    ("hearth_controller_blind_total", "counter", "Looks that could not tell", |d| d.blind),
    ("hearth_controller_waiting", "gauge", "Keys that wait", |d| d.waiting as u64),
    ("hearth_controller_busy", "gauge", "Keys being worked on", |d| d.busy as u64),
    ("hearth_controller_failing", "gauge", "Keys whose last try failed", |d| d.failing as u64),
    ("hearth_controller_orphans", "gauge", "Things of ours without an object", |d| d.orphans as u64),
];

fn controller_families(text: &mut String, diagnostics: &[Diagnostics]) {
    for (name, kind, help, read) in COUNTED.iter().filter(|_| !diagnostics.is_empty()) {
        let samples: Vec<(String, u64)> =
            diagnostics.iter().map(|one| (format!("controller=\"{}\"", one.controller), read(one))).collect();
        family(text, name, kind, help, &samples);
    }
}

fn folder_families(text: &mut String, standing: &Standing) {
    let mut gauge = |name: &str, help: &str, value: usize| {
        family(text, name, "gauge", help, &[(String::new(), value as u64)]);
    };
    gauge("hearth_manifests_objects", "Objects that the manifests folder declares", standing.objects);
    gauge("hearth_manifests_problems", "Problems of its files", standing.problems.len());
    gauge(
        "hearth_manifests_blind",
        "Whether not all it declares is known",
        usize::from(standing.blind.is_some()),
    );
    let asked = standing.question.as_ref().map_or(0, |question| question.removes.len());
    gauge("hearth_manifests_held", "Objects whose removal waits for a person", asked);
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: &[(String, u64)]) {
    // Writing into a text cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}
