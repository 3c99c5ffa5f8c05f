//! Slow steps, beside the turns.

use std::time::Duration;

use hearth_meta::Reason;
use serde_json::json;

use crate::running::Running;
use crate::toys::key;

async fn begun(engine: &Running, step: &str) {
    engine.until(step, |engine| engine.world.lock().steps.iter().any(|begun| begun == step)).await;
    engine.breathe().await;
}

/// Lets time go by in which nothing comes to rest.
async fn wait(engine: &Running, seconds: u64) {
    for _ in 0..seconds {
        engine.home.clock.advance(Duration::from_secs(1));
        engine.breathe().await;
    }
}

#[tokio::test]
async fn a_slow_step_is_on_record_shown_and_verified() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    engine.until("its verdict", |engine| engine.verdict("a") == "Progressing Applying").await;
    begun(&engine, "Install a").await;
    assert!(engine.intent("Lamp", "a").is_open());
    assert_eq!(engine.engine.diagnostics()[0].slow_steps, 1);
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"]);
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert_eq!(engine.events("a").await.len(), 2, "each is told when it is done");
}

#[tokio::test]
async fn a_slow_step_that_ends_without_its_effect_has_failed_and_one_that_fails_is_retried() {
    let engine = Running::new().await;
    engine.world.lock().idle.push("Install".into());
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Install a"]);
    assert_eq!(engine.verdict("a"), "Progressing EffectMissing");
    engine.world.lock().idle.clear();
    engine.world.lock().failing.push("Install".into());
    engine.seconds(5).await;
    assert_eq!(engine.verdict("a"), "Failed StepFailed");
    assert!((2..=4).contains(&engine.world.done().len()));
    engine.world.lock().failing.clear();
    engine.seconds(20).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn progress_is_written_at_most_once_a_second() {
    let engine = Running::new().await;
    engine.world.lock().tells = 1000;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    begun(&engine, "Install a").await;
    engine.until("progress", |engine| engine.status("Lamp", "a").progress.is_some()).await;
    engine.breathe().await;
    let progress = engine.status("Lamp", "a").progress.unwrap();
    assert!(progress.started_at.is_some() && progress.last_advance_at.is_some());
    let version = engine.home.store.resource_version();
    assert!(version <= 5, "{version} versions for a thousand advances within one second");
}

#[tokio::test]
async fn a_step_no_plan_holds_any_more_is_cancelled() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.gate.send_replace(false);
    engine.paint("a", "blue").await;
    begun(&engine, "Paint a blue").await;
    engine.paint("a", "green").await;
    begun(&engine, "Paint a green").await;
    assert_eq!(engine.engine.diagnostics()[0].slow_steps, 1);
    engine.paint("a", "red").await;
    engine.settle().await;
    assert_eq!(engine.engine.diagnostics()[0].slow_steps, 0, "nothing is to be done any more");
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert_eq!(engine.world.color("a").as_deref(), Some("red"), "the cancelled ones never get to their end");
}

#[tokio::test]
async fn what_is_deleted_while_it_is_worked_on_goes_at_once() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    engine.settle().await;
    engine.world.gate.send_replace(false);
    engine.paint("a", "blue").await;
    begun(&engine, "Paint a blue").await;
    engine.home.delete(key("Lamp", "a")).await.unwrap();
    engine.settle().await;
    assert!(engine.home.store.get(&key("Lamp", "a")).is_none());
    assert_eq!((engine.world.color("a"), engine.engine.diagnostics()[0].slow_steps), (None, 0));
    engine.home.lamp("b", json!({"color": "red", "ways": ["slow"]})).await;
    begun(&engine, "Install b").await;
    engine.patch("b", json!({"metadata": {"finalizers": null}})).await;
    engine.home.delete(key("Lamp", "b")).await.unwrap();
    engine.patch("b", json!({"metadata": {"finalizers": null}})).await;
    engine.settle().await;
    assert_eq!(engine.engine.diagnostics()[0].slow_steps, 0, "also where a person freed it by force");
}

#[tokio::test]
async fn a_step_without_progress_is_given_up_and_tried_again() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    begun(&engine, "Install a").await;
    wait(&engine, 179).await;
    assert_eq!(engine.verdict("a"), "Progressing Applying");
    wait(&engine, 1).await;
    engine.until("its end", |engine| engine.verdict("a") == "Failed Stalled").await;
    assert!(engine.status("Lamp", "a").message.unwrap().contains("no progress for 180 s"));
    wait(&engine, 1).await;
    engine.until("the next try", |engine| engine.world.lock().steps.len() == 2).await;
}

#[tokio::test]
async fn a_full_pool_holds_up_slow_steps_and_nothing_else() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    for name in ["s1", "s2", "s3", "s4"] {
        engine.home.lamp(name, json!({"color": "red", "ways": ["slow"]})).await;
    }
    engine.until("three at work", |engine| engine.world.lock().steps.len() == 3).await;
    engine.home.lamp("quick", json!({"color": "red"})).await;
    engine.until("the quick one", |engine| engine.world.color("quick").as_deref() == Some("red")).await;
    wait(&engine, 100).await;
    assert_eq!(engine.world.done().iter().filter(|step| step.starts_with("Install s")).count(), 3);
    assert_eq!(engine.verdict("s4"), "Progressing Applying");
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert!(["s1", "s2", "s3", "s4"].iter().all(|name| engine.verdict(name) == "Ready InSync"));
}

#[tokio::test]
async fn a_pause_stops_a_slow_step_that_is_under_way() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    begun(&engine, "Install a").await;
    let pause = json!({"metadata": {"annotations": {"hearth.dev/paused-until": "2026-11-29T13:00:00Z"}}});
    engine.patch("a", pause).await;
    engine.settle().await;
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert_eq!((engine.world.color("a"), engine.verdict("a").as_str()), (None, "Paused Paused"));
}

#[tokio::test]
async fn a_stop_ends_slow_steps_with_it() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    begun(&engine, "Install a").await;
    let (home, world) = engine.ended(false).await;
    world.gate.send_replace(true);
    for _ in 0..3000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.color("a"), None);
    let uid = home.store.get(&key("Lamp", "a")).unwrap().uid().to_owned();
    assert!(home.store.intent(&uid).unwrap().is_open());
}

#[tokio::test]
async fn a_full_pool_of_one_controller_holds_up_no_other() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    for name in ["s1", "s2", "s3"] {
        engine.home.lamp(name, json!({"color": "red", "ways": ["slow"]})).await;
    }
    engine.until("three at work", |engine| engine.world.lock().steps.len() == 3).await;
    let sign =
        json!({"kind": "Sign", "metadata": {"name": "x", "namespace": "den"}, "spec": {"text": "slow"}});
    engine.home.create(sign).await.unwrap();
    wait(&engine, 1).await;
    begun(&engine, "Write 1 signs").await;
    engine.world.gate.send_replace(true);
    engine.settle().await;
}

#[tokio::test]
async fn a_step_may_ask_for_longer() {
    let engine = Running::new().await;
    engine.world.gate.send_replace(false);
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow", "patient"]})).await;
    begun(&engine, "Install a").await;
    wait(&engine, 599).await;
    assert_eq!(engine.verdict("a"), "Progressing Applying");
    wait(&engine, 1).await;
    engine.until("its end", |engine| engine.status("Lamp", "a").reason == Some(Reason::Stalled)).await;
    assert!(engine.status("Lamp", "a").message.unwrap().contains("no progress for 600 s"));
}

#[tokio::test]
async fn the_long_removal_of_an_orphan_holds_up_neither_surveys_nor_repairs() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("lost", "of nobody", &lineage);
    engine.world.gate.send_replace(false);
    wait(&engine, 120).await;
    begun(&engine, "Collect lost").await;
    engine.world.done();
    engine.world.paint("a", "blue");
    wait(&engine, 61).await;
    engine.until("its repair", |engine| engine.world.color("a").as_deref() == Some("red")).await;
    assert_eq!(engine.world.done(), ["Paint a red"], "and the orphan is not taken twice");
    wait(&engine, 180).await;
    begun(&engine, "Collect lost").await;
    assert_eq!(engine.world.done(), ["Collect lost"], "given up, and taken by the next survey");
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert_eq!(engine.world.color("lost"), None);
    assert_eq!(engine.events("lost").await, [("OrphanRemoved".to_owned(), 1)]);
}
