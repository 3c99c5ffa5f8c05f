//! When somebody else changes what is ours.

use serde_json::json;

use crate::running::Running;

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
