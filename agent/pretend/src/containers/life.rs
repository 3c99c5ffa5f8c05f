//! What containers do by themselves as time passes: they end, are started again, pass their checks, write lines.
//!
//! Nothing runs in the background. Whoever looks at the machine first lets everything happen that is due by then, in
//! the order it was due.

use std::time::Duration;

use hearth_capabilities::{Fault, Happening};
use hearth_kinds::container::{HealthCheck, Restart};
use hearth_meta::{Time, labels};

use crate::containers::program::{Program, program_of};
use crate::containers::record::{Container, HealthWord, Line, Status};
use crate::hand::Behaviour;
use crate::proxy::ProxyState;
use crate::state::{Moment, State};

/// The first wait before a container is started again; it doubles (Docker's figures).
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// Whoever ran this long begins with the first wait again.
const RAN_WELL: Duration = Duration::from_secs(10);
/// How long what ends at once still takes.
const AT_ONCE: Duration = Duration::from_millis(50);
/// The most lines kept of one container.
const MAX_LINES: usize = 1000;

/// The code of a start that did not come about, and of a program that is not there (both seen).
const NOT_STARTED: i64 = 128;
const NO_PROGRAM: i64 = 127;

/// Lets everything happen that is due by `now`; `true` if anything did.
pub(crate) fn advance(state: &mut State, now: &Moment) -> bool {
    let mut has_happened = false;
    while let Some((due, name)) = earliest(state) {
        if due > now.elapsed {
            break;
        }
        state.now = now.at(due);
        happen(state, &name, due);
        has_happened = true;
    }
    state.now = now.clone();
    has_happened
}

/// When something happens next, on the machine's time.
pub(crate) fn next_due(state: &State) -> Option<Duration> {
    earliest(state).map(|(due, _)| due)
}

/// Moves everything that is due to the time of another clock, which begins anew with each process.
pub(crate) fn shift(state: &mut State, elapsed: Duration) {
    let from = state.now.elapsed;
    let moved = |time: Duration| elapsed + time.saturating_sub(from);
    for container in state.containers.values_mut() {
        let run = &mut container.run;
        run.running_since = elapsed.saturating_sub(from.saturating_sub(run.running_since));
        run.ends = run.ends.map(|(due, code)| (moved(due), code));
        run.checked = run.checked.map(moved);
        run.started_again = run.started_again.map(moved);
        run.writes = run.writes.map(moved);
    }
    state.now.elapsed = elapsed;
}

fn earliest(state: &State) -> Option<(Duration, String)> {
    let due = |each: &Container| {
        let run = &each.run;
        let ends = run.ends.map(|(due, _)| due);
        [ends, run.checked, run.started_again, run.writes].into_iter().flatten().min()
    };
    state.containers.values().filter_map(|each| Some((due(each)?, each.name.clone()))).min()
}

fn happen(state: &mut State, name: &str, due: Duration) {
    let Some(container) = state.containers.get_mut(name) else { return };
    let run = &mut container.run;
    if run.writes.is_some_and(|at| at <= due) {
        run.writes = None;
        write(state, name, "three", true);
    } else if run.checked.is_some_and(|at| at <= due) {
        check(state, name);
    } else if let Some((_, code)) = run.ends.filter(|(at, _)| *at <= due) {
        end(state, name, code);
    } else {
        run.started_again = None;
        // It stays restarting or ends; either way the state says so.
        let _ = start(state, name);
    }
}

/// Starts a container that does not run.
pub(crate) fn start(state: &mut State, name: &str) -> Result<(), Fault> {
    let Some(container) = state.containers.get(name) else {
        return Err(Fault::Missing(format!("no such container: {name}")));
    };
    let (behaviour, program) = (behaviour_of(state, container), program_of(&container.settings));
    if let Err(fault) = join_networks(state, name).and_then(|()| folders_are_there(state, name)) {
        return fail_start(state, name, NOT_STARTED, fault);
    }
    let refusal = match (&behaviour, &program) {
        (Some(Behaviour::CannotStart { why }), _) => Some((NOT_STARTED, why.clone())),
        (_, Program::Nonsense(word)) => {
            Some((NO_PROGRAM, format!("exec: {word:?}: executable file not found in $PATH")))
        }
        _ => None,
    };
    if let Some((code, why)) = refusal {
        leave_networks(state, name, false);
        let said = format!("unable to start container process: {why}");
        // Docker calls a program that is not there a bad request, and anything else a failure of its own (seen).
        let fault = if code == NO_PROGRAM { Fault::Refused(said) } else { Fault::Failed(said) };
        return fail_start(state, name, code, fault);
    }
    let now = state.now.clone();
    let Some(container) = state.containers.get_mut(name) else { return Ok(()) };
    let run = &mut container.run;
    run.status = Status::Running;
    run.started_at = Some(now.wall.clone());
    run.running_since = now.elapsed;
    run.exit_code = 0;
    run.out_of_memory = false;
    run.error = String::new();
    run.is_stopped_by_hand = false;
    run.started_again = None;
    run.ends = match (behaviour, &program) {
        (Some(Behaviour::Exits { after, code }), _) => Some((now.elapsed + after, code)),
        (_, Program::Exit(code) | Program::Says { code, .. }) => Some((now.elapsed + AT_ONCE, *code)),
        (_, Program::Usual) if container.settings.restart != Some(Restart::UnlessStopped) => {
            Some((now.elapsed + AT_ONCE, 0))
        }
        _ => None,
    };
    begin_checks(container, &now);
    if state.proxy.container.as_deref() == Some(name) {
        // It keeps its configuration in memory alone.
        state.proxy.set(ProxyState::clear);
    }
    tell_places(state, name, "connect");
    tell(state, name, "start");
    match program {
        Program::Write => {
            write(state, name, "one", false);
            write(state, name, "two", false);
            if let Some(container) = state.containers.get_mut(name) {
                container.run.writes = Some(now.elapsed + AT_ONCE);
            }
        }
        Program::Says { line, .. } => write(state, name, &line, false),
        Program::Usual | Program::Serve => write(state, name, "ready", false),
        _ => {}
    }
    Ok(())
}

/// A start that did not come about. A container that had run before keeps how it ended (seen).
fn fail_start(state: &mut State, name: &str, code: i64, fault: Fault) -> Result<(), Fault> {
    if let Some(container) = state.containers.get_mut(name) {
        let run = &mut container.run;
        run.error = fault.to_string();
        match run.status {
            Status::Created => run.exit_code = code,
            Status::Restarting => run.status = Status::Exited,
            _ => {}
        }
    }
    Err(fault)
}

/// Takes an address on each network. A network is found by the id of the first start, so one that was made anew
/// under its name is not found (seen).
fn join_networks(state: &mut State, name: &str) -> Result<(), Fault> {
    let Some(container) = state.containers.get(name) else { return Ok(()) };
    let mut joined = Vec::new();
    for (network_name, place) in &container.places {
        let known_as = if place.network_id.is_empty() { network_name } else { &place.network_id };
        let network = state
            .network(known_as)
            .filter(|network| place.network_id.is_empty() || network.id == place.network_id);
        match network {
            Some(network) => joined.push((network_name.clone(), network.id.clone())),
            None => return Err(Fault::Missing(format!("network {known_as} not found"))),
        }
    }
    for (network_name, network_id) in joined {
        let ip = state.free_address(&network_id);
        let place = state.containers.get_mut(name).and_then(|each| each.places.get_mut(&network_name));
        if let Some(place) = place {
            place.network_id = network_id;
            place.ip = ip;
        }
    }
    Ok(())
}

fn folders_are_there(state: &State, name: &str) -> Result<(), Fault> {
    let Some(container) = state.containers.get(name) else { return Ok(()) };
    match container.settings.mounts.iter().find(|(host_path, ..)| !state.disk.has_folder(host_path)) {
        Some((host_path, ..)) => Err(Fault::Missing(format!("bind source path does not exist: {host_path}"))),
        None => Ok(()),
    }
}

fn leave_networks(state: &mut State, name: &str, is_told: bool) {
    if is_told {
        tell_places(state, name, "disconnect");
    }
    if let Some(container) = state.containers.get_mut(name) {
        for place in container.places.values_mut() {
            place.ip = String::new();
        }
    }
}

/// A container's process ends.
pub(crate) fn end(state: &mut State, name: &str, code: i64) {
    let now = state.now.clone();
    let Some(container) = state.containers.get_mut(name) else { return };
    let restart = container.settings.restart;
    let run = &mut container.run;
    run.exit_code = code;
    run.finished_at = Some(now.wall.clone());
    run.health = HealthWord::None;
    (run.ends, run.checked, run.writes) = (None, None, None);
    let is_started_again = !run.is_stopped_by_hand
        && match restart {
            Some(Restart::UnlessStopped) => true,
            Some(Restart::OnFailure) => code != 0,
            Some(Restart::Never) | None => false,
        };
    if is_started_again {
        let has_run_well = now.elapsed.saturating_sub(run.running_since) >= RAN_WELL;
        run.backoff = match run.backoff {
            Duration::ZERO => FIRST_BACKOFF,
            _ if has_run_well => FIRST_BACKOFF,
            last => (last * 2).min(LONGEST_BACKOFF),
        };
        run.status = Status::Restarting;
        // Counted before it runs again (seen).
        run.restarts += 1;
        run.started_again = Some(now.elapsed + run.backoff);
    } else {
        run.status = Status::Exited;
        run.backoff = Duration::ZERO;
    }
    tell(state, name, "die");
    leave_networks(state, name, true);
}

/// Stops a container on purpose, with the code its program then ends with.
pub(crate) fn stop(state: &mut State, name: &str) {
    let Some(container) = state.containers.get_mut(name) else { return };
    container.run.is_stopped_by_hand = true;
    let code = if program_of(&container.settings) == Program::Stubborn { 137 } else { 0 };
    match container.run.status {
        Status::Running => end(state, name, code),
        Status::Restarting => {
            container.run.status = Status::Exited;
            container.run.started_again = None;
        }
        Status::Created | Status::Exited => return,
    }
    tell(state, name, "stop");
}

/// Removes a container, running or not.
pub(crate) fn remove(state: &mut State, name: &str) {
    if let Some(container) = state.containers.get_mut(name) {
        container.run.is_stopped_by_hand = true;
        if container.run.is_running() {
            end(state, name, 137);
        }
        tell(state, name, "destroy");
        state.containers.remove(name);
    }
}

fn begin_checks(container: &mut Container, now: &Moment) {
    let run = &mut container.run;
    run.failures = 0;
    match container.settings.health.as_ref().and_then(in_force) {
        Some(check) => {
            run.health = HealthWord::Starting;
            run.checked = Some(now.elapsed + interval_of(check));
        }
        None => (run.health, run.checked) = (HealthWord::None, None),
    }
}

fn in_force(check: &HealthCheck) -> Option<&HealthCheck> {
    (check.test.first().map(String::as_str) != Some("NONE")).then_some(check)
}

fn interval_of(check: &HealthCheck) -> Duration {
    Duration::from_secs(u64::try_from(check.interval_seconds).unwrap_or_default().max(1))
}

/// One health check. There is another one only while it can change what is told.
fn check(state: &mut State, name: &str) {
    let Some(container) = state.containers.get(name) else { return };
    let behaviour = behaviour_of(state, container);
    let now = state.now.elapsed;
    let Some(container) = state.containers.get_mut(name) else { return };
    let run = &mut container.run;
    run.checked = None;
    let Some(check) = container.settings.health.as_ref().and_then(in_force) else { return };
    let age = now.saturating_sub(run.running_since);
    let passes = match behaviour {
        Some(Behaviour::Unhealthy) => false,
        Some(Behaviour::HealthyAfter { after }) => age >= after,
        _ => !check.test.iter().any(|word| word == "fails" || word == "false"),
    };
    let before = run.health;
    if passes {
        run.failures = 0;
        run.health = HealthWord::Healthy;
    } else {
        let may_fail =
            age < Duration::from_secs(u64::try_from(check.start_period_seconds).unwrap_or_default());
        run.failures += i64::from(!may_fail);
        if run.failures >= check.retries.max(1) {
            run.health = HealthWord::Unhealthy;
        }
        let may_still_change =
            run.health != HealthWord::Unhealthy || matches!(behaviour, Some(Behaviour::HealthyAfter { .. }));
        run.checked = may_still_change.then(|| now + interval_of(check));
    }
    let word = match run.health {
        HealthWord::Healthy => "healthy",
        _ => "unhealthy",
    };
    if run.health != before {
        tell(state, name, &format!("health_status: {word}"));
    }
}

/// Checks a running container soon, since what it does has changed.
pub(crate) fn check_again(state: &mut State, name: &str) {
    let now = state.now.elapsed;
    let Some(container) = state.containers.get_mut(name) else { return };
    let check = container.settings.health.as_ref().and_then(in_force).filter(|_| container.run.is_running());
    if let Some(check) = check {
        container.run.checked = Some(now + interval_of(check));
    }
}

fn behaviour_of(state: &State, container: &Container) -> Option<Behaviour> {
    let mut told = state.behaviours.iter().filter(|(called, _)| state.goes_by(container, called));
    // What is said of it by name goes before what is said of its image.
    let of_image = told.clone().next();
    told.find(|(called, _)| **called == container.name).or(of_image).map(|(_, behaviour)| behaviour.clone())
}

/// Tells something of a container.
pub(crate) fn tell(state: &mut State, name: &str, action: &str) {
    let uid = state.containers.get(name).and_then(|each| each.settings.labels.get(labels::UID).cloned());
    state.tell(Happening::Container { name: name.to_owned(), uid, action: action.to_owned() });
}

/// Tells that a container joins or leaves its networks.
fn tell_places(state: &mut State, name: &str, action: &str) {
    let Some(container) = state.containers.get(name) else { return };
    let (id, names): (String, Vec<String>) =
        (container.id.clone(), container.places.keys().cloned().collect());
    for name in names {
        state.tell(Happening::Network { name, container: Some(id.clone()), action: action.to_owned() });
    }
}

fn write(state: &mut State, name: &str, text: &str, is_error: bool) {
    let at = Time(state.now.wall.0);
    if let Some(container) = state.containers.get_mut(name) {
        container.log.push(Line { at, is_error, text: text.to_owned() });
        let spare = container.log.len().saturating_sub(MAX_LINES);
        container.log.drain(..spare);
    }
}
