//! Crashes at every boundary of the wishes a home lives by, and of the repairs of what is done by hand: each ends as
//! without the crash.

use hearth::world::crash::{self, Wish, Wreck};
use hearth_pretend::Machine;
use serde_json::{Value, json};

use crate::homes::{page, secret, shop, with};
use crate::runs::served;
use crate::seeds::each_seed;
use crate::world::World;

fn crash_anywhere(base: World, wish: &Wish) {
    crash_at_least(10, base, wish);
}

fn crash_at_least(least: usize, mut base: World, wish: &Wish) {
    let boundaries = crash::anywhere(&mut base, wish).unwrap_or_else(|trouble| panic!("{trouble}"));
    println!("{boundaries} crashes");
    assert!(boundaries >= least, "the wish has next to no boundaries: {boundaries}");
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

/// What a person does to the machine is put right, wherever the server dies on the way.
fn repair_anywhere(seed: u64, least: usize, by_hand: fn(&Machine)) {
    crash_at_least(least, with_shop(seed, &shop("shop", "1")), &Wish::repair(by_hand));
}

#[test]
fn a_crash_anywhere_in_the_repair_of_a_removed_container_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_the_repair_of_a_removed_container_ends_as_without_it", &[17], |seed| {
        repair_anywhere(seed, 5, |machine| machine.remove_by_hand("hearth_household_shop-db"));
    });
}

#[test]
fn a_crash_anywhere_in_the_repair_of_an_emptied_proxy_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_the_repair_of_an_emptied_proxy_ends_as_without_it", &[18], |seed| {
        repair_anywhere(seed, 3, Machine::clear_proxy);
    });
}

#[test]
fn a_crash_anywhere_in_the_repair_of_a_network_ends_as_without_it() {
    each_seed("a_crash_anywhere_in_the_repair_of_a_network_ends_as_without_it", &[19], |seed| {
        repair_anywhere(seed, 5, |machine| machine.remove_network("hearth_household_shop"));
        repair_anywhere(seed, 5, |machine| machine.edit_network("hearth_household_shop", "attachable"));
    });
}

#[test]
fn a_crash_anywhere_while_a_docker_that_forgot_everything_is_given_it_again_ends_as_without_it() {
    let test = "a_crash_anywhere_while_a_docker_that_forgot_everything_is_given_it_again_ends_as_without_it";
    each_seed(test, &[20], |seed| repair_anywhere(seed, 20, Machine::forget));
}

#[test]
fn two_crashes_anywhere_in_a_start_or_in_a_stop_end_as_without_them() {
    each_seed("two_crashes_anywhere_in_a_start_or_in_a_stop_end_as_without_them", &[16], |seed| {
        let (running, stopped) = (page("page"), with(page("page"), &json!({ "state": "Stopped" })));
        let from = |page: &Value| {
            let mut base = served(seed);
            base.apply(page);
            base.settle();
            base.crash();
            base
        };
        let pairs = crash_twice(from(&stopped), &Wish::apply(running.clone()));
        assert!(pairs > 50, "{pairs}");
        let pairs = crash_twice(from(&running), &Wish::apply(stopped.clone()));
        assert!(pairs > 10, "{pairs}");
    });
}

/// Crashes at each third boundary of a wish, and for each of them at every one of the second run: enough for every
/// pair of kinds. Says how often.
fn crash_twice(mut base: World, wish: &Wish) -> usize {
    let end = crash::undisturbed(&base, wish).unwrap();
    base.start();
    base.settle();
    let (mut first_crashes, mut pairs) = (0, 0);
    let each_pair = |mut first: Wreck| {
        first_crashes += 1;
        if first_crashes % 3 != 1 {
            return Ok(());
        }
        first.world.start()?;
        crash::walk(&mut first.world, wish, |second| {
            pairs += 1;
            let mut world = second.world;
            let what = format!("crashed after {} and after {}", first.after, second.after);
            world.judge();
            world.start()?;
            wish.fulfil(&mut world)?;
            crash::settles_to(&mut world, &end.stands, &what)?;
            crash::counts_hold(&world, &end.counts, 2, &what)
        })
        .map(drop)
    };
    crash::walk(&mut base, wish, each_pair).unwrap_or_else(|trouble| panic!("{trouble}"));
    println!("{pairs} pairs");
    pairs
}
