//! When to try again: exponentially later with jitter, at most five minutes, afresh after a success or a new wish.
//!
//! What failed is not tried again before its time, whatever wakes its key: a step that fails often makes the very
//! events that wake it.

use std::collections::HashMap;
use std::time::Duration;

use hearth_meta::Timestamp;

use crate::clock::Clock;
use crate::controller::StepError;
use crate::object::Key;

const FIRST: Duration = Duration::from_millis(500);
/// DESIGN section 4.
const LONGEST: Duration = Duration::from_secs(300);
/// A failure so long after the last one is the first of a new row.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(1800);

/// When something that failed is due again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Retry {
    /// How often it failed in a row.
    pub(super) attempts: u32,
    /// When it is due, on the monotonic clock: what the engine goes by.
    pub(super) due: Duration,
    /// The same on the wall clock: what people are told.
    pub(super) at: Timestamp,
}

/// The retries of some keys.
struct Backoff {
    retries: HashMap<Key, Retry>,
    random: u64,
}

impl Backoff {
    fn seeded(seed: u64) -> Self {
        Self { retries: HashMap::new(), random: seed | 1 }
    }

    fn failed(&mut self, key: &Key, clock: &dyn Clock) -> Retry {
        let now = clock.elapsed();
        let before = self.retries.get(key).filter(|old| now.saturating_sub(old.due) < FORGOTTEN_AFTER);
        let attempts = before.map_or(0, |old| old.attempts).saturating_add(1);
        let base = FIRST.saturating_mul(1 << (attempts - 1).min(16)).min(LONGEST);
        let wait = self.spread(base).min(LONGEST);
        let at = clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
        let retry = Retry { attempts, due: now.saturating_add(wait), at };
        self.retries.insert(key.clone(), retry);
        retry
    }

    /// Up to a fifth more or less, so that what failed together does not come back together.
    fn spread(&mut self, base: Duration) -> Duration {
        // xorshift64: plenty for spreading retries.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let permille = u32::try_from(800 + self.random % 401).unwrap_or(1000);
        base.saturating_mul(permille) / 1000
    }
}

/// What failed of each key and when it is tried again: steps and looks apart, since a look that succeeds says
/// nothing of a step.
pub(super) struct Retries<S> {
    steps: Backoff,
    looks: Backoff,
    failed: HashMap<Key, (S, StepError)>,
}

impl<S: Clone + PartialEq> Retries<S> {
    /// Equal seeds give equal jitter.
    pub(super) fn seeded(seed: u64) -> Self {
        Self { steps: Backoff::seeded(seed), looks: Backoff::seeded(!seed), failed: HashMap::new() }
    }

    /// Counts a failed step.
    pub(super) fn step_failed(&mut self, key: &Key, step: S, error: StepError, clock: &dyn Clock) -> Retry {
        self.failed.insert(key.clone(), (step, error));
        self.steps.failed(key, clock)
    }

    /// Why and until when this step must not be taken, if it failed a moment ago.
    pub(super) fn too_early(&self, key: &Key, step: &S, now: Duration) -> Option<(StepError, Retry)> {
        let (failed, error) = self.failed.get(key)?;
        let retry = self.steps.retries.get(key).filter(|retry| retry.due > now)?;
        (failed == step).then(|| (error.clone(), *retry))
    }

    /// Counts a look that could not tell; one more before its time is still the same.
    pub(super) fn look_failed(&mut self, key: &Key, clock: &dyn Clock) -> Retry {
        match self.looks.retries.get(key) {
            Some(retry) if retry.due > clock.elapsed() => *retry,
            _ => self.looks.failed(key, clock),
        }
    }

    /// A look told something.
    pub(super) fn looked(&mut self, key: &Key) {
        self.looks.retries.remove(key);
    }

    /// How long until the step of a key that failed is due.
    pub(super) fn step_due(&self, key: &Key, now: Duration) -> Duration {
        self.steps.retries.get(key).map_or(FIRST, |retry| retry.due.saturating_sub(now))
    }

    /// How long until a look that could not tell is due.
    pub(super) fn look_due(&self, key: &Key, now: Duration) -> Duration {
        self.looks.retries.get(key).map_or(FIRST, |retry| retry.due.saturating_sub(now))
    }

    /// Nothing is left to do: the steps have succeeded.
    pub(super) fn settled(&mut self, key: &Key) {
        self.steps.retries.remove(key);
        self.failed.remove(key);
    }

    /// Forgets the failures of a key.
    pub(super) fn reset(&mut self, key: &Key) {
        self.settled(key);
        self.looked(key);
    }

    /// A fifth more or less.
    pub(super) fn spread(&mut self, base: Duration) -> Duration {
        self.steps.spread(base)
    }

    /// How many keys are failing.
    pub(super) fn failing(&self) -> usize {
        let blind = self.looks.retries.keys().filter(|key| !self.steps.retries.contains_key(*key));
        self.steps.retries.len() + blind.count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hearth_meta::{Reason, Timestamp};

    use super::{LONGEST, Retries};
    use crate::clock::{Clock, ManualClock};
    use crate::controller::StepError;
    use crate::object::Key;

    fn error() -> StepError {
        StepError::new(Reason::StepFailed, "no")
    }

    #[test]
    fn waits_grow_to_five_minutes_and_never_beyond() {
        let (clock, key) = (ManualClock::new(Timestamp::UNIX_EPOCH), Key::new("App", "h", "a"));
        let mut retries = Retries::seeded(7);
        let mut waits = Vec::new();
        for attempt in 1..=20 {
            let retry = retries.step_failed(&key, "start", error(), &clock);
            assert_eq!(retry.attempts, attempt);
            waits.push(retry.due - clock.elapsed());
            clock.advance(retry.due - clock.elapsed());
        }
        assert!(waits.windows(2).take(8).all(|pair| pair[0] < pair[1]), "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= LONGEST), "{waits:?}");
        assert!(waits.iter().skip(12).all(|wait| *wait >= LONGEST * 4 / 5), "{waits:?}");
    }

    #[test]
    fn only_the_step_that_failed_is_held_and_only_until_its_time() {
        let (clock, key) = (ManualClock::new(Timestamp::UNIX_EPOCH), Key::new("App", "h", "a"));
        let mut retries = Retries::seeded(7);
        let retry = retries.step_failed(&key, "start", error(), &clock);
        assert_eq!(retries.too_early(&key, &"start", clock.elapsed()), Some((error(), retry)));
        assert_eq!(retries.too_early(&key, &"remove", clock.elapsed()), None);
        // A wall clock that jumps neither holds it longer nor lets it go earlier.
        clock.set_wall(Timestamp::MAX);
        assert!(retries.too_early(&key, &"start", clock.elapsed()).is_some());
        clock.advance(retry.due);
        assert_eq!(retries.too_early(&key, &"start", clock.elapsed()), None);
    }

    #[test]
    fn a_look_that_fails_before_its_time_is_the_same_failure() {
        let (clock, key) = (ManualClock::new(Timestamp::UNIX_EPOCH), Key::new("App", "h", "a"));
        let mut retries = Retries::<&str>::seeded(7);
        let first = retries.look_failed(&key, &clock);
        clock.advance(Duration::from_millis(1));
        assert_eq!(retries.look_failed(&key, &clock), first);
        clock.advance(first.due);
        assert_eq!(retries.look_failed(&key, &clock).attempts, 2);
        retries.looked(&key);
        assert_eq!(retries.look_failed(&key, &clock).attempts, 1);
    }
}
