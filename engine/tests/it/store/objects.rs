//! Making, changing and deleting objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Object, Query, WriteError, WriteOptions};
use serde_json::{Value, json};

use crate::toys::{Home, card, dry, key, object, owner, person};

fn problems(result: Result<Arc<Object>, WriteError>) -> Vec<String> {
    match result {
        Err(WriteError::Invalid(problems)) => problems.iter().map(ToString::to_string).collect(),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_new_object_is_given_its_identity_and_nothing_a_client_made_up() {
    let home = Home::new().await;
    let made = home
        .create(json!({
            "kind": "Lamp",
            "metadata": {
                "name": "a", "namespace": "den", "uid": "mine", "generation": 7, "resourceVersion": "99",
                "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 3
            },
            "spec": {"color": "red"}, "status": {"summary": "Ready"}
        }))
        .await
        .unwrap();
    assert_ne!(made.uid(), "mine");
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(made.resource_version(), 2);
    assert!(!made.is_going() && made.metadata.deletion_grace_period_seconds.is_none());
    assert!(made.status().is_null());
    assert_eq!(made.metadata.finalizers.as_deref(), Some(&["hearth.dev/lamp".to_owned()][..]));
    assert_eq!(home.store.get(&key("Lamp", "a")), Some(made.clone()));
    assert_eq!(home.store.by_uid(made.uid()), Some(made));
    let again = home.create(card("c")).await.and(home.create(card("c")).await);
    assert_eq!(again.unwrap_err(), WriteError::AlreadyExists(key("Card", "c")));
}

#[tokio::test]
async fn every_problem_is_told_at_once() {
    let home = Home::new().await;
    let told = problems(
        home.create(json!({
            "kind": "Lamp",
            "metadata": {"namespace": "nowhere", "ownerReferences": [
                {"apiVersion": "test.dev/v1", "kind": "Card", "name": "none", "uid": "u"}
            ]},
            "spec": {"color": ""}
        }))
        .await,
    );
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.iter().any(|p| p.contains("metadata.name")), "{told:?}");
    assert!(told.iter().any(|p| p.contains("\"nowhere\" does not exist; make it first")), "{told:?}");
    assert!(told.iter().any(|p| p.contains("ownerReferences[0]")), "{told:?}");
    assert!(told.iter().any(|p| p.contains("spec.color")), "{told:?}");
    problems(home.create(json!({"kind": "Ghost", "metadata": {"name": "g"}})).await);
    problems(home.create(json!({"kind": "Namespace", "metadata": {"name": "x", "namespace": "den"}})).await);
}

#[tokio::test]
async fn the_generation_counts_wishes_and_nothing_else() {
    let home = Home::new().await;
    let lamp = home.lamp("a", json!({"color": "red"})).await;
    let generation =
        async |patch: Value| home.patch(key("Lamp", "a"), patch).await.unwrap().metadata.generation.unwrap();
    assert_eq!(generation(json!({"metadata": {"labels": {"x": "y"}}})).await, 1);
    assert_eq!(generation(json!({"spec": {"color": "blue"}})).await, 2);
    assert_eq!(generation(json!({"status": {"summary": "Ready"}})).await, 2);
    let status = json!({"summary": "Waiting"});
    let seen = home.store.update_status(&key("Lamp", "a"), lamp.uid(), status.clone()).await.unwrap();
    assert_eq!((seen.metadata.generation, seen.status()), (Some(2), &status));
    assert_eq!(home.delete(key("Lamp", "a")).await.unwrap().metadata.generation, Some(3));
}

#[tokio::test]
async fn what_changes_nothing_is_no_write() {
    let home = Home::new().await;
    let lamp = home.lamp("a", json!({"color": "red"})).await;
    let status = json!({"summary": "Ready"});
    home.store.update_status(&key("Lamp", "a"), lamp.uid(), status.clone()).await.unwrap();
    let before = home.store.resource_version();
    home.store.update_status(&key("Lamp", "a"), lamp.uid(), status).await.unwrap();
    home.patch(key("Lamp", "a"), json!({"spec": {"color": "red"}})).await.unwrap();
    home.store.drop_finalizer(&key("Lamp", "a"), lamp.uid(), "not/there").await.unwrap();
    home.store.drop_finalizer(&key("Lamp", "none"), "u", "not/there").await.unwrap();
    assert_eq!(home.store.resource_version(), before);
    assert_eq!(home.store.history(&key("Lamp", "a")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn nobody_can_change_who_an_object_is() {
    let home = Home::new().await;
    let lamp = home.lamp("a", json!({"color": "red"})).await;
    let patch = json!({
        "kind": "Card", "metadata": {"name": "b", "creationTimestamp": null, "deletionTimestamp": "2001-01-01T00:00:00Z"},
        "status": {"summary": "Ready"}
    });
    let after = home.patch(key("Lamp", "a"), patch).await.unwrap();
    assert_eq!(after, lamp);
    let made_anew = home.patch(key("Lamp", "a"), json!({"metadata": {"uid": "other"}})).await;
    assert!(matches!(made_anew, Err(WriteError::Conflict(_))), "{made_anew:?}");
    let stale = home.store.update_status(&key("Lamp", "a"), "other", json!({})).await;
    assert_eq!(stale.unwrap_err(), WriteError::NotFound(key("Lamp", "a")));
}

#[tokio::test]
async fn changes_of_one_status_at_the_same_time_all_count() {
    let home = Home::new().await;
    home.lamp("a", json!({"color": "red"})).await;
    let (at, now) = (key("Lamp", "a"), WriteOptions::default());
    let one_more = |old: &Object| Ok(json!({ "n": old.status()["n"].as_i64().unwrap_or(0) + 1 }));
    let all = futures::future::join_all((0..40).map(|_| home.store.change_status(&at, &now, one_more))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(home.store.get(&at).unwrap().status()["n"], 40);
    let tried = home.store.change_status(&at, &dry(), one_more).await.unwrap();
    assert_eq!(tried.status()["n"], 41);
    assert_eq!(home.store.get(&at).unwrap().status()["n"], 40);
    let refused = home.store.change_status(&at, &now, |_| Err(WriteError::Conflict("no".into()))).await;
    assert_eq!(refused.unwrap_err(), WriteError::Conflict("no".into()));
}

#[tokio::test]
async fn a_change_is_made_to_how_the_object_stands_at_that_moment() {
    let home = Arc::new(Home::new().await);
    home.card("a").await;
    let adds = (0..64).map(|_| {
        let home = home.clone();
        tokio::spawn(async move {
            let add = |old: &Object| {
                let mut value = old.to_value();
                value["spec"]["n"] = (value["spec"]["n"].as_i64().unwrap() + 1).into();
                Ok(object(value))
            };
            home.store.update(&key("Card", "a"), &person(), add).await.unwrap();
        })
    });
    futures::future::join_all(adds.collect::<Vec<_>>()).await;
    let card = home.store.get(&key("Card", "a")).unwrap();
    assert_eq!((card.spec()["n"].as_i64(), card.metadata.generation), (Some(64), Some(65)));
    assert_eq!(home.store.history(&key("Card", "a")).await.unwrap().len(), 65);
}

#[tokio::test]
async fn a_writer_that_read_an_older_version_is_refused() {
    let home = Home::new().await;
    let read = home.card("a").await;
    home.patch(key("Card", "a"), json!({"spec": {"n": 1}})).await.unwrap();
    let expected = read.resource_version();
    let change = move |old: &Object| match old.resource_version() == expected {
        true => Ok(old.clone()),
        false => Err(WriteError::Conflict("it has changed".into())),
    };
    let refused = home.store.update(&key("Card", "a"), &person(), change).await;
    assert!(matches!(refused, Err(WriteError::Conflict(_))), "{refused:?}");
    let preconditions = Preconditions { uid: None, resource_version: read.metadata.resource_version.clone() };
    let deletion = Deletion { key: key("Card", "a"), preconditions };
    let refused = home.store.delete(deletion, &person()).await;
    assert!(matches!(refused, Err(WriteError::Conflict(_))), "{refused:?}");
    let preconditions = Preconditions { uid: Some("other".into()), resource_version: None };
    let refused = home.store.delete(Deletion { key: key("Card", "a"), preconditions }, &person()).await;
    assert!(matches!(refused, Err(WriteError::Conflict(_))), "{refused:?}");
}

#[tokio::test]
async fn with_finalizers_it_stays_marked_and_without_it_never_lingers() {
    let home = Home::new().await;
    home.card("plain").await;
    home.delete(key("Card", "plain")).await.unwrap();
    assert!(home.store.get(&key("Card", "plain")).is_none());
    let lamp = home.lamp("a", json!({"color": "red"})).await;
    assert!(home.delete(key("Lamp", "a")).await.unwrap().is_going());
    let version = home.store.resource_version();
    assert!(home.delete(key("Lamp", "a")).await.unwrap().is_going(), "asking twice is asking once");
    assert_eq!(home.store.resource_version(), version);
    let more = home.patch(key("Lamp", "a"), json!({"metadata": {"finalizers": ["hearth.dev/lamp", "late"]}}));
    assert_eq!(more.await.unwrap().metadata.finalizers.as_ref().map(Vec::len), Some(1), "none may join now");
    home.store.drop_finalizer(&key("Lamp", "a"), "of another", "hearth.dev/lamp").await.unwrap();
    assert!(home.store.get(&key("Lamp", "a")).is_some());
    home.store.drop_finalizer(&key("Lamp", "a"), lamp.uid(), "hearth.dev/lamp").await.unwrap();
    assert!(home.store.get(&key("Lamp", "a")).is_none() && home.store.by_uid(lamp.uid()).is_none());
    home.lamp("b", json!({"color": "red"})).await;
    home.delete(key("Lamp", "b")).await.unwrap();
    home.patch(key("Lamp", "b"), json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(home.store.get(&key("Lamp", "b")).is_none(), "a person may free what is stuck");
}

#[tokio::test]
async fn an_object_that_stays_keeps_the_finalizers_of_its_kind() {
    let home = Home::new().await;
    home.lamp("a", json!({"color": "red"})).await;
    let patch = json!({"metadata": {"finalizers": null}, "spec": {"color": "blue"}});
    let after = home.patch(key("Lamp", "a"), patch).await.unwrap();
    assert_eq!(after.metadata.finalizers.as_deref(), Some(&["hearth.dev/lamp".to_owned()][..]));
}

#[tokio::test]
async fn a_namespace_goes_only_when_it_is_empty_counting_what_the_same_batch_does() {
    let home = Home::new().await;
    home.card("a").await;
    assert!(matches!(home.delete(key("Namespace", "den")).await, Err(WriteError::Conflict(_))));
    // Both are asked for before the writer runs, so they share a batch.
    let (gone, den) = tokio::join!(home.delete(key("Card", "a")), home.delete(key("Namespace", "den")));
    gone.and(den).unwrap();
    let late = home.create(card("b")).await;
    assert!(problems(late)[0].contains("does not exist"));
    home.create(json!({"kind": "Namespace", "metadata": {"name": "den", "finalizers": ["x"]}}))
        .await
        .unwrap();
    let (made, den) = tokio::join!(home.create(card("b")), home.delete(key("Namespace", "den")));
    made.unwrap();
    assert!(matches!(den, Err(WriteError::Conflict(_))), "what the batch just made is in it");
    home.delete(key("Card", "b")).await.and(home.delete(key("Namespace", "den")).await).unwrap();
    assert!(problems(home.create(card("c")).await)[0].contains("is being deleted"));
}

#[tokio::test]
async fn owners_must_exist_when_they_are_named_and_may_go_later() {
    let home = Home::new().await;
    let boss = home.card("boss").await;
    let mut child = card("child");
    child["metadata"]["ownerReferences"] = json!([owner(&boss)]);
    home.create(child).await.unwrap();
    assert_eq!(home.store.owned_by(boss.uid()).len(), 1);
    home.delete(key("Card", "boss")).await.unwrap();
    // A change elsewhere must not be refused for it.
    home.patch(key("Card", "child"), json!({"spec": {"n": 5}})).await.unwrap();
    let refs =
        json!([owner(&boss), {"apiVersion": "test.dev/v1", "kind": "Card", "name": "child", "uid": "no"}]);
    let refused = home.patch(key("Card", "child"), json!({"metadata": {"ownerReferences": refs}})).await;
    assert!(problems(refused)[0].contains("ownerReferences[1]"));
    home.create(json!({"kind": "Namespace", "metadata": {"name": "far"}})).await.unwrap();
    let elsewhere = json!({"kind": "Card", "metadata": {"name": "x", "namespace": "far",
        "ownerReferences": [owner(&home.store.get(&key("Card", "child")).unwrap())]}, "spec": {}});
    assert!(problems(home.create(elsewhere).await)[0].contains("does not exist"));
}

#[tokio::test]
async fn a_dry_run_answers_like_a_write_and_leaves_no_trace() {
    let home = Home::new().await;
    home.lamp("a", json!({"color": "red", "room": "hall"})).await;
    let (version, all, rows) = (home.store.resource_version(), home.store.all(), home.rows().await);
    let value = json!({"kind": "Lamp", "metadata": {"name": "b", "namespace": "den"}, "spec": {"color": "red", "room": "any"}});
    let tried = home.store.create(object(value.clone()), &dry()).await.unwrap();
    assert_eq!(tried.spec()["room"], "attic");
    let change = |old: &Object| {
        let mut value = old.to_value();
        value["spec"]["room"] = "attic".into();
        Ok(object(value))
    };
    let tried = home.store.update(&key("Lamp", "a"), &dry(), change).await.unwrap();
    assert_eq!((tried.metadata.generation, tried.resource_version()), (Some(2), 2));
    let deletion = Deletion { key: key("Lamp", "a"), preconditions: Preconditions::default() };
    assert!(home.store.delete(deletion, &dry()).await.unwrap().is_going());
    let taken = json!({"kind": "Lamp", "metadata": {"name": "c", "namespace": "den"},
        "spec": {"color": "red", "room": "hall"}});
    problems(home.store.create(object(taken), &dry()).await);
    assert_eq!((home.store.resource_version(), home.store.all()), (version, all));
    assert_eq!(home.rows().await, rows, "no row of the file");
    assert_eq!(home.create(value).await.unwrap().spec()["room"], "attic", "the dry run took no room");
}

#[tokio::test]
async fn a_panic_in_a_change_costs_that_write_alone_and_a_change_may_read_the_store() {
    let home = Home::new().await;
    home.card("a").await;
    let (of_a, options) = (key("Card", "a"), person());
    let panics = home.store.update(&of_a, &options, |_| panic!("a bug"));
    let (panicked, other) = tokio::join!(panics, home.create(card("b")));
    assert!(matches!(panicked, Err(WriteError::Storage(words)) if words.contains("a bug")));
    assert_eq!(other.unwrap().resource_version(), 3, "no version is lost");
    let (store, reads) = (home.store.clone(), Arc::new(AtomicUsize::new(0)));
    let count = reads.clone();
    let change = move |old: &Object| {
        count.store(store.list(&Query::of("Card")).items.len(), Ordering::Relaxed);
        Ok(old.clone())
    };
    home.store.update(&key("Card", "a"), &WriteOptions::controller("x"), change).await.unwrap();
    assert_eq!(reads.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_list_of_one_namespace_holds_all_of_it_and_nothing_of_its_neighbours() {
    let home = Home::new().await;
    for namespace in ["de", "den-2", "deo"] {
        home.create(json!({"kind": "Namespace", "metadata": {"name": namespace}})).await.unwrap();
    }
    for (namespace, name) in [("de", "z"), ("den", "a"), ("den", "b"), ("den-2", "a"), ("deo", "a")] {
        let card = json!({"kind": "Card", "metadata": {"name": name, "namespace": namespace}, "spec": {"text": "x"}});
        home.create(card).await.unwrap();
    }
    let names = |query: &Query| -> Vec<String> {
        home.store.list(query).items.iter().map(|object| object.key().to_string()).collect()
    };
    assert_eq!(names(&Query::of("Card").within("den")), ["Card den/a", "Card den/b"]);
    assert_eq!(names(&Query::of("Card").within("nowhere")), [] as [&str; 0]);
    assert_eq!(names(&Query::of("Card")).len(), 5);
}
