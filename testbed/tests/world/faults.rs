//! Any fault, any order: a home with things of others beside it is disturbed by a schedule while people change their
//! minds, and after the last disturbance it stands as if only the last wish had ever been asked for.
//!
//! A schedule that fails is cut down to what it takes, and printed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use hearth::world::crash::{Asked, Wish};
use hearth::world::random::Random;
use hearth::world::settle::key;
use hearth::world::snapshot::{Snapshot, differences};
use hearth::world::{Point, Verdict};
use hearth_engine::Clock;
use hearth_meta::SignedDuration;
use hearth_pretend::{Backend, Op};
use serde_json::{Value, json};

use crate::given;
use crate::homes::{packaged_shop, secret, shelf, shop, with};
use crate::judged::{Data, disturbances, each_is_made_seldom, wishes};
use crate::runs::served;
use crate::said;
use crate::schedule::{Act, Entry, Hand, calls, generate, verdicts_by};
use crate::seeds::each_seed;
use crate::shrink::{cut_down, failure};
use crate::strangers::{self, plant};
use crate::told::{self, Told};
use crate::world::{World, quietly};

/// How many schedules each seed tries.
const SCHEDULES: usize = 25;
/// How many happenings a run is disturbed for; a home that has nothing to do makes some 50 a minute.
const DISTURBED: u64 = 500;
/// So many changes of the machine one disturbance may cost at the most: an app is taken down and made anew with some
/// 30, and what fails is tried again some times.
const CHANGES_EACH: u64 = 60;

/// What people ask for in turn.
fn fulfil(world: &mut World, wish: usize) {
    ask(world, wish).into_iter().for_each(|asked| {
        // What is refused for want of disk is asked for again at the end.
        let _ = world.until_over(asked);
    });
}

/// How many wishes leave everybody's data where it is.
pub(crate) const WISHES: usize = 7;
/// All of them.
const ALL_WISHES: usize = 8;
pub(crate) const STOPPED: usize = 2;
pub(crate) const DELETED: usize = 4;
/// Deleted and asked for again under the same name, which has to wait until the old one is gone.
pub(crate) const AGAIN: usize = 5;
pub(crate) const PACKAGED: usize = 6;
/// Deleted with its data.
pub(crate) const DESTROYED: usize = 7;

/// What a wish asks for, all of it at once but for what has to be answered first.
pub(crate) fn asked(wish: usize) -> Vec<Asked> {
    let word = |word: &str| Asked::Apply(secret(word));
    let version = |version: &str| Asked::Apply(shop("shop", version));
    let deleted = || Asked::Delete { kind: "App".into(), name: "shop".into() };
    match wish {
        0 => vec![word("sesame"), version("1")],
        1 => vec![word("sesame"), version("2")],
        2 => vec![word("sesame"), Asked::Apply(with(shop("shop", "1"), &json!({ "state": "Stopped" })))],
        3 => vec![word("close"), version("1")],
        DELETED => vec![word("sesame"), deleted()],
        AGAIN => vec![word("sesame"), deleted(), version("1")],
        PACKAGED => vec![word("sesame"), Asked::Apply(packaged_shop())],
        DESTROYED => {
            let with_data = with(shop("shop", "1"), &json!({ "dataPolicy": "Delete" }));
            vec![word("sesame"), Asked::Apply(with_data), deleted()]
        }
        other => panic!("there is no wish {other}"),
    }
}

pub(crate) fn ask(
    world: &World,
    wish: usize,
) -> Vec<tokio::task::JoinHandle<Result<(), hearth_engine::WriteError>>> {
    if wish == DESTROYED {
        // What becomes of the data has to be said before it goes.
        return vec![Wish::of(asked(wish)).ask(world)];
    }
    let soon = |asked: Asked| match asked {
        Asked::Apply(object) => world.apply_soon(&object),
        Asked::Delete { kind, name } => world.delete_soon(&kind, &name),
    };
    asked(wish).into_iter().map(soon).collect()
}

/// Where somebody else's things are, the shop runs, and nobody serves just now.
fn disturbed_home(seed: u64) -> World {
    let mut world = served(seed);
    plant(&world.machine);
    world.apply(&shelf());
    fulfil(&mut world, 0);
    world.settle();
    world.all_is_well();
    world.crash();
    world
}

/// How a home stands where only this was ever asked for.
fn undisturbed(base: &World, wish: usize) -> Snapshot {
    let mut world = base.fork(base.seed);
    world.start();
    ask_until_taken(&mut world, wish);
    world.settle();
    comparable(world.snapshot(), wish)
}

/// Asks for it until it stands: what was being removed has to be gone first.
pub(crate) fn ask_until_taken(world: &mut World, wish: usize) {
    fulfil(world, wish);
    // Whatever the last wish is, one before it may have been to delete.
    let app = |world: &World| world.store().get(&key("App", "shop"));
    if wish == AGAIN || app(world).is_some_and(|app| app.is_going()) {
        world.settle();
        // What was to be deleted is gone by now, and need not be made for that once more.
        if wish != DESTROYED || app(world).is_some() {
            fulfil(world, if wish == AGAIN { 0 } else { wish });
        }
    }
}

/// What must be the same whatever happened on the way: every object, everything in the engine and the proxy, and what
/// containers are given.
///
/// Kept data of an app that was made anew lies beside the new one's, and is looked at apart. A container that does
/// not have to run is not made again where somebody pruned it, nor given anything: a job that is done, and all of a
/// stopped app. How many revisions there are tells how often people changed their mind.
pub(crate) fn comparable(mut snapshot: Snapshot, wish: usize) -> Snapshot {
    let is_idle = |what: &str| what.ends_with("shop-migrate") || wish == STOPPED && what.contains("shop");
    let is_container = |what: &str| what.starts_with("containers ") || what.starts_with("Container ");
    let given = given::in_snapshot(&snapshot).into_iter().filter(|(what, _)| {
        let holder = what.split(' ').nth(1).unwrap_or_default();
        !is_idle(holder)
    });
    snapshot.extend(given.collect::<Snapshot>());
    snapshot.retain(|what, _| {
        let is_by_the_way = what.starts_with("disk") || what.starts_with("revisions ");
        !(is_by_the_way || is_container(what) && is_idle(what))
    });
    if wish == STOPPED { wherever_from(snapshot) } else { snapshot }
}

/// Whether a job was done once depends on where one came from, if it is not to run now.
pub(crate) fn wherever_from(mut snapshot: Snapshot) -> Snapshot {
    let app = snapshot.get_mut("App household/shop");
    let services = app.and_then(|app| app["status"]["services"].as_array_mut());
    for service in services.into_iter().flatten().filter_map(|service| service.as_object_mut()) {
        service.remove("completedAt");
    }
    snapshot
}

/// Disturbs a home by a schedule, and judges how it ends.
fn run(base: &World, ends: &BTreeMap<usize, Snapshot>, seed: u64, schedule: &[Entry]) {
    let mut world = base.fork(seed);
    let data = Data::of(&world, schedule);
    let armed = Rc::new(Cell::new(false));
    world.faults = verdicts_by(Some(&world.clock.clone()), schedule, &armed);
    world.judge();
    world.start();
    armed.set(true);
    let (began, before) = (world.happened.count, world.happened.changes);
    let made = world.machine.writes();
    let mut wish = 0;
    let mut acts: Vec<(u64, Act)> = schedule
        .iter()
        .filter_map(|entry| if let Entry::At(at, act) = entry { Some((*at, act.clone())) } else { None })
        .collect();
    acts.sort_by_key(|(at, _)| *at);
    let mut ups: Vec<(Duration, Backend)> = Vec::new();
    while world.happened.count - began < DISTURBED {
        while acts.first().is_some_and(|(at, _)| world.happened.count - began >= *at) {
            let (_, act) = acts.remove(0);
            perform(&mut world, &act, &armed, &mut ups, &mut wish);
        }
        world.step();
        let now = world.clock.elapsed();
        ups.retain(|(until, backend)| {
            if *until <= now {
                world.machine.unreachable_backend(*backend, false);
            }
            *until > now
        });
    }
    armed.set(false);
    // What is late already comes while the home settles, and must change nothing any more.
    world.late.clear();
    ups.iter().for_each(|(_, backend)| world.machine.unreachable_backend(*backend, false));
    ask_until_taken(&mut world, wish);
    ends_well(&mut world, &ends[&wish], wish);
    data.is_where_it_was_wished(&world, wish);
    let most = CHANGES_EACH * (disturbances(schedule) + 2);
    let changes = world.happened.changes - before;
    assert!(changes <= most, "{changes} changes of the machine for {} disturbances", disturbances(schedule));
    each_is_made_seldom(&made, &world.machine.writes(), schedule);
}

fn perform(
    world: &mut World,
    act: &Act,
    armed: &Rc<Cell<bool>>,
    ups: &mut Vec<(Duration, Backend)>,
    wish: &mut usize,
) {
    let now = world.clock.elapsed().as_millis();
    world.happened.line(format!("{now:>9} now: {act:?}"));
    match act {
        Act::Crash => {
            // It comes up on a sound disk and machine; what goes wrong then goes wrong in a home that runs.
            armed.set(false);
            ups.drain(..).for_each(|(_, backend)| world.machine.unreachable_backend(backend, false));
            world.crash();
            world.start();
            armed.set(true);
        }
        Act::Break => world.machine.end_event_streams(),
        Act::Late(about, by) => drop(world.late.insert(*about, *by)),
        Act::Out(backend, time) => {
            world.machine.unreachable_backend(*backend, true);
            ups.push((world.clock.elapsed() + *time, *backend));
        }
        Act::Wall(minutes) => {
            let by = SignedDuration::from_mins(*minutes);
            world.clock.set_wall(world.clock.now().saturating_add(by).unwrap());
        }
        Act::Wish(number) => {
            *wish = *number;
            drop(ask(world, *number));
        }
        Act::Hand(hand) => hand.act(world),
    }
}

/// After the last disturbance it settles, stands as it should, and stays so.
fn ends_well(world: &mut World, end: &Snapshot, wish: usize) {
    world.settle();
    let now = comparable(world.snapshot(), wish);
    let differences = differences(end, &now);
    assert!(differences.is_empty(), "wish {wish}:\n{}\n{}", differences.join("\n"), world.everything());
    world.all_is_well();
    world.is_steady();
}

fn all_ends(base: &World) -> BTreeMap<usize, Snapshot> {
    (0..ALL_WISHES).map(|wish| (wish, undisturbed(base, wish))).collect()
}

/// Or to disturb it would show nothing.
#[test]
fn every_call_that_is_disturbed_is_one_that_a_home_makes() {
    let mut world = disturbed_home(24);
    let made: Rc<RefCell<BTreeSet<Op>>> = Rc::default();
    let noted = made.clone();
    world.faults = Box::new(move |point| {
        if let Point::Call(op, _) = point {
            noted.borrow_mut().insert(*op);
        }
        Verdict::Go
    });
    world.start();
    world.settle();
    for hand in [Hand::Disconnect("shop-web"), Hand::Chmod, Hand::ClearProxy] {
        hand.act(&world);
        world.settle();
    }
    for wish in 0..ALL_WISHES {
        ask_until_taken(&mut world, wish);
        world.settle();
    }
    assert_eq!(*made.borrow(), calls().into_iter().collect());
}

#[test]
fn after_the_last_fault_a_home_stands_as_if_there_had_been_none() {
    each_seed("after_the_last_fault_a_home_stands_as_if_there_had_been_none", &[21, 22], |seed| {
        let base = disturbed_home(seed);
        let ends = all_ends(&base);
        let mut random = Random::new(seed);
        let mut failed = Vec::new();
        for _ in 0..SCHEDULES {
            let schedule = generate(&mut random, ALL_WISHES);
            let run_seed = random.next();
            if let Some(least) = search(&base, &ends, run_seed, schedule, &told::found()) {
                failed.push((run_seed, least));
            }
        }
        // Once more, and this time it is told in full.
        if let Some((run_seed, least)) = failed.first() {
            run(&base, &ends, *run_seed, least);
        }
        assert!(failed.is_empty(), "{failed:?}");
    });
}

/// The least of a schedule that still fails, if it does; it is told, and kept as a case.
fn search(
    base: &World,
    ends: &BTreeMap<usize, Snapshot>,
    run_seed: u64,
    schedule: Vec<Entry>,
    folder: &Path,
) -> Option<Vec<Entry>> {
    let said = |schedule: &[Entry]| quietly(|| failure(|| run(base, ends, run_seed, schedule)));
    said(&schedule)?;
    let least = cut_down(|schedule| said(schedule).is_some(), schedule);
    let said = said(&least).unwrap_or_default();
    println!("run {run_seed} fails with {least:?}: {said}");
    match as_case(base, ends, run_seed, &least) {
        Some(case) => drop(case.keep(&said, folder)),
        None => println!("no case can say it: a package lies on the disk before the home begins"),
    }
    Some(least)
}

/// The same as a case, if one can say it.
fn as_case(
    base: &World,
    ends: &BTreeMap<usize, Snapshot>,
    run_seed: u64,
    schedule: &[Entry],
) -> Option<Told> {
    let wishes = wishes(schedule);
    if wishes.contains(&PACKAGED) {
        return None;
    }
    let wish = wishes.last().copied().unwrap_or(0);
    let faults: Vec<Value> = schedule.iter().flat_map(said::faults).collect();
    let mut story = vec![json!({ "disturb": { "happenings": DISTURBED, "faults": faults } })];
    // What is deleted has to be gone before it can be asked for again.
    let deletes = |wish: &usize| [DELETED, AGAIN, DESTROYED].contains(wish);
    story.extend(wishes.iter().any(deletes).then(|| json!({ "settle": {} })));
    for asked in asked(wish) {
        let is_delete = matches!(asked, Asked::Delete { .. });
        story.push(said::step(&asked));
        story.extend(is_delete.then(|| json!({ "settle": {} })));
    }
    story.push(json!({ "settle": {} }));
    story.extend(told::ends(&ends[&wish], &ends.values().collect::<Vec<_>>()));
    if !wishes.contains(&DESTROYED) {
        let kept = ["rows", "migrations"].map(|path| (format!("remove leaf shop/{path}"), json!(0)));
        let kept: serde_json::Map<String, Value> = kept.into_iter().collect();
        story.push(json!({ "assertMachine": { "changes": kept } }));
    }
    let home = strangers::steps().into_iter().chain(asked_at_first()).collect();
    let name = "after the last fault the home stands as if there had been none".to_owned();
    Some(Told { file: format!("faults-{run_seed}"), name, seed: base.seed, run_seed, home, story })
}

/// What the home is made of, in steps.
fn asked_at_first() -> Vec<Value> {
    let asked = asked(0).iter().map(said::step).chain([json!({ "settle": {} })]).collect::<Vec<_>>();
    [vec![json!({ "apply": [shelf()] })], asked].concat()
}

/// What the search does with a failure, shown on one that was put there: nobody recovers lost data but a person.
#[test]
fn what_is_found_is_cut_down_and_kept_as_a_case_that_fails_in_the_same_way() {
    let base = disturbed_home(23);
    let ends = all_ends(&base);
    let fault = Entry::At(120, Act::Hand(Hand::LoseRows));
    let schedule = vec![
        Entry::Event(1, hearth::world::Verdict::Lost),
        Entry::At(40, Act::Break),
        fault.clone(),
        Entry::At(200, Act::Wish(3)),
        Entry::At(260, Act::Crash),
    ];
    let folder = tempfile::tempdir().unwrap();
    let least = search(&base, &ends, 23, schedule, folder.path());
    assert_eq!(least, Some(vec![fault]));
    let path = folder.path().join("faults-23.yaml");
    let (code, said) = told::hearth_test(&path);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("not as the case says") && said.contains("The data is gone"), "{said}");
    // With something harmless in the place of the fault it holds.
    let text = std::fs::read_to_string(&path).unwrap();
    let harmless = text.replace("{ is: removed, volume: shop/rows }", "{ is: broken off, part: events }");
    assert_ne!(text, harmless);
    std::fs::write(&path, harmless).unwrap();
    let (code, said) = told::hearth_test(&path);
    assert_eq!(code, 0, "{said}");
}
