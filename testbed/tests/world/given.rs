//! Files that are given to containers, secrets among them: none outlasts its container, whatever happens to that one,
//! and none is taken from under it.

use std::sync::Arc;

use hearth::world::crash::{self, Wish};
use hearth::world::oracle::all_containers;
use hearth::world::settle::key;
use hearth::world::snapshot::Snapshot;
use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Object, Store, WriteOptions};
use hearth_pretend::Machine;
use serde_json::{Value, json};

use crate::homes::{secret, shop, with};
use crate::runs::served;
use crate::world::World;

/// A home with a shop that is given files, at rest.
pub(crate) fn with_shop(seed: u64) -> World {
    let mut world = served(seed);
    world.apply(&secret("sesame"));
    world.apply(&shop("shop", "1"));
    world.settle();
    world.all_is_well();
    assert_eq!(holders(&world.machine), ["shop-migrate", "shop-web"], "they are given files");
    world
}

/// Who has files, by name.
pub(crate) fn holders(machine: &Machine) -> Vec<String> {
    let instances = machine.as_value()["disk"]["instances"].take();
    let instances = instances.as_object().cloned().unwrap_or_default();
    let given = instances.into_iter().filter_map(|(_, instance)| instance["given"].as_object().cloned());
    given.flat_map(|holders| holders.into_iter().map(|(holder, _)| holder)).collect()
}

/// What each holder of an instance is given, as things of a home.
pub(crate) fn in_snapshot(snapshot: &Snapshot) -> Snapshot {
    let instances = snapshot.get("disk instances").and_then(Value::as_object).into_iter().flatten();
    let holders = instances.flat_map(|(instance, kept)| {
        let given = kept["given"].as_object().into_iter().flatten();
        given.map(move |(holder, files)| (format!("given {holder} of {instance}"), files.clone()))
    });
    holders.collect()
}

/// Every container has what it has mounted.
pub(crate) fn none_stands_without_its_files(machine: &Machine, when: &str) {
    for container in all_containers(machine) {
        for mount in container.mounts.iter().filter(|mount| mount.host_path.contains("/given/")) {
            let is_there = machine.read_given(&mount.host_path).is_some();
            assert!(is_there, "{} has lost {} {when}", container.name, mount.path);
        }
    }
}

#[test]
fn no_container_stands_without_its_files_and_none_outlast_it_whenever_we_die() {
    let fewer = || {
        let mut app = shop("shop", "1");
        let mut compose: Value = serde_json::from_str(app["spec"]["compose"].as_str().unwrap()).unwrap();
        let web = compose["services"]["web"].as_object_mut().unwrap();
        web.remove("secrets");
        web.remove("configs");
        app["spec"]["compose"] = compose.to_string().into();
        app
    };
    let wishes = [
        ("another word", Wish::apply(secret("close")), &["shop-migrate", "shop-web"][..]),
        ("no files", Wish::apply(fewer()), &["shop-migrate"]),
        ("nothing", Wish::delete("App", "shop"), &[]),
    ];
    for (what, wish, left) in wishes {
        let mut world = with_shop(81);
        let mut tried = 0;
        let walked = crash::walk(&mut world, &wish, |wreck| {
            let when = format!("on the way to {what}, after {}", wreck.after.trim());
            none_stands_without_its_files(&wreck.world.machine, &when);
            let mut world = wreck.world;
            // What is on record and on the machine is all there is, so the wish is asked for again.
            world.start()?;
            wish.fulfil(&mut world)?;
            world.settle()?;
            none_stands_without_its_files(&world.machine, &when);
            assert_eq!(holders(&world.machine), left, "{when}");
            tried += 1;
            Ok(())
        });
        assert!(walked.unwrap_or_else(|trouble| panic!("{trouble}")) == tried && tried > 10, "{tried}");
    }
}

/// The shop with no more than these of its services.
fn of_services(names: &[&str]) -> Value {
    let mut app = shop("shop", "1");
    let mut compose: Value = serde_json::from_str(app["spec"]["compose"].as_str().unwrap()).unwrap();
    let services = compose["services"].as_object_mut().unwrap();
    services.retain(|name, _| names.contains(&name.as_str()));
    for service in services.values_mut() {
        if let Some(order) = service.get_mut("depends_on").and_then(Value::as_object_mut) {
            order.retain(|name, _| names.contains(&name.as_str()));
        }
    }
    app["spec"]["compose"] = compose.to_string().into();
    app
}

/// As with `docker rm`, `docker system prune`, or a container engine that was set up anew.
#[test]
fn what_a_container_was_given_goes_also_where_somebody_else_removed_the_container() {
    let without_web = || with(of_services(&["db", "migrate"]), &json!({ "mainService": "db" }));
    for (wish, left) in
        // The migration is done, so its container is not made again either.
        [(Wish::delete("App", "shop"), [""; 0]), (Wish::apply(without_web()), [])]
    {
        let mut world = with_shop(82);
        wish.fulfil(&mut world).unwrap_or_else(|trouble| panic!("{trouble}"));
        let is_going = |world: &World| {
            world.store().get(&key("Container", "shop-web")).is_some_and(|container| container.is_going())
        };
        let mut steps = 0;
        while !is_going(&world) {
            world.step();
            steps += 1;
            assert!(steps < 2000, "it should go by now:\n{}", world.everything());
        }
        all_containers(&world.machine).iter().for_each(|each| world.machine.remove_by_hand(&each.name));
        world.settle();
        assert!(world.store().get(&key("Container", "shop-web")).is_none());
        assert_eq!(holders(&world.machine), left);
    }
}

#[test]
fn a_stopped_app_whose_containers_were_pruned_keeps_no_files() {
    let mut world = with_shop(83);
    world.apply(&with(shop("shop", "1"), &json!({ "state": "Stopped" })));
    world.settle();
    assert_eq!(holders(&world.machine), ["shop-migrate", "shop-web"], "they may be started again");
    world.machine.prune_containers();
    world.settle();
    assert_eq!(holders(&world.machine), [""; 0]);
    world.all_is_well();
    world.apply(&shop("shop", "1"));
    world.settle();
    world.all_is_well();
    none_stands_without_its_files(&world.machine, "once it is started again");
}

/// A store that has lost the objects of an app.
#[test]
fn an_orphan_goes_with_its_files() {
    let mut world = served(84);
    world.apply(&secret("sesame"));
    // Of one container: where a home has lost many, a person is asked.
    world.apply(&of_services(&["web"]));
    world.settle();
    world.all_is_well();
    let store = world.store();
    let lost = world.answer(async move { lose(&store).await }).unwrap();
    lost.unwrap();
    let before = holders(&world.machine);
    assert_eq!(before, ["shop-web"]);
    world.settle();
    assert!(all_containers(&world.machine).iter().all(|each| !each.name.contains("shop")));
    assert_eq!(holders(&world.machine), [""; 0]);
}

/// Takes the objects of the shop out of the store, and nothing off the machine. All at once, so that nobody makes
/// anew what is lost.
async fn lose(store: &Store) -> Result<(), hearth_engine::WriteError> {
    let app = store.get(&key("App", "shop")).unwrap();
    let parts = store.owned_by(app.uid());
    let lost = parts.iter().chain([&app]).filter(|part| part.kind != "Image");
    let all = lost.map(|object: &Arc<Object>| async {
        for finalizer in object.metadata.finalizers.iter().flatten() {
            store.drop_finalizer(&object.key(), object.uid(), finalizer).await?;
        }
        let deletion = Deletion { key: object.key(), preconditions: Preconditions::default() };
        store.delete(deletion, &WriteOptions::controller("bad-luck")).await.map(drop)
    });
    futures::future::try_join_all(all).await.map(drop)
}
