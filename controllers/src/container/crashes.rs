//! Whether a container dies again and again (AL-52), by what the engine counts and not by its events, which may be
//! lost.
//!
//! A loop is raised by more than five deaths within a minute. The engine waits ever longer between its tries, so that
//! soon there are fewer than that; it is over only once the container has run for five minutes in a row, or was made
//! anew. What is known is kept in the status, so that a restart of ours changes nothing.

use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_engine::controller::{News, Wanted};
use hearth_engine::store::EventKind;
use hearth_kinds::{Container, ContainerStatus, Power};
use hearth_meta::{Reason, SignedDuration, Time, Timestamp};

/// So many deaths within [`WINDOW`] are not a loop yet (AL-52).
const MOST_DEATHS: usize = 5;
const WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// How long it must run without dying: well over the longest wait of the engine's, 60 s.
const QUIET: SignedDuration = SignedDuration::from_secs(300);
/// How long a container that the engine restarted must run before it counts as running again. The engine takes less
/// for one failure in a row with the last.
pub(super) const STEADY_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// The engine waits 0.1 s after the first death in a row and twice as long after each, so 3.2 s after the sixth; a
/// little less, since its clock is read before the wait.
const WAIT_OF_A_LOOP: SignedDuration = SignedDuration::from_secs(3);

/// What is known of a container's deaths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Crashes {
    /// The deaths of the minute up to the last one, oldest first; at most so many as it takes to tell a loop.
    pub(super) recent: Vec<Timestamp>,
    /// How many there were since the status was written.
    pub(super) fresh: i64,
    /// Since when it is a loop, if it is one.
    pub(super) looping: Option<Timestamp>,
    /// Whether it runs and serves at this moment.
    pub(super) recovering: bool,
    /// From when it counts as well again, if it goes on running.
    pub(super) over_at: Option<Timestamp>,
}

/// What the status knew, and what the engine counts now.
pub(super) fn crashes(wanted: &Wanted<Container>, container: &ContainerFacts) -> Crashes {
    let nothing = ContainerStatus::default();
    // Another container of that name starts with a clean slate.
    let before = wanted
        .object
        .status
        .as_ref()
        .filter(|status| status.container_id.as_ref() == Some(&container.id))
        .unwrap_or(&nothing);
    let state = &container.state;
    let counted = before.restarts.unwrap_or(0);
    // The engine counts from nothing after a start that it was told to make.
    let fresh = if state.restarts >= counted { state.restarts - counted } else { state.restarts };
    let recent = recent(before, fresh, state.finished_at);
    let steady_at = state.started_at.and_then(|at| at.checked_add(STEADY_AFTER).ok());
    let over_at = state.started_at.and_then(|at| at.checked_add(QUIET).ok()).filter(|_| state.running);
    let known = before.crash_loop.as_ref().map(|known| known.since.as_ref().map_or(wanted.now, |at| at.0));
    let is_new = recent.len() > MOST_DEATHS || (fresh > 0 && engine_says_loop(wanted.now, container));
    let goes_on = over_at.is_none_or(|at| wanted.now < at);
    let is_wanted = !wanted.gone && wanted.object.spec.power == Power::Running;
    let since = known.or_else(|| is_new.then(|| state.finished_at.unwrap_or(wanted.now)));
    let recovering = state.running
        && match state.health {
            Some(health) => health == Health::Healthy,
            None => steady_at.is_none_or(|at| wanted.now >= at),
        };
    Crashes { recent, fresh, looping: since.filter(|_| goes_on && is_wanted), recovering, over_at }
}

/// The deaths of the last minute. Those that were counted and not seen are spread over the time in which they were;
/// where that is not known, only the last one counts.
fn recent(before: &ContainerStatus, fresh: i64, last: Option<Timestamp>) -> Vec<Timestamp> {
    let mut deaths: Vec<Timestamp> = before.recent_deaths.iter().map(|time| time.0).collect();
    if let (true, Some(last)) = (fresh > 0, last) {
        let started = before.started_at.as_ref().map(|time| time.0);
        let since = deaths.last().copied().max(started).filter(|since| *since < last);
        let most = i64::try_from(MOST_DEATHS).unwrap_or(i64::MAX);
        for number in (0..=most.min(fresh - 1)).rev() {
            match since {
                Some(since) => {
                    let span = last.duration_since(since).as_secs_f64();
                    #[expect(clippy::cast_precision_loss, reason = "an estimate, of small numbers")]
                    let back = SignedDuration::from_secs_f64(span * number as f64 / fresh as f64);
                    deaths.push(last.saturating_sub(back).unwrap_or(last));
                }
                None if number == 0 => deaths.push(last),
                None => {}
            }
        }
    }
    let newest = deaths.iter().max().copied();
    deaths.retain(|at| newest.is_some_and(|newest| newest.duration_since(*at) <= WINDOW));
    let spare = deaths.len().saturating_sub(MOST_DEATHS + 1);
    deaths.split_off(spare)
}

/// Whether the engine itself has seen it fail more than five times in a row: it tells by how long it waits. So a loop
/// that began while nobody listened is found as well.
fn engine_says_loop(now: Timestamp, container: &ContainerFacts) -> bool {
    let state = &container.state;
    let (Some(died), Some(started)) = (state.finished_at, state.started_at) else { return false };
    let waited = match state.status.as_str() {
        "restarting" => now.duration_since(died),
        _ => started.duration_since(died),
    };
    usize::try_from(state.restarts).unwrap_or(0) > MOST_DEATHS && waited >= WAIT_OF_A_LOOP
}

impl Crashes {
    /// The same, as a status keeps it.
    pub(super) fn recent_deaths(&self) -> Vec<Time> {
        self.recent.iter().copied().map(Time).collect()
    }
}

/// A loop is told when it begins and when it is over, once each.
pub(super) fn news(before: Option<&ContainerStatus>, after: &ContainerStatus) -> Vec<News> {
    let was = before.is_some_and(|before| before.crash_loop.is_some());
    let told = |kind, reason, message: &str| vec![News { kind, reason, message: message.to_owned() }];
    match (was, after.crash_loop.is_some()) {
        (false, true) => told(
            EventKind::Warning,
            Reason::CrashLooping.as_str(),
            "Died more than 5 times within 60 s; the engine goes on starting it, and waits ever longer",
        ),
        (true, false) => told(EventKind::Normal, "CrashLoopOver", "Stopped dying again and again"),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
