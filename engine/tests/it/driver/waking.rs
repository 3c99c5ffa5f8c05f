//! What wakes a key.

use std::sync::Arc;
use std::time::Duration;

use hearth_engine::Object;
use hearth_engine::controller::Wake;
use serde_json::json;

use crate::running::Running;
use crate::toys::{key, owner};

/// An engine with one lamp, at rest, and its looks counted from now on.
async fn lit() -> (Running, Arc<Object>) {
    let engine = Running::new().await;
    let lamp = engine.home.lamp("a", json!({"color": "red"})).await;
    engine.seconds(2).await;
    engine.world.lock().looks = 0;
    (engine, lamp)
}

async fn is_woken(engine: &Running) -> bool {
    engine.settle().await;
    std::mem::take(&mut engine.world.lock().looks) > 0
}

#[tokio::test]
async fn owned_and_referenced_objects_wake_a_key_and_others_do_not() {
    let (engine, lamp) = lit().await;
    let home = &engine.home;
    home.card("stranger").await;
    home.create(json!({"kind": "Secret", "metadata": {"name": "b", "namespace": "den"}, "data": {}}))
        .await
        .unwrap();
    assert!(!is_woken(&engine).await);
    let mut card = crate::toys::card("owned");
    card["metadata"]["ownerReferences"] = json!([owner(&lamp)]);
    let card = home.create(card).await.unwrap();
    assert!(is_woken(&engine).await, "an owned object that came");
    home.store.update_status(&key("Card", "owned"), card.uid(), json!({"n": 1})).await.unwrap();
    assert!(is_woken(&engine).await, "the status of an owned object");
    home.patch(key("Card", "owned"), json!({"metadata": {"ownerReferences": null}})).await.unwrap();
    assert!(is_woken(&engine).await, "an object that is no longer owned");
    home.create(json!({"kind": "Secret", "metadata": {"name": "a", "namespace": "den"}, "data": {}}))
        .await
        .unwrap();
    assert!(is_woken(&engine).await, "a referenced object that came");
    home.patch(key("Secret", "a"), json!({"metadata": {"labels": {"x": "y"}}})).await.unwrap();
    assert!(!is_woken(&engine).await, "what means nothing to those who refer to it");
    home.patch(key("Secret", "a"), json!({"data": {"word": "b3Blbg=="}})).await.unwrap();
    assert!(is_woken(&engine).await, "what means something to them");
    home.delete(key("Secret", "a")).await.unwrap();
    assert!(is_woken(&engine).await, "a referenced object that went");
    engine.patch("a", json!({"metadata": {"labels": {"x": "y"}}})).await;
    assert!(is_woken(&engine).await, "its own labels");
}

#[tokio::test]
async fn the_backend_wakes_by_uid_by_key_and_all() {
    let (engine, lamp) = lit().await;
    engine.world.tell(&Wake::Uid("of nobody".into()));
    engine.world.tell(&Wake::Key(key("Card", "a")));
    engine.breathe().await;
    assert!(!is_woken(&engine).await);
    for wake in [Wake::Uid(lamp.uid().into()), Wake::Key(key("Lamp", "a")), Wake::All] {
        engine.world.tell(&wake);
        engine.breathe().await;
        assert!(is_woken(&engine).await, "the backend");
    }
}

#[tokio::test]
async fn what_happened_while_nobody_listened_is_found_once_somebody_does() {
    let (engine, _) = lit().await;
    engine.world.lock().listeners.clear();
    engine.breathe().await;
    engine.seconds(3).await;
    assert_eq!(engine.world.lock().subscriptions, 2);
    assert!(is_woken(&engine).await, "the new subscription");
    engine.seconds(30).await;
    assert!(!is_woken(&engine).await, "and then it is quiet");
}

#[tokio::test]
async fn a_backend_that_goes_out_of_reach_is_told_at_once_and_not_at_the_next_full_look() {
    let (engine, _) = lit().await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
    engine.world.lock().blind = true;
    engine.world.lock().listeners.clear();
    engine.seconds(3).await;
    assert_eq!(engine.verdict("a"), "Degraded CannotSee");
    engine.world.lock().looks = 0;
    engine.seconds(50).await;
    let looks = engine.world.lock().looks;
    assert!(looks < 12, "{looks} looks: each later than the one before, however often it is subscribed to");
    engine.world.lock().blind = false;
    engine.seconds(3).await;
    assert_eq!(engine.verdict("a"), "Ready InSync", "and so is its return");
}

#[tokio::test]
async fn a_backend_that_tells_events_and_cannot_be_read_is_told_by_the_next_cheap_look() {
    let (engine, _) = lit().await;
    engine.seconds(61).await;
    engine.world.lock().blind = true;
    engine.seconds(61).await;
    assert_eq!(engine.verdict("a"), "Degraded CannotSee");
    engine.world.lock().blind = false;
    engine.seconds(61).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_burst_beyond_what_a_watch_holds_loses_nothing() {
    let (engine, _) = lit().await;
    let lamp =
        json!({"kind": "Lamp", "metadata": {"name": "last", "namespace": "den"}, "spec": {"color": "red"}});
    let names: Vec<_> = (0..1200).map(|n| format!("c{n}")).collect();
    let cards = names.iter().map(|name| engine.home.create(crate::toys::card(name)));
    // All asked for at once, so that whole batches are told before anybody reads.
    let (cards, lamp) = tokio::join!(futures::future::join_all(cards), engine.home.create(lamp));
    assert!(lamp.is_ok() && cards.iter().all(Result::is_ok));
    engine.settle().await;
    assert_eq!(engine.world.color("last").as_deref(), Some("red"));
}

#[tokio::test]
async fn no_key_starves_under_keys_that_never_rest() {
    let engine = Running::new().await;
    engine.world.lock().failing.push("Paint busy".into());
    for n in 0..20 {
        engine.home.lamp(&format!("busy{n}"), json!({"color": "red"})).await;
    }
    engine.settle().await;
    // Twenty keys that are woken all the time, by a person at that.
    for round in 0..40 {
        for n in 0..20 {
            engine
                .patch(&format!("busy{n}"), json!({"metadata": {"labels": {"round": round.to_string()}}}))
                .await;
        }
        if round == 5 {
            engine.home.lamp("calm", json!({"color": "red"})).await;
        }
        engine.home.clock.advance(Duration::from_millis(10));
    }
    engine.until("the calm one", |engine| engine.world.color("calm").as_deref() == Some("red")).await;
}

#[tokio::test]
async fn news_starts_looks_that_failed_afresh_and_the_blindness_of_others_does_not() {
    let (engine, lamp) = lit().await;
    let mut card = crate::toys::card("owned");
    card["metadata"]["ownerReferences"] = json!([owner(&lamp)]);
    let card = engine.home.create(card).await.unwrap();
    engine.world.lock().blind = true;
    engine.engine.wake_all();
    engine.seconds(400).await;
    let blind = json!({"reason": "CannotSee"});
    engine.world.lock().looks = 0;
    engine.home.store.update_status(&key("Card", "owned"), card.uid(), blind).await.unwrap();
    engine.seconds(2).await;
    assert_eq!(engine.world.lock().looks, 1, "it looks, and then waits for its time");
    let lit = json!({"reason": "InSync"});
    engine.home.store.update_status(&key("Card", "owned"), card.uid(), lit).await.unwrap();
    engine.settle().await;
    engine.world.lock().blind = false;
    engine.seconds(1).await;
    assert_eq!(engine.verdict("a"), "Ready InSync", "a moment after the news, long before its old time");
}

#[tokio::test]
async fn who_referred_to_an_object_as_it_was_is_woken_too() {
    let (engine, _) = lit().await;
    let secret = json!({"kind": "Secret", "metadata": {"name": "x", "namespace": "den",
        "labels": {"lamp": "a"}}, "data": {}});
    engine.home.create(secret).await.unwrap();
    assert!(is_woken(&engine).await);
    engine.home.patch(key("Secret", "x"), json!({"metadata": {"labels": null}})).await.unwrap();
    assert!(is_woken(&engine).await, "it no longer is for the lamp");
    engine.home.patch(key("Secret", "x"), json!({"metadata": {"labels": {"lamp": "b"}}})).await.unwrap();
    assert!(!is_woken(&engine).await);
}
