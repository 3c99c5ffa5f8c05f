//! Crash anywhere: a wish is carried out once to learn every moment at which something lasting changes, and then once
//! for each of them with a crash there.
//!
//! A crash leaves the store's files and the machine. So two boundaries between which neither changed (a step is about
//! to begin, a reply is on its way) are one and the same crash, and it is tried once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::homes::{page, secret, shop, with};
use crate::runs::served;
use crate::seeds::each_seed;
use crate::snapshot::{Snapshot, differences};
use crate::world::World;

/// What a person asks for.
enum Wish {
    Apply(Value),
    Delete(&'static str),
}

/// How often each change of the machine was asked for.
type Counts = BTreeMap<String, u64>;

impl Wish {
    fn ask(&self, world: &World) -> tokio::task::JoinHandle<Result<(), hearth_engine::WriteError>> {
        match self {
            Self::Apply(object) => world.apply_soon(object),
            Self::Delete(name) => world.delete_soon("App", name),
        }
    }

    fn fulfil(&self, world: &mut World) {
        match self {
            Self::Apply(object) => world.apply(object),
            Self::Delete(name) => world.delete("App", name),
        }
    }
}

/// A home as a crash left it, and whether the person who wished had been answered.
struct Wreck {
    world: World,
    was_answered: bool,
    after: String,
}

/// Carries a wish out and keeps a wreck of every moment at which something lasting changed.
fn wrecks(world: &mut World, wish: &Wish) -> Vec<Wreck> {
    let asked = wish.ask(world);
    let mut wrecks = vec![];
    let mut lasting = (world.happened.commits, world.happened.changes);
    let mut quiet_since = world.clock_now();
    loop {
        world.step();
        world.rest();
        let now = (world.happened.commits, world.happened.changes);
        if now != lasting {
            lasting = now;
            quiet_since = world.clock_now();
            wrecks.push(Wreck {
                world: world.fork(world.seed),
                was_answered: asked.is_finished(),
                after: world.happened.tail(1),
            });
        } else if world.clock_now() - quiet_since > Duration::from_secs(150) && !world.waits() {
            return wrecks;
        }
    }
}

/// What is left of a wreck comes up again and goes on to the end that was to come.
fn recovers(mut wreck: Wreck, wish: &Wish, end: &Snapshot, counts: &Counts) {
    let world = &mut wreck.world;
    let after = std::mem::take(&mut wreck.after);
    world.happened.line(format!("crashed after: {after}"));
    world.judge();
    world.start();
    if !wreck.was_answered {
        wish.fulfil(world);
    }
    settles_to(world, end, &format!("crashed after {after}"));
    counts_hold(&world.machine.writes(), counts, &after);
}

/// At rest it stands like this.
fn settles_to(world: &mut World, end: &Snapshot, what: &str) {
    // Most are there at once; the rest is given all the time there is before it is called wrong.
    let settled = world.quiet_for(Duration::from_secs(150));
    if settled.is_ok() && differences(end, &world.snapshot()).is_empty() {
        return;
    }
    world.settle();
    let differences = differences(end, &world.snapshot());
    assert!(differences.is_empty(), "{what}:\n{}\n{}", differences.join("\n"), world.everything());
}

/// Nothing was made or removed more often than without the crash, but for what the crash was in the middle of: that
/// may be asked for once more, and data never.
fn counts_hold(now: &Counts, expected: &Counts, after: &str) {
    for (what, count) in now {
        let most = expected.get(what).copied().unwrap_or(0);
        // What is written whole comes out in fewer or more writes by what happens to be gathered in one.
        let gathered = ["write proxy", "reset proxy", "save files"];
        let is_gathered = gathered.iter().any(|whole| what.starts_with(whole));
        let is_exact =
            ["create", "make leaf", "remove leaf", "remove container"].iter().any(|w| what.starts_with(w));
        let spare = u64::from(!is_exact);
        assert!(
            is_gathered || *count <= most + spare,
            "{what}: {count} times instead of {most}, crashed after {after}"
        );
    }
}

impl World {
    fn clock_now(&self) -> Duration {
        hearth_engine::Clock::elapsed(&self.clock)
    }
}

fn crash_anywhere(mut base: World, wish: &Wish) {
    let (counts, end) = undisturbed(&base, wish);
    base.start();
    base.settle();
    let wrecks = wrecks(&mut base, wish);
    println!("{} wrecks", wrecks.len());
    assert!(wrecks.len() > 10, "the wish has next to no boundaries: {}", wrecks.len());
    for wreck in wrecks {
        recovers(wreck, wish, &end, &counts);
    }
}

fn undisturbed(base: &World, wish: &Wish) -> (Counts, Snapshot) {
    let mut world = base.fork(base.seed);
    world.start();
    world.settle();
    world.judge();
    wish.fulfil(&mut world);
    world.settle();
    (world.machine.writes(), world.snapshot())
}

/// A home at rest in which the shop is as declared, and which nobody serves just now.
fn with_shop(seed: u64, shop: &Value) -> World {
    let mut world = served(seed);
    world.apply(&secret("sesame"));
    world.apply(shop);
    world.settle();
    world.all_is_well();
    world.crash();
    world
}

#[test]
fn a_crash_anywhere_in_an_install_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_an_install_ends_as_without_it", &[11], |seed| {
        let mut world = served(seed);
        world.apply(&secret("sesame"));
        world.settle();
        world.crash();
        crash_anywhere(world, &Wish::Apply(shop("shop", "1")));
    });
}

#[test]
fn a_crash_anywhere_in_an_update_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_an_update_ends_as_without_it", &[12], |seed| {
        crash_anywhere(with_shop(seed, &shop("shop", "1")), &Wish::Apply(shop("shop", "2")));
    });
}

#[test]
fn a_crash_anywhere_in_a_stop_and_in_a_start_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_stop_and_in_a_start_ends_as_without_it", &[13], |seed| {
        let (running, stopped) = (shop("shop", "1"), with(shop("shop", "1"), &json!({ "state": "Stopped" })));
        let mut world = with_shop(seed, &running);
        crash_anywhere(world.fork(seed), &Wish::Apply(stopped.clone()));
        world.start();
        world.apply(&stopped);
        world.settle();
        world.crash();
        crash_anywhere(world, &Wish::Apply(running));
    });
}

#[test]
fn a_crash_anywhere_in_a_change_of_a_secret_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_change_of_a_secret_ends_as_without_it", &[14], |seed| {
        crash_anywhere(with_shop(seed, &shop("shop", "1")), &Wish::Apply(secret("close")));
    });
}

#[test]
fn a_crash_anywhere_in_a_removal_with_its_data_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_removal_with_its_data_ends_as_without_it", &[15], |seed| {
        let shop = with(shop("shop", "1"), &json!({ "dataPolicy": "Delete" }));
        crash_anywhere(with_shop(seed, &shop), &Wish::Delete("shop"));
    });
}

#[test]
fn two_crashes_anywhere_in_a_start_end_as_without_them() {
    each_seed("two_crashes_anywhere_in_a_start_end_as_without_them", &[16], |seed| {
        let (running, stopped) = (page("page"), with(page("page"), &json!({ "state": "Stopped" })));
        let mut base = served(seed);
        base.apply(&stopped);
        base.settle();
        base.crash();
        let wish = Wish::Apply(running);
        let (counts, end) = undisturbed(&base, &wish);
        base.start();
        base.settle();
        let mut pairs = 0;
        // Each third crash of the first run, with every one of the second: enough for every pair of kinds.
        for mut first in wrecks(&mut base, &wish).into_iter().step_by(3) {
            first.world.start();
            let again = Wish::Apply(page("page"));
            for mut second in wrecks(&mut first.world, &again) {
                second.was_answered = false;
                pairs += 1;
                let world = &mut second.world;
                world.judge();
                world.start();
                again.fulfil(world);
                settles_to(world, &end, &format!("crashed after {} and after {}", first.after, second.after));
                counts_hold(&world.machine.writes(), &twice(&counts), &second.after);
            }
        }
        println!("{pairs} pairs");
        assert!(pairs > 50, "{pairs}");
    });
}

/// Two crashes may each have been in the middle of something.
fn twice(counts: &Counts) -> Counts {
    counts.iter().map(|(what, count)| (what.clone(), count + 1)).collect()
}
