//! Every place of the server, on one screen. What is a resource is the protocol's; the rest is here, with the
//! reason why no resource would do.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use hearth_engine::Store;
use hearth_wire::{Wire, watch_together};

use super::as_kubernetes::{metrics, nodes, pod_logs};
use super::places::{Door, LifeSigns};
use super::sign_in::Gatekeeper;
use super::{
    backup, doctor, drift, folder, history, live, logs, look, orphans, pauses, preview, recover, sign_in,
    unread, usage,
};

/// Open to everyone: whether the server lives, and its version.
pub(super) const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// All places, behind sign-in. Those that are no resources are reached by the right to their method and path, or say
/// what right they ask for; `door` lets nobody through without one.
pub(super) fn router(wire: Wire, door: Door, store: Store, gatekeeper: Gatekeeper) -> Router {
    let signs = LifeSigns { store: store.clone(), closing: wire.closing.clone() };
    let life = Router::new()
        // For supervisors, which know no objects. `/healthz` checks nothing on purpose: a restart mends no disk.
        .route("/healthz", get(live::alive))
        .route("/livez", get(live::alive))
        .route("/readyz", get(live::ready))
        .with_state(signs);
    // A browser has few connections, so a screen watches all it shows through one.
    let watching = Router::new().route("/hearth/v1/watch", get(watch_together)).with_state(wire.clone());
    Router::new()
        // For Prometheus, which reads its own form.
        .route("/metrics", get(live::metrics))
        // Streams of lines that nobody keeps.
        .route("/hearth/v1/namespaces/{namespace}/containers/{name}/logs", get(logs::answer))
        // The audit log only grows, so it is no object that could be changed.
        .route("/hearth/v1/history/{plural}/{name}", get(history::of_machine))
        .route("/hearth/v1/history/{plural}/{namespace}/{name}", get(history::of_namespace))
        // A question about an object that may never be stored.
        .route("/hearth/v1/diff", post(preview::answer))
        // An answer to what was seen of an object, taken only while just that is still seen.
        .route("/hearth/v1/drift/{plural}/{name}", post(drift::of_machine))
        .route("/hearth/v1/drift/{plural}/{namespace}/{name}", post(drift::of_namespace))
        // How the controllers stand this very moment, and a look at everything.
        .route("/hearth/v1/controllers", get(live::controllers).post(look::at_everything))
        // How everything stands that the server leans on: it is found by looking, and nobody keeps it.
        .route("/hearth/v1/doctor", get(doctor::answer))
        // What containers use this very moment, which no status could say without being written all the time.
        .route("/hearth/v1/usage", get(usage::answer))
        // Whether the store may be trusted is a question about all objects at once.
        .route("/hearth/v1/recover", get(recover::status).post(recover::accept))
        // What has no object cannot be answered for through one.
        .route("/hearth/v1/recover/orphans", post(orphans::answer))
        // A folder on the server's disk is no object, and what it asks is about many at once.
        .route("/hearth/v1/manifests", get(folder::status).post(folder::answer))
        .route("/hearth/v1/recover/adopt", post(recover::adopt))
        // What programs made for Kubernetes read, of which nothing is kept: a log, the machine, and what is used.
        .route("/api/v1/namespaces/{namespace}/pods/{name}/log", get(pod_logs::answer))
        .route("/api/v1/nodes", get(nodes::answer))
        .route("/api/v1/nodes/{name}", get(nodes::answer))
        .route("/apis/metrics.k8s.io/v1beta1/{*place}", get(metrics::answer))
        // A whole home in one file, which holds every secret; and what copies there are of its store.
        .route("/hearth/v1/backup", get(backup::answer))
        .route("/hearth/v1/copies", get(backup::copies))
        .with_state(door)
        .merge(life)
        .merge(watching)
        .fallback_service(hearth_wire::router(wire))
        .layer(from_fn_with_state(store, pauses::tell))
        .layer(from_fn_with_state(gatekeeper, sign_in::check))
        .layer(from_fn(unread::mark))
}
