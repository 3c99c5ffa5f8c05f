//! A store that is an older copy, or of another home: looked at, told, and nothing done until a person says go.
#![expect(clippy::disallowed_methods, reason = "a person puts a file in the place of the store")]

use std::path::Path;

use hearth_engine::store::Expired;
use hearth_engine::{Query, Store};
use serde_json::json;

use crate::running::Running;
use crate::toys::{Home, key, options};

/// The same with the mark from the time of the copy.
async fn restored_with_mark(home: Home, copy: &Path, mark: &[u8]) -> Home {
    home.store.close().await;
    std::fs::write(home.folder.path().join("high-water"), mark).unwrap();
    restored(home, copy).await
}

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
async fn a_data_folder_restored_whole_is_noticed_by_what_is_there() {
    let engine = Running::new().await;
    engine.home.lamp("old", json!({"color": "red"})).await;
    engine.settle().await;
    let copy = engine.home.folder.path().join("copy");
    engine.home.store.copy_to(&copy).await.unwrap();
    let mark = std::fs::read(engine.home.folder.path().join("high-water")).unwrap();
    engine.paint("old", "blue").await;
    engine.home.lamp("new", json!({"color": "green"})).await;
    engine.settle().await;
    let made_at = engine.world.lock().bulbs["new"].made_at;
    let (home, world) = engine.ended(false).await;
    // As the first look cannot tell, nothing may be done either.
    world.lock().blind = true;
    let home = restored_with_mark(home, &copy, &mark).await;
    assert_eq!(home.store.observe_only(), None, "the folder itself looks whole");
    let engine = Running::over(home, world, None);
    let sign =
        json!({"kind": "Sign", "metadata": {"name": "s", "namespace": "den"}, "spec": {"text": "open"}});
    engine.home.create(sign).await.unwrap();
    engine.world.done();
    engine.seconds(60).await;
    assert!(engine.world.done().is_empty(), "nothing is changed before it is known what is there");
    assert!(engine.world.lock().signs.is_empty(), "by no controller");

    engine.world.lock().blind = false;
    engine.seconds(1200).await;
    assert!(engine.world.done().is_empty(), "{:?}", engine.verdict("old"));
    let why = engine.home.store.observe_only().unwrap();
    assert!(why.contains(&format!("lamp new was made at version {made_at}")), "{why}");
    assert_eq!(engine.verdict("old"), "NeedsYou ObserveOnly");
    assert!(engine.home.store.resource_version() > made_at, "no resourceVersion is given out twice");
    let watch = engine.home.store.watch(Query::of("Lamp"), Some(made_at));
    assert_eq!(watch.err(), Some(Expired { asked: made_at }), "it saw another history");

    // It is not forgotten over a restart.
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.seconds(1200).await;
    assert!(engine.world.done().is_empty() && engine.home.store.observe_only().is_some());
    engine.home.store.accept("admin").await.unwrap();
    engine.engine.wake_all();
    engine.settle().await;
    assert_eq!(engine.world.color("old").as_deref(), Some("red"));
}

#[tokio::test]
async fn what_this_process_made_is_no_sign_of_an_older_copy() {
    let engine = Running::new().await;
    for n in 0..5 {
        engine.home.lamp(&format!("l{n}"), json!({"color": "red"})).await;
        engine.seconds(61).await;
    }
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.seconds(200).await;
    assert_eq!(engine.home.store.observe_only(), None);
    assert_eq!(engine.verdict("l4"), "Ready InSync");
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
