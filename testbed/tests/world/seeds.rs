//! Which seeds are tried. A failure prints its seed and the command that repeats it.
//!
//! `HEARTH_WORLD_SEED` tries that one seed alone. `HEARTH_WORLD_MINUTES` is a budget for all tests that try seeds, of
//! which each goes on with fresh ones for its share; without it, each tries its fixed seeds and one fresh one. With
//! `HEARTH_TEST_SEED` the fresh ones follow from that, so that a test which is tried again meets the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant, SystemTime};

use hearth::world::random::Random;

/// Every test that tries seeds.
const RANDOM: &[&str] = &[
    "a_crash_anywhere_in_an_install_ends_as_without_it",
    "a_crash_anywhere_in_an_update_ends_as_without_it",
    "a_crash_anywhere_in_a_stop_and_in_a_start_ends_as_without_it",
    "a_crash_anywhere_in_a_change_of_a_secret_ends_as_without_it",
    "a_crash_anywhere_in_a_removal_with_its_data_ends_as_without_it",
    "a_crash_anywhere_in_the_repair_of_a_removed_container_ends_as_without_it",
    "a_crash_anywhere_in_the_repair_of_an_emptied_proxy_ends_as_without_it",
    "a_crash_anywhere_in_the_repair_of_a_network_ends_as_without_it",
    "a_crash_anywhere_while_a_docker_that_forgot_everything_is_given_it_again_ends_as_without_it",
    "two_crashes_anywhere_in_a_start_or_in_a_stop_end_as_without_them",
    "after_the_last_fault_a_home_stands_as_if_there_had_been_none",
    "an_older_folder_that_is_put_back_waits_for_a_person_and_destroys_nothing",
    "at_ten_times_what_can_be_done_no_key_starves_and_nothing_is_done_for_nothing",
    "whatever_way_people_took_the_home_ends_as_the_last_wish_says",
    "twenty_runs_of_a_seed_leave_one_trace",
    "a_home_at_rest_stays_at_rest_and_restarts_the_same",
    "from_any_start_the_home_ends_as_the_wish_says",
];

/// Runs a test once for each seed: the fixed ones, then fresh ones.
pub(crate) fn each_seed(test: &str, fixed: &[u64], mut run: impl FnMut(u64)) {
    if let Some(seed) = number("HEARTH_WORLD_SEED") {
        return run_one(test, seed, &mut run);
    }
    assert!(RANDOM.contains(&test), "{test} has its line in `RANDOM`");
    let began = Instant::now();
    let most = number("HEARTH_WORLD_MINUTES").map(share);
    fixed.iter().for_each(|seed| run_one(test, *seed, &mut run));
    let mut fresh = fresh(test);
    let mut tried = 0;
    loop {
        run_one(test, fresh.next() % 1_000_000_000, &mut run);
        tried += 1;
        if most.is_none_or(|most| began.elapsed() >= most) {
            break;
        }
    }
    println!("{tried} fresh seeds in {:?}", began.elapsed());
}

/// What each test has of a budget for all of them: as many run at once as there are processors.
fn share(minutes: u64) -> Duration {
    let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(RANDOM.len());
    Duration::from_secs(minutes * 60) * u32::try_from(at_once).unwrap() / u32::try_from(RANDOM.len()).unwrap()
}

/// That none is left of a test that is gone, or each would have too small a share.
#[test]
fn every_test_that_tries_seeds_is_known() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/world");
    let texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    for test in RANDOM {
        assert!(texts.iter().any(|text| text.contains(&format!("fn {test}()"))), "{test} is gone");
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

/// Those of this run, of which each test has others.
fn fresh(test: &str) -> Random {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let mut hasher = DefaultHasher::new();
    (number("HEARTH_TEST_SEED").map_or_else(now, u128::from), test).hash(&mut hasher);
    Random::new(hasher.finish())
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {value:?}")))
}
