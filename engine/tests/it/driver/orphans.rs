//! Things of ours without an object.

use serde_json::json;

use crate::running::Running;

#[tokio::test]
async fn an_orphan_is_removed_once_it_was_seen_twice_and_told() {
    let engine = Running::new().await;
    engine.settle().await;
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("lost", "of nobody", &lineage);
    engine.seconds(61).await;
    assert!(engine.world.done().is_empty(), "once is not enough");
    assert_eq!(engine.engine.diagnostics()[0].orphans, 1);
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Collect lost"]);
    assert_eq!(engine.events("lost").await, [("OrphanRemoved".to_owned(), 1)]);
}

#[tokio::test]
async fn what_another_store_made_is_never_touched() {
    let engine = Running::new().await;
    engine.world.screw_in("theirs", "of nobody", "another lineage");
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty() && engine.world.color("theirs").is_some());
    assert_eq!(engine.engine.diagnostics()[0].orphans, 0);
}

#[tokio::test]
async fn too_many_orphans_at_once_are_kept_until_a_person_has_looked() {
    let engine = Running::new().await;
    let lineage = engine.home.store.lineage().to_owned();
    for n in 0..4 {
        engine.home.lamp(&format!("mine{n}"), json!({"color": "red"})).await;
        engine.world.screw_in(&format!("theirs{n}"), "of nobody", "another lineage");
    }
    for n in 0..3 {
        engine.world.screw_in(&format!("lost{n}"), &format!("u{n}"), &lineage);
    }
    engine.settle().await;
    engine.world.done();
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.engine.diagnostics()[0].breaker.as_deref(), Some("3 of 7 have no object in the store"));
    assert_eq!(engine.events("*").await, [("OrphansKept".to_owned(), 1)], "told once");
    engine.world.lock().bulbs.remove("lost0");
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Collect lost1", "Collect lost2"]);
    assert_eq!(engine.engine.diagnostics()[0].breaker, None);
}

#[tokio::test]
async fn in_the_dark_nothing_is_an_orphan() {
    let engine = Running::new().await;
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("lost", "of nobody", &lineage);
    engine.seconds(1).await;
    engine.world.lock().blind = true;
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty());
}
