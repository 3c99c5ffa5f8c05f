//! Which seeds are tried. A failure prints its seed and the command that repeats it.
//!
//! `HEARTH_WORLD_SEED` tries that one seed alone. `HEARTH_WORLD_SECONDS` goes on with fresh seeds until so many
//! seconds have passed for each test; without it, each test tries its fixed seeds and one fresh one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant, SystemTime};

use hearth::world::random::Random;

/// Runs a test once for each seed: the fixed ones, then fresh ones.
pub(crate) fn each_seed(test: &str, fixed: &[u64], mut run: impl FnMut(u64)) {
    if let Some(seed) = number("HEARTH_WORLD_SEED") {
        return run_one(test, seed, &mut run);
    }
    let began = Instant::now();
    let most = number("HEARTH_WORLD_SECONDS").map(Duration::from_secs);
    fixed.iter().for_each(|seed| run_one(test, *seed, &mut run));
    loop {
        run_one(test, fresh(), &mut run);
        if most.is_none_or(|most| began.elapsed() >= most) {
            return;
        }
    }
}

fn run_one(test: &str, seed: u64, run: &mut impl FnMut(u64)) {
    println!("seed {seed}");
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
        println!(
            "\nseed {seed} fails; to repeat it:\n    HEARTH_WORLD_SEED={seed} cargo nextest run -p hearth-testbed --test world {test}\n"
        );
        resume_unwind(panic);
    }
}

fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Random::new(u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap()).next() % 1_000_000_000
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {value:?}")))
}
