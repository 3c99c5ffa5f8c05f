//! From wanted to seen and back to nothing; and at rest, nothing at all.
#![expect(clippy::disallowed_methods, reason = "one test watches the store's log grow")]

use hearth_engine::Clock;
use hearth_meta::labels::PAUSED_UNTIL;
use serde_json::json;

use crate::running::Running;
use crate::toys::{Home, key, owner};

#[tokio::test]
async fn what_is_wanted_comes_to_be_one_verified_step_at_a_time() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"]);
    assert_eq!(engine.world.color("a").as_deref(), Some("red"));
    let status = engine.status("Lamp", "a");
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert_eq!((status.observed_generation, status.differences.len()), (Some(1), 0));
    let intent = engine.intent("Lamp", "a");
    assert!(!intent.is_open() && intent.last_applied.is_some());
    assert_eq!(engine.events("a").await, [("Done".to_owned(), 1), ("Done".to_owned(), 1)]);
    engine.paint("a", "blue").await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a blue"]);
    assert_eq!(engine.status("Lamp", "a").observed_generation, Some(2));
}

#[tokio::test]
async fn more_steps_than_one_turn_takes_are_taken_in_the_next_and_at_once() {
    let engine = Running::new().await;
    let long = "a".repeat(100);
    engine.home.lamp("a", json!({"color": long, "ways": ["gradual"]})).await;
    engine.settle().await;
    assert_eq!(engine.world.done().len(), 101);
    assert_eq!((engine.world.color("a"), engine.verdict("a").as_str()), (Some(long), "Ready InSync"));
    assert!(engine.home.clock.elapsed().is_zero(), "nothing waits for a resync");
}

#[tokio::test]
async fn what_is_deleted_is_torn_down_before_it_goes() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine.home.delete(key("Lamp", "a")).await.unwrap();
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Remove a"]);
    assert!(engine.home.store.get(&key("Lamp", "a")).is_none() && engine.world.color("a").is_none());
    assert!(engine.engine.diagnostics().iter().all(|controller| controller.failing == 0));
}

#[tokio::test]
async fn a_steady_world_makes_no_write_and_no_step() {
    let engine = Running::new().await;
    for name in ["a", "b", "c"] {
        engine.home.lamp(name, json!({"color": "red"})).await;
        engine.home.create(json!({"kind": "Sign", "metadata": {"name": name, "namespace": "den"}, "spec": {"text": name}})).await.unwrap();
    }
    engine.seconds(60).await;
    engine.world.done();
    let log = || std::fs::metadata(engine.home.folder.path().join("store.db-wal")).unwrap().len();
    let (version, looks, bytes) = (engine.home.store.resource_version(), engine.world.lock().looks, log());
    engine.seconds(3 * 720).await;
    assert!(engine.world.lock().looks >= looks + 3 * 4, "each key was looked at three times");
    assert_eq!(engine.home.store.resource_version(), version);
    assert_eq!(log(), bytes, "neither intents nor events");
    assert!(engine.world.done().is_empty());
}

#[tokio::test]
async fn a_restart_changes_nothing_that_is_as_it_should_be() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    let version = engine.home.store.resource_version();
    let (home, world) = engine.ended(false).await;
    let engine = Running::over(home, world, None);
    engine.seconds(120).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.home.store.resource_version(), version);
}

#[tokio::test]
async fn a_foreign_thing_is_left_alone_and_shown() {
    let engine = Running::new().await;
    engine.world.screw_in("a", "of another", "elsewhere");
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.seconds(1300).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "NeedsYou NotOurs");
    engine.home.delete(key("Lamp", "a")).await.unwrap();
    engine.settle().await;
    assert!(engine.world.color("a").is_some(), "and not taken along by a deletion");
}

#[tokio::test]
async fn a_pause_holds_everything_until_it_ends_and_is_seen() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine.patch("a", json!({"metadata": {"annotations": {PAUSED_UNTIL: "2026-11-29T13:00:00Z"}}})).await;
    engine.settle().await;
    assert_eq!(engine.verdict("a"), "Paused Paused", "also where nothing is to be done");
    engine.world.paint("a", "green");
    engine.paint("a", "blue").await;
    engine.seconds(3500).await;
    assert!(engine.world.done().is_empty());
    engine.seconds(200).await;
    assert_eq!(engine.world.done(), ["Paint a blue"]);
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_wait_ends_at_its_deadline_and_one_that_is_overdue_does_not_spin() {
    let engine = Running::new().await;
    let until = "2026-11-29T12:01:00Z".parse().unwrap();
    engine.world.lock().waits.insert("a".into(), Some(until));
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.seconds(59).await;
    let looks = engine.world.lock().looks;
    engine.seconds(2).await;
    assert!(engine.world.lock().looks > looks);
    let looks = engine.world.lock().looks;
    engine.seconds(20).await;
    let more = engine.world.lock().looks - looks;
    assert!((10..=30).contains(&more), "{more} looks in 20 s past the deadline");
}

#[tokio::test]
async fn what_an_owner_leaves_is_collected_and_what_has_a_living_owner_is_not() {
    let engine = Running::new().await;
    let home: &Home = &engine.home;
    let (a, b) = (home.card("a").await, home.card("b").await);
    let owned = |name: &str, owners: Vec<serde_json::Value>| json!({"kind": "Card", "metadata": {"name": name, "namespace": "den", "ownerReferences": owners}, "spec": {"n": 0}});
    let child = home.create(owned("child", vec![owner(&a)])).await.unwrap();
    home.create(owned("grandchild", vec![owner(&child)])).await.unwrap();
    home.create(owned("shared", vec![owner(&a), owner(&b)])).await.unwrap();
    let lamp = json!({"kind": "Lamp", "metadata": {"name": "lamp", "namespace": "den", "ownerReferences": [owner(&a)]}, "spec": {"color": "red"}});
    home.create(lamp).await.unwrap();
    engine.settle().await;
    home.delete(key("Card", "a")).await.unwrap();
    engine.settle().await;
    let left: Vec<_> = home
        .store
        .list(&hearth_engine::Query::of("Card"))
        .items
        .iter()
        .map(|o| o.name().to_owned())
        .collect();
    assert_eq!(left, ["b", "shared"]);
    assert!(home.store.get(&key("Lamp", "lamp")).is_none() && engine.world.color("lamp").is_none());
    home.card("a").await;
    home.delete(key("Card", "b")).await.unwrap();
    engine.settle().await;
    assert!(home.store.get(&key("Card", "shared")).is_none(), "a new one of an old name owns nothing");
}

#[tokio::test]
async fn what_lost_its_owner_while_nobody_looked_is_collected_at_the_next_start() {
    let home = Home::new().await;
    let boss = home.card("boss").await;
    let child = json!({"kind": "Card", "metadata": {"name": "child", "namespace": "den", "ownerReferences": [owner(&boss)]}, "spec": {}});
    home.create(child).await.unwrap();
    home.delete(key("Card", "boss")).await.unwrap();
    let world = crate::world::World::new(&home.store);
    let engine = Running::over(home, world, None);
    engine.settle().await;
    assert!(engine.home.store.get(&key("Card", "child")).is_none());
}
