//! How much a wish may cost: each is carried out from rest, and what was written and done for it stays under a ceiling.
//!
//! The ceilings are what it takes today and a fifth more. Whoever makes something cheaper lowers them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hearth::world::{Point, Verdict};
use serde_json::json;

use crate::homes::{page, secret, shop, with};
use crate::runs::served;
use crate::world::World;

/// What a wish cost.
#[derive(Default, Debug)]
struct Cost {
    commits: u64,
    changes: u64,
    /// Calls that only look.
    looks: u64,
    /// Statuses written, by object.
    statuses: BTreeMap<String, u64>,
}

/// The most a wish may cost.
struct Ceiling {
    commits: u64,
    changes: u64,
    looks: u64,
    /// Of any one object.
    statuses: u64,
}

fn cost_of(world: &mut World, wish: impl FnOnce(&mut World)) -> Cost {
    let cost = Rc::new(RefCell::new(Cost::default()));
    let counted = cost.clone();
    world.faults = Box::new(move |point| {
        let mut cost = counted.borrow_mut();
        match point {
            Point::Written(what) => {
                cost.commits += 1;
                for key in what.split(", ").filter_map(|part| part.strip_prefix("status ")) {
                    *cost.statuses.entry(key.to_owned()).or_default() += 1;
                }
            }
            Point::Call(op, _) if op.change().is_some() => cost.changes += 1,
            Point::Call(..) => cost.looks += 1,
            _ => {}
        }
        Verdict::Go
    });
    wish(world);
    world.settle();
    world.all_is_well();
    world.faults = Box::new(|_| Verdict::Go);
    cost.take()
}

/// What was too much.
fn check(what: &str, cost: &Cost, most: &Ceiling) -> Vec<String> {
    let busiest = cost.statuses.iter().max_by_key(|(_, count)| **count);
    println!("{what}: {} commits, {} changes, {} looks, {busiest:?}", cost.commits, cost.changes, cost.looks);
    let statuses = busiest.map_or(0, |(_, count)| *count);
    let told = [
        ("commits", cost.commits, most.commits),
        ("changes of the machine", cost.changes, most.changes),
        ("looks", cost.looks, most.looks),
        ("statuses of one object", statuses, most.statuses),
    ];
    let too_much = told.into_iter().filter(|(_, is, most)| is > most);
    too_much.map(|(of, is, most)| format!("{what}: {is} {of}, and {most} are enough: {cost:?}")).collect()
}

#[test]
fn every_wish_is_carried_out_within_its_ceiling_of_steps_and_writes() {
    let mut world = served(71);
    world.apply(&secret("sesame"));
    world.settle();
    let stopped = with(shop("shop", "2"), &json!({ "state": "Stopped" }));
    let mut failed = Vec::new();
    let ceiling = |commits, changes, looks, statuses| Ceiling { commits, changes, looks, statuses };
    let apply = |object| move |world: &mut World| world.apply(&object);
    let cost = cost_of(&mut world, apply(page("page")));
    failed.extend(check("a page is installed", &cost, &ceiling(29, 12, 222, 8)));
    let cost = cost_of(&mut world, apply(page("page")));
    failed.extend(check("it is asked for again", &cost, &ceiling(0, 0, 150, 0)));
    let cost = cost_of(&mut world, apply(shop("shop", "1")));
    failed.extend(check("a shop is installed", &cost, &ceiling(47, 25, 590, 15)));
    let cost = cost_of(&mut world, apply(shop("shop", "2")));
    failed.extend(check("it is updated", &cost, &ceiling(34, 20, 420, 8)));
    let cost = cost_of(&mut world, apply(stopped));
    failed.extend(check("it is stopped", &cost, &ceiling(15, 5, 313, 3)));
    let cost = cost_of(&mut world, apply(shop("shop", "2")));
    failed.extend(check("it is started", &cost, &ceiling(27, 9, 350, 8)));
    let cost = cost_of(&mut world, |world| world.machine.remove_by_hand("hearth_household_shop-web"));
    failed.extend(check("a container is put back", &cost, &ceiling(8, 3, 280, 3)));
    let cost = cost_of(&mut world, |world| world.delete("App", "shop"));
    failed.extend(check("it is deleted", &cost, &ceiling(45, 18, 300, 8)));
    let cost = cost_of(&mut world, |world| world.step());
    failed.extend(check("nobody does anything", &cost, &ceiling(0, 0, 180, 0)));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
