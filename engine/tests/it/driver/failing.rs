//! When it cannot be done, or not be seen.

use std::time::Duration;

use hearth_engine::Clock;
use hearth_engine::controller::Wake;
use hearth_meta::Timestamp;
use hearth_meta::labels::POKED_AT;
use serde_json::json;

use crate::running::Running;
use crate::toys::key;

/// The moments at which a step was begun, while time passes second by second.
async fn tries(engine: &Running, seconds: u64) -> Vec<u64> {
    let mut moments = Vec::new();
    let start = engine.home.clock.elapsed();
    for _ in 0..seconds {
        engine.seconds(1).await;
        for _ in engine.world.done() {
            moments.push((engine.home.clock.elapsed() - start).as_secs());
        }
    }
    moments
}

#[tokio::test]
async fn a_step_that_fails_is_tried_ever_more_seldom_and_at_once_for_a_newer_wish() {
    let engine = Running::new().await;
    engine.world.lock().failing.push("Paint".into());
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"]);
    let status = engine.status("Lamp", "a");
    assert_eq!(engine.verdict("a"), "Progressing StepFailed", "the first failure may well pass");
    assert_eq!(status.message.as_deref(), Some("Paint a red failed: the fuse blew"));
    assert!(status.next_try_at.unwrap().0 >= engine.home.clock.now(), "in whole seconds");
    let moments = tries(&engine, 1200).await;
    assert_eq!(engine.verdict("a"), "Failed StepFailed");
    let gaps: Vec<_> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((10..=14).contains(&moments.len()), "{moments:?}");
    assert!(gaps.windows(2).skip(1).take(5).all(|pair| pair[0] < pair[1]), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= 301), "{gaps:?}");
    engine.paint("a", "blue").await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a blue"], "the newer wish waits for nothing");
    assert!(tries(&engine, 10).await.len() >= 3, "and starts its own row");
    engine.world.lock().failing.clear();
    engine.seconds(10).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
    assert_eq!(engine.engine.diagnostics()[0].failing, 0);
}

#[tokio::test]
async fn what_a_failing_step_stirs_up_does_not_bring_it_back_early() {
    let engine = Running::new().await;
    engine.world.lock().failing.push("Paint".into());
    let lamp = engine.home.lamp("a", json!({"color": "red"})).await;
    engine.seconds(100).await;
    engine.world.done();
    let (version, next) = (engine.home.store.resource_version(), engine.status("Lamp", "a").next_try_at);
    for _ in 0..50 {
        engine.world.tell(&Wake::Uid(lamp.uid().into()));
        engine.breathe().await;
    }
    engine.settle().await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.home.store.resource_version(), version, "nor is anything written");
    assert_eq!(engine.status("Lamp", "a").next_try_at, next);
    engine.patch("a", json!({"metadata": {"annotations": {POKED_AT: "now"}}})).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Paint a red"], "a person may ask for it");
}

#[tokio::test]
async fn a_wall_clock_that_jumps_moves_no_retry() {
    let engine = Running::new().await;
    engine.world.lock().failing.push("Paint".into());
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.seconds(100).await;
    engine.world.done();
    for wall in ["1970-01-01T00:00:00Z", "2199-01-01T00:00:00Z", "2026-11-29T12:00:00Z"] {
        engine.home.clock.set_wall(wall.parse::<Timestamp>().unwrap());
        engine.engine.wake_all();
        engine.settle().await;
        assert!(engine.world.done().is_empty(), "at {wall}");
    }
    assert!(!tries(&engine, 310).await.is_empty());
}

#[tokio::test]
async fn a_step_without_its_effect_has_failed() {
    let engine = Running::new().await;
    engine.world.lock().idle.push("Paint".into());
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    assert_eq!(engine.world.done(), ["Install a", "Paint a red"], "once, not again and again");
    assert_eq!(engine.verdict("a"), "Progressing EffectMissing");
    assert!(engine.intent("Lamp", "a").is_open());
    let status = engine.status("Lamp", "a");
    assert_eq!(status.differences[0].to_string(), "spec.color: seen grey, wanted red");
    engine.world.lock().idle.clear();
    engine.seconds(2).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn what_cannot_be_seen_is_not_touched() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine.world.lock().blind = true;
    engine.world.lock().bulbs.clear();
    engine.paint("a", "blue").await;
    engine.home.lamp("b", json!({"color": "red"})).await;
    let looks = engine.world.lock().looks;
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "Degraded CannotSee");
    assert_eq!(engine.status("Lamp", "a").message.as_deref(), Some("It is dark"));
    let more = engine.world.lock().looks - looks;
    assert!(more < 40, "{more} looks in ten minutes of darkness");
    engine.home.delete(key("Lamp", "a")).await.unwrap();
    engine.seconds(600).await;
    assert!(engine.home.store.get(&key("Lamp", "a")).is_some(), "what cannot be seen is not gone");
    engine.world.lock().blind = false;
    engine.seconds(301).await;
    assert!(engine.home.store.get(&key("Lamp", "a")).is_none());
    assert_eq!(engine.world.color("b").as_deref(), Some("red"));
}

#[tokio::test]
async fn with_a_backend_that_hangs_every_other_key_still_turns() {
    let engine = Running::new().await;
    for n in 0..8 {
        engine.world.lock().hung.push(format!("hung{n}"));
        engine.home.lamp(&format!("hung{n}"), json!({"color": "red"})).await;
    }
    engine.until("four hung looks", |engine| engine.world.lock().looks >= 4).await;
    engine.home.lamp("free", json!({"color": "red"})).await;
    for _ in 0..300 {
        engine.breathe().await;
        engine.home.clock.advance(Duration::from_secs(1));
        if engine.world.color("free").is_some() {
            break;
        }
    }
    assert_eq!(engine.world.color("free").as_deref(), Some("red"));
    engine.until("a verdict", |engine| engine.verdict("hung0") == "Degraded CannotSee").await;
    assert_eq!(
        engine.status("Lamp", "hung0").message.as_deref(),
        Some("Its backend did not answer within 30 s")
    );
}

#[tokio::test]
async fn a_key_that_comes_due_is_not_forgotten_while_the_worker_that_watched_it_is_away() {
    let engine = Running::new().await;
    for name in ["early", "late"] {
        engine.world.lock().failing.push("Paint".into());
        engine.home.lamp(name, json!({"color": "red"})).await;
        engine.seconds(5).await;
    }
    engine.world.lock().failing.clear();
    engine.world.lock().hung.push("early".into());
    for _ in 0..30 {
        engine.breathe().await;
        engine.home.clock.advance(Duration::from_millis(900));
    }
    assert_eq!(engine.world.color("late").as_deref(), Some("red"));
}

#[tokio::test]
async fn a_stop_gives_up_what_hangs() {
    let engine = Running::new().await;
    engine.world.lock().hung.push("a".into());
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.until("a hung look", |engine| engine.world.lock().looks >= 1).await;
    let clock = engine.home.clock.clone();
    let ends = engine.ended(false);
    tokio::pin!(ends);
    for _ in 0..20 {
        tokio::select! { biased;
            _ = &mut ends => return,
            () = async { for _ in 0..40_000 { tokio::task::yield_now().await } } => clock.advance(Duration::from_secs(1)),
        }
    }
    panic!("it did not end within 20 s");
}

#[tokio::test]
async fn an_engine_whose_store_was_closed_first_still_ends() {
    let engine = Running::new().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    engine.home.store.close().await;
    engine.breathe().await;
    engine.ended(false).await;
}
