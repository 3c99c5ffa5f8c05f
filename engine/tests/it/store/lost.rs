//! A store that was lost: looked at without a change, founded anew, its objects brought back as they were.
#![expect(clippy::disallowed_methods, reason = "files of the store are lost and damaged")]

use hearth_engine::store::{Examined, Founding, OpenError, examine, found};
use hearth_engine::{ManualClock, Object, Store, WriteError, WriteOptions};
use serde_json::json;
use tempfile::TempDir;

use crate::toys::{Home, key, options};

fn founding(uids: Vec<(hearth_engine::Key, String)>) -> Founding {
    Founding { lineage: "home".into(), resource_version: 500, observe_only: "It was rebuilt".into(), uids }
}

/// A store in a folder where one was lost.
async fn founded(uids: Vec<(hearth_engine::Key, String)>) -> Home {
    let folder = TempDir::new().unwrap();
    let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
    found(folder.path(), &founding(uids)).await.unwrap();
    let store = Store::open(options(&folder, &clock)).await.unwrap();
    let home = Home { store, clock, folder };
    home.create(json!({"kind": "Namespace", "metadata": {"name": "den"}})).await.unwrap();
    home
}

fn lamp(name: &str, uid: &str) -> Object {
    let lamp = json!({
        "apiVersion": "test.dev/v1", "kind": "Lamp",
        "metadata": {"name": name, "namespace": "den", "uid": uid, "generation": 7},
        "spec": {"color": "red"}, "status": {"summary": "Ready"},
    });
    Object::from_value(lamp).unwrap()
}

#[tokio::test]
async fn a_founded_store_is_of_the_old_lineage_past_every_version_and_only_looked_at() {
    let home = founded(Vec::new()).await;
    assert_eq!(home.store.lineage(), "home");
    assert!(home.store.opened_at() > 500 && home.store.resource_version() > 501);
    assert_eq!(home.store.observe_only().as_deref(), Some("It was rebuilt"));
    let home = home.reopened().await;
    assert_eq!(home.store.observe_only().as_deref(), Some("It was rebuilt"));
    home.store.accept("admin").await.unwrap();
    let home = home.reopened().await;
    assert_eq!((home.store.observe_only(), home.store.lineage()), (None, "home"));
    let again = found(home.folder.path(), &founding(Vec::new())).await;
    assert!(matches!(again, Err(OpenError::InUse(_))), "{again:?}");
    home.store.close().await;
    let again = found(home.folder.path(), &founding(Vec::new())).await;
    assert!(
        matches!(again, Err(OpenError::File { .. })),
        "a store that stands is never founded anew: {again:?}"
    );
}

#[tokio::test]
async fn an_object_comes_back_with_its_uid_its_generation_and_its_status() {
    let home = founded(Vec::new()).await;
    let options = WriteOptions::default();
    let back = home.store.restore(lamp("a", "u-1"), &options).await.unwrap();
    assert_eq!((back.uid(), back.metadata.generation), ("u-1", Some(7)));
    assert_eq!(back.status()["summary"], "Ready");
    assert_eq!(back.metadata.finalizers.as_deref(), Some(&["hearth.dev/lamp".to_owned()][..]));
    let again = home.store.restore(lamp("a", "u-1"), &options).await;
    assert!(matches!(again, Err(WriteError::AlreadyExists(_))), "{again:?}");
    let twin = home.store.restore(lamp("b", "u-1"), &options).await;
    assert!(matches!(twin, Err(WriteError::Conflict(_))), "one uid, one object: {twin:?}");
    let nobody = home.store.restore(lamp("c", ""), &options).await;
    assert!(matches!(nobody, Err(WriteError::Invalid(_))), "{nobody:?}");
    let home = home.reopened().await;
    assert_eq!(home.store.get(&key("Lamp", "a")).unwrap().uid(), "u-1");
}

#[tokio::test]
async fn a_remembered_uid_is_taken_up_once_by_whoever_has_its_name() {
    let home = founded(vec![(key("Lamp", "a"), "u-1".into()), (key("Card", "b"), "u-2".into())]).await;
    assert!(home.store.is_remembered("u-1") && home.store.is_remembered("u-2"));
    let other = home.lamp("other", json!({"color": "red"})).await;
    assert_ne!(other.uid(), "u-1");
    let home = home.reopened().await;
    assert_eq!(home.lamp("a", json!({"color": "red"})).await.uid(), "u-1");
    assert!(!home.store.is_remembered("u-1"), "it has its object");
    home.delete(key("Lamp", "a")).await.unwrap();
    home.store.drop_finalizer(&key("Lamp", "a"), "u-1", "hearth.dev/lamp").await.unwrap();
    assert_ne!(home.lamp("a", json!({"color": "red"})).await.uid(), "u-1", "a new object is another one");
    home.store.forget("u-2").await.unwrap();
    let home = home.reopened().await;
    assert_eq!(home.store.remembered(), Vec::new());
}

#[tokio::test]
async fn a_lineage_that_was_adopted_stays_adopted() {
    let home = founded(Vec::new()).await;
    assert!(!home.store.is_adopted("den"));
    home.store.adopt_lineage("den").await.unwrap();
    let home = home.reopened().await;
    assert!(home.store.is_adopted("den") && !home.store.is_adopted("home"));
}

#[tokio::test]
async fn a_store_is_looked_at_without_a_change_and_every_fault_is_told_apart() {
    let home = Home::new().await;
    home.card("a").await;
    let path = |name: &str| home.folder.path().join(name);
    let in_use = examine(home.folder.path()).await;
    assert!(matches!(in_use, Err(OpenError::InUse(_))), "{in_use:?}");
    let whole = path("whole");
    home.store.copy_to(&whole).await.unwrap();
    let (lineage, version) = (home.store.lineage().to_owned(), home.store.resource_version());
    home.store.close().await;
    let seen = examine(home.folder.path()).await.unwrap().unwrap();
    let mark = Some((lineage.clone(), version));
    assert_eq!(seen, Examined { lineage, resource_version: version, observe_only: None, mark });

    let bytes = std::fs::read(&whole).unwrap();
    let with = async |name: &str, bytes: &[u8]| {
        for journal in ["store.db-wal", "store.db-shm"] {
            let _ = std::fs::remove_file(path(journal));
        }
        std::fs::write(path(name), bytes).unwrap();
        examine(home.folder.path()).await
    };
    let cut = with("store.db", &bytes[..bytes.len() / 2]).await;
    assert!(cut.as_ref().is_err_and(OpenError::is_damage), "{cut:?}");
    let text =
        with("store.db", "not a database, and long enough to be read as one".repeat(100).as_bytes()).await;
    assert!(text.as_ref().is_err_and(OpenError::is_damage), "{text:?}");
    let empty = with("store.db", b"").await;
    assert!(matches!(empty, Err(OpenError::Missing { .. })), "{empty:?}");
    with("store.db", &bytes).await.unwrap().unwrap();
    let key = std::fs::read(path("store.key")).unwrap();
    let wrong = with("store.key", &[1; 32]).await;
    assert!(matches!(wrong, Err(OpenError::Key { .. })), "{wrong:?}");
    let behind = format!("{} {:020}\n", seen.lineage, version + 5);
    with("store.key", &key).await.unwrap();
    let behind = with("high-water", behind.as_bytes()).await.unwrap().unwrap();
    assert!(behind.observe_only.unwrap().contains("5 changes"));
    let nothing = TempDir::new().unwrap();
    assert_eq!(examine(nothing.path()).await.unwrap(), None);
}
