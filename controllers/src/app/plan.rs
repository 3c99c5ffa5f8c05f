//! What to do next about an app: which children should exist now, one step at a time.
//!
//! In order: the author's files are kept; images that nobody wants any more go, which cancels their pull; the page
//! that says it is starting stands; every image is here; then, and only then, containers are changed.

use hearth_engine::Object;
use hearth_engine::controller::{Plan, Seen, Step, Wait, Wanted, sentence};
use hearth_kinds::route::{RouteMode, Splash};
use hearth_kinds::{App, DataPolicy, Power};
use hearth_meta::{FieldDiff, Reason, Verdict};
use serde_json::json;

use super::children::{is_as_wanted, is_moving, pins, verdict};
use super::observe::AppSeen;
use super::render::Rendering;

/// How many revisions of an app are kept.
const KEPT_REVISIONS: usize = 10;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum AppStep {
    /// Writes the author's files into the instance's folder.
    SaveFiles,
    /// Makes a child, or makes it as it should be.
    Apply(Box<Object>),
    /// Deletes a child, if it is still the one of this uid.
    Delete {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// Removes the author's files from the instance's folder.
    RemoveFiles,
}

pub(super) fn seen(wanted: &Wanted<App>, facts: &AppSeen) -> Seen {
    if wanted.gone {
        let files_stay = wanted.object.spec.data_policy == DataPolicy::Retain || !facts.has_files;
        let rest = facts.children.iter().any(|child| child.kind != "Image");
        return if !rest && files_stay { Seen::Absent } else { Seen::Ours(Vec::new()) };
    }
    let Ok(admitted) = &facts.admitted else { return Seen::Absent };
    let rendering = Rendering { wanted, admitted };
    let Ok(pins) = pins(&rendering, facts) else { return Seen::Absent };
    let mut differences = Vec::new();
    for child in rendering.containers(&pins).iter().chain(&rendering.volumes()).chain([&rendering.network()])
    {
        match facts.child(&child.kind, child.name()) {
            Some(seen) if is_as_wanted(child, seen) => {}
            seen => {
                let seen = seen.map(|_| "an older form".to_owned());
                differences.push(FieldDiff::new(
                    format!("{} {}", child.kind, child.name()),
                    Some("as declared".into()),
                    seen,
                ));
            }
        }
    }
    Seen::Ours(differences)
}

pub(super) fn plan(wanted: &Wanted<App>, facts: &AppSeen) -> Plan<AppStep> {
    if wanted.gone {
        return take_down(wanted, facts);
    }
    let admitted = match &facts.admitted {
        Ok(admitted) => admitted,
        Err(problems) => return Plan::stuck(Reason::Refused, sentence(problems)),
    };
    let rendering = Rendering { wanted, admitted };
    if !facts.files_saved {
        return Plan::steps(vec![AppStep::SaveFiles]);
    }
    let early = before_images(&rendering, facts);
    if !early.is_empty() {
        return Plan::steps(early);
    }
    let pins = match pins(&rendering, facts) {
        Ok(pins) => pins,
        Err(missing) => {
            let on = missing.iter().map(|image| image.key().reference()).collect();
            return Plan::wait(Wait::new(Reason::Pulling, "Getting the images").on(on));
        }
    };
    let containers = rendering.containers(&pins);
    let mut steps = removed_services(&containers, facts);
    steps.extend(apply(&rendering.volumes(), facts));
    steps.extend(revision(&rendering, facts, &pins, &containers));
    steps.extend(apply(&containers, facts));
    let holds_slot = wanted.object.spec.state == Power::Running
        && (!steps.is_empty() || facts.of_kind("Container").any(|container| is_moving(container, facts)));
    if steps.is_empty() {
        steps.extend(route(&rendering, facts));
    }
    if !steps.is_empty() {
        return Plan { holds_slot, ..Plan::steps(steps) };
    }
    let unready: Vec<_> = facts
        .children
        .iter()
        .filter(|child| needs_waiting(child))
        .map(|child| child.key().reference())
        .collect();
    if unready.is_empty() {
        return Plan { holds_slot, ..Plan::nothing() };
    }
    Plan {
        holds_slot,
        ..Plan::wait(Wait::new(Reason::DependencyNotReady, "Its parts are not ready").on(unready))
    }
}

fn needs_waiting(child: &Object) -> bool {
    child.kind != "Revision" && !child.is_going() && verdict(child) != Some(Verdict::Ready)
}

/// What can be settled before any image is here.
fn before_images(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<AppStep> {
    let images = rendering.images();
    let in_use =
        |name: &str| facts.of_kind("Container").any(|container| container.spec()["image"]["ref"] == name);
    let wanted = |name: &str| images.iter().any(|image| image.name() == name);
    let unwanted = facts
        .of_kind("Image")
        .filter(|image| !image.is_going() && !wanted(image.name()) && !in_use(image.name()));
    let mut steps: Vec<AppStep> = unwanted.map(|image| delete(image)).collect();
    steps.extend(apply(&[rendering.network()], facts));
    if facts.of_kind("Route").next().is_none() {
        let splash =
            if rendering.app().spec.state == Power::Stopped { Splash::Stopped } else { Splash::Starting };
        steps.extend(rendering.route(RouteMode::Splash, splash).map(|route| AppStep::Apply(Box::new(route))));
    }
    steps.extend(apply(&images, facts));
    steps
}

/// A service that is no longer declared: its container goes, its data stays.
fn removed_services(containers: &[Object], facts: &AppSeen) -> Vec<AppStep> {
    let wanted = |name: &str| containers.iter().any(|container| container.name() == name);
    facts
        .of_kind("Container")
        .filter(|seen| !seen.is_going() && !wanted(seen.name()))
        .map(|seen| delete(seen))
        .collect()
}

fn apply(wanted: &[Object], facts: &AppSeen) -> Vec<AppStep> {
    let differs = |child: &&Object| match facts.child(&child.kind, child.name()) {
        // One on its way out is waited for; then it is made anew.
        Some(seen) => !seen.is_going() && !is_as_wanted(child, seen),
        None => true,
    };
    wanted.iter().filter(differs).map(|child| AppStep::Apply(Box::new(child.clone()))).collect()
}

fn revision(
    rendering: &Rendering<'_>,
    facts: &AppSeen,
    pins: &std::collections::BTreeMap<String, String>,
    containers: &[Object],
) -> Vec<AppStep> {
    let mut numbered: Vec<_> =
        facts.of_kind("Revision").map(|seen| (seen.spec()["number"].as_i64().unwrap_or(0), seen)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let name = rendering.revision_name(pins, containers);
    let newest = numbered.last().map_or(0, |(number, _)| *number);
    let mut steps = Vec::new();
    if facts.child("Revision", &name).is_none() {
        steps.push(AppStep::Apply(Box::new(rendering.revision(newest + 1, pins, containers))));
    }
    let surplus = numbered.len().saturating_sub(KEPT_REVISIONS);
    let old = numbered.iter().take(surplus).filter(|(_, seen)| seen.name() != name && !seen.is_going());
    steps.extend(old.map(|(_, seen)| delete(seen)));
    steps
}

/// Who answers at the app's address: the app once it is ready, a page of ours until then (AL-57).
fn route(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<AppStep> {
    let Some(main) = rendering.main() else { return Vec::new() };
    let container = facts.child("Container", &rendering.container_name(&main.name));
    let serves = facts.of_kind("Route").any(|route| route.spec()["mode"] == "Upstream");
    let verdict = container.and_then(|container| verdict(container));
    let runs = container.is_some_and(|container| container.status()["state"] == "running");
    let (mode, splash) = match (rendering.app().spec.state, verdict) {
        (Power::Stopped, _) => (RouteMode::Splash, Splash::Stopped),
        (Power::Running, Some(Verdict::Ready)) => (RouteMode::Upstream, Splash::Starting),
        // One that served and is unwell still knows better than a page of ours.
        (Power::Running, Some(Verdict::Degraded | Verdict::Paused)) if serves && runs => {
            (RouteMode::Upstream, Splash::Starting)
        }
        (Power::Running, Some(Verdict::Failed | Verdict::NeedsYou)) => (RouteMode::Splash, Splash::Failed),
        (Power::Running, _) => (RouteMode::Splash, Splash::Starting),
    };
    let wanted: Vec<Object> = rendering.route(mode, splash).into_iter().collect();
    apply(&wanted, facts)
}

/// People stop seeing it, then it stops, then what it stood on goes; the files last.
fn take_down(wanted: &Wanted<App>, facts: &AppSeen) -> Plan<AppStep> {
    let of = |kinds: &[&str]| {
        facts
            .children
            .iter()
            .filter(|child| kinds.contains(&child.kind.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    let deletes_data = wanted.object.spec.data_policy == DataPolicy::Delete;
    for stage in [&["Route", "Container"][..], &["Network", "Volume", "Revision", "Image"]] {
        let children = of(stage);
        let mut steps = Vec::new();
        for child in children.iter().filter(|child| !child.is_going()) {
            if child.kind == "Volume" && deletes_data && child.spec()["dataPolicy"] != "Delete" {
                let mut with_data = Object::clone(child);
                if let Some(spec) = with_data.body.get_mut("spec") {
                    spec["dataPolicy"] = json!("Delete");
                }
                steps.push(AppStep::Apply(Box::new(with_data)));
            } else {
                steps.push(delete(child));
            }
        }
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

fn delete(child: &Object) -> AppStep {
    AppStep::Delete { kind: child.kind.clone(), name: child.name().to_owned(), uid: child.uid().to_owned() }
}

impl Step for AppStep {
    fn doing(&self) -> String {
        match self {
            Self::SaveFiles => "Keep the app's files".into(),
            Self::Apply(child) => format!("Declare {} {}", child.kind, child.name()),
            Self::Delete { kind, name, .. } => format!("Delete {kind} {name}"),
            Self::RemoveFiles => "Remove the app's files".into(),
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::SaveFiles => ("FilesKept", "Kept the app's files".into()),
            Self::Apply(child) => ("Declared", format!("Declared {} {}", child.kind, child.name())),
            Self::Delete { kind, name, .. } => ("Deleted", format!("Deleted {kind} {name}")),
            Self::RemoveFiles => ("FilesRemoved", "Removed the app's files".into()),
        }
    }
}
