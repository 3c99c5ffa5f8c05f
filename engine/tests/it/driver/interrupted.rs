//! When a process of ours died half way.

use hearth_engine::Clock;
use hearth_meta::labels::POKED_AT;
use serde_json::json;

use crate::running::Running;

/// An engine that begins to paint a lamp slowly and dies over it; then the next one.
async fn died_over(ways: &[&str], meanwhile: impl AsyncFnOnce(&crate::toys::Home)) -> Running {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red", "ways": ways})).await;
    engine.seconds(1).await;
    engine.world.gate.send_replace(false);
    engine.paint("a", "blue").await;
    engine
        .until("the slow step", |engine| engine.world.lock().steps.iter().any(|step| step.ends_with("blue")))
        .await;
    assert!(engine.intent("Lamp", "a").is_open());
    let (home, world) = engine.ended(true).await;
    world.done();
    world.gate.send_replace(true);
    meanwhile(&home).await;
    Running::over(home, world, None)
}

#[tokio::test]
async fn what_was_interrupted_is_done_again_and_is_no_drift() {
    let engine = died_over(&["slow"], async |_| {}).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a blue"]);
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert!(!engine.events("a").await.iter().any(|(reason, _)| reason == "Drifted"));
}

#[tokio::test]
async fn a_dangerous_step_that_was_interrupted_waits_for_a_person() {
    let engine = died_over(&["slow", "dangerous"], async |_| {}).await;
    engine.seconds(1300).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "NeedsYou Interrupted");
    let earlier = json!({"metadata": {"annotations": {POKED_AT: "2026-11-29T11:00:00Z"}}});
    engine.patch("a", earlier).await;
    engine.settle().await;
    assert!(engine.world.done().is_empty(), "a poke from before says nothing of it");
    let go = json!({"metadata": {"annotations": {POKED_AT: engine.home.clock.now().to_string()}}});
    engine.patch("a", go).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a blue"]);
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_newer_wish_supersedes_what_was_interrupted() {
    let engine = died_over(&["slow", "dangerous"], async |home: &crate::toys::Home| {
        home.patch(crate::toys::key("Lamp", "a"), json!({"spec": {"color": "green"}})).await.unwrap();
    });
    let engine = engine.await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a green"]);
}

#[tokio::test]
async fn what_was_done_before_the_process_died_is_found_done() {
    let engine = died_over(&["slow", "dangerous"], async |_| {}).await;
    engine.world.paint("a", "blue");
    engine.settle().await;
    engine.seconds(601).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert!(!engine.intent("Lamp", "a").is_open());
}
