//! What people are told of an app: one verdict over all its parts, the worst first.

use std::path::Path;

use hearth_charts::admit::Service;
use hearth_engine::Object;
use hearth_engine::controller::{Blind, Outcome, Report, Wanted, sentence};
use hearth_kinds::app::ServiceStatus;
use hearth_kinds::container::ContainerType;
use hearth_kinds::{App, AppStatus, Power};
use hearth_meta::{CommonStatus, Condition, ConditionStatus, Progress, Reason, Unit, Verdict};

use super::AppStep;
use super::children::{pins, unready, verdict};
use super::observe::AppSeen;
use super::render::{Rendering, url};
use super::service::without_effect;

/// The stages people are shown while an app comes up.
const STAGES: i32 = 3;

pub(super) fn report(
    wanted: &Wanted<App>,
    seen: Result<&AppSeen, &Blind>,
    outcome: &Outcome<AppStep>,
) -> Report<App> {
    let before = wanted.object.status.clone().unwrap_or_default();
    let rest = if wanted.object.spec.state == Power::Stopped {
        Reason::StoppedAsWanted
    } else {
        Reason::AllServicesHealthy
    };
    let mut common = outcome.common(wanted.gone, seen.map(|_| ()), rest);
    let Ok(facts) = seen else {
        let conditions = vec![Condition::new("Ready", ConditionStatus::Unknown, Reason::CannotSee, "")];
        return Report { status: AppStatus { common, ..before }, conditions };
    };
    let mut status = AppStatus { common: CommonStatus::default(), url: url(&wanted.object), ..before };
    if let Outcome::Failed { error, .. } = outcome
        && error.reason == Reason::Removing
        && !wanted.gone
    {
        // A part of that name makes way first, which takes its time.
        common.summary = Some(Verdict::Progressing);
    }
    if let Some(rendering) = facts.rendering() {
        status.services = services(&rendering, facts);
        status.warnings = rendering.admitted.warnings.iter().map(ToString::to_string).collect();
        status.warnings.extend(rendering.services().iter().flat_map(without_effect));
        status.warnings.extend(unkept(&rendering, facts));
        status.revision = revision(&rendering, facts).or(status.revision);
        match outcome {
            Outcome::Waiting(_) => sum_up(&mut common, &rendering, facts),
            // A wish that is refused takes nothing from what runs.
            Outcome::Stuck(_) if main_serves(&rendering, facts) => common.summary = Some(Verdict::Degraded),
            _ => {}
        }
    }
    status.common = common;
    let conditions = admitted(wanted, facts).into_iter().chain(conditions(&status, facts)).collect();
    Report { status, conditions }
}

/// Paths that images declare to hold data and nothing is mounted at: what a service writes there goes with its
/// container, at the next change or update. A job has nothing to keep.
fn unkept(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<String> {
    let of = |service: &Service| {
        let image = facts.child("Image", &rendering.image_name(service));
        let declared =
            image.and_then(|image| image.status()["volumes"].as_array()).cloned().unwrap_or_default();
        let mounted = service.mounts.iter().map(|mount| mount.target.as_str());
        let folders = service.folders.iter().map(|folder| folder.target.as_str());
        let tmpfs = service.tmpfs.iter().map(|tmpfs| tmpfs.target.as_str());
        let places: Vec<&str> = mounted.chain(folders).chain(tmpfs).collect();
        let is_kept = |path: &str| places.iter().any(|place| Path::new(path).starts_with(place));
        let lost = declared.iter().filter_map(|path| path.as_str()).filter(|path| !is_kept(path));
        let told = lost.map(|path| {
            format!(
                "services.{}: the image keeps data in {path} and nothing is mounted there: it is lost when the \
                 container is made anew; give it a volume, such as ./data:{path}",
                service.name
            )
        });
        told.collect::<Vec<_>>()
    };
    rendering.services().iter().filter(|service| !service.job).flat_map(of).collect()
}

fn admitted(wanted: &Wanted<App>, facts: &AppSeen) -> Option<Condition> {
    match facts.problems.as_slice() {
        _ if wanted.gone => None,
        [] => Some(Condition::new("Admitted", true, Reason::InSync, "")),
        problems => Some(Condition::new("Admitted", false, Reason::Refused, sentence(problems))),
    }
}

/// The Revision of what it is made of, once it is kept.
fn revision(rendering: &Rendering<'_>, facts: &AppSeen) -> Option<String> {
    let pins = pins(rendering, facts).ok()?;
    let name = rendering.revision_name(&pins, &rendering.containers(&pins));
    facts.child("Revision", &name).map(|_| name)
}

fn main_serves(rendering: &Rendering<'_>, facts: &AppSeen) -> bool {
    rendering.app().spec.state == Power::Running
        && rendering.main().is_some_and(|main| {
            let container = facts.child("Container", &rendering.container_name(&main.name));
            container.is_some_and(|container| verdict(container) == Some(Verdict::Ready))
        })
}

/// The worst of what its parts say, in that part's own words; the parts that are not ready are what it waits for.
fn sum_up(common: &mut CommonStatus, rendering: &Rendering<'_>, facts: &AppSeen) {
    if common.reason == Some(Reason::WaitingForInstallSlot) {
        return;
    }
    let unready = unready(rendering, facts);
    let Some(worst) = unready.iter().min_by_key(|child| rank(standing(child))) else { return };
    common.summary = Some(match standing(worst) {
        Some(Verdict::NeedsYou | Verdict::Paused) => Verdict::NeedsYou,
        Some(Verdict::Failed) if main_serves(rendering, facts) => Verdict::Degraded,
        Some(Verdict::Failed) => Verdict::Failed,
        Some(Verdict::Degraded) => Verdict::Degraded,
        _ => Verdict::Progressing,
    });
    common.reason = match standing(worst) {
        // What it said of an older spec is no news.
        None => common.reason,
        Some(Verdict::Removing) => Some(Reason::Removing),
        Some(_) => serde_json::from_value(worst.status()["reason"].clone()).ok().or(common.reason),
    };
    common.message = Some(in_words(worst));
    common.blocked_by = unready.iter().map(|child| child.key().reference()).collect();
    if common.summary == Some(Verdict::Progressing) {
        common.progress = Some(progress(rendering, facts));
    }
}

/// How a part of the app stands. One that is wanted and on its way out is not ready, whatever it said last.
fn standing(child: &Object) -> Option<Verdict> {
    match verdict(child) {
        None | Some(Verdict::Ready) if child.is_going() => Some(Verdict::Removing),
        verdict => verdict,
    }
}

fn in_words(child: &Object) -> String {
    let (kind, name) = (&child.kind, child.name());
    match (standing(child), child.status()["message"].as_str()) {
        (Some(verdict), Some(message)) if verdict != Verdict::Removing && !message.is_empty() => {
            format!("{kind} {name}: {message}")
        }
        (Some(Verdict::Removing), _) => format!("{kind} {name} is being removed"),
        _ => format!("{kind} {name} is not ready yet"),
    }
}

/// What weighs more stands first.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::NeedsYou | Verdict::Paused) => 0,
        Some(Verdict::Failed) => 1,
        Some(Verdict::Degraded) => 2,
        Some(Verdict::Progressing) => 3,
        None | Some(Verdict::Removing) => 4,
        Some(Verdict::Waiting) => 5,
        Some(Verdict::Ready) => 6,
    }
}

fn progress(rendering: &Rendering<'_>, facts: &AppSeen) -> Progress {
    let number = |image: &Object, field: &str| image.status()["progress"][field].as_i64().unwrap_or(0);
    let empty = Progress {
        step: String::new(),
        index: 1,
        total: STAGES,
        unit: None,
        done: None,
        of: None,
        started_at: None,
        last_advance_at: None,
    };
    if pins(rendering, facts).is_err() {
        let sum = |field: &str| facts.of_kind("Image").map(|image| number(image, field)).sum();
        return Progress {
            step: "Pulling".into(),
            unit: Some(Unit::Bytes),
            done: Some(sum("done")),
            of: Some(sum("of")),
            ..empty
        };
    }
    let containers: Vec<_> = facts.of_kind("Container").collect();
    let ready = containers.iter().filter(|container| verdict(container) == Some(Verdict::Ready)).count();
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let all = rendering.services().len();
    let (step, index) = if ready == all { ("Routing", 3) } else { ("Starting", 2) };
    Progress {
        step: step.into(),
        index,
        unit: Some(Unit::Items),
        done: Some(count(ready)),
        of: Some(count(all)),
        ..empty
    }
}

fn services(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<ServiceStatus> {
    let of = |service: &Service| {
        let name = rendering.container_name(&service.name);
        let container = facts.child("Container", &name);
        ServiceStatus {
            name: service.name.clone(),
            r#type: if service.job { ContainerType::Job } else { ContainerType::Service },
            summary: container.and_then(|container| verdict(container)).unwrap_or(Verdict::Progressing),
            completed_at: container
                .and_then(|c| serde_json::from_value(c.status()["completedAt"].clone()).ok().flatten()),
            container: name,
        }
    };
    rendering.services().iter().map(of).collect()
}

fn conditions(status: &AppStatus, facts: &AppSeen) -> Vec<Condition> {
    let reason = status.common.reason.unwrap_or(Reason::InSync);
    let message = status.common.message.clone().unwrap_or_default();
    let ready = status.common.summary == Some(Verdict::Ready);
    let all = |kind: &str| facts.of_kind(kind).all(|child| verdict(child) == Some(Verdict::Ready));
    let why = |holds: bool| if holds { Reason::InSync } else { Reason::DependencyNotReady };
    let mut conditions = vec![Condition::new("Ready", ready, reason, message)];
    for (condition, kind) in [("Pulled", "Image"), ("Healthy", "Container"), ("Routed", "Route")] {
        if facts.of_kind(kind).next().is_some() {
            conditions.push(Condition::new(condition, all(kind), why(all(kind)), ""));
        }
    }
    conditions
}
