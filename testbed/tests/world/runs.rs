//! One seed is one run; a home settles, stays settled, and comes back the same after a restart in the middle.

use std::time::Instant;

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

#[test]
fn fifty_apps_settle_in_a_few_seconds() {
    let mut world = served(7);
    let began = Instant::now();
    let names: Vec<String> = (1..=50).map(|number| format!("app-{number}")).collect();
    let written: Vec<_> = names.iter().map(|name| world.apply_soon(&page(name))).collect();
    for written in written {
        world.until_over(written).unwrap();
    }
    world.settle();
    println!(
        "50 apps: {:?}, {} happenings, {} commits, {} changes",
        began.elapsed(),
        world.happened.count,
        world.happened.commits,
        world.happened.changes
    );
    world.all_is_well();
}
