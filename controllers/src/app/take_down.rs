//! Takes a deleted app down: people stop seeing it, then it stops, then what it stood on goes; the files last.

use std::sync::Arc;

use hearth_engine::Object;
use hearth_engine::controller::{Plan, Wait, Wanted};
use hearth_kinds::{App, DataPolicy};
use hearth_meta::Reason;
use serde_json::json;

use super::observe::AppSeen;
use super::plan::{AppStep, delete};

pub(super) fn plan(wanted: &Wanted<App>, facts: &AppSeen) -> Plan<AppStep> {
    if facts.is_recorded {
        // Before anything of it goes, so that a store that is lost meanwhile brings back no half of it.
        return Plan::steps(vec![AppStep::Retire]);
    }
    let deletes_data = wanted.object.spec.data_policy == DataPolicy::Delete;
    // The page is let go first and not waited for: a proxy that is down must keep nobody from uninstalling.
    for stage in [&["Route", "Container"][..], &["Network", "Volume", "Revision", "Image"]] {
        let children: Vec<_> = stage.iter().flat_map(|kind| facts.of_kind(kind)).collect();
        let steps: Vec<AppStep> = children
            .iter()
            .filter(|child| !child.is_going() && !is_leant_on(child, &children))
            .map(|child| remove(child, deletes_data))
            .collect();
        if !steps.is_empty() {
            return Plan::steps(steps);
        }
        // An image may be in use elsewhere and stay long; nothing of the app hangs on it.
        let going: Vec<_> = children
            .iter()
            .filter(|child| child.kind != "Image")
            .map(|child| child.key().reference())
            .collect();
        if !going.is_empty() {
            return Plan::wait(Wait::new(Reason::Removing, "Its parts are being removed").on(going));
        }
    }
    if deletes_data && facts.has_files { Plan::steps(vec![AppStep::RemoveFiles]) } else { Plan::nothing() }
}

/// Whether another container that is still there depends on this one, and should stop before it. Where all that are
/// left depend on each other in a ring, none is spared.
fn is_leant_on(child: &Object, others: &[&Arc<Object>]) -> bool {
    let leans = |one: &Object, on: &Object| {
        let mut on_what = one.spec()["dependsOn"].as_array().into_iter().flatten();
        on_what.any(|dependency| dependency["container"] == on.name())
    };
    let others: Vec<&Object> =
        others.iter().map(|other| other.as_ref()).filter(|other| other.kind == "Container").collect();
    if child.kind != "Container" {
        return false;
    }
    let stands_free = |one: &Object| !others.iter().any(|other| leans(other, one));
    others.iter().any(|other| stands_free(other)) && !stands_free(child)
}

fn remove(child: &Object, deletes_data: bool) -> AppStep {
    if child.kind != "Volume" || !deletes_data || child.spec()["dataPolicy"] == "Delete" {
        return delete(child);
    }
    let mut with_data = child.clone();
    if let Some(spec) = with_data.body.get_mut("spec") {
        spec["dataPolicy"] = json!("Delete");
    }
    AppStep::Apply(vec![with_data])
}
