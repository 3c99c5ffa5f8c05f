//! When to try again: exponentially later with jitter, at most five minutes, afresh after a success or a new wish.

use std::collections::HashMap;
use std::time::Duration;

use crate::object::Key;

const FIRST: Duration = Duration::from_millis(500);
/// DESIGN section 4.
const LONGEST: Duration = Duration::from_secs(300);

/// How often each key has failed in a row.
#[derive(Default)]
pub(super) struct Backoff {
    attempts: HashMap<Key, u32>,
    random: u64,
}

impl Backoff {
    /// Equal seeds give equal jitter.
    pub(super) fn seeded(seed: u64) -> Self {
        Self { attempts: HashMap::new(), random: seed | 1 }
    }

    /// Counts a failure: how many in a row, and how long to wait.
    pub(super) fn failed(&mut self, key: &Key) -> (u32, Duration) {
        let attempts = self.attempts.entry(key.clone()).or_insert(0);
        *attempts = attempts.saturating_add(1);
        let attempts = *attempts;
        let base = FIRST.saturating_mul(1 << (attempts - 1).min(16)).min(LONGEST);
        (attempts, self.spread(base))
    }

    /// Forgets the failures of a key.
    pub(super) fn reset(&mut self, key: &Key) {
        self.attempts.remove(key);
    }

    /// Up to a fifth more or less, so that what failed together does not come back together.
    pub(super) fn spread(&mut self, base: Duration) -> Duration {
        // xorshift64: plenty for spreading retries.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let permille = u32::try_from(800 + self.random % 401).unwrap_or(1000);
        base.saturating_mul(permille) / 1000
    }

    /// How many keys are failing.
    pub(super) fn failing(&self) -> usize {
        self.attempts.len()
    }
}
