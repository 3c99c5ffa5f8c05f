//! Claims: first come, first served, inside the write.

use hearth_engine::WriteError;
use hearth_meta::Claim;
use serde_json::{Value, json};

use crate::toys::{Home, key};

fn lamp(name: &str, room: &str) -> Value {
    json!({"kind": "Lamp", "metadata": {"name": name, "namespace": "den"}, "spec": {"color": "red", "room": room}})
}

fn holder(home: &Home, room: &str) -> Option<String> {
    let claim = Claim { space: "room", name: room.into(), field: "spec.room" };
    home.store.holder(&claim).map(|object| object.name().to_owned())
}

#[tokio::test]
async fn a_taken_name_is_refused_and_its_holder_named() {
    let home = Home::new().await;
    home.create(lamp("a", "hall")).await.unwrap();
    let Err(WriteError::Invalid(problems)) = home.create(lamp("b", "hall")).await else { panic!("taken") };
    let told = problems[0].to_string();
    assert!(told.contains("spec.room") && told.contains("\"hall\" is taken by Lamp den/a"), "{told}");
    assert!(home.store.get(&key("Lamp", "b")).is_none());
    home.patch(key("Lamp", "a"), json!({"spec": {"color": "blue"}})).await.unwrap();
    assert_eq!(holder(&home, "hall").as_deref(), Some("a"));
}

#[tokio::test]
async fn of_many_that_ask_at_once_one_gets_it() {
    let home = Home::new().await;
    let asked = (0..20).map(|n| home.create(lamp(&format!("l{n}"), "hall")));
    let got = futures::future::join_all(asked).await;
    assert_eq!(got.iter().filter(|result| result.is_ok()).count(), 1);
}

#[tokio::test]
async fn a_claim_goes_with_its_owner_and_not_before() {
    let home = Home::new().await;
    let made = home.create(lamp("a", "hall")).await.unwrap();
    home.delete(key("Lamp", "a")).await.unwrap();
    home.create(lamp("b", "hall")).await.unwrap_err();
    home.store.drop_finalizer(&key("Lamp", "a"), made.uid(), "hearth.dev/lamp").await.unwrap();
    assert_eq!(holder(&home, "hall"), None);
    home.create(lamp("b", "hall")).await.unwrap();
    assert_eq!(holder(&home, "hall").as_deref(), Some("b"));
}

#[tokio::test]
async fn what_one_gives_up_another_may_take_in_the_same_batch() {
    let home = Home::new().await;
    home.create(lamp("a", "hall")).await.unwrap();
    home.create(lamp("b", "attic")).await.unwrap();
    let (moved, taken, late) = tokio::join!(
        home.patch(key("Lamp", "a"), json!({"spec": {"room": "cellar"}})),
        home.patch(key("Lamp", "b"), json!({"spec": {"room": "hall"}})),
        home.create(lamp("c", "hall")),
    );
    moved.and(taken).unwrap();
    late.unwrap_err();
    assert_eq!(holder(&home, "hall").as_deref(), Some("b"));
    assert_eq!(holder(&home, "cellar").as_deref(), Some("a"));
    assert_eq!(holder(&home, "attic"), None);
}

#[tokio::test]
async fn a_write_that_is_refused_takes_and_frees_nothing() {
    let home = Home::new().await;
    home.create(lamp("a", "hall")).await.unwrap();
    let wrong = json!({"spec": {"room": "attic", "color": ""}});
    home.patch(key("Lamp", "a"), wrong).await.unwrap_err();
    assert_eq!((holder(&home, "hall").as_deref(), holder(&home, "attic")), (Some("a"), None));
    let home = home.reopened().await;
    assert_eq!(holder(&home, "hall").as_deref(), Some("a"));
}

#[tokio::test]
async fn what_is_left_open_is_chosen_among_the_free_and_stored() {
    let home = Home::new().await;
    home.create(lamp("a", "hall")).await.unwrap();
    let (b, c) = tokio::join!(home.create(lamp("b", "any")), home.create(lamp("c", "any")));
    assert_eq!(
        (b.unwrap().spec()["room"].clone(), c.unwrap().spec()["room"].clone()),
        ("attic".into(), "cellar".into())
    );
    let Err(WriteError::Invalid(problems)) = home.create(lamp("d", "any")).await else { panic!("taken") };
    assert!(problems[0].to_string().contains("every room is taken"));
}

#[tokio::test]
async fn a_claim_stands_while_statuses_change_and_moves_with_the_spec() {
    let home = Home::new().await;
    let made = home.create(lamp("a", "hall")).await.unwrap();
    for text in ["one", "two"] {
        home.store.update_status(&key("Lamp", "a"), made.uid(), json!({"text": text})).await.unwrap();
        assert_eq!(holder(&home, "hall").as_deref(), Some("a"));
    }
    home.patch(key("Lamp", "a"), json!({"spec": {"room": "attic"}})).await.unwrap();
    assert_eq!(holder(&home, "hall"), None);
    assert_eq!(holder(&home, "attic").as_deref(), Some("a"));
    assert_eq!(home.store.by_uid(made.uid()).unwrap().spec()["room"], "attic");
}
