//! What people are told of a container.

use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_engine::controller::{Blind, Outcome, Report, Wanted};
use hearth_kinds::container::{Address, ContainerType, CrashLoop};
use hearth_kinds::{Container, ContainerStatus, Power};
use hearth_meta::{CommonStatus, Condition, ConditionStatus, Reason, Time, Verdict};

use super::ContainerStep;
use super::diff;
use super::observe::ContainerSeen;
use crate::naming::Ownership;

pub(super) fn report(
    wanted: &Wanted<Container>,
    seen: Result<&ContainerSeen, &Blind>,
    outcome: &Outcome<ContainerStep>,
) -> Report<Container> {
    let before = wanted.object.status.clone().unwrap_or_default();
    let common = outcome.common(wanted.gone, seen.map(|_| ()), at_rest(wanted));
    let Ok(facts) = seen else {
        let conditions = vec![Condition::new("Ready", ConditionStatus::Unknown, Reason::CannotSee, "")];
        return Report { status: ContainerStatus { common, ..before }, conditions };
    };
    let container = facts.container.as_ref().filter(|_| facts.ownership == Ownership::Mine);
    let mut status = ContainerStatus { common, ..as_seen(wanted, container, facts) };
    (status.completed_for, status.completed_at) = completion(wanted, &before, container, facts);
    status.waiting_since = waiting_since(wanted, &before, outcome);
    if container.is_some() {
        status.recent_deaths = facts.crashes.recent_deaths();
        status.crash_loop = crash_loop(&before, facts);
    }
    sharpen(&mut status.common, wanted, container, outcome);
    let conditions = conditions(&status, container);
    Report { status, conditions }
}

fn at_rest(wanted: &Wanted<Container>) -> Reason {
    match (wanted.object.spec.power, wanted.object.spec.r#type) {
        (Power::Stopped, _) => Reason::StoppedAsWanted,
        (_, ContainerType::Job) => Reason::Completed,
        _ => Reason::InSync,
    }
}

fn as_seen(
    wanted: &Wanted<Container>,
    container: Option<&ContainerFacts>,
    facts: &ContainerSeen,
) -> ContainerStatus {
    let Some(container) = container else { return ContainerStatus::default() };
    let state = &container.state;
    let place = |name: &String| {
        let network = facts.networks.get(name)?;
        let place = container
            .networks
            .iter()
            .find(|place| place.name == network.engine_name && !place.ip.is_empty())?;
        Some(Address { network: name.clone(), ip: place.ip.clone() })
    };
    ContainerStatus {
        container_id: Some(container.id.clone()),
        image_id: Some(container.image_id.clone()),
        state: Some(state.status.clone()),
        health: state.health.map(|health| health.as_str().to_owned()),
        exit_code: state.finished_at.is_some().then_some(state.exit_code),
        restarts: Some(state.restarts),
        started_at: state.started_at.map(Time),
        addresses: wanted.object.spec.networks.iter().filter_map(|link| place(&link.name)).collect(),
        ..ContainerStatus::default()
    }
}

fn crash_loop(before: &ContainerStatus, facts: &ContainerSeen) -> Option<CrashLoop> {
    let since = facts.crashes.looping?;
    let known = before.crash_loop.as_ref();
    Some(CrashLoop {
        since: Some(Time(since)),
        recovering: facts.crashes.recovering,
        log_tail: facts
            .log_tail
            .clone()
            .or_else(|| known.map(|known| known.log_tail.clone()))
            .unwrap_or_default(),
    })
}

/// When a job was done, and for which spec. Once known it stays, whatever becomes of the container.
fn completion(
    wanted: &Wanted<Container>,
    before: &ContainerStatus,
    container: Option<&ContainerFacts>,
    facts: &ContainerSeen,
) -> (Option<String>, Option<Time>) {
    let spec = &wanted.object.spec;
    if spec.r#type != ContainerType::Job {
        return (None, None);
    }
    let hash = diff::job_hash(spec);
    if before.completed_for.as_ref() == Some(&hash) {
        return (before.completed_for.clone(), before.completed_at.clone());
    }
    if let Some(done) = facts.recorded.as_ref().filter(|done| done.completed_for == hash) {
        return (Some(hash), done.completed_at.clone().or(Some(Time(wanted.now))));
    }
    let done = container.filter(|container| {
        container.state.status == "exited"
            && container.state.exit_code == 0
            && diff::shape(wanted, facts, container).is_empty()
    });
    match done {
        Some(container) => (Some(hash), Some(Time(container.state.finished_at.unwrap_or(wanted.now)))),
        None => (None, None),
    }
}

/// Since when it waits to become healthy; a wait that was begun goes on counting, also across a restart of ours.
fn waiting_since(
    wanted: &Wanted<Container>,
    before: &ContainerStatus,
    outcome: &Outcome<ContainerStep>,
) -> Option<Time> {
    match outcome {
        Outcome::Waiting(wait)
            if matches!(wait.reason, Reason::Starting | Reason::HealthDeadlineExceeded) =>
        {
            before.waiting_since.clone().or(Some(Time(wanted.now)))
        }
        _ => None,
    }
}

/// The verdicts that a wait alone does not tell.
fn sharpen(
    common: &mut CommonStatus,
    wanted: &Wanted<Container>,
    container: Option<&ContainerFacts>,
    outcome: &Outcome<ContainerStep>,
) {
    if wanted.gone || common.reason == Some(Reason::CannotSee) {
        return;
    }
    let is_job =
        wanted.object.spec.r#type == ContainerType::Job && wanted.object.spec.power == Power::Running;
    match (outcome, common.reason) {
        (Outcome::Waiting(_), Some(Reason::Unhealthy | Reason::Restarting | Reason::CrashLooping)) => {
            common.summary = Some(Verdict::Degraded)
        }
        (Outcome::Waiting(_), Some(Reason::HealthDeadlineExceeded)) => common.summary = Some(Verdict::Failed),
        // A job that runs has nothing to be done about it and is not done.
        (Outcome::Steady, _) if is_job && container.is_some_and(|container| container.state.running) => {
            common.summary = Some(Verdict::Progressing);
            common.reason = Some(Reason::Starting);
            common.message = Some("The job is running".into());
        }
        _ => {}
    }
    // Only while it matters: the engine remembers the last death of what runs well again.
    if common.summary != Some(Verdict::Ready)
        && container.is_some_and(|container| container.state.out_of_memory)
    {
        let known = common.message.take().map(|message| format!("{message}; ")).unwrap_or_default();
        common.message = Some(format!("{known}it was killed for using too much memory"));
    }
}

fn conditions(status: &ContainerStatus, container: Option<&ContainerFacts>) -> Vec<Condition> {
    let reason = status.common.reason.unwrap_or(Reason::InSync);
    let message = status.common.message.clone().unwrap_or_default();
    let ready = status.common.summary == Some(Verdict::Ready);
    let mut conditions = vec![Condition::new("Ready", ready, reason, message)];
    if let Some(health) = container.and_then(|container| container.state.health) {
        let reason = match health {
            Health::Healthy => Reason::InSync,
            Health::Starting => Reason::Starting,
            Health::Unhealthy => Reason::Unhealthy,
        };
        conditions.push(Condition::new("Healthy", health == Health::Healthy, reason, ""));
    }
    conditions
}
