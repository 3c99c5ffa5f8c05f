//! Each judgement, shown to find out who breaks it and to pass who does not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hearth_capabilities::containers::{BoundFolder, ImageDefaults, NewContainer};
use hearth_capabilities::proxy::{Answer, SeenRoute};
use hearth_capabilities::volumes::Leaf;
use hearth_capabilities::{Containers, Volumes};
use hearth_engine::Object;
use hearth_engine::store::Query;
use hearth_pretend::{Backend, Machine, Op};
use serde_json::json;

use super::{Oracle, is_ready};
use crate::world::hands::Gated;
use crate::world::settle::key;
use crate::world::{Point, TroubleKind, Verdict, World};

const WEB: &str = "hearth_household_page-web";
const BRIDGE: &str = "hearth_household_page";
const CADDY: &str = "hearth-system_caddy";
/// Longer than what is told may have been seen before, and than a status may lag.
const LATER: Duration = Duration::from_secs(3 * 60);
const MUCH_LATER: Duration = Duration::from_secs(16 * 60);

fn served() -> World {
    let mut world = World::new(1).unwrap();
    world.start().unwrap();
    world.settle().unwrap();
    world
}

/// A home with a page over a folder of data, at rest.
fn with_page() -> World {
    let mut world = served();
    let web = json!({
        "image": "registry.home/web:1", "expose": ["8080"], "environment": { "NAME": "page" },
        "volumes": ["./rows:/rows"],
    });
    let app = json!({
        "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": "page", "namespace": "household" },
        "spec": { "slug": "page", "compose": json!({ "services": { "web": web } }).to_string() },
    });
    world.apply(&app).unwrap();
    world.settle().unwrap();
    world.all_is_well().unwrap();
    world
}

/// The page's object of a kind.
fn part(world: &World, kind: &str) -> Object {
    let app = world.store().get(&key("App", "page")).unwrap();
    let is_it = |object: &&Arc<Object>| {
        object.uid() == app.uid() || super::owners(object).any(|uid| uid == app.uid())
    };
    (**world.store().list(&Query::of(kind)).items.iter().find(is_it).unwrap()).clone()
}

/// The call that looks at an object.
fn look(object: &Object) -> Point {
    let word = |field: &str| object.spec()[field].as_str().unwrap().to_owned();
    match object.kind.as_str() {
        "Container" => Point::Call(Op::InspectContainer, WEB.into()),
        "Network" => Point::Call(Op::InspectNetwork, BRIDGE.into()),
        "Image" => Point::Call(Op::InspectImage, word("reference")),
        "Volume" => Point::Call(Op::InspectLeaf, super::data::leaf_of(object)),
        "Route" => Point::Call(Op::ReadProxy, String::new()),
        _ => Point::Call(Op::LoadFiles, object.uid().to_owned()),
    }
}

/// What an oracle says of a status that is told after a look that goes on like this, and of one that nobody takes back
/// for long; of a world that stands still after something was done to it.
fn said(
    world: &World,
    object: &Object,
    how: &Verdict,
    by_hand: impl FnOnce(&World),
) -> [Result<(), String>; 2] {
    let mut oracle = Oracle::default();
    let told = Point::Written(format!("status {}", object.key()));
    let watch = |oracle: &mut Oracle, count, now, point: &Point, how: &Verdict| {
        oracle.watch(&mut world.seen(point, how, count, now))
    };
    let go = Verdict::Go;
    watch(&mut oracle, 1, Duration::ZERO, &told, &go).unwrap();
    by_hand(world);
    watch(&mut oracle, 2, LATER, &look(object), how).unwrap();
    let told_of_it = watch(&mut oracle, 3, LATER, &told, &go);
    [told_of_it, watch(&mut oracle, 4, LATER + MUCH_LATER, &Point::Break(1), &go)]
}

fn leaf(world: &World) -> Leaf {
    let volume = part(world, "Volume");
    let word = |field: &str| volume.spec()[field].as_str().unwrap().to_owned();
    Leaf { instance: word("instance"), path: word("path") }
}

/// What somebody does to the machine, by the kind of which it makes what is said untrue.
type Deed = (&'static str, &'static str, fn(&World));

fn edit_route(machine: &Machine, edit: fn(&mut Vec<SeenRoute>)) {
    machine.edit_proxy(edit);
}

const DEEDS: &[Deed] = &[
    ("Container", "it is stopped", |world| world.machine.stop_by_hand(WEB)),
    ("Container", "it is removed", |world| world.machine.remove_by_hand(WEB)),
    ("Container", "it is of another image", |world| {
        let other = world.machine.put_image("another:1", ImageDefaults::default(), BTreeMap::new()).unwrap();
        world.machine.edit(WEB, |facts| facts.image_id = other);
    }),
    ("Container", "it has another variable", |world| {
        world.machine.edit(WEB, |facts| drop(facts.env.insert("BY_HAND".into(), "yes".into())));
    }),
    ("Container", "a variable has another value", |world| {
        world.machine.edit(WEB, |facts| drop(facts.env.insert("NAME".into(), "another".into())));
    }),
    ("Container", "a variable is missing", |world| {
        world.machine.edit(WEB, |facts| drop(facts.env.remove("NAME")));
    }),
    ("Container", "its folder is another", |world| {
        world.machine.edit(WEB, |facts| facts.mounts[0].host_path = "/tmp".into());
    }),
    ("Container", "a folder more is mounted", |world| {
        world.machine.edit(WEB, |facts| {
            let more = BoundFolder { path: "/more".into(), ..facts.mounts[0].clone() };
            facts.mounts.push(more);
        });
    }),
    ("Route", "the proxy is emptied", |world| world.machine.clear_proxy()),
    ("Route", "the proxy does not run", |world| world.machine.stop_by_hand(CADDY)),
    ("Route", "the catch-all comes first", |world| edit_route(&world.machine, |routes| routes.reverse())),
    ("Route", "it leads elsewhere", |world| {
        edit_route(&world.machine, |routes| {
            for route in routes {
                if let SeenRoute::Ours(route) = route {
                    route.answer = Answer::Forward { address: "elsewhere:80".into() };
                }
            }
        });
    }),
    ("Network", "it is removed", |world| world.machine.remove_network(BRIDGE)),
    ("Network", "it is edited", |world| world.machine.edit_network(BRIDGE, "attachable")),
    ("Network", "a guest has left it", |world| world.machine.disconnect(BRIDGE, CADDY)),
    ("Image", "the engine forgot it", |world| world.machine.forget()),
    ("Volume", "its folder is removed", |world| world.machine.remove_leaf_by_hand(&leaf(world))),
    ("Volume", "its mark is gone", |world| world.machine.lose_leaf(&leaf(world))),
    ("Volume", "something else's data is in its place", |world| {
        world.machine.remove_leaf_by_hand(&leaf(world));
        world.ask(world.machine.clone().make(&leaf(world), "another's", None, None)).unwrap();
    }),
    ("Volume", "the disk is out of reach", |world| world.machine.unreachable_backend(Backend::Disk, true)),
];

#[test]
fn whoever_says_ready_of_what_is_not_so_is_found_out_at_once_and_whoever_goes_on_saying_it_in_time() {
    let mut base = with_page();
    base.crash();
    for (kind, what, deed) in DEEDS {
        let mut world = base.fork(1).unwrap();
        world.start().unwrap();
        let object = part(&world, kind);
        let [told, lasting] = said(&world, &object, &Verdict::Go, deed);
        let told = told.expect_err(&format!("{kind}: {what}"));
        assert!(told.contains("is said to be Ready, and was not at the last look"), "{kind}: {what}: {told}");
        let lasting = lasting.expect_err(&format!("{kind}: {what}"));
        assert!(lasting.contains("is still said to be Ready"), "{kind}: {what}: {lasting}");
    }
}

#[test]
fn what_is_so_may_be_said_and_so_may_what_was_seen_in_a_lie() {
    let mut base = with_page();
    base.crash();
    for kind in super::JUDGED {
        let mut world = base.fork(1).unwrap();
        world.start().unwrap();
        let object = part(&world, kind);
        assert_eq!(said(&world, &object, &Verdict::Go, |_| {}), [Ok(()), Ok(())], "{kind}");
    }
    for (kind, what, deed) in DEEDS {
        let mut world = base.fork(1).unwrap();
        world.start().unwrap();
        let object = part(&world, kind);
        let [told, lasting] = said(&world, &object, &Verdict::Stale(1), deed);
        assert_eq!(told, Ok(()), "{kind}: {what}");
        assert!(lasting.is_err(), "{kind}: {what}: whoever was lied to looks again in time");
    }
}

#[test]
fn an_app_is_ready_only_where_each_of_its_parts_is() {
    let mut base = with_page();
    base.crash();
    let route_away: fn(&World) = |world| world.machine.unreachable_backend(Backend::Proxy, true);
    let engine_away: fn(&World) = |world| world.machine.unreachable_backend(Backend::Engine, true);
    for (kind, deed) in [("Route", route_away), ("Container", engine_away)] {
        let mut world = base.fork(1).unwrap();
        world.start().unwrap();
        world.settle().unwrap();
        let (app, mut oracle) = (part(&world, "App"), Oracle::default());
        let told = Point::Written(format!("status {}", app.key()));
        let go = Verdict::Go;
        oracle.watch(&mut world.seen(&told, &go, 1, Duration::ZERO)).unwrap();
        deed(&world);
        // The part says so before the app does.
        while is_ready(&part(&world, kind)) {
            world.step().unwrap();
        }
        assert!(is_ready(&part(&world, "App")), "{kind}");
        oracle.watch(&mut world.seen(&look(&app), &go, 2, LATER)).unwrap();
        let said = oracle.watch(&mut world.seen(&told, &go, 3, LATER)).unwrap_err();
        assert!(said.contains("App household/page is said to be Ready"), "{kind}: {said}");
    }
}

#[test]
fn a_look_is_known_by_its_container_in_whatever_namespace_it_is() {
    let mut world = served();
    world.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kids" } })).unwrap();
    let compose = json!({ "services": { "web": { "image": "registry.home/web:1" } } }).to_string();
    let app = json!({
        "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": "page", "namespace": "kids" },
        "spec": { "slug": "page", "compose": compose },
    });
    world.apply(&app).unwrap();
    world.settle().unwrap();
    let known = |name: &str| {
        let looked_at = super::looked_at(&world.store(), Op::InspectContainer, name);
        looked_at.iter().map(|object| object.key()).collect::<Vec<_>>()
    };
    assert_eq!(known("hearth_kids_page-web"), [key("Container", "kids/page-web")]);
    assert_eq!(known(CADDY), [key("Container", "system/caddy")]);
    assert_eq!(known("somebodys"), []);
}

#[test]
fn data_that_goes_slowly_is_judged_as_that_which_goes_at_once() {
    for how in [Verdict::Go, Verdict::Slow(Duration::from_secs(5))] {
        let mut world = served();
        let leaf = Leaf { instance: "somebodys".into(), path: "letters".into() };
        let made = world.machine.clone();
        world.ask(made.make(&leaf, "a mark", None, None)).unwrap();
        world.judge();
        let told = how.clone();
        world.faults = Box::new(move |point| match point {
            Point::Call(Op::RemoveLeaf, _) => told.clone(),
            _ => Verdict::Go,
        });
        let hands = Gated::hands(&world.machine, &world.gates, &world.clock);
        let removed = world.spawn(async move { hands.volumes.remove(&leaf, "a mark").await });
        let trouble = world.until_over(removed).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Broken, "{how:?}: {trouble}");
        assert!(trouble.said.contains("nobody wished it"), "{how:?}: {trouble}");
    }
}

#[test]
fn data_that_goes_under_a_running_container_is_found_out() {
    let mut world = with_page();
    let volume = part(&world, "Volume");
    let host_path = volume.status()["hostPath"].as_str().unwrap().to_owned();
    let mut app = part(&world, "App").to_value();
    app["spec"]["dataPolicy"] = "Delete".into();
    world.apply(&app).unwrap();
    world.settle().unwrap();
    world.delete("App", "page").unwrap();
    while !part(&world, "Volume").is_going() {
        world.step().unwrap();
    }
    let image = world.machine.put_image("another:1", ImageDefaults::default(), BTreeMap::new()).unwrap();
    let over = BoundFolder { host_path: host_path.clone(), path: "/rows".into(), read_only: false };
    let labels = BTreeMap::from([(hearth_meta::labels::UID.to_owned(), "of-another".to_owned())]);
    let user =
        NewContainer { mounts: vec![over], labels, ..NewContainer::of("somebodys", image, "another:1") };
    world.ask(Containers::create(&world.machine.clone(), &user)).unwrap();
    let removed = Point::Call(Op::RemoveLeaf, super::data::leaf_of(&part(&world, "Volume")));
    let go = Verdict::Go;
    let watch = |world: &World| Oracle::default().watch(&mut world.seen(&removed, &go, 1, Duration::ZERO));
    watch(&world).unwrap();
    world.machine.start_by_hand("somebodys").unwrap();
    let said = watch(&world).unwrap_err();
    assert!(said.contains("is removed under somebodys"), "{said}");
}
