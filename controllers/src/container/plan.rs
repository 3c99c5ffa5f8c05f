//! What to do next about a container. Removal first; what should replace it must be possible before.

use std::time::Duration;

use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_engine::controller::{Plan, Step, Wait, Wanted};
use hearth_engine::driver::STALL_LIMIT;
use hearth_kinds::container::{ContainerType, DependencyCondition};
use hearth_kinds::{Container, Power};
use hearth_meta::labels::POKED_AT;
use hearth_meta::{ObjectRef, Reason, SignedDuration, Timestamp};

use super::act::{DEFAULT_GRACE, grace};
use super::crashes::STEADY_AFTER;
use super::diff;
use super::observe::{ContainerSeen, Unmet};
use crate::naming::Ownership;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum ContainerStep {
    /// Makes the container, on its first network only.
    Create,
    /// Attaches it to a network, by the Network's name; a stale place is left first.
    Attach(String),
    /// Detaches it from a network it should not be on, by the engine's name.
    Detach(String),
    /// Starts it, by id.
    Start(String),
    /// Stops it, by id, within its grace.
    Stop {
        /// Its id.
        id: String,
        /// How long it may take before it is killed.
        grace: Duration,
    },
    /// Removes it, by id.
    Remove(String),
    /// Takes back the files that were given to it.
    TakeBack,
}

/// A container goes first and its files after it. So none stands without what it has mounted, whenever somebody or the
/// engine itself starts it once more; and whatever cuts us off in between, or whoever else removed the container, the
/// next look finds files that nobody has. Until then what is gone keeps its finalizer.
pub(super) fn plan(wanted: &Wanted<Container>, facts: &ContainerSeen) -> Plan<ContainerStep> {
    let plan = plan_for_container(wanted, facts);
    // One that is about to be made is given its files anew, in the place of those that are left.
    let gives_anew =
        plan.steps.first() == Some(&ContainerStep::Create) && !wanted.object.spec.files.is_empty();
    if facts.still_holds && !gives_anew { Plan::steps(vec![ContainerStep::TakeBack]) } else { plan }
}

fn plan_for_container(wanted: &Wanted<Container>, facts: &ContainerSeen) -> Plan<ContainerStep> {
    let spec = &wanted.object.spec;
    if let Some(stray) = facts.strays.first() {
        let stop = (stray.state == "running")
            .then(|| ContainerStep::Stop { id: stray.id.clone(), grace: grace(wanted) });
        return Plan::steps(stop.into_iter().chain([ContainerStep::Remove(stray.id.clone())]).collect());
    }
    match (&facts.container, facts.ownership) {
        (Some(container), Ownership::Mine) if wanted.gone => take_down(container),
        _ if wanted.gone => Plan::nothing(),
        (Some(container), Ownership::Predecessor) if spec.power == Power::Stopped => take_down(container),
        _ if diff::is_finished_job(wanted, facts) => Plan::nothing(),
        (Some(container), Ownership::Mine) if spec.power == Power::Stopped => {
            let running = container.state.running || container.state.status == "restarting";
            if spec.r#type == ContainerType::Job && (running || container.state.exit_code != 0) {
                // A job that was broken off has not failed: it begins anew when it should run again.
                return take_down(container);
            }
            if running { Plan::steps(vec![stop(container)]) } else { Plan::nothing() }
        }
        _ if spec.power == Power::Stopped => Plan::nothing(),
        (Some(container), Ownership::Predecessor) => {
            missing(wanted, facts).unwrap_or_else(|| take_down(container))
        }
        (Some(container), Ownership::Mine) => towards_running(wanted, facts, container),
        // Of a foreign one the engine tells that it is in the way; nothing is done about it.
        _ => missing(wanted, facts).unwrap_or_else(|| Plan::steps(vec![ContainerStep::Create])),
    }
}

/// A container is stopped within the grace it was made with, whatever is wanted of the next one.
fn stop(container: &ContainerFacts) -> ContainerStep {
    ContainerStep::Stop { id: container.id.clone(), grace: container.stop_grace.unwrap_or(DEFAULT_GRACE) }
}

/// What would come of another wish: what differs is made anew in the end, whatever has to be there first. An image that
/// is not here is another one than what runs, since that one cannot be taken away under it.
pub(super) fn foresee(wanted: &Wanted<Container>, facts: &ContainerSeen) -> Vec<ContainerStep> {
    match (&facts.container, facts.ownership) {
        (Some(container), Ownership::Mine)
            if !wanted.gone
                && wanted.object.spec.power == Power::Running
                && !diff::is_finished_job(wanted, facts)
                && (facts.image.is_none() || !diff::shape(wanted, facts, container).is_empty()) =>
        {
            take_down(container).steps
        }
        _ => plan(wanted, facts).steps,
    }
}

fn take_down(container: &ContainerFacts) -> Plan<ContainerStep> {
    let stop = container.state.running.then(|| stop(container));
    Plan::steps(stop.into_iter().chain([ContainerStep::Remove(container.id.clone())]).collect())
}

fn towards_running(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    container: &ContainerFacts,
) -> Plan<ContainerStep> {
    if container.state.status == "removing" {
        // Somebody is removing it; once it is gone it is made anew.
        return Plan::wait(
            Wait::new(Reason::Applying, "Waiting until the old container is gone").until(soon(wanted)),
        );
    }
    if !diff::shape(wanted, facts, container).is_empty() {
        // The old one runs on until everything the new one needs is there.
        return missing(wanted, facts).unwrap_or_else(|| take_down(container));
    }
    if let Some(place) = stale_place(wanted, facts, container) {
        return place;
    }
    match container.state.status.as_str() {
        "running" | "restarting" if facts.crashes.looping.is_some() => until_quiet(wanted, facts, container),
        "running" => until_healthy(wanted, container),
        // The engine restarts it; two supervisors would fight.
        "restarting" => Plan::wait(Wait::new(Reason::Restarting, restarting(container))),
        "exited" if wanted.object.spec.r#type == ContainerType::Job => after_exit(wanted, container),
        // Docker could not even remove what it was; nothing starts it again.
        "dead" => missing(wanted, facts).unwrap_or_else(|| take_down(container)),
        _ => missing(wanted, facts)
            .unwrap_or_else(|| Plan::steps(vec![ContainerStep::Start(container.id.clone())])),
    }
}

/// When to look again at what the engine is about to finish, should its event be lost.
fn soon(wanted: &Wanted<Container>) -> Timestamp {
    wanted.now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX)
}

/// A job that has run: with 0 it is done, which its status says from now on; with anything else it failed.
///
/// Whoever mended the cause asks for another look, and then it is tried again (AL-25).
fn after_exit(wanted: &Wanted<Container>, container: &ContainerFacts) -> Plan<ContainerStep> {
    let annotations = wanted.object.metadata.annotations.as_ref();
    let poked: Option<Timestamp> = annotations.and_then(|a| a.get(POKED_AT)).and_then(|at| at.parse().ok());
    match container.state.exit_code {
        0 => Plan::nothing(),
        _ if poked > container.state.finished_at => take_down(container),
        code => Plan::stuck(Reason::JobFailed, format!("The job exited with {code}")),
    }
}

/// It dies again and again. The engine goes on starting it, and nobody else does.
fn until_quiet(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    container: &ContainerFacts,
) -> Plan<ContainerStep> {
    let code = container.state.exit_code;
    let message = match (facts.crashes.recovering, container.state.running) {
        (true, _) => "It died again and again; it runs now, and not for long enough yet".to_owned(),
        // While it runs the engine no longer says how it ended before.
        (false, true) => "It dies again and again".to_owned(),
        (false, false) => format!("It dies again and again, last with exit code {code}"),
    };
    let steady = steady_at(container).filter(|at| container.state.running && wanted.now < *at);
    let wait = Wait::new(Reason::CrashLooping, message);
    Plan::wait(match steady.or(facts.crashes.over_at) {
        Some(until) => wait.until(until),
        None => wait,
    })
}

fn restarting(container: &ContainerFacts) -> String {
    format!("It exited with {} and is being restarted", container.state.exit_code)
}

fn stale_place(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    container: &ContainerFacts,
) -> Option<Plan<ContainerStep>> {
    if let Some(extra) = diff::extra_places(wanted, facts, container).into_iter().next() {
        return Some(Plan::steps(vec![ContainerStep::Detach(extra)]));
    }
    let places = diff::places(wanted, facts, container);
    let link = wanted.object.spec.networks.iter().find(|link| {
        let field = format!("spec.networks[{}]", link.name);
        places.iter().any(|place| place.field.starts_with(&field))
    })?;
    Some(match facts.networks.get(&link.name) {
        Some(network) if network.id.is_some() => Plan::steps(vec![ContainerStep::Attach(link.name.clone())]),
        _ => Plan::wait(waiting_for_network(wanted, &link.name)),
    })
}

fn until_healthy(wanted: &Wanted<Container>, container: &ContainerFacts) -> Plan<ContainerStep> {
    let before = wanted.object.status.as_ref();
    let was_healthy = before.is_some_and(|status| {
        status.waiting_since.is_none() && matches!(status.health.as_deref(), Some("healthy" | "unhealthy"))
    });
    match container.state.health {
        // Without a check, one that was just restarted has yet to show that it stays.
        None if container.state.restarts > 0 && steady_at(container).is_some_and(|at| wanted.now < at) => {
            let until = steady_at(container).unwrap_or(wanted.now);
            Plan::wait(Wait::new(Reason::Restarting, restarting(container)).until(until))
        }
        None | Some(Health::Healthy) => Plan::nothing(),
        Some(Health::Unhealthy) if was_healthy => {
            Plan::wait(Wait::new(Reason::Unhealthy, "Its health check fails"))
        }
        Some(Health::Starting | Health::Unhealthy) => {
            let deadline = health_deadline(wanted);
            if wanted.now >= deadline {
                let seconds = wanted.object.spec.health_deadline_seconds;
                return Plan::wait(Wait::new(
                    Reason::HealthDeadlineExceeded,
                    format!("Not healthy after {seconds} s"),
                ));
            }
            Plan::wait(Wait::new(Reason::Starting, "Waiting for its health check").until(deadline))
        }
    }
}

/// From when a restarted container counts as running.
fn steady_at(container: &ContainerFacts) -> Option<Timestamp> {
    container.state.started_at?.saturating_add(STEADY_AFTER).ok()
}

/// By when it should be healthy, counted from when the wait began as its status remembers it.
fn health_deadline(wanted: &Wanted<Container>) -> Timestamp {
    let since = wanted
        .object
        .status
        .as_ref()
        .and_then(|status| status.waiting_since.as_ref())
        .map_or(wanted.now, |time| time.0);
    since
        .saturating_add(SignedDuration::from_secs(wanted.object.spec.health_deadline_seconds))
        .unwrap_or(Timestamp::MAX)
}

/// What is missing before a container can be made or started, if anything is.
fn missing(wanted: &Wanted<Container>, facts: &ContainerSeen) -> Option<Plan<ContainerStep>> {
    let spec = &wanted.object.spec;
    if facts.image.is_none() {
        let image = ObjectRef::cluster("Image", &spec.image.image);
        let wait =
            Wait::new(Reason::DependencyNotReady, format!("Waiting for image {}", facts.image_reference));
        return Some(Plan::wait(wait.on(vec![image])));
    }
    if let Some(message) = facts.env.values().find_map(|value| value.as_ref().err()) {
        return Some(Plan::wait(Wait::new(Reason::SecretMissing, message.clone())));
    }
    if let Err((reason, message)) = &facts.files {
        return Some(Plan::wait(Wait::new(*reason, message.clone())));
    }
    if let Some((name, message)) =
        facts.volumes.iter().find_map(|(name, path)| path.as_ref().err().map(|m| (name, m)))
    {
        let volume = ObjectRef::namespaced("Volume", wanted.namespace(), name);
        return Some(Plan::wait(Wait::new(Reason::DependencyNotReady, message.clone()).on(vec![volume])));
    }
    if let Some((name, _)) = facts.networks.iter().find(|(_, network)| network.id.is_none()) {
        return Some(Plan::wait(waiting_for_network(wanted, name)));
    }
    if let Some(unmet) = facts.unmet.iter().find(|unmet| unmet.has_no_check) {
        let name = &unmet.container;
        let message = format!(
            "{name} has no health check and never becomes healthy; give it one, or wait for its start"
        );
        return Some(Plan::stuck(Reason::Refused, message));
    }
    if !facts.unmet.is_empty() {
        let on = facts.unmet.iter().map(|unmet| unmet.reference(wanted.namespace())).collect();
        let message = facts.unmet.iter().map(sentence).collect::<Vec<_>>().join(", ");
        return Some(Plan::wait(
            Wait::new(Reason::DependencyNotReady, format!("Waiting for {message}")).on(on),
        ));
    }
    None
}

fn waiting_for_network(wanted: &Wanted<Container>, name: &str) -> Wait {
    let network = ObjectRef::namespaced("Network", wanted.namespace(), name);
    Wait::new(Reason::DependencyNotReady, format!("Waiting for network {name}")).on(vec![network])
}

fn sentence(unmet: &Unmet) -> String {
    let what = match unmet.condition {
        DependencyCondition::Started => "to start",
        DependencyCondition::Healthy => "to become healthy",
        DependencyCondition::Completed => "to complete",
    };
    format!("{} {what}", unmet.container)
}

impl Step for ContainerStep {
    /// A stop takes as long as its grace says, and others must get their turn meanwhile.
    fn is_slow(&self) -> bool {
        matches!(self, Self::Stop { .. })
    }

    fn limit(&self) -> Duration {
        match self {
            Self::Stop { grace, .. } => grace.saturating_add(STALL_LIMIT),
            _ => STALL_LIMIT,
        }
    }

    fn doing(&self) -> String {
        match self {
            Self::Create => "Make the container".into(),
            Self::Attach(network) => format!("Attach the container to network {network}"),
            Self::Detach(network) => format!("Detach the container from network {network}"),
            Self::Start(_) => "Start the container".into(),
            Self::Stop { .. } => "Stop the container".into(),
            Self::Remove(_) => "Remove the container".into(),
            Self::TakeBack => "Take back the files it was given".into(),
        }
    }

    fn takes_away(&self) -> bool {
        matches!(self, Self::Remove(_))
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::Create => ("Created", "Made the container".into()),
            Self::Attach(network) => ("Attached", format!("Attached the container to network {network}")),
            Self::Detach(network) => ("Detached", format!("Detached the container from network {network}")),
            Self::Start(_) => ("Started", "Started the container".into()),
            Self::Stop { .. } => ("Stopped", "Stopped the container".into()),
            Self::Remove(_) => ("Removed", "Removed the container".into()),
            Self::TakeBack => ("FilesTakenBack", "Took back the files it was given".into()),
        }
    }
}
