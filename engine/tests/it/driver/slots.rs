//! At most so many installs at once.

use serde_json::json;

use crate::running::Running;
use crate::toys::key;

async fn lamp(engine: &Running, name: &str) {
    engine.home.lamp(name, json!({"color": "red", "ways": ["slow", "slotted"]})).await;
    engine.until(name, |engine| engine.verdict(name).len() > 15).await;
    engine.breathe().await;
}

fn held(engine: &Running) -> usize {
    engine.engine.diagnostics()[0].slots_held
}

#[tokio::test]
async fn as_many_as_there_are_slots_and_the_rest_in_order() {
    let engine = Running::with_slots(2).await;
    engine.world.gate.send_replace(false);
    for name in ["d", "a", "c", "b"] {
        lamp(&engine, name).await;
    }
    assert_eq!(engine.world.done(), ["Install d", "Install a"]);
    assert_eq!((held(&engine), engine.verdict("c").as_str()), (2, "Waiting WaitingForInstallSlot"));
    engine.world.gate.send_replace(true);
    engine.settle().await;
    let order: Vec<_> = engine.world.done().into_iter().filter(|step| step.starts_with("Install")).collect();
    assert_eq!(order, ["Install c", "Install b"]);
    assert_eq!(held(&engine), 0);
    assert!(["a", "b", "c", "d"].iter().all(|name| engine.verdict(name) == "Ready InSync"));
}

#[tokio::test]
async fn a_slot_is_held_until_it_settles_and_freed_when_it_is_deleted_or_fails() {
    let engine = Running::with_slots(1).await;
    engine.world.lock().waits.insert("a".into(), None);
    lamp(&engine, "a").await;
    engine.settle().await;
    assert_eq!((held(&engine), engine.verdict("a").as_str()), (1, "Progressing Starting"));
    lamp(&engine, "b").await;
    lamp(&engine, "c").await;
    engine.seconds(100).await;
    assert_eq!(engine.verdict("b"), "Waiting WaitingForInstallSlot");
    // Before the slot is free: b takes it at once.
    engine.world.lock().failing.push("Install b".into());
    engine.home.delete(key("Lamp", "a")).await.unwrap();
    engine.settle().await;
    assert_eq!(engine.verdict("b"), "Progressing StepFailed");
    assert_eq!(engine.verdict("c"), "Ready InSync", "b has failed, so its slot is free until it tries again");
    engine.world.lock().failing.clear();
    engine.seconds(5).await;
    assert_eq!((held(&engine), engine.verdict("b").as_str()), (0, "Ready InSync"));
}

#[tokio::test]
async fn who_leaves_the_line_does_not_keep_the_others_from_their_turn() {
    let engine = Running::with_slots(1).await;
    engine.world.gate.send_replace(false);
    for name in ["a", "b", "c", "d"] {
        lamp(&engine, name).await;
    }
    engine
        .patch("b", json!({"metadata": {"annotations": {"hearth.dev/paused-until": "2026-11-29T13:00:00Z"}}}))
        .await;
    engine.home.delete(key("Lamp", "c")).await.unwrap();
    engine.until("c's end", |engine| engine.home.store.get(&key("Lamp", "c")).is_none()).await;
    engine.world.gate.send_replace(true);
    engine.settle().await;
    assert_eq!(engine.verdict("d"), "Ready InSync");
    assert_eq!((held(&engine), engine.verdict("b").as_str()), (0, "Paused Paused"));
}

#[tokio::test]
async fn what_is_under_way_after_a_restart_counts() {
    let engine = Running::with_slots(1).await;
    engine.world.lock().waits.insert("a".into(), None);
    lamp(&engine, "a").await;
    engine.settle().await;
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, Some(1));
    engine.settle().await;
    assert_eq!(held(&engine), 1);
    lamp(&engine, "b").await;
    engine.settle().await;
    assert_eq!(engine.verdict("b"), "Waiting WaitingForInstallSlot");
}
