//! People edit an app field by field, wrongly too, and change their mind; whatever way they took, the home ends as the
//! last wish says.
//!
//! Two judgements rest on that. *Different ways*: a wish that was reached over others stands as one that was asked for
//! at once. *Back again*: after a wish that cannot be carried out, the wish before it stands as it stood before.

use std::time::Duration;

use hearth::world::random::Random;
use hearth::world::snapshot::{Snapshot, differences};
use hearth_engine::Clock;
use serde_json::{Map, Value, json};

use crate::edits::{BAD, Edit, GOOD};
use crate::faults::wherever_from;
use crate::given;
use crate::homes::{app, secret, shop};
use crate::runs::served;
use crate::seeds::each_seed;
use crate::shrink::{cut_down, failure};
use crate::strangers::{self, plant};
use crate::told::{self, Told};
use crate::world::{World, quietly};

/// How many ways each seed tries.
const WAYS: usize = 12;
/// So many happenings people leave a home alone at the most before they think again.
const PATIENCE: usize = 250;

/// So long people wait for what does not come to rest.
const LEFT: Duration = Duration::from_secs(20 * 60);
/// What has not moved for so long is taken for done.
const QUIET: Duration = Duration::from_secs(150);

/// What a person wants of the shop: its services, and the other fields of its spec.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) services: Value,
    /// The configs and secrets that services are given.
    pub(crate) files: Value,
    pub(crate) fields: Map<String, Value>,
}

impl Wish {
    /// The shop as it is at first.
    fn first() -> Self {
        let shop = shop("shop", "1");
        let compose: Value = serde_json::from_str(shop["spec"]["compose"].as_str().unwrap()).unwrap();
        let mut fields = shop["spec"].as_object().unwrap().clone();
        fields.remove("compose");
        let files = json!({ "configs": compose["configs"], "secrets": compose["secrets"] });
        Self { services: compose["services"].clone(), files, fields }
    }

    fn with(&self, edit: &Edit) -> Self {
        let mut edited = self.clone();
        (edit.change)(&mut edited);
        edited
    }

    fn app(&self) -> Value {
        let mut app = app("shop", &self.services);
        let mut compose = self.files.clone();
        compose["services"] = self.services.clone();
        let spec = app["spec"].as_object_mut().unwrap();
        spec.clear();
        spec.insert("compose".to_owned(), compose.to_string().into());
        for (field, value) in &self.fields {
            spec.insert(field.clone(), value.clone());
        }
        app
    }

    fn is_stopped(&self) -> bool {
        self.fields.get("state").is_some_and(|state| state == "Stopped")
    }
}

/// What a person does on the way.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// One of [`GOOD`], which stays wished until it is changed again.
    Edit(usize),
    /// One of [`BAD`], which is taken back with the next step.
    Mistake(usize),
    /// Asks for the first wish again.
    Back,
    /// Deletes the shop.
    Delete,
    /// Waits for so many happenings.
    Wait(usize),
    /// Waits until nothing moves.
    Settle,
    /// Nobody does anything, and the server dies.
    Crash,
}

fn step(random: &mut Random) -> Step {
    match random.below(12) {
        0..=3 => Step::Edit(random.below(GOOD.len())),
        4 | 5 => Step::Mistake(random.below(BAD.len())),
        6 => Step::Back,
        7 => Step::Delete,
        8 | 9 => Step::Wait(random.below(PATIENCE)),
        10 => Step::Settle,
        _ => Step::Crash,
    }
}

/// The home in which the shop is as at first and nobody serves just now.
fn home(seed: u64) -> World {
    let mut world = served(seed);
    plant(&world.machine);
    world.machine.unknown_image("registry.home/absent:1", true);
    world.apply(&secret("sesame"));
    world.apply(&Wish::first().app());
    world.settle();
    world.all_is_well();
    world.crash();
    world
}

/// Asks for a wish until it is taken: what is being removed has to be gone first.
fn ask(world: &mut World, wish: &Wish) {
    for _ in 0..2 {
        let asked = world.apply_soon(&wish.app());
        match world.until_over(asked) {
            Ok(()) => {}
            Err(error) => panic!("a wish that is sound is refused: {error}\n{:?}", wish.app()),
        }
        world.settle();
    }
}

/// What must be the same whatever way was taken: every object, everything on the machine, and what containers are
/// given. Data that was kept stays where it was, with the Volumes that keep it and the folder of an app that was
/// deleted. A container that does not have to run is not made again, nor given anything.
fn comparable(mut snapshot: Snapshot, wish: &Wish) -> Snapshot {
    let uses = |volume: &str| {
        let services = wish.services.as_object().unwrap().values();
        let mut mounts = services.flat_map(|service| service["volumes"].as_array().into_iter().flatten());
        mounts.any(|mount| mount.as_str().is_some_and(|mount| mount.starts_with(&format!("./{volume}:"))))
    };
    let is_idle = |what: &str| what.ends_with("shop-migrate") || wish.is_stopped() && what.contains("shop");
    let is_container = |what: &str| what.starts_with("containers ") || what.starts_with("Container ");
    let given = given::in_snapshot(&snapshot).into_iter().filter(|(what, _)| {
        let holder = what.split(' ').nth(1).unwrap_or_default();
        !is_idle(holder)
    });
    let given: Snapshot = given.collect();
    let is_kept = |what: &str| {
        what.strip_prefix("Volume household/shop-").is_some_and(|volume| !uses(volume))
            || what.starts_with("disk")
            // Each way has its own.
            || what.starts_with("revisions ")
    };
    snapshot.extend(given);
    snapshot.retain(|what, _| !(is_kept(what) || is_container(what) && is_idle(what)));
    if wish.is_stopped() { wherever_from(snapshot) } else { snapshot }
}

/// How a home stands in which a wish was asked for at once.
fn straight(base: &World, wish: &Wish) -> Snapshot {
    let mut world = base.fork(base.seed);
    world.start();
    ask(&mut world, wish);
    world.all_is_well();
    comparable(world.snapshot(), wish)
}

/// Goes a way, then asks for the wish at its end.
fn goes(base: &World, seed: u64, way: &[Step], last: &Wish, end: &Snapshot) {
    let mut world = base.fork(seed);
    world.judge();
    world.start();
    let mut wish = Wish::first();
    for step in way {
        let now = format!("now: {}", in_words(step));
        world.happened.line(now);
        take(&mut world, step, &mut wish);
    }
    let now = "now: the last wish".to_owned();
    world.happened.line(now);
    ask(&mut world, last);
    let differences = differences(end, &comparable(world.snapshot(), last));
    assert!(
        differences.is_empty(),
        "it stands otherwise:\n{}\n{}",
        differences.join("\n"),
        world.everything()
    );
    world.all_is_well();
    world.is_steady();
}

fn take(world: &mut World, step: &Step, wish: &mut Wish) {
    match step {
        Step::Edit(number) => {
            *wish = wish.with(&GOOD[*number]);
            drop(world.apply_soon(&wish.app()));
        }
        Step::Mistake(number) => drop(world.apply_soon(&wish.with(&BAD[*number]).app())),
        Step::Back => {
            *wish = Wish::first();
            drop(world.apply_soon(&wish.app()));
        }
        Step::Delete => drop(world.delete_soon("App", "shop")),
        Step::Wait(count) => (0..*count).for_each(|_| world.step()),
        Step::Settle => settle_or_leave(world),
        Step::Crash => {
            world.crash();
            world.start();
        }
    }
}

/// Until nothing moves, or a person would long have looked: what cannot succeed is tried again and again.
fn settle_or_leave(world: &mut World) {
    let until = world.clock.elapsed() + LEFT;
    let (mut moved, mut since) = (0, world.clock.elapsed());
    while world.clock.elapsed() < until {
        let now = world.happened.commits + world.happened.changes;
        if now != moved {
            (moved, since) = (now, world.clock.elapsed());
        } else if world.clock.elapsed() - since > QUIET && !world.waits() {
            return;
        }
        world.step();
    }
}

fn in_words(step: &Step) -> String {
    match step {
        Step::Edit(number) => GOOD[*number].name.to_owned(),
        Step::Mistake(number) => format!("by mistake {}", BAD[*number].name),
        other => format!("{other:?}"),
    }
}

#[test]
fn whatever_way_people_took_the_home_ends_as_the_last_wish_says() {
    each_seed("whatever_way_people_took_the_home_ends_as_the_last_wish_says", &[31], |seed| {
        let base = home(seed);
        let mut random = Random::new(seed);
        let mut failed = Vec::new();
        for _ in 0..WAYS {
            let way: Vec<Step> = (0..1 + random.below(6)).map(|_| step(&mut random)).collect();
            let edits: Vec<usize> = (0..random.below(3)).map(|_| random.below(GOOD.len())).collect();
            let last = edits.iter().fold(Wish::first(), |wish, edit| wish.with(&GOOD[*edit]));
            let end = straight(&base, &last);
            let way_seed = random.next();
            let said = |way: &[Step]| quietly(|| failure(|| goes(&base, way_seed, way, &last, &end)));
            if said(&way).is_some() {
                let least = cut_down(|way| said(way).is_some(), way);
                let told: Vec<String> = least.iter().map(in_words).collect();
                let edits: Vec<&str> = edits.iter().map(|edit| GOOD[*edit].name).collect();
                let said = said(&least).unwrap_or_default();
                println!("way {way_seed} to {edits:?} fails with {told:?}: {said}");
                as_case(&base, way_seed, &least, &last, &end).keep(&said, &told::found());
                failed.push((way_seed, least, last, end));
            }
        }
        // Once more, and this time it is told in full.
        if let Some((way_seed, least, last, end)) = failed.first() {
            goes(&base, *way_seed, least, last, end);
        }
        assert!(failed.is_empty(), "{} ways", failed.len());
    });
}

/// The same as a case.
fn as_case(base: &World, way_seed: u64, way: &[Step], last: &Wish, end: &Snapshot) -> Told {
    let (mut story, mut faults, mut at, mut wish) = (Vec::new(), Vec::new(), 0, Wish::first());
    let go_on = |story: &mut Vec<Value>, faults: &mut Vec<Value>, at: &mut u64| {
        if *at > 0 || !faults.is_empty() {
            let happenings = *at + u64::from(!faults.is_empty());
            let faults = std::mem::take(faults);
            story.push(json!({ "disturb": { "happenings": happenings, "faults": faults } }));
        }
        *at = 0;
    };
    for step in way {
        match step {
            Step::Edit(number) => wish = wish.with(&GOOD[*number]),
            Step::Back => wish = Wish::first(),
            _ => {}
        }
        match step {
            Step::Edit(_) | Step::Back => faults.push(json!({ "at": at, "apply": wish.app() })),
            Step::Mistake(number) => {
                let mistake = wish.with(&BAD[*number]).app();
                if told::may_be_asked_for(&mistake) {
                    faults.push(json!({ "at": at, "apply": mistake }));
                } else {
                    go_on(&mut story, &mut faults, &mut at);
                    story.push(json!({ "apply": [mistake], "refused": { "$not": "" } }));
                }
            }
            Step::Delete => faults.push(json!({ "at": at, "delete": "app/shop" })),
            Step::Crash => faults.push(json!({ "at": at, "restart": {} })),
            Step::Wait(count) => at += *count as u64,
            Step::Settle => {
                go_on(&mut story, &mut faults, &mut at);
                story.push(json!({ "wait": format!("{}s", LEFT.as_secs()) }));
            }
        }
    }
    go_on(&mut story, &mut faults, &mut at);
    let ask = [json!({ "apply": [last.app()] }), json!({ "settle": {} })];
    story.extend([&ask[..], &ask[..]].concat());
    story.extend(told::ends(end, &[]));
    let mut home = strangers::steps();
    home.push(json!({ "break": { "image": "registry.home/absent:1", "is": "missing" } }));
    home.push(json!({ "apply": [secret("sesame"), Wish::first().app()] }));
    home.push(json!({ "settle": {} }));
    let name = "whatever way people took, the home ends as the last wish says".to_owned();
    Told { file: format!("people-{way_seed}"), name, seed: base.seed, run_seed: way_seed, home, story }
}

/// Every field by itself: it comes to stand, and taking it back leaves nothing behind.
#[test]
fn every_field_that_is_changed_and_changed_back_leaves_the_home_as_it_was() {
    let base = home(32);
    let first = Wish::first();
    let end = straight(&base, &first);
    let mut failed = Vec::new();
    for edit in GOOD {
        let wish = first.with(edit);
        let there = || {
            straight(&base, &wish);
        };
        let back = || goes(&base, 32, &changed(edit), &first, &end);
        if let Some(said) = quietly(|| failure(there).or_else(|| failure(back))) {
            failed.push(format!("{}: {said}", edit.name));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// The step that makes an edit, and time for it to be carried out.
fn changed(edit: &Edit) -> Vec<Step> {
    let number = GOOD.iter().position(|good| good.name == edit.name).unwrap();
    vec![Step::Edit(number), Step::Settle]
}

#[test]
fn after_every_mistake_the_wish_before_stands_as_it_stood_before() {
    let base = home(33);
    let first = Wish::first();
    let end = straight(&base, &first);
    let mut failed = Vec::new();
    for (number, bad) in BAD.iter().enumerate() {
        let back = || goes(&base, 33, &[Step::Mistake(number), Step::Settle], &first, &end);
        if let Some(said) = quietly(|| failure(back)) {
            failed.push(format!("{}: {said}", bad.name));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// What is refused or cannot be carried out is told, by name, and takes nothing from what runs.
#[test]
fn a_mistake_is_told_and_what_runs_runs_on() {
    let base = home(34);
    for bad in BAD.iter().filter(|bad| !bad.takes_down) {
        let mut world = base.fork(34);
        world.start();
        let asked = world.apply_soon(&Wish::first().with(bad).app());
        let refused = world.until_over(asked).err().map(|error| error.to_string());
        settle_or_leave(&mut world);
        let app = world.store().get(&hearth::world::settle::key("App", "shop")).unwrap();
        let told = app.status()["message"].as_str().unwrap_or_default().to_owned();
        let said = refused.clone().unwrap_or(told);
        assert!(said.contains(bad.told), "{}: {said:?} does not tell of {:?}", bad.name, bad.told);
        assert!(
            refused.is_some() || app.status()["summary"] != "Ready",
            "{} is said to be carried out: {}",
            bad.name,
            app.status()
        );
        let runs = json!("running");
        for part in ["shop-web", "shop-db"] {
            let container = world.store().get(&hearth::world::settle::key("Container", part)).unwrap();
            assert_eq!(container.status()["state"], runs, "{}: {part} no longer runs", bad.name);
        }
    }
}
