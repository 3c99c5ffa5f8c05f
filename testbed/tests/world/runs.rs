//! One seed is one run; a home settles, stays settled, and comes back the same after a restart in the middle.

use std::time::Duration;

use hearth::world::snapshot::differences;

use crate::homes::{page, secret, shop};
use crate::seeds::each_seed;
use crate::world::World;

/// A home that is served, and at rest.
pub(crate) fn served(seed: u64) -> World {
    let mut world = World::new(seed);
    world.start();
    world.settle();
    world
}

fn a_short_story(seed: u64) -> World {
    let mut world = served(seed);
    world.apply(&secret("sesame"));
    let written = world.apply_soon(&shop("shop", "1"));
    let beside = world.apply_soon(&page("page"));
    world.until_over(written).unwrap();
    world.until_over(beside).unwrap();
    world.settle();
    world.machine.remove_by_hand("hearth_household_shop-db");
    world.settle();
    world.delete("App", "page");
    world.settle();
    world
}

#[test]
fn twenty_runs_of_a_seed_leave_one_trace() {
    each_seed("twenty_runs_of_a_seed_leave_one_trace", &[1], |seed| {
        let first = a_short_story(seed).happened.clone();
        // A fresh seed has to show less.
        let runs = if seed == 1 { 20 } else { 4 };
        for run in 1..runs {
            let again = a_short_story(seed).happened.clone();
            assert_eq!(
                (first.hash, first.count),
                (again.hash, again.count),
                "run {run} of seed {seed} took another way; the first ended:\n{}\nthis one:\n{}",
                first.tail(20),
                again.tail(20)
            );
        }
    });
}

#[test]
fn seeds_take_different_ways_to_one_end() {
    let runs: Vec<World> = (1..=5).map(a_short_story).collect();
    let traces: std::collections::BTreeSet<u64> = runs.iter().map(|world| world.happened.hash).collect();
    assert_eq!(traces.len(), runs.len());
    for world in &runs[1..] {
        let differences = differences(&runs[0].snapshot(), &world.snapshot());
        assert!(differences.is_empty(), "seeds 1 and {} differ:\n{}", world.seed, differences.join("\n"));
    }
}

#[test]
fn a_home_at_rest_stays_at_rest_and_restarts_the_same() {
    each_seed("a_home_at_rest_stays_at_rest_and_restarts_the_same", &[3], |seed| {
        let mut world = a_short_story(seed);
        world.all_is_well();
        world.is_steady();
        world.restarts_the_same();
    });
}

/// What it takes today, about a second and some 10 800 happenings, with room for slower machines: by the time of the
/// processor, so that a busy machine fails nothing.
const MOST_FOR_FIFTY: Duration = Duration::from_secs(8);
const MOST_HAPPENINGS: u64 = 12_000;

#[test]
fn fifty_apps_settle_in_seconds_of_a_processor_also_where_every_moment_is_judged() {
    let base = {
        let mut world = served(7);
        world.crash();
        world
    };
    let settle = |is_judged: bool| {
        let mut world = base.fork(7);
        if is_judged {
            world.judge();
        }
        world.start();
        let (began, before) = (processor_time(), world.happened.count);
        let names: Vec<String> = (1..=50).map(|number| format!("app-{number}")).collect();
        let written: Vec<_> = names.iter().map(|name| world.apply_soon(&page(name))).collect();
        for written in written {
            world.until_over(written).unwrap();
        }
        world.settle();
        let (took, happenings) = (processor_time() - began, world.happened.count - before);
        println!(
            "50 apps: {took:?}, {happenings} happenings, {} commits, {} changes",
            world.happened.commits, world.happened.changes
        );
        world.all_is_well();
        assert!(happenings <= MOST_HAPPENINGS, "{happenings} happenings");
        took
    };
    let plain = settle(false);
    assert!(plain <= MOST_FOR_FIFTY, "50 apps took {plain:?} of a processor");
    let judged = settle(true);
    assert!(
        judged <= plain * 2,
        "judged at every moment they took {judged:?} of a processor instead of {plain:?}"
    );
}

/// What a home takes until it is served, with room for slower machines; a test of an app begins with it.
const MOST_TO_START: Duration = Duration::from_millis(300);

#[test]
fn a_home_is_served_in_a_fraction_of_a_second_of_a_processor() {
    let began = processor_time();
    for seed in 1..=20 {
        World::new(seed).start();
    }
    let each = (processor_time() - began) / 20;
    println!("a home is served after {each:?} of a processor");
    assert!(each <= MOST_TO_START, "{each:?}");
}

/// How much of a processor this thread has had, in hundredths of a second, as Linux counts.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name before it may hold spaces.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(10 * ticks.sum::<u64>())
}
