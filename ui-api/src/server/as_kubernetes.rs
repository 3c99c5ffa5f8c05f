//! A home as programs made for Kubernetes know it, to read: each Container as a Pod, the machine as a Node, and what
//! they use as `metrics.k8s.io`.
//!
//! Nothing of it is kept, and nothing can be written through it. Who may read Containers may read their Pods: the
//! table of rights has both.

use hearth_meta::resource::Column;
use hearth_meta::{KindInfo, Scope};
use hearth_wire::{Source, View};
use serde_json::Value;

pub(super) mod pods;
pub(super) mod pod_logs;
pub(super) mod nodes;
pub(super) mod metrics;

const READ: [&str; 3] = ["get", "list", "watch"];
/// What is counted at the moment of asking cannot be watched.
const ASK: [&str; 2] = ["get", "list"];

/// What is served of it, as clients are told.
pub(super) fn views() -> Vec<View> {
    let pods = Source { kind: "Container", show: pods::show, cells: pods::cells };
    vec![
        View { kind: pods::kind(), verbs: &READ, parts: &["log"], source: Some(pods) },
        View { kind: nodes::kind(), verbs: &READ, parts: &[], source: None },
        View { kind: metrics::kind_of_pods(), verbs: &ASK, parts: &[], source: None },
        View { kind: metrics::kind_of_nodes(), verbs: &ASK, parts: &[], source: None },
    ]
}

/// A column; one without a path is filled by hand.
fn column(name: &str, kind: &str, path: &str, priority: i32, description: &str) -> Column {
    Column {
        name: name.into(),
        kind: kind.into(),
        json_path: path.into(),
        priority,
        description: description.into(),
    }
}

/// Since when an object is there.
fn age() -> Column {
    column("Age", "date", ".metadata.creationTimestamp", 0, "Since when it is declared")
}

/// A kind of the core group.
fn core(kind: &'static str, names: (&'static str, &'static str), scope: Scope) -> KindInfo {
    KindInfo::plain("", kind, names, scope)
}

/// The text of a field, empty where there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
