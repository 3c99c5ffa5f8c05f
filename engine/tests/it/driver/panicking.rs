//! A controller with a bug.

use serde_json::json;

use crate::running::Running;

#[tokio::test]
async fn a_panic_costs_a_turn_and_never_a_worker() {
    for place in ["observe", "plan", "act", "status", "survey"] {
        let engine = Running::new().await;
        engine.world.lock().panics.push(place);
        // More than there are workers.
        for n in 0..6 {
            engine.home.lamp(&format!("l{n}"), json!({"color": "red"})).await;
        }
        engine.seconds(30).await;
        let turns = engine.engine.diagnostics()[0].turns;
        assert!(turns < 150, "{place}: {turns} turns in 30 s, it must back off");
        if ["observe", "plan", "act"].contains(&place) {
            assert_eq!(engine.verdict("l0"), "Degraded CannotSee", "{place}");
            let message = engine.status("Lamp", "l0").message.unwrap();
            assert!(message.contains(&format!("a bug in {place}")), "{message}");
        }
        let told = engine.engine.diagnostics()[0].last_error.clone().unwrap();
        assert!(told.contains(&format!("a bug in {place}")), "{told}");
        engine.world.lock().panics.clear();
        engine.seconds(60).await;
        assert!((0..6).all(|n| engine.verdict(&format!("l{n}")) == "Ready InSync"), "{place}");
    }
}

#[tokio::test]
async fn a_panic_in_a_slow_step_is_a_failure_of_it() {
    let engine = Running::new().await;
    engine.world.lock().panics.push("act");
    engine.home.lamp("a", json!({"color": "red", "ways": ["slow"]})).await;
    engine.seconds(10).await;
    assert_eq!(engine.verdict("a"), "Failed StepFailed");
    assert_eq!(engine.engine.diagnostics()[0].slow_steps, 0);
    engine.world.lock().panics.clear();
    engine.seconds(30).await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
}

#[tokio::test]
async fn a_panic_in_a_trigger_leaves_nobody_deaf() {
    let engine = Running::new().await;
    let broken = json!({"kind": "Secret", "metadata": {"name": "broken", "namespace": "den"}, "data": {}});
    engine.home.create(broken).await.unwrap();
    engine.settle().await;
    engine.home.lamp("a", json!({"color": "red"})).await;
    engine.settle().await;
    assert_eq!(engine.verdict("a"), "Ready InSync");
}
