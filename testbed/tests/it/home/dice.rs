//! Chance that can be had again: the same seed, the same throws.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Dice with a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn seeded(seed: u64) -> Self {
        // Small seeds must not begin alike.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A seed that nobody had before, printed so that it can be had again.
    #[expect(clippy::print_stdout, reason = "whoever reads of a failure needs the seed")]
    pub(crate) fn fresh_seed() -> u64 {
        let given = std::env::var("HEARTH_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos()) ^ now.as_secs()
        });
        println!("HEARTH_TEST_SEED={seed}");
        seed
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // xorshift64*: plenty for choosing moments.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end.max(1)
    }

    /// A time below `end`.
    pub(crate) fn time_below(&mut self, end: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(end.as_micros()).unwrap()))
    }

    /// One of several.
    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// How many times as much is tried: 1, or what `HEARTH_TEST_LONG` says.
pub(crate) fn budget() -> usize {
    std::env::var("HEARTH_TEST_LONG").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}
