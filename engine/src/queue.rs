//! The queue of keys that are due.
//!
//! One copy of a key, never two workers on one key, earliest due time wins. What is added while a worker is on
//! its key is due again afterwards and never lost. Ready keys are taken by how long they have been due, so none
//! starves; what a person just did counts as due [`PERSON_FIRST`] earlier.

use std::collections::{BTreeMap, HashMap, HashSet};
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
    waiting: HashMap<Arc<Key>, Entry>,
    /// The same by due time and arrival, for the next to become ready.
    by_due: BTreeMap<(Duration, u64), Arc<Key>>,
    /// Ready keys by rank.
    ready: BTreeMap<Rank, Arc<Key>>,
    /// Keys a worker is on.
    busy: HashSet<Arc<Key>>,
    /// Counts arrivals.
    arrivals: u64,
}

/// Ready keys are taken in this order: the moment a key was due (less what a person's wish is worth), then arrival.
type Rank = (i128, u64);

#[derive(Clone, Copy)]
struct Entry {
    due: Duration,
    urgent: bool,
    /// Its own alone, so that it tells keys apart that are due at the same moment.
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
        let key = state.forget(&key).unwrap_or_else(|| Arc::new(key));
        state.by_due.insert((entry.due, entry.arrival), key.clone());
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
                state.by_due.first_key_value().map(|((due, _), _)| *due)
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
        let state = self.lock();
        // What is ready was due before what is not.
        let ready =
            state.ready.values().filter_map(|key| state.waiting.get(key)).map(|entry| entry.due).min();
        ready.or_else(|| state.by_due.first_key_value().map(|((due, _), _)| *due))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, key: &Key) -> Option<Arc<Key>> {
        let (key, old) = self.waiting.remove_entry(key)?;
        self.by_due.remove(&(old.due, old.arrival));
        self.ready.remove(&old.rank());
        Some(key)
    }

    /// Moves keys that have come due to the ready ones.
    fn ripen(&mut self, now: Duration) {
        while let Some(first) = self.by_due.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            if let Some(entry) = self.waiting.get(&key) {
                self.ready.insert(entry.rank(), key);
            }
        }
    }

    /// The first ready key no worker is on.
    fn pop(&mut self) -> Option<Key> {
        let key = self.ready.values().find(|key| !self.busy.contains(*key))?.clone();
        self.forget(&key);
        self.busy.insert(key.clone());
        Some(Key::clone(&key))
    }
}

#[cfg(test)]
mod tests;
