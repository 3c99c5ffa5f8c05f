//! What has come to stand for a name since it was looked at: nothing is done to it in the name of what was there before.

use std::sync::Arc;

use futures::FutureExt;
use hearth::world::oracle::all_containers;
use hearth::world::settle::key;
use hearth_capabilities::Networks;
use hearth_controllers::app::AppStep;
use hearth_controllers::container::ContainerHands;
use hearth_controllers::{AppController, ContainerController, Naming, NetworkController};
use hearth_engine::Clock;
use hearth_engine::controller::{Act, Controller, Found, Wanted};
use hearth_kinds::App;
use hearth_meta::labels;

use crate::given::{holders, none_stands_without_its_files, with_shop};
use crate::strangers::now;
use crate::world::World;

const WEB: &str = "hearth_household_shop-web";
const NETWORK: &str = "hearth_household_shop";
/// Of an object that is no more.
const FORMER: &str = "5ef1b2f0-0000-4000-8000-000000000017";

/// What the last survey found of that name.
fn found(world: &World, name: &str) -> Found {
    Found {
        uid: FORMER.into(),
        lineage: world.store().lineage().into(),
        name: name.into(),
        mark: String::new(),
        made_at: 0,
    }
}

fn containers(world: &World) -> ContainerController {
    let machine = Arc::new(world.machine.clone());
    let hands = ContainerHands {
        containers: machine.clone(),
        networks: machine.clone(),
        images: machine.clone(),
        volumes: machine.clone(),
        events: machine,
    };
    ContainerController::new(world.store(), hands, Naming::new("hearth"))
}

/// As the engine removes an orphan, at this moment.
fn collect<C: Controller>(controller: &C, orphan: &Found) {
    controller.collect(orphan).now_or_never().expect("the machine takes no time").unwrap();
}

#[test]
fn a_container_under_the_name_of_an_orphan_is_not_collected() {
    let world = with_shop(86);
    collect(&containers(&world), &found(&world, WEB));
    let web = all_containers(&world.machine).into_iter().find(|each| each.name == WEB).unwrap();
    assert!(web.state.running, "{:?}", web.state);
    none_stands_without_its_files(&world.machine, "for the sake of an orphan");
}

#[test]
fn a_network_under_the_name_of_an_orphan_is_not_collected() {
    let world = with_shop(87);
    let look = || now(Networks::inspect(&world.machine, NETWORK)).unwrap();
    let before = look();
    let machine = Arc::new(world.machine.clone());
    let controller = NetworkController::new(world.store(), machine.clone(), machine, Naming::new("hearth"));
    collect(&controller, &found(&world, NETWORK));
    assert_eq!(look(), before, "with everybody who is on it");
}

/// Whoever was made anew under its name in the same app has its files in the same place.
#[test]
fn an_orphan_goes_and_leaves_its_successor_the_files() {
    let world = with_shop(88);
    world.machine.edit(WEB, |facts| drop(facts.labels.insert(labels::UID.into(), FORMER.into())));
    collect(&containers(&world), &found(&world, WEB));
    assert!(all_containers(&world.machine).iter().all(|each| each.name != WEB), "the orphan went");
    assert_eq!(holders(&world.machine), ["shop-migrate", "shop-web"]);
}

#[test]
fn a_part_under_the_name_of_one_that_should_go_is_not_deleted() {
    let mut world = with_shop(89);
    let (store, machine) = (world.store(), world.machine.clone());
    let uid_of = |world: &World| world.store().get(&key("Container", "shop-web")).unwrap().uid().to_owned();
    let before = uid_of(&world);
    let app: App = store.get(&key("App", "shop")).unwrap().typed().unwrap();
    let wanted = Wanted { object: Arc::new(app), gone: false, now: world.clock.now() };
    let step =
        |uid: &str| AppStep::Delete { kind: "Container".into(), name: "shop-web".into(), uid: uid.into() };
    let mut act = |step: AppStep| {
        let (store, wanted) = (store.clone(), wanted.clone());
        let controller = AppController::new(store.clone(), Arc::new(machine.clone()));
        let cx = Act { store, cancel: Default::default(), progress: Arc::new(|_| {}) };
        world.answer(async move { controller.act(&step, &[wanted], &cx).await }).unwrap().unwrap();
        world.settle();
        uid_of(&world)
    };
    assert_eq!(act(step(FORMER)), before, "it is another one");
    assert_ne!(act(step(&before)), before, "and this one is the one");
}
