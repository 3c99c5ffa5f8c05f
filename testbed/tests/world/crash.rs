//! Crashes at every boundary of the wishes a home lives by: each ends as without the crash.

use hearth::world::crash::{self, Counts, Wish, Wreck};
use serde_json::{Value, json};

use crate::homes::{page, secret, shop, with};
use crate::runs::served;
use crate::seeds::each_seed;
use crate::world::World;

fn crash_anywhere(mut base: World, wish: &Wish) {
    let boundaries = crash::anywhere(&mut base, wish).unwrap_or_else(|trouble| panic!("{trouble}"));
    println!("{boundaries} crashes");
    assert!(boundaries > 10, "the wish has next to no boundaries: {boundaries}");
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
        crash_anywhere(world, &Wish::apply(shop("shop", "1")));
    });
}

#[test]
fn a_crash_anywhere_in_an_update_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_an_update_ends_as_without_it", &[12], |seed| {
        crash_anywhere(with_shop(seed, &shop("shop", "1")), &Wish::apply(shop("shop", "2")));
    });
}

#[test]
fn a_crash_anywhere_in_a_stop_and_in_a_start_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_stop_and_in_a_start_ends_as_without_it", &[13], |seed| {
        let (running, stopped) = (shop("shop", "1"), with(shop("shop", "1"), &json!({ "state": "Stopped" })));
        let mut world = with_shop(seed, &running);
        crash_anywhere(world.fork(seed), &Wish::apply(stopped.clone()));
        world.start();
        world.apply(&stopped);
        world.settle();
        world.crash();
        crash_anywhere(world, &Wish::apply(running));
    });
}

#[test]
fn a_crash_anywhere_in_a_change_of_a_secret_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_change_of_a_secret_ends_as_without_it", &[14], |seed| {
        crash_anywhere(with_shop(seed, &shop("shop", "1")), &Wish::apply(secret("close")));
    });
}

#[test]
fn a_crash_anywhere_in_a_removal_with_its_data_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_a_removal_with_its_data_ends_as_without_it", &[15], |seed| {
        let shop = with(shop("shop", "1"), &json!({ "dataPolicy": "Delete" }));
        crash_anywhere(with_shop(seed, &shop), &Wish::delete("App", "shop"));
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
        let wish = Wish::apply(running);
        let end = crash::undisturbed(&base, &wish).unwrap();
        let counts = twice(&end.counts);
        base.start();
        base.settle();
        let (mut first_crashes, mut pairs) = (0, 0);
        let each_pair = |mut first: Wreck| {
            first_crashes += 1;
            // Each third crash of the first run, with every one of the second: enough for every pair of kinds.
            if first_crashes % 3 != 1 {
                return Ok(());
            }
            first.world.start()?;
            crash::walk(&mut first.world, &wish, |second| {
                pairs += 1;
                let mut world = second.world;
                let what = format!("crashed after {} and after {}", first.after, second.after);
                world.judge();
                world.start()?;
                wish.fulfil(&mut world)?;
                crash::settles_to(&mut world, &end.stands, &what)?;
                crash::counts_hold(&world, &counts, &what)
            })
            .map(drop)
        };
        crash::walk(&mut base, &wish, each_pair).unwrap_or_else(|trouble| panic!("{trouble}"));
        println!("{pairs} pairs");
        assert!(pairs > 50, "{pairs}");
    });
}

/// Two crashes may each have been in the middle of something.
fn twice(counts: &Counts) -> Counts {
    counts.iter().map(|(what, count)| (what.clone(), count + 1)).collect()
}
