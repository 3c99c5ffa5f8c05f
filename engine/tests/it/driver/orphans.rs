//! Things of ours without an object.

use std::time::Duration;

use hearth_engine::driver::Orphans;
use hearth_meta::labels::{SYSTEM, keep_orphans, remove_orphans};
use serde_json::json;

use crate::running::Running;
use crate::toys::{Home, key};
use crate::world::World;

/// A home in which so many lamps were made and lost their rows, and were found twice.
async fn with_lost(count: usize) -> Running {
    let home = Home::new().await;
    home.create(json!({"kind": "Namespace", "metadata": {"name": SYSTEM}})).await.unwrap();
    let world = World::new(&home.store);
    let engine = Running::over(home, world, None);
    let lineage = engine.home.store.lineage().to_owned();
    for n in 0..count {
        engine.world.screw_in(&format!("lost{n}"), &format!("u{n}"), &lineage);
    }
    engine.settle().await;
    engine.seconds(61).await;
    assert!(engine.world.done().is_empty());
    engine
}

fn question(engine: &Running) -> Orphans {
    engine.engine.orphans().remove(0)
}

async fn answer(engine: &Running, annotation: String, said: &str) {
    let order = json!({"metadata": {"annotations": {annotation: said}}});
    engine.home.patch(key("Namespace", SYSTEM), order).await.unwrap();
    engine.seconds(2).await;
}

#[tokio::test]
async fn a_person_may_remove_just_the_orphans_that_were_shown() {
    let engine = with_lost(12).await;
    let asked = question(&engine).asked.unwrap();
    assert_eq!(asked.items.len(), 12);
    assert_eq!(question(&engine).why.as_deref(), Some("12 of 12 have no object in the store"));
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("another", "u12", &lineage);
    engine.seconds(120).await;
    answer(&engine, remove_orphans("Lamp"), &asked.id).await;
    engine.seconds(120).await;
    assert!(engine.world.done().is_empty(), "that was about another set");
    let asked = question(&engine).asked.unwrap();
    assert_eq!(asked.items.len(), 13);
    answer(&engine, remove_orphans("Lamp"), &asked.id).await;
    assert_eq!(engine.world.done().len(), 13, "at once, and all of them though they become fewer");
    engine.seconds(120).await;
    assert!(engine.engine.orphans().is_empty());
    let history = engine.home.store.history(&key("Namespace", SYSTEM)).await.unwrap();
    assert_eq!(history.last().unwrap().actor, "admin");
    // The answer is spent: what is lost later is asked about again.
    for n in 0..4 {
        engine.world.screw_in(&format!("later{n}"), &format!("v{n}"), &lineage);
    }
    engine.seconds(180).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(question(&engine).asked.unwrap().items.len(), 4);
}

#[tokio::test]
async fn orphans_a_person_keeps_are_not_asked_about_again_and_never_removed() {
    let engine = with_lost(5).await;
    let ids: Vec<String> = question(&engine).asked.unwrap().items.into_iter().map(|item| item.id).collect();
    answer(&engine, keep_orphans("Lamp"), &ids.join(",")).await;
    let orphans = question(&engine);
    assert_eq!((orphans.asked, orphans.why), (None, None));
    assert_eq!(orphans.kept.unwrap().items.len(), 5);
    assert_eq!(engine.engine.diagnostics()[0].breaker, None);
    // Fewer of them are no reason to take the rest, not even after a restart.
    for n in 0..3 {
        engine.world.lock().bulbs.remove(&format!("lost{n}"));
    }
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty());
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("new", "w", &lineage);
    engine.seconds(180).await;
    assert_eq!(engine.world.done(), ["Collect new"], "it was not among them");
    let kept = question(&engine).kept.unwrap();
    answer(&engine, remove_orphans("Lamp"), &kept.id).await;
    assert_eq!(engine.world.done(), ["Collect lost3", "Collect lost4"], "what is kept may go later");
}

#[tokio::test]
async fn what_somebody_deleted_goes_without_a_question() {
    let home = Home::new().await;
    let world = World::new(&home.store);
    let lineage = home.store.lineage().to_owned();
    for n in 0..12 {
        let lamp = home.lamp(&format!("l{n}"), json!({"color": "red"})).await;
        // Its finalizer is taken from it, so that nothing takes it down but the survey.
        home.store.drop_finalizer(&lamp.key(), lamp.uid(), "hearth.dev/lamp").await.unwrap();
        world.screw_in(&format!("l{n}"), lamp.uid(), &lineage);
        home.delete(lamp.key()).await.unwrap();
    }
    let engine = Running::over(home, world, None);
    engine.seconds(130).await;
    assert_eq!(engine.world.done().len(), 12);
    assert!(engine.engine.orphans().is_empty());
}

#[tokio::test]
async fn what_vanished_owners_left_is_kept_and_told_where_it_is_much() {
    for lost in [2, 12] {
        let home = Home::new().await;
        for n in 0..20 {
            let card = home.card(&format!("c{n}")).await;
            let metadata = json!({"name": format!("l{n}"), "namespace": "den", "ownerReferences": [crate::toys::owner(&card)]});
            home.create(json!({"kind": "Lamp", "metadata": metadata, "spec": {"color": "red"}}))
                .await
                .unwrap();
        }
        // One is deleted by a person while nobody looks; the others' rows vanish.
        home.delete(key("Card", "c19")).await.unwrap();
        home.store.close().await;
        home.rows_vanish("Card", lost).await;
        let home = home.reopened().await;
        let world = World::new(&home.store);
        let engine = Running::over(home, world, None);
        engine.seconds(200).await;
        let standing = engine.home.store.list(&hearth_engine::Query::of("Lamp")).items.len();
        assert_eq!(standing, if lost == 2 { 17 } else { 19 }, "{lost} vanished");
        if lost == 12 {
            assert!(engine.events("l0").await.contains(&("OwnerLost".to_owned(), 1)), "told once");
        }
    }
}

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
async fn an_orphan_that_waits_for_its_place_stays_where_the_store_is_doubted_meanwhile() {
    for is_doubted in [false, true] {
        let engine = Running::new().await;
        engine.settle().await;
        engine.world.gate.send_replace(false);
        for name in ["a", "b", "c"] {
            engine.home.lamp(name, json!({"color": "red", "ways": ["slow", "patient"]})).await;
        }
        let places = |engine: &Running| engine.engine.diagnostics()[0].slow_steps;
        engine.until("every place is taken", |engine| places(engine) == 3).await;
        let lineage = engine.home.store.lineage().to_owned();
        engine.world.screw_in("lost", "of nobody", &lineage);
        for _ in 0..130 {
            engine.home.clock.advance(Duration::from_secs(1));
            engine.breathe().await;
        }
        if is_doubted {
            engine.home.store.distrust("It was put back", 0).await.unwrap();
        }
        engine.world.gate.send_replace(true);
        engine.settle().await;
        let is_removed = engine.world.done().contains(&"Collect lost".to_owned());
        assert_eq!(is_removed, !is_doubted);
    }
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
