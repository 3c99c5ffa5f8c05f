//! The queue of keys that are due.
//!
//! One copy of a key, never two workers on one key, earliest due time wins. What is added while a worker is on
//! its key is due again afterwards and never lost. Ready keys are taken by how long they have been due, so none
//! starves; what a person just did counts as due [`PERSON_FIRST`] earlier.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::object::Key;

/// How far a person's change goes ahead of resync.
pub const PERSON_FIRST: Duration = Duration::from_secs(30);

/// The queue. Clones are the same queue.
#[derive(Clone)]
pub struct Queue {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// When each waiting key is due, and its rank among the ready.
    waiting: BTreeMap<Key, Entry>,
    /// The same by due time, for the next to become ready.
    by_due: BTreeSet<(Duration, Key)>,
    /// Ready keys by rank.
    ready: BTreeSet<(Rank, Key)>,
    /// Keys a worker is on.
    busy: BTreeSet<Key>,
    /// Counts arrivals.
    arrivals: u64,
}

/// Ready keys are taken in this order: the moment a key was due (less what a person's wish is worth), then arrival.
type Rank = (i128, u64);

#[derive(Clone, Copy)]
struct Entry {
    due: Duration,
    urgent: bool,
    arrival: u64,
}

impl Entry {
    fn rank(self) -> Rank {
        let first = if self.urgent { PERSON_FIRST.as_nanos() } else { 0 };
        (
            i128::try_from(self.due.as_nanos()).unwrap_or(i128::MAX) - i128::try_from(first).unwrap_or(0),
            self.arrival,
        )
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default(), changed: Arc::default() }
    }

    /// Makes a key due now.
    pub fn add(&self, key: Key) {
        self.put(key, Duration::ZERO, false);
    }

    /// Makes a key due now, ahead of resync: a person waits for it.
    pub fn add_urgent(&self, key: Key) {
        self.put(key, Duration::ZERO, true);
    }

    /// Makes a key due after a while, unless it is due earlier already.
    pub fn add_after(&self, key: Key, after: Duration) {
        self.put(key, after, false);
    }

    fn put(&self, key: Key, after: Duration, urgent: bool) {
        let now = self.clock.elapsed();
        let due = now.saturating_add(after);
        let mut state = self.lock();
        state.arrivals += 1;
        let new = Entry { due, urgent, arrival: state.arrivals };
        let entry = match state.waiting.get(&key) {
            Some(old) if old.due <= due && (old.urgent || !urgent) => return,
            Some(old) => Entry { due: due.min(old.due), urgent: urgent || old.urgent, arrival: old.arrival },
            None => new,
        };
        state.forget(&key);
        state.by_due.insert((entry.due, key.clone()));
        state.waiting.insert(key, entry);
        drop(state);
        self.changed.notify_one();
    }

    /// The next key to work on; whoever takes it must give it back with [`Queue::done`].
    pub async fn take(&self) -> Key {
        loop {
            let next_due = {
                let mut state = self.lock();
                state.ripen(self.clock.elapsed());
                if let Some(key) = state.pop() {
                    // Somebody else must watch over what is left: this worker may be away for long.
                    if !state.waiting.is_empty() {
                        self.changed.notify_one();
                    }
                    return key;
                }
                state.by_due.first().map(|(due, _)| *due)
            };
            match next_due {
                Some(due) => {
                    tokio::select! { biased;
                        () = self.changed.notified() => {}
                        () = self.clock.sleep_until(due) => {}
                    }
                }
                None => self.changed.notified().await,
            }
        }
    }

    /// Ends the work on a key. If it was added meanwhile it is due again.
    pub fn done(&self, key: &Key) {
        let mut state = self.lock();
        state.busy.remove(key);
        drop(state);
        self.changed.notify_one();
    }

    /// How many keys wait, due now or later.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// How many keys are being worked on.
    pub fn busy(&self) -> usize {
        self.lock().busy.len()
    }

    /// When the earliest waiting key is due, on the monotonic clock.
    pub fn next_due(&self) -> Option<Duration> {
        self.lock().waiting.values().map(|entry| entry.due).min()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, key: &Key) {
        if let Some(old) = self.waiting.remove(key) {
            self.by_due.remove(&(old.due, key.clone()));
            self.ready.remove(&(old.rank(), key.clone()));
        }
    }

    /// Moves keys that have come due to the ready ones.
    fn ripen(&mut self, now: Duration) {
        while let Some((due, _)) = self.by_due.first()
            && *due <= now
        {
            let Some((_, key)) = self.by_due.pop_first() else { break };
            if let Some(entry) = self.waiting.get(&key) {
                self.ready.insert((entry.rank(), key));
            }
        }
    }

    /// The first ready key no worker is on.
    fn pop(&mut self) -> Option<Key> {
        let key = self.ready.iter().find(|(_, key)| !self.busy.contains(key)).map(|(_, key)| key.clone())?;
        self.forget(&key);
        self.busy.insert(key.clone());
        Some(key)
    }
}

#[cfg(test)]
mod tests;
