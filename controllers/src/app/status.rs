//! What people are told of an app: one verdict over all its parts, the worst first.

use hearth_engine::Object;
use hearth_engine::controller::{Blind, Outcome, Report, Wanted};
use hearth_kinds::app::ServiceStatus;
use hearth_kinds::container::ContainerType;
use hearth_kinds::{App, AppStatus, Power};
use hearth_meta::{CommonStatus, Condition, ConditionStatus, Progress, Reason, Unit, Verdict};

use super::AppStep;
use super::children::{pins, verdict};
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
    let mut status = AppStatus { url: url(&wanted.object), ..AppStatus::default() };
    let mut admitted_condition = None;
    match &facts.admitted {
        Ok(admitted) => {
            let rendering = Rendering { wanted, admitted };
            status.services = services(&rendering, facts);
            status.revision = pins(&rendering, facts)
                .ok()
                .map(|pins| rendering.revision_name(&pins, &rendering.containers(&pins)));
            status.warnings = admitted.warnings.iter().map(ToString::to_string).collect();
            status.warnings.extend(admitted.services.iter().flat_map(without_effect));
            admitted_condition = Some(Condition::new("Admitted", true, Reason::InSync, ""));
            if matches!(outcome, Outcome::Waiting(_)) && !wanted.gone {
                sum_up(&mut common, &rendering, facts);
            }
        }
        Err(_) if wanted.gone => {}
        Err(_) => admitted_condition = Some(Condition::new("Admitted", false, Reason::Refused, "")),
    }
    status.common = common;
    let conditions = admitted_condition.into_iter().chain(conditions(&status, facts)).collect();
    Report { status, conditions }
}

/// The worst of what its parts say, in that part's own words; the parts that are not ready are what it waits for.
fn sum_up(common: &mut CommonStatus, rendering: &Rendering<'_>, facts: &AppSeen) {
    if common.reason == Some(Reason::WaitingForInstallSlot) {
        return;
    }
    let unready: Vec<&Object> = facts
        .children
        .iter()
        .map(AsRef::as_ref)
        .filter(|child: &&Object| {
            child.kind != "Revision" && !child.is_going() && verdict(child) != Some(Verdict::Ready)
        })
        .collect();
    let Some(worst) = unready.iter().min_by_key(|child| rank(verdict(child))) else { return };
    let main_serves = rendering.main().is_some_and(|main| {
        let container = facts.child("Container", &rendering.container_name(&main.name));
        container.is_some_and(|container| verdict(container) == Some(Verdict::Ready))
    });
    common.summary = Some(match verdict(worst) {
        Some(Verdict::NeedsYou | Verdict::Paused) => Verdict::NeedsYou,
        Some(Verdict::Failed) if main_serves => Verdict::Degraded,
        Some(Verdict::Failed) => Verdict::Failed,
        Some(Verdict::Degraded) => Verdict::Degraded,
        _ => Verdict::Progressing,
    });
    let word = |field: &str| worst.status()[field].as_str().unwrap_or_default().to_owned();
    common.reason = serde_json::from_value(worst.status()["reason"].clone()).ok().or(common.reason);
    let message = word("message");
    let said = if message.is_empty() { word("reason") } else { message };
    common.message =
        Some(format!("{} {}: {said}", worst.kind, worst.name()).trim_end_matches(": ").to_owned());
    common.blocked_by = unready.iter().map(|child| child.key().reference()).collect();
    if common.summary == Some(Verdict::Progressing) {
        common.progress = Some(progress(rendering, facts));
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
    let of = |service: &hearth_charts::admit::Service| {
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
