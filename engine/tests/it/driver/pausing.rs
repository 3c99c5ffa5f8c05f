//! Pauses of a namespace and of the whole home.

use hearth_engine::pause;
use hearth_meta::labels::{PAUSED_UNTIL, SYSTEM};
use serde_json::{Value, json};

use crate::running::Running;
use crate::toys::key;

async fn home() -> Running {
    let engine = Running::new().await;
    engine.home.create(json!({"kind": "Namespace", "metadata": {"name": SYSTEM}})).await.unwrap();
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.home.lamp("well", json!({"color": "red"})).await;
    engine.settle().await;
    engine.world.done();
    engine
}

async fn pause(engine: &Running, namespace: &str, until: Value) {
    let order = json!({"metadata": {"annotations": {PAUSED_UNTIL: until}}});
    engine.home.patch(key("Namespace", namespace), order).await.unwrap();
    engine.settle().await;
}

#[tokio::test]
async fn a_paused_home_repairs_nothing_and_tells_the_truth_until_its_time_is_over() {
    let engine = home().await;
    pause(&engine, SYSTEM, "2026-11-29T13:00:00Z".into()).await;
    assert_eq!(pause::standing(&engine.home.store)[0].namespace, SYSTEM);
    engine.world.paint("a", "green");
    engine.home.lamp("new", json!({"color": "blue"})).await;
    let lineage = engine.home.store.lineage().to_owned();
    engine.world.screw_in("lost", "of nobody", &lineage);
    engine.seconds(600).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("a"), "Paused Paused");
    assert_eq!(engine.verdict("new"), "Paused Paused");
    assert_eq!(engine.verdict("well"), "Ready InSync", "there is nothing to hold");
    let status = engine.status("Lamp", "a");
    assert_eq!(status.differences[0].to_string(), "spec.color: seen green, wanted red");
    // It survives the process, and what goes on meanwhile is seen.
    let (home, world) = engine.ended(true).await;
    let engine = Running::over(home, world, None);
    engine.world.paint("well", "blue");
    engine.seconds(120).await;
    assert!(engine.world.done().is_empty());
    assert_eq!(engine.verdict("well"), "Paused Paused");
    engine.seconds(3000).await;
    let mut done = engine.world.done();
    done.sort();
    assert_eq!(done, ["Collect lost", "Install new", "Paint a red", "Paint new blue", "Paint well red"]);
    assert!(pause::standing(&engine.home.store).is_empty(), "it ended by itself");
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_paused_home_goes_on_at_once_when_a_person_says_so() {
    let engine = home().await;
    pause(&engine, SYSTEM, "2026-11-29T20:00:00Z".into()).await;
    engine.world.paint("a", "green");
    engine.seconds(120).await;
    assert!(engine.world.done().is_empty());
    pause(&engine, SYSTEM, Value::Null).await;
    assert_eq!(engine.world.done(), ["Paint a red"]);
}

#[tokio::test]
async fn a_paused_namespace_holds_what_is_in_it_and_nothing_else() {
    let engine = home().await;
    engine.home.create(json!({"kind": "Namespace", "metadata": {"name": "attic"}})).await.unwrap();
    let other = json!({"kind": "Lamp", "metadata": {"name": "other", "namespace": "attic"}, "spec": {"color": "red"}});
    engine.home.create(other).await.unwrap();
    engine.settle().await;
    engine.world.done();
    pause(&engine, "den", "2026-11-29T12:30:00Z".into()).await;
    engine.world.paint("a", "green");
    engine.world.paint("other", "green");
    engine.seconds(600).await;
    assert_eq!(engine.world.done(), ["Paint other red"]);
    assert_eq!(engine.verdict("a"), "Paused Paused");
    engine.seconds(1300).await;
    assert_eq!(engine.world.done(), ["Paint a red"], "once its time is over");
}
