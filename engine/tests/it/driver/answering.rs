//! What a person answers to a change from outside: put it back, or keep it.

use hearth_engine::Clock;
use hearth_meta::FieldDiff;
use hearth_meta::labels::PUT_BACK_AT;
use serde_json::{Value, json};

use crate::running::Running;
use crate::toys::key;

/// A lamp whose changes are reported, painted green by somebody.
async fn reported() -> Running {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red", "driftPolicy": "Report"})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.paint("a", "green");
    engine.seconds(61).await;
    assert_eq!(engine.verdict("a"), "NeedsYou Drifted");
    engine
}

fn put_back(order: &str) -> Value {
    json!({"metadata": {"annotations": {PUT_BACK_AT: order}}})
}

#[tokio::test]
async fn what_a_person_says_to_put_back_is_put_back_once_and_on_record() {
    let engine = reported().await;
    let now = engine.home.clock.now().to_string();
    engine.patch("a", put_back(&now)).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a red"]);
    assert_eq!(engine.verdict("a"), "Ready InSync");
    let told: Vec<_> = engine.events("a").await.into_iter().map(|(reason, _)| reason).collect();
    for reason in ["DriftReported", "PutBack", "DriftEnded"] {
        assert!(told.contains(&reason.to_owned()), "{reason} in {told:?}");
    }
    assert!(!told.contains(&"Drifted".to_owned()), "it is no repair of ours: {told:?}");
    let history = engine.home.store.history(&key("Lamp", "a")).await.unwrap();
    let last = history.last().unwrap();
    assert_eq!((last.verb.as_str(), last.actor.as_str()), ("update", "admin"));
    assert_eq!(last.differences[0].field, format!("metadata.annotations[{PUT_BACK_AT}]"));
    // The same change again is another one: the answer was given once.
    engine.seconds(5).await;
    engine.world.paint("a", "green");
    engine.engine.wake_all();
    engine.seconds(61).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "NeedsYou Drifted");
}

#[tokio::test]
async fn an_answer_to_another_change_puts_nothing_back() {
    let engine = reported().await;
    let id = engine.status("Lamp", "a").drift.unwrap().id;
    engine.seconds(60).await;
    engine.world.paint("a", "blue");
    engine.seconds(61).await;
    let drift = engine.status("Lamp", "a").drift.unwrap();
    assert_ne!(drift.id, id);
    assert_eq!(drift.count, 2);
    let now = engine.home.clock.now();
    for order in [format!("{now} {id}"), "2026-11-29T12:01:30Z".into(), "2036-01-01T00:00:00Z".into()] {
        engine.patch("a", put_back(&order)).await;
        engine.seconds(61).await;
        assert!(engine.world.done().is_empty(), "{order}");
    }
    engine.patch("a", put_back(&format!("{now} {}", drift.id))).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a red"]);
}

#[tokio::test]
async fn a_change_that_stands_is_told_with_since_when_and_survives_a_restart_and_the_dark() {
    let engine = reported().await;
    let drift = engine.status("Lamp", "a").drift.unwrap();
    assert_eq!(drift.count, 1);
    engine.world.lock().blind = true;
    engine.seconds(700).await;
    let status = engine.status("Lamp", "a");
    assert_eq!(status.drift.as_ref(), Some(&drift), "what was known last stays");
    let condition = status.conditions.iter().find(|condition| condition.type_ == "Drifted").unwrap();
    assert_eq!(condition.status, "Unknown");
    engine.world.lock().blind = false;
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.seconds(61).await;
    assert_eq!(engine.status("Lamp", "a").drift.as_ref(), Some(&drift));
    assert_eq!(engine.verdict("a"), "NeedsYou Drifted");
    engine.world.paint("a", "red");
    engine.seconds(61).await;
    let status = engine.status("Lamp", "a");
    assert_eq!(status.drift, None);
    let condition = status.conditions.iter().find(|condition| condition.type_ == "Drifted").unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "InSync"));
    assert!(engine.events("a").await.contains(&("DriftEnded".to_owned(), 1)));
}

#[tokio::test]
async fn what_is_kept_becomes_the_wish() {
    let engine = reported().await;
    let lamp = engine.home.store.get(&key("Lamp", "a")).unwrap();
    let differences = engine.status("Lamp", "a").differences;
    let spec = engine.engine.keep(&lamp, &differences).unwrap().unwrap();
    let mut kept = lamp.spec().clone();
    kept["color"] = "green".into();
    assert_eq!(spec, kept);
    engine.patch("a", json!({"spec": {"color": spec["color"]}})).await;
    engine.settle().await;
    assert!(engine.world.done().is_empty(), "nothing has to be done for it");
    assert_eq!(engine.verdict("a"), "Ready InSync");
    let sandbox = FieldDiff::new("sandbox", None, Some("host".into()));
    let refused = engine.engine.keep(&lamp, &[differences[0].clone(), sandbox]).unwrap().unwrap_err();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].field, "sandbox");
    let card = engine.home.card("c").await;
    assert!(engine.engine.keep(&card, &[]).is_none(), "nobody makes cards true");
}

#[tokio::test]
async fn an_order_that_cannot_be_read_is_refused_by_its_name() {
    let engine = reported().await;
    for annotation in [PUT_BACK_AT, hearth_meta::labels::PAUSED_UNTIL] {
        let order = json!({"metadata": {"annotations": {annotation: "tomorrow"}}});
        let refused = engine.home.patch(key("Lamp", "a"), order).await.unwrap_err().to_string();
        assert!(refused.contains(annotation) && refused.contains("write it as 2026-"), "{refused}");
    }
}
