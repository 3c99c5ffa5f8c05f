//! What becomes of what an object owns when it is deleted.

use futures::FutureExt;
use hearth_engine::store::{Cascade, ChangeKind, Deletion, Preconditions, Watch};
use hearth_engine::{Object, Query};
use serde_json::{Value, json};

use crate::running::Running;
use crate::toys::{Home, key, owner, person};

/// A card with these owners; of each whether it waits for the card.
async fn card(home: &Home, name: &str, owners: &[(&Object, bool)], finalizers: &[&str]) -> Object {
    let owners: Vec<Value> = owners
        .iter()
        .map(|(object, blocks)| {
            let mut reference = owner(object);
            reference["blockOwnerDeletion"] = (*blocks).into();
            reference
        })
        .collect();
    let metadata =
        json!({"name": name, "namespace": "den", "ownerReferences": owners, "finalizers": finalizers});
    let made = home.create(json!({"kind": "Card", "metadata": metadata, "spec": {}})).await.unwrap();
    Object::clone(&made)
}

async fn delete(home: &Home, kind: &str, name: &str, cascade: Cascade) {
    let deletion = Deletion { key: key(kind, name), preconditions: Preconditions::default() };
    home.store.delete_with(deletion, cascade, &person()).await.unwrap();
}

async fn release(home: &Home, name: &str) {
    home.patch(key("Card", name), json!({"metadata": {"finalizers": null}})).await.unwrap();
}

fn standing(home: &Home) -> String {
    let listing = home.store.list(&Query::of("Card"));
    let shown = |card: &Object| format!("{}{}", card.name(), if card.is_going() { " goes" } else { "" });
    listing.items.iter().map(|card| shown(card)).collect::<Vec<_>>().join(", ")
}

/// The names of what went, in order.
fn gone(mut watch: Watch) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(Some((kind, object))) = watch.next().now_or_never() {
        if kind == ChangeKind::Deleted {
            names.push(object.name().to_owned());
        }
    }
    names
}

#[tokio::test]
async fn in_the_foreground_an_owner_waits_for_what_blocks_it_and_for_nothing_else() {
    let engine = Running::new().await;
    let home = &engine.home;
    let album = card(home, "album", &[], &[]).await;
    card(home, "cover", &[(&album, true)], &["test.dev/glue"]).await;
    card(home, "note", &[(&album, false)], &["test.dev/glue"]).await;
    card(home, "photo", &[(&album, true)], &[]).await;
    delete(home, "Card", "album", Cascade::Foreground).await;
    engine.settle().await;
    assert_eq!(standing(home), "album goes, cover goes, note goes");
    release(home, "cover").await;
    engine.settle().await;
    assert_eq!(standing(home), "note goes");
}

#[tokio::test]
async fn in_the_foreground_the_innermost_goes_first_also_after_a_crash() {
    let engine = Running::new().await;
    let watch = engine.home.store.watch(Query::of("Card"), None).unwrap();
    let album = card(&engine.home, "album", &[], &[]).await;
    let page = card(&engine.home, "page", &[(&album, true)], &[]).await;
    card(&engine.home, "photo", &[(&page, true)], &["test.dev/glue"]).await;
    delete(&engine.home, "Card", "album", Cascade::Foreground).await;
    engine.settle().await;
    assert_eq!(standing(&engine.home), "album goes, page goes, photo goes");
    let page = engine.home.store.get(&key("Card", "page")).unwrap();
    assert!(page.has_finalizer("foregroundDeletion"), "since it has something of its own");
    assert!(gone(watch).is_empty());
    let (home, world) = engine.ended(true).await;
    release(&home, "photo").await;
    let watch = home.store.watch(Query::of("Card"), None).unwrap();
    let engine = Running::over(home, world, None);
    engine.settle().await;
    assert_eq!(gone(watch), ["page", "album"]);
}

#[tokio::test]
async fn what_another_owner_keeps_is_let_go_of_and_stays() {
    let engine = Running::new().await;
    let home = &engine.home;
    let (album, frame) = (card(home, "album", &[], &[]).await, card(home, "frame", &[], &[]).await);
    card(home, "photo", &[(&album, true), (&frame, true)], &[]).await;
    delete(home, "Card", "album", Cascade::Foreground).await;
    engine.settle().await;
    assert_eq!(standing(home), "frame, photo");
    let photo = home.store.get(&key("Card", "photo")).unwrap();
    assert_eq!(photo.owners().collect::<Vec<_>>(), [frame.uid()]);
    // Where all its owners go, so does it.
    delete(home, "Card", "frame", Cascade::Foreground).await;
    engine.settle().await;
    assert_eq!(standing(home), "");
}

#[tokio::test]
async fn who_own_each_other_do_not_wait_for_each_other() {
    let engine = Running::new().await;
    let home = &engine.home;
    let one = card(home, "one", &[], &[]).await;
    let two = card(home, "two", &[(&one, true)], &[]).await;
    let mut reference = owner(&two);
    reference["blockOwnerDeletion"] = true.into();
    home.patch(key("Card", "one"), json!({"metadata": {"ownerReferences": [reference]}})).await.unwrap();
    delete(home, "Card", "one", Cascade::Foreground).await;
    engine.settle().await;
    assert_eq!(standing(home), "");
}

#[tokio::test]
async fn what_is_orphaned_stays_and_has_no_owner() {
    let engine = Running::new().await;
    let home = &engine.home;
    let (album, frame) = (card(home, "album", &[], &[]).await, card(home, "frame", &[], &[]).await);
    card(home, "a", &[(&album, true)], &[]).await;
    card(home, "b", &[(&album, false), (&frame, true)], &[]).await;
    delete(home, "Card", "album", Cascade::Orphan).await;
    engine.settle().await;
    assert_eq!(standing(home), "a, b, frame");
    assert_eq!(home.store.get(&key("Card", "a")).unwrap().metadata.owner_references, None);
    assert_eq!(home.store.get(&key("Card", "b")).unwrap().owners().collect::<Vec<_>>(), [frame.uid()]);
    engine.seconds(61).await;
    assert_eq!(standing(home), "a, b, frame", "nor does the sweep take them");
}

#[tokio::test]
async fn people_may_change_their_mind_while_it_is_still_there() {
    let engine = Running::new().await;
    let home = &engine.home;
    let album = card(home, "album", &[], &["test.dev/glue"]).await;
    card(home, "photo", &[(&album, true)], &["test.dev/glue"]).await;
    delete(home, "Card", "album", Cascade::Foreground).await;
    let since = home.store.get(&key("Card", "album")).unwrap().metadata.deletion_timestamp.clone();
    home.delete(key("Card", "album")).await.unwrap();
    let album = home.store.get(&key("Card", "album")).unwrap();
    assert!(album.has_finalizer("foregroundDeletion"), "who says nothing changes nothing");
    delete(home, "Card", "album", Cascade::Background).await;
    release(home, "album").await;
    let album = home.store.get(&key("Card", "album"));
    assert!(album.is_none(), "it waits for nobody any more, {since:?}");
    engine.settle().await;
    assert_eq!(standing(home), "photo goes");
}

#[tokio::test]
async fn a_controller_takes_down_its_own_before_the_rest_is_deleted_or_let_go_of() {
    for (cascade, left) in [(Cascade::Foreground, ""), (Cascade::Orphan, "shade")] {
        let engine = Running::new().await;
        let home = &engine.home;
        let lamp = home.lamp("a", json!({"color": "red"})).await;
        card(home, "shade", &[(&lamp, true)], &[]).await;
        engine.settle().await;
        engine.world.lock().failing.push("Remove".into());
        delete(home, "Lamp", "a", cascade).await;
        engine.settle().await;
        let shade = home.store.get(&key("Card", "shade")).unwrap();
        assert!(!shade.is_going() && shade.owners().count() == 1, "{cascade:?}: the lamp is not down yet");
        engine.world.lock().failing.clear();
        engine.seconds(600).await;
        assert!(home.store.get(&key("Lamp", "a")).is_none(), "{cascade:?}");
        assert_eq!(standing(home), left, "{cascade:?}");
    }
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_says_what_it_would_be_and_changes_nothing() {
    let home = Home::new().await;
    home.card("album").await;
    let version = home.store.resource_version();
    let deletion = Deletion { key: key("Card", "album"), preconditions: Preconditions::default() };
    let told = home.store.delete_with(deletion, Cascade::Orphan, &crate::toys::dry()).await.unwrap();
    assert!(told.is_going() && told.has_finalizer("orphan"));
    assert_eq!(home.store.resource_version(), version);
}

#[tokio::test]
async fn whose_something_is_may_be_said_by_label_only_of_what_is_near_or_was_said_before() {
    let home = Home::new().await;
    home.create(json!({"kind": "Namespace", "metadata": {"name": "attic"}})).await.unwrap();
    let label = |name: &str, namespace: &str, uid: &str| {
        let labels = json!({"hearth.dev/owner-uid": uid});
        json!({"kind": "Card", "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {}})
    };
    let album = home.card("album").await;
    home.create(label("photo", "den", album.uid())).await.unwrap();
    let refused = home.create(label("photo", "attic", album.uid())).await.unwrap_err().to_string();
    assert!(refused.contains("metadata.labels[hearth.dev/owner-uid]"), "{refused}");
    home.create(label("other", "den", "made-up")).await.unwrap_err();
    home.delete(key("Card", "album")).await.unwrap();
    home.patch(key("Card", "photo"), json!({"spec": {"n": 1}})).await.unwrap();
}
