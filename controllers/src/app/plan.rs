//! What to do next about an app: which children should exist now, one step at a time.
//!
//! In order: what should be stopped is, whatever else is wrong; the author's files are kept; images that nobody wants
//! any more go, which cancels their pull; the page that says it is starting stands; every image is here; then, and
//! only then, containers are changed. Last, its parts are written down for a store that is lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_engine::Object;
use hearth_engine::controller::{Plan, Seen, Step, Wait, Wanted, sentence, spec_hash};
use hearth_kinds::route::{RouteMode, Splash};
use hearth_kinds::{App, DataPolicy, Power};
use hearth_meta::{FieldDiff, Reason, Verdict};
use serde_json::json;

use super::children::{is_as_wanted, is_moving, known_pins, pins, unready, verdict};
use super::detached::detached;
use super::observe::AppSeen;
use super::record::RECORD;
use super::render::Rendering;
use super::take_down;

/// The digest of no image.
const YET_TO_COME: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// How many revisions of an app are kept.
const KEPT_REVISIONS: usize = 10;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum AppStep {
    /// Writes the author's files into the instance's folder.
    SaveFiles,
    /// Writes down which parts the app has, for a store that is lost.
    SaveRecord {
        /// The hash of what is written down, so that another record is another step.
        of: String,
    },
    /// Writes down that the app goes, so that no store that is lost brings it back.
    Retire,
    /// Makes children, or makes them as they should be, in this order.
    Apply(Vec<Object>),
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
        return if !rest && files_stay && !facts.is_recorded { Seen::Absent } else { Seen::Ours(Vec::new()) };
    }
    let Some(rendering) = facts.rendering() else { return Seen::Absent };
    let Ok(pins) = pins(&rendering, facts) else { return Seen::Absent };
    let mut differences = Vec::new();
    for child in &lasting(&rendering, &pins) {
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
    if !facts.problems.is_empty() {
        let admitted = "as it was admitted last".to_owned();
        differences.push(FieldDiff::new("spec", Some("as declared".into()), Some(admitted)));
    }
    Seen::Ours(differences)
}

/// What is wanted, with what it comes to: what this program makes of an app may change without anybody's doing.
pub(super) fn target(wanted: &Wanted<App>, facts: &AppSeen) -> String {
    let rendered = facts.rendering().and_then(|rendering| {
        let pins = pins(&rendering, facts).ok()?;
        let children = lasting(&rendering, &pins);
        Some(children.iter().map(|child| (child.key().to_string(), child.spec().clone())).collect::<Vec<_>>())
    });
    spec_hash(&(&wanted.object.spec, rendered))
}

/// The children whose spec does not follow from what is seen.
fn lasting(rendering: &Rendering<'_>, pins: &BTreeMap<String, String>) -> Vec<Object> {
    let mut children = rendering.containers(pins);
    children.extend(rendering.volumes());
    children.push(rendering.network());
    children
}

pub(super) fn plan(wanted: &Wanted<App>, facts: &AppSeen) -> Plan<AppStep> {
    if wanted.gone {
        return take_down::plan(wanted, facts);
    }
    let mut plan = plan_of_one_that_stays(wanted, facts);
    plan.steps = at_once(plan.steps);
    plan
}

/// What follows each other in the store is asked for at once: it goes down in one write, and is looked at once.
fn at_once(steps: Vec<AppStep>) -> Vec<AppStep> {
    let mut gathered: Vec<AppStep> = Vec::new();
    for step in steps {
        match (gathered.last_mut(), step) {
            (Some(AppStep::Apply(children)), AppStep::Apply(more)) => children.extend(more),
            (_, step) => gathered.push(step),
        }
    }
    gathered
}

fn plan_of_one_that_stays(wanted: &Wanted<App>, facts: &AppSeen) -> Plan<AppStep> {
    let stops = stop(wanted, facts);
    if !stops.is_empty() {
        return Plan::steps(stops);
    }
    let plan = facts.rendering().map(|rendering| towards(&rendering, facts));
    match plan {
        Some(plan) if facts.problems.is_empty() || !plan.steps.is_empty() => plan,
        // What was admitted last is there, as far as it can be; the rest is for people to settle.
        _ => Plan::stuck(Reason::Refused, sentence(&facts.problems)),
    }
}

/// Stops what is there, whatever else may be in the way: its page first, then its containers.
fn stop(wanted: &Wanted<App>, facts: &AppSeen) -> Vec<AppStep> {
    if wanted.object.spec.state != Power::Stopped {
        return Vec::new();
    }
    let with = |child: &Object, changes: &[(&str, Option<&str>)]| {
        let mut changed = child.clone();
        if let Some(spec) = changed.body.get_mut("spec").and_then(serde_json::Value::as_object_mut) {
            for (field, value) in changes {
                match value {
                    Some(value) => spec.insert((*field).to_owned(), json!(value)),
                    None => spec.remove(*field),
                };
            }
        }
        (changed != *child).then(|| AppStep::Apply(vec![changed]))
    };
    let page = [("mode", Some("Splash")), ("splash", Some("Stopped")), ("upstream", None)];
    let stays = |child: &&Arc<Object>| !child.is_going();
    let pages = facts.of_kind("Route").filter(stays).filter_map(|route| with(route, &page));
    let containers = facts.of_kind("Container").filter(stays);
    pages.chain(containers.filter_map(|container| with(container, &[("power", Some("Stopped"))]))).collect()
}

/// From what is there to what was admitted.
fn towards(rendering: &Rendering<'_>, facts: &AppSeen) -> Plan<AppStep> {
    let left_behind = detached(rendering, facts);
    if !left_behind.is_empty() {
        return Plan::stuck(Reason::Refused, left_behind.join("; "));
    }
    if !facts.files_saved {
        return Plan::steps(vec![AppStep::SaveFiles]);
    }
    let early = before_images(rendering, facts);
    if !early.is_empty() {
        return Plan::steps(early);
    }
    let pins = match pins(rendering, facts) {
        Ok(pins) => pins,
        Err(missing) => {
            let on = missing.iter().map(|image| image.key().reference()).collect();
            return Plan::wait(Wait::new(Reason::Pulling, "Getting the images").on(on));
        }
    };
    let containers = rendering.containers(&pins);
    let mut steps = removed_services(&containers, facts);
    steps.extend(apply(&rendering.volumes(), facts));
    steps.extend(revision(rendering, facts, &pins, &containers));
    steps.extend(apply(&containers, facts));
    let holds_slot = rendering.app().spec.state == Power::Running
        && (!steps.is_empty() || facts.of_kind("Container").any(|container| is_moving(container, facts)));
    if steps.is_empty() {
        steps.extend(route(rendering, facts));
    }
    if steps.is_empty() && !facts.record_saved {
        let of = spec_hash(&facts.files.get(RECORD));
        steps.push(AppStep::SaveRecord { of });
    }
    if !steps.is_empty() {
        return Plan { holds_slot, ..Plan::steps(steps) };
    }
    let unready = unready(rendering, facts);
    if unready.is_empty() {
        return Plan { holds_slot, ..Plan::nothing() };
    }
    let wait = if unready.iter().any(|child| child.is_going()) {
        Wait::new(Reason::Removing, "Its parts are being removed and made anew")
    } else {
        Wait::new(Reason::DependencyNotReady, "Its parts are not ready")
    };
    let on = unready.iter().map(|child| child.key().reference()).collect();
    Plan { holds_slot, ..Plan::wait(wait.on(on)) }
}

/// What would come of another wish, as far as it can be told before its images are here: a service whose image is yet
/// to come is rendered with one that nothing can be equal to.
pub(super) fn foresee(wanted: &Wanted<App>, facts: &AppSeen) -> Vec<AppStep> {
    if wanted.gone {
        return take_down::plan(wanted, facts).steps;
    }
    let stops = stop(wanted, facts);
    let rendering = facts.rendering().filter(|_| stops.is_empty());
    let Some(rendering) = rendering else { return stops };
    let mut pins = known_pins(&rendering, facts).0;
    for service in rendering.services() {
        pins.entry(service.name.clone()).or_insert_with(|| YET_TO_COME.to_owned());
    }
    let mut containers = rendering.containers(&pins);
    containers.iter_mut().for_each(|container| name_known_image(container, facts));
    let mut steps = before_images(&rendering, facts);
    steps.extend(removed_services(&containers, facts));
    steps.extend(apply(&rendering.volumes(), facts));
    steps.extend(apply(&containers, facts));
    steps.extend(route(&rendering, facts));
    steps
}

/// An image that is not even declared cannot be looked at; the one before it stands for it, with the digest of none.
fn name_known_image(container: &mut Object, facts: &AppSeen) {
    let known = facts.child("Container", container.name()).map(|seen| seen.spec()["image"]["ref"].clone());
    if let (Some(known), Some(spec)) = (known, container.body.get_mut("spec"))
        && spec["image"]["digest"] == YET_TO_COME
    {
        spec["image"]["ref"] = known;
    }
}

/// What can be settled before any image is here.
fn before_images(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<AppStep> {
    let images = rendering.images();
    let in_use =
        |name: &str| facts.of_kind("Container").any(|container| container.spec()["image"]["ref"] == name);
    let wanted = |name: &str| images.iter().any(|image| image.name() == name);
    // One that is here stays until what was made of it has been replaced: whoever changes their mind half way has it
    // still, and the knowledge that it was pulled for them. One that is on its way is given up at once.
    let is_replacing = facts.of_kind("Container").any(|container| is_moving(container, facts));
    let may_go = |image: &Object| !is_replacing || image.status()["present"] != true;
    let unwanted = facts
        .of_kind("Image")
        .filter(|image| !image.is_going() && !wanted(image.name()) && !in_use(image.name()) && may_go(image));
    let mut steps: Vec<AppStep> = unwanted.map(|image| delete(image)).collect();
    steps.extend(apply(&[rendering.network()], facts));
    if facts.of_kind("Route").next().is_none() {
        let splash =
            if rendering.app().spec.state == Power::Stopped { Splash::Stopped } else { Splash::Starting };
        steps.extend(rendering.route(RouteMode::Splash, splash).map(|route| AppStep::Apply(vec![route])));
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
    wanted.iter().filter(differs).map(|child| AppStep::Apply(vec![child.clone()])).collect()
}

fn revision(
    rendering: &Rendering<'_>,
    facts: &AppSeen,
    pins: &BTreeMap<String, String>,
    containers: &[Object],
) -> Vec<AppStep> {
    let mut numbered: Vec<_> =
        facts.of_kind("Revision").map(|seen| (seen.spec()["number"].as_i64().unwrap_or(0), seen)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let name = rendering.revision_name(pins, containers);
    let newest = numbered.last().map_or(0, |(number, _)| *number);
    let mut steps = Vec::new();
    if facts.child("Revision", &name).is_none() {
        steps.push(AppStep::Apply(vec![rendering.revision(newest + 1, pins, containers)]));
    }
    let surplus = numbered.len().saturating_sub(KEPT_REVISIONS);
    let old = numbered.iter().take(surplus).filter(|(_, seen)| seen.name() != name && !seen.is_going());
    steps.extend(old.map(|(_, seen)| delete(seen)));
    steps
}

/// Who answers at the app's address: the app once it is ready, a page of ours until then (AL-57); nobody where there
/// is no page any more.
fn route(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<AppStep> {
    let wanted = answer(rendering, facts);
    let unwanted = facts
        .of_kind("Route")
        .filter(|seen| !seen.is_going() && wanted.as_ref().is_none_or(|wanted| wanted.name() != seen.name()));
    let mut steps: Vec<AppStep> = unwanted.map(|seen| delete(seen)).collect();
    steps.extend(apply(wanted.as_slice(), facts));
    steps
}

fn answer(rendering: &Rendering<'_>, facts: &AppSeen) -> Option<Object> {
    let container = facts.child("Container", &rendering.container_name(&rendering.main()?.name));
    let serves = facts.of_kind("Route").any(|route| route.spec()["mode"] == "Upstream");
    let verdict = container.and_then(|container| verdict(container));
    let runs = container.is_some_and(|container| container.status()["state"] == "running");
    let crash_loop = container.map(|container| &container.status()["crashLoop"]).filter(|l| l.is_object());
    let (mode, splash) = match (rendering.app().spec.state, verdict) {
        (Power::Stopped, _) => (RouteMode::Splash, Splash::Stopped),
        // One that dies again and again would make the page flip with each death; while it serves, it is let.
        (Power::Running, Some(Verdict::Degraded)) if crash_loop.is_some() => {
            match crash_loop.is_some_and(|known| known["recovering"] == true) {
                true => (RouteMode::Upstream, Splash::Starting),
                false => (RouteMode::Splash, Splash::Failed),
            }
        }
        (Power::Running, Some(Verdict::Ready)) => (RouteMode::Upstream, Splash::Starting),
        // One that served and runs on still knows better than a page of ours, whatever is wanted of it or of us.
        (Power::Running, verdict) if serves && runs && verdict != Some(Verdict::Failed) => {
            (RouteMode::Upstream, Splash::Starting)
        }
        (Power::Running, Some(Verdict::Failed | Verdict::NeedsYou)) => (RouteMode::Splash, Splash::Failed),
        (Power::Running, _) => (RouteMode::Splash, Splash::Starting),
    };
    rendering.route(mode, splash)
}

pub(super) fn delete(child: &Object) -> AppStep {
    AppStep::Delete { kind: child.kind.clone(), name: child.name().to_owned(), uid: child.uid().to_owned() }
}

fn names(children: &[Object]) -> String {
    children.iter().map(|child| format!("{} {}", child.kind, child.name())).collect::<Vec<_>>().join(", ")
}

impl Step for AppStep {
    fn doing(&self) -> String {
        match self {
            Self::SaveFiles => "Keep the app's files".into(),
            Self::SaveRecord { .. } => "Write down the app's parts".into(),
            Self::Retire => "Write down that the app goes".into(),
            Self::Apply(children) => format!("Declare {}", names(children)),
            Self::Delete { kind, name, .. } => format!("Delete {kind} {name}"),
            Self::RemoveFiles => "Remove the app's files".into(),
        }
    }

    fn writes(&self) -> &[Object] {
        match self {
            Self::Apply(children) => children,
            _ => &[],
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::SaveFiles => ("FilesKept", "Kept the app's files".into()),
            Self::SaveRecord { .. } => ("PartsRecorded", "Wrote down the app's parts".into()),
            Self::Retire => ("Retired", "Wrote down that the app goes".into()),
            Self::Apply(children) => ("Declared", format!("Declared {}", names(children))),
            Self::Delete { kind, name, .. } => ("Deleted", format!("Deleted {kind} {name}")),
            Self::RemoveFiles => ("FilesRemoved", "Removed the app's files".into()),
        }
    }
}
