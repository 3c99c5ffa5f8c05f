//! More to do than can be done: everything is woken again before it could be looked at once, for as long as one likes.
//! No key waits without bound, what a person asks for goes ahead, and nothing is written or done for nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hearth::world::{Point, Verdict};
use hearth_pretend::Op;
use serde_json::json;

use crate::homes::{page, with};
use crate::runs::served;
use crate::seeds::each_seed;
use crate::world::World;

const APPS: usize = 12;
/// Happenings under overload. Each look takes two, and wakes every key ten times over.
const HAPPENINGS: usize = 6_000;
/// A key may be overtaken by so many looks at others for each key there is: one for those in line before it, one for
/// those that a person asks for, and the rest for the order in which the machine happens to answer.
const OVERTAKEN: usize = 6;

/// The looks at containers, in order.
type Looks = Rc<RefCell<Vec<String>>>;

fn watch_looks(world: &mut World) -> Looks {
    let looks = Looks::default();
    let seen = looks.clone();
    world.faults = Box::new(move |point| {
        if let Point::Call(Op::InspectContainer, name) = point {
            seen.borrow_mut().push(name.clone());
        }
        Verdict::Go
    });
    looks
}

/// For each key, the most looks at others between two of its own.
fn waits(looks: &[String]) -> BTreeMap<String, usize> {
    let mut last: BTreeMap<&String, usize> = BTreeMap::new();
    let mut most = BTreeMap::new();
    for (at, name) in looks.iter().enumerate() {
        let before = last.insert(name, at).unwrap_or(0);
        let longest = most.entry(name.clone()).or_insert(0);
        *longest = (*longest).max(at - before);
    }
    // Whoever was not seen again waits until now.
    for (name, at) in last {
        let longest = most.entry(name.clone()).or_insert(0);
        *longest = (*longest).max(looks.len() - at);
    }
    most
}

#[test]
fn at_ten_times_what_can_be_done_no_key_starves_and_nothing_is_done_for_nothing() {
    each_seed(
        "at_ten_times_what_can_be_done_no_key_starves_and_nothing_is_done_for_nothing",
        &[61],
        |seed| {
            let mut world = served(seed);
            for number in 1..=APPS {
                world.apply(&page(&format!("app-{number}")));
            }
            world.settle();
            world.all_is_well();
            let looks = watch_looks(&mut world);
            let before = (world.happened.commits, world.happened.changes);
            (0..HAPPENINGS).for_each(|_| {
                world.engine().wake_all();
                world.step();
            });
            assert_eq!((world.happened.commits, world.happened.changes), before, "it works for nothing");
            let most = waits(&looks.borrow());
            println!("{} looks; overtaken by {most:?}", looks.borrow().len());
            assert_eq!(most.len(), APPS + 1, "some were not looked at");
            for (name, overtaken) in &most {
                assert!(*overtaken <= OVERTAKEN * most.len(), "{name} was overtaken by {overtaken} looks");
            }
            is_served_at_once(&mut world, &looks);
            world.faults = Box::new(|_| Verdict::Go);
            world.settle();
            world.all_is_well();
            world.is_steady();
        },
    );
}

/// What a person asks for is carried out under overload, and soon.
fn is_served_at_once(world: &mut World, looks: &Looks) {
    looks.borrow_mut().clear();
    drop(world.apply_soon(&with(page("app-1"), &json!({ "state": "Stopped" }))));
    let stops =
        |world: &World| world.machine.writes().get("stop container hearth_household_app-1-web").copied();
    while stops(world).is_none() {
        assert!(looks.borrow().len() < 20 * APPS, "a person's wish waits behind everything");
        world.engine().wake_all();
        world.step();
    }
    println!("a wish was carried out after {} looks", looks.borrow().len());
}
