//! When somebody else changes what is ours.

use hearth_meta::labels::PAUSED_UNTIL;
use serde_json::{Value, json};

use crate::running::Running;
use crate::toys::{key, owner};

#[tokio::test]
async fn what_was_changed_from_outside_is_put_back_and_told() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.paint("a", "green");
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Paint a red"]);
    assert!(engine.events("a").await.contains(&("Drifted".to_owned(), 1)));
    engine.world.lock().bulbs.clear();
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"]);
    let drifted = engine.events("a").await.into_iter().filter(|(reason, _)| reason == "Drifted").count();
    assert_eq!(drifted, 2, "one for the color, one for the bulb, none for the steps in between");
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_drift_is_told_even_where_it_cannot_be_repaired() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.lock().failing.push("Paint".into());
    engine.world.paint("a", "green");
    engine.seconds(120).await;
    assert!(engine.events("a").await.contains(&("Drifted".to_owned(), 1)), "once, however often it is tried");
    assert_eq!(engine.verdict("a"), "Failed StepFailed");
}

#[tokio::test]
async fn by_policy_it_is_only_reported_but_a_newer_wish_is_carried_out() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red", "driftPolicy": "Report"})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.paint("a", "green");
    engine.seconds(1300).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "NeedsYou Drifted");
    let difference = engine.status("Lamp", "a").differences[0].clone();
    assert_eq!(
        (difference.to_string(), format!("{:?}", difference.state)),
        ("spec.color: seen green, wanted red".into(), "Drifted".into())
    );
    engine.paint("a", "blue").await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a blue"]);
    engine.world.paint("a", "green");
    engine.seconds(60).await;
    engine.world.paint("a", "blue");
    engine.seconds(60).await;
    assert_eq!(engine.verdict("a"), "Ready InSync", "put back by whoever changed it");
}

#[tokio::test]
async fn who_fights_over_a_field_is_answered_ever_more_slowly() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    let mut repairs = 0;
    for _ in 0..60 {
        engine.world.paint("a", "green");
        engine.engine.wake_all();
        engine.seconds(10).await;
        repairs += engine.world.done().len();
    }
    assert!((6..=12).contains(&repairs), "{repairs} repairs of 60 changes in ten minutes");
    assert_eq!(engine.verdict("a"), "NeedsYou Contested");
    assert!(engine.status("Lamp", "a").message.unwrap().contains("spec.color"));
    engine.seconds(4000).await;
    assert_eq!(engine.verdict("a"), "Ready InSync", "it is put back in the end, and the fight is over");
}

#[tokio::test]
async fn what_goes_between_two_surveys_and_what_went_in_the_dark_is_found_within_a_minute() {
    let engine = Running::new().await;
    engine.home.lamp("other", json!({"color": "red"})).await;
    engine.seconds(70).await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.lock().bulbs.remove("a");
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"], "no survey had ever found it");
    let (home, world) = engine.ended(true).await;
    world.lock().bulbs.remove("a");
    world.lock().blind = true;
    let engine = Running::over(home, world, None);
    engine.seconds(70).await;
    engine.world.lock().blind = false;
    engine.seconds(60).await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"]);
}

#[tokio::test]
async fn a_pause_of_its_owner_holds_it_until_that_ends() {
    let engine = Running::new().await;
    let card = engine.home.card("boss").await;
    let lamp = json!({"kind": "Lamp", "spec": {"color": "red"},
        "metadata": {"name": "a", "namespace": "den", "ownerReferences": [owner(&card)]}});
    engine.home.create(lamp).await.unwrap();
    engine.settle().await;
    let pause = |until: Value| json!({"metadata": {"annotations": {PAUSED_UNTIL: until}}});
    engine.home.patch(key("Card", "boss"), pause("2026-11-29T13:00:00Z".into())).await.unwrap();
    engine.settle().await;
    assert_eq!(engine.verdict("a"), "Ready InSync", "there is nothing to hold");
    engine.world.done();
    engine.world.paint("a", "green");
    engine.seconds(300).await;
    assert_eq!(engine.verdict("a"), "Paused Paused");
    assert!(engine.world.done().is_empty());
    engine.home.patch(key("Card", "boss"), pause(Value::Null)).await.unwrap();
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a red"], "at once");
    engine.home.patch(key("Card", "boss"), pause("2026-11-29T12:10:00Z".into())).await.unwrap();
    engine.world.paint("a", "blue");
    engine.seconds(120).await;
    assert!(engine.world.done().is_empty());
    engine.seconds(300).await;
    assert_eq!(engine.world.done(), ["Paint a red"], "once its time is over");
}

#[tokio::test]
async fn what_is_not_as_wanted_is_never_called_ready() {
    let engine = Running::new().await;
    engine.world.screw_in("a", "of another", "another lineage");
    engine.home.lamp("a", json!({"color": "grey"})).await;
    engine.settle().await;
    assert!(engine.world.done().is_empty(), "the plan has nothing to do about it");
    assert_eq!(engine.verdict("a"), "NeedsYou NotOurs");
}

#[tokio::test]
async fn two_who_write_one_field_ten_times_in_an_hour_are_answered_ever_more_slowly_and_then_forgotten() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    let mut waits = Vec::new();
    let mut counts = Vec::new();
    for n in 0..10 {
        // Another value each time: it is the field that is fought over.
        engine.world.paint("a", &format!("green {n}"));
        engine.engine.wake_all();
        let mut waited = 0;
        engine.seconds(1).await;
        while engine.world.done().is_empty() {
            let status = engine.status("Lamp", "a");
            assert_eq!(engine.verdict("a"), "NeedsYou Contested");
            assert!(status.message.as_ref().unwrap().contains("spec.color"), "{status:?}");
            let condition = status.conditions.iter().find(|condition| condition.type_ == "Drifted").unwrap();
            assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Contested"));
            counts.push(status.drift.unwrap().count);
            engine.seconds(10).await;
            waited += 10;
            assert!(waited < 700, "it is put back in the end");
        }
        waits.push(waited);
        engine.seconds(360_u64.saturating_sub(waited)).await;
    }
    assert_eq!(waits[..4], [0; 4], "what happens now and then is put back at once");
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]) && waits[9] > 200, "{waits:?}");
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]) && counts.last().unwrap() >= &9, "{counts:?}");
    let told = engine.events("a").await;
    assert_eq!(told.iter().filter(|(reason, _)| reason == "Contested").count(), 1, "one event: {told:?}");
    assert!(told.iter().filter(|(reason, _)| reason == "Drifted").count() <= 4, "{told:?}");
    engine.seconds(4000).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert_eq!(engine.status("Lamp", "a").drift, None);
    engine.world.paint("a", "green");
    engine.seconds(61).await;
    assert_eq!(engine.world.done(), ["Paint a red"], "the fight is forgotten");
}
