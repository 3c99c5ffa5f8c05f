//! Many objects as one key.

use serde_json::{Value, json};

use crate::running::Running;
use crate::toys::key;

fn sign(name: &str, text: &str) -> Value {
    json!({"kind": "Sign", "metadata": {"name": name, "namespace": "den"}, "spec": {"text": text}})
}

#[tokio::test]
async fn changes_are_gathered_and_written_once() {
    let engine = Running::new().await;
    engine.seconds(1).await;
    engine.world.done();
    for n in 0..20 {
        engine.home.create(sign(&format!("s{n}"), "hello")).await.unwrap();
    }
    engine.seconds(1).await;
    assert_eq!(engine.world.done(), ["Write 20 signs"]);
    assert!((0..20).all(|n| engine.status("Sign", &format!("s{n}")).reason.unwrap().as_str() == "InSync"));
    engine.home.delete(key("Sign", "s0")).await.unwrap();
    engine.seconds(1).await;
    assert_eq!(engine.world.done(), ["Write 19 signs"]);
    assert!(engine.home.store.get(&key("Sign", "s0")).is_none());
    for n in 1..20 {
        engine.home.delete(key("Sign", &format!("s{n}"))).await.unwrap();
    }
    engine.seconds(1).await;
    assert_eq!(engine.world.done(), ["Write 0 signs"], "also down to none");
}

#[tokio::test]
async fn what_is_gone_goes_though_another_of_the_set_fails() {
    let engine = Running::new().await;
    engine.world.lock().idle.push("bad".into());
    for name in ["good", "bad", "old"] {
        engine.home.create(sign(name, "hello")).await.unwrap();
    }
    engine.seconds(1).await;
    engine.home.delete(key("Sign", "old")).await.unwrap();
    engine.seconds(400).await;
    assert!(engine.home.store.get(&key("Sign", "old")).is_none());
    assert!(engine.home.store.get(&key("Sign", "bad")).is_some());
}

#[tokio::test]
async fn a_set_with_an_object_that_cannot_be_read_is_not_touched() {
    let engine = Running::new().await;
    engine.home.create(sign("good", "hello")).await.unwrap();
    engine.seconds(1).await;
    engine.world.done();
    let mut odd = sign("odd", "hello");
    odd["spec"]["text"] = json!({"of": "a newer program"});
    engine.home.create(odd).await.unwrap();
    engine.home.patch(key("Sign", "good"), json!({"spec": {"text": "bye"}})).await.unwrap();
    engine.seconds(700).await;
    assert!(engine.world.done().is_empty(), "its own part would be taken for unwanted");
    let diagnostics = engine.engine.diagnostics();
    assert!(diagnostics[1].last_error.as_ref().unwrap().contains("does not fit"), "{diagnostics:?}");
    engine.home.patch(key("Sign", "odd"), json!({"spec": {"text": "mended"}})).await.unwrap();
    engine.seconds(1).await;
    assert_eq!(engine.world.done(), ["Write 2 signs"]);
}
