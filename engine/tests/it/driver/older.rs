//! A store that is an older copy, or of another home: looked at, told, and nothing done until a person says go.
#![expect(clippy::disallowed_methods, reason = "a person puts a file in the place of the store")]

use std::path::Path;

use hearth_engine::store::Expired;
use hearth_engine::{Query, Store};
use serde_json::json;

use crate::running::Running;
use crate::toys::{Home, key, options};

/// The home after a person stopped it and put the copy in the store's place.
async fn restored(home: Home, copy: &Path) -> Home {
    home.store.close().await;
    let Home { store, clock, folder } = home;
    drop(store);
    for stale in ["store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(stale));
    }
    std::fs::copy(copy, folder.path().join("store.db")).unwrap();
    Home { store: Store::open(options(&folder, &clock)).await.unwrap(), clock, folder }
}

#[tokio::test]
async fn an_older_copy_changes_nothing_until_a_person_says_go() {
    let engine = Running::new().await;
    engine.home.lamp("old", json!({"color": "red"})).await;
    engine.settle().await;
    let copy = engine.home.folder.path().join("copy");
    engine.home.store.copy_to(&copy).await.unwrap();
    engine.home.lamp("new", json!({"color": "green"})).await;
    engine.paint("old", "blue").await;
    engine.settle().await;
    let seen = engine.home.store.resource_version();
    let (home, world) = engine.ended(false).await;
    let engine = Running::over(restored(home, &copy).await, world, None);
    engine.world.done();
    engine.seconds(1200).await;
    assert!(
        engine.world.done().is_empty(),
        "neither the lamp it does not know nor the color it has forgotten"
    );
    assert_eq!(engine.verdict("old"), "NeedsYou ObserveOnly");
    assert!(engine.home.store.observe_only().unwrap().contains("older copy"));
    let watch = engine.home.store.watch(Query::of("Lamp"), Some(seen));
    assert_eq!(watch.err(), Some(Expired { asked: seen }), "it saw another history");
    assert!(engine.home.store.resource_version() > seen, "no resourceVersion is given out twice");

    // It is not forgotten over a restart.
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.seconds(1200).await;
    assert!(engine.world.done().is_empty() && engine.home.store.observe_only().is_some());

    engine.home.store.accept("admin").await.unwrap();
    engine.engine.wake_all();
    engine.settle().await;
    assert_eq!(engine.verdict("old"), "Ready InSync");
    assert_eq!(engine.world.color("old").as_deref(), Some("red"));
    let (home, _) = engine.ended(false).await;
    assert_eq!(home.store.observe_only(), None);
}

#[tokio::test]
async fn the_store_of_another_home_is_only_looked_at() {
    let (home, other) = (Home::new().await, Home::new().await);
    home.card("mine").await;
    let copy = other.folder.path().join("copy");
    other.store.copy_to(&copy).await.unwrap();
    std::fs::copy(other.folder.path().join("store.key"), home.folder.path().join("store.key")).unwrap();
    let home = restored(home, &copy).await;
    assert!(home.store.observe_only().unwrap().contains("another home"));
}

#[tokio::test]
async fn a_store_that_only_died_is_trusted() {
    let home = Home::new().await;
    home.card("a").await;
    let before = home.store.resource_version();
    let home = home.reopened().await;
    assert_eq!((home.store.observe_only(), home.store.resource_version()), (None, before));
    assert!(home.store.get(&key("Card", "a")).is_some());
}
