//! Time, as the engine and everything it drives know it. Nothing else in Hearth asks for the time.
//!
//! Two readings are kept apart: the wall clock is shown to people and stored, and may jump; the monotonic one
//! drives the queue and never does. [`ManualClock`] stands still until a test moves it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hearth_meta::Timestamp;
use tokio::sync::oneshot;

/// A source of time.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock. It may jump, also backwards: store it and show it, never count with it.
    fn now(&self) -> Timestamp;

    /// Time since the clock was made; never goes backwards.
    fn elapsed(&self) -> Duration;

    /// Returns once [`Clock::elapsed`] has reached `until`.
    async fn sleep_until(&self, until: Duration);

    /// Returns after `duration`.
    async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.elapsed().saturating_add(duration)).await;
    }
}

/// The machine's own time.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic reading starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "the one place where real time comes in")]
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where real time comes in")]
    fn now(&self) -> Timestamp {
        Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where real time comes in")]
    async fn sleep_until(&self, until: Duration) {
        tokio::time::sleep(until.saturating_sub(self.started.elapsed())).await;
    }
}

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Clone)]
pub struct ManualClock {
    state: Arc<Mutex<ManualState>>,
}

struct ManualState {
    wall: Timestamp,
    elapsed: Duration,
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
    next_sleeper: u64,
}

impl ManualClock {
    /// A clock that stands at `wall`.
    pub fn new(wall: Timestamp) -> Self {
        let state = ManualState { wall, elapsed: Duration::ZERO, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Moves both readings and wakes who is due, in the order they are due; at one instant whoever went to sleep first.
    pub fn advance(&self, by: Duration) {
        self.advance_by_turns(by, |_| 0);
    }

    /// The same, where of so many who are due at one instant `which` says who wakes next, counted from 0: nothing may
    /// depend on that order.
    pub fn advance_by_turns(&self, by: Duration, mut which: impl FnMut(usize) -> usize) {
        let mut state = self.lock();
        state.elapsed += by;
        state.wall = state.wall.saturating_add(by).unwrap_or(Timestamp::MAX);
        let now = state.elapsed;
        while let Some(due) = state.sleepers.first_key_value().map(|((due, _), _)| *due) {
            if due > now {
                break;
            }
            let mut at_once: Vec<u64> =
                state.sleepers.range((due, 0)..=(due, u64::MAX)).map(|((_, id), _)| *id).collect();
            while !at_once.is_empty() {
                let next = if at_once.len() > 1 { which(at_once.len()).min(at_once.len() - 1) } else { 0 };
                // A sleeper that was dropped is simply no longer there.
                let woken = state.sleepers.remove(&(due, at_once.remove(next)));
                let _ = woken.map(|sleeper| sleeper.send(()));
            }
        }
    }

    /// How far the next sleeper is, if there is one.
    pub fn next_due(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        let (due, _) = *state.sleepers.first_key_value()?.0;
        Some(due.saturating_sub(state.elapsed))
    }

    /// Moves to the next sleeper, if there is one, and says how far that was.
    pub fn advance_to_next(&self) -> Option<Duration> {
        let by = self.next_due()?;
        self.advance(by);
        Some(by)
    }

    /// Sets the wall clock alone, forwards or backwards, as a person or a time server does.
    pub fn set_wall(&self, wall: Timestamp) {
        self.lock().wall = wall;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.lock().wall
    }

    fn elapsed(&self) -> Duration {
        self.lock().elapsed
    }

    async fn sleep_until(&self, until: Duration) {
        let woken = {
            let mut state = self.lock();
            if until <= state.elapsed {
                return;
            }
            let (wake, woken) = oneshot::channel();
            let id = state.next_sleeper;
            state.next_sleeper += 1;
            state.sleepers.insert((until, id), wake);
            woken
        };
        // The sender lives in the clock, which outlives every sleeper that matters.
        let _ = woken.await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use futures::future::join_all;
    use hearth_meta::Timestamp;

    use super::{Clock, ManualClock};

    #[tokio::test]
    async fn who_is_due_at_one_instant_wakes_in_any_order_and_never_before_who_was_due_earlier() {
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
        let woken: Arc<Mutex<Vec<&str>>> = Arc::default();
        let sleepers =
            [("early", 1), ("one", 2), ("two", 2), ("three", 2), ("late", 9)].map(|(name, due)| {
                let (clock, woken) = (clock.clone(), woken.clone());
                tokio::spawn(async move {
                    clock.sleep_until(Duration::from_secs(due)).await;
                    woken.lock().unwrap().push(name);
                })
            });
        tokio::task::yield_now().await;
        clock.advance_by_turns(Duration::from_secs(5), |many| many - 1);
        tokio::task::yield_now().await;
        assert_eq!(*woken.lock().unwrap(), ["early", "three", "two", "one"]);
        clock.advance(Duration::from_secs(5));
        join_all(sleepers).await;
        assert_eq!(woken.lock().unwrap().last(), Some(&"late"));
    }
}
