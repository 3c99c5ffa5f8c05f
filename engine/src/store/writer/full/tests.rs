//! A disk without room, as SQLite tells it: the file may not grow.
#![expect(clippy::disallowed_methods, reason = "the writer works on a thread of SQLite's, in real time")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hearth_meta::{KindInfo, Scope};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clock::ManualClock;
use crate::object::{Key, Object};
use crate::store::room::{Room, Space};
use crate::store::{
    Beneath, ChangeKind, Deletion, EventQuery, Intent, OpenOptions, Preconditions, Query, Store, WriteError,
    WriteOptions,
};

fn kinds() -> Vec<KindInfo> {
    vec![KindInfo {
        has_status: true,
        ..KindInfo::plain("test.dev", "Lamp", ("Lamp", "Lamp"), Scope::Cluster)
    }]
}

fn lamp(name: &str, text: &str) -> Object {
    let lamp = json!({"apiVersion": "test.dev/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": {"text": text, "state": "Running"}});
    Object::from_value(lamp).unwrap()
}

fn person() -> WriteOptions {
    WriteOptions { actor: "admin".into(), source: WriteOptions::PEOPLE[0].into(), dry_run: false }
}

fn key(name: &str) -> Key {
    Key::new("Lamp", "", name)
}

struct Home {
    store: Store,
    clock: ManualClock,
    folder: TempDir,
}

impl Home {
    /// A home whose file may grow to `pages`.
    async fn confined(pages: u32) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
        let options = OpenOptions {
            data_dir: folder.path().to_owned(),
            kinds: kinds(),
            clock: Arc::new(clock.clone()),
        };
        let room = Room::new(folder.path(), Space::of);
        let mut opened = Store::open_with(options, room, Beneath::default()).await.unwrap();
        opened.writer.disk.confine(pages).await;
        Self { store: opened.start(), clock, folder }
    }

    /// Makes lamps until there is no room for another.
    async fn fill(&self) -> (usize, WriteError) {
        for n in 0.. {
            if let Err(error) =
                self.store.create(lamp(&format!("fill-{n}"), &"x".repeat(3000)), &person()).await
            {
                return (n, error);
            }
        }
        unreachable!("it is confined")
    }

    async fn reasons(&self) -> Vec<String> {
        let events = self.store.events(&EventQuery::default()).await.unwrap();
        events.into_iter().map(|event| event.note.reason).collect()
    }
}

fn intent(uid: &str) -> Intent {
    Intent {
        uid: uid.into(),
        epoch: 1,
        target: "x".repeat(40_000),
        step: "paint".into(),
        dangerous: false,
        opened_at: hearth_meta::Timestamp::UNIX_EPOCH,
        closed_at: None,
        last_applied: None,
    }
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_what_is_seen_is_served_and_written_once_there_is_room() {
    let home = Home::confined(60).await;
    let first = home.store.create(lamp("first", ""), &person()).await.unwrap();
    let ready = json!({"summary": "Ready"});
    home.store.update_status(&key("first"), first.uid(), ready).await.unwrap();
    let mut watch = home.store.watch(Query::of("Lamp"), None).unwrap();
    let (made, error) = home.fill().await;
    let WriteError::NoRoom(words) = &error else { panic!("{error:?}") };
    assert!(
        words.contains("is full") && words.contains(&home.folder.path().display().to_string()),
        "{words}"
    );
    assert_eq!(home.store.room().full.as_deref(), Some(words.as_str()));
    let before = home.store.resource_version();
    assert_eq!(before, 2 + made as u64, "what was refused has taken no version");
    let refused = home.store.put_intent(intent(first.uid())).await;
    assert!(
        matches!(refused, Err(WriteError::NoRoom(_))),
        "no step without its intent on record: {refused:?}"
    );

    // What is seen is told all the same, and to watchers too.
    let failed = json!({"summary": "Failed", "message": "x".repeat(50_000)});
    home.store.update_status(&key("first"), first.uid(), failed.clone()).await.unwrap();
    assert_eq!(home.store.get(&key("first")).unwrap().status(), &failed);
    assert_eq!(home.store.resource_version(), before, "nothing is down");
    let told = loop {
        let (kind, object) = watch.next().await.unwrap();
        if object.name() == "first" {
            break (kind, object);
        }
    };
    assert_eq!((told.0, told.1.status()), (ChangeKind::Modified, &failed));
}

/// A disk whose free space the test says.
static FREE: AtomicU64 = AtomicU64::new(0);

fn measured(_: &Path) -> std::io::Result<Space> {
    Ok(Space { free_bytes: FREE.load(Ordering::SeqCst), total_bytes: 1 << 40 })
}

#[tokio::test]
async fn below_the_floor_people_wish_for_nothing_new_and_everything_that_helps_goes_through() {
    FREE.store(1 << 39, Ordering::SeqCst);
    let folder = TempDir::new().unwrap();
    let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
    let options = OpenOptions { data_dir: folder.path().to_owned(), kinds: kinds(), clock: Arc::new(clock) };
    let store = Store::open_with(options, Room::new(folder.path(), measured), Beneath::default())
        .await
        .unwrap()
        .start();
    let home = Home { store, clock: ManualClock::new(hearth_meta::Timestamp::UNIX_EPOCH), folder };
    let store = &home.store;
    let made = store.create(lamp("a", &"x".repeat(500)), &person()).await.unwrap();
    store.create(lamp("b", ""), &person()).await.unwrap();
    FREE.store(3 << 20, Ordering::SeqCst);
    let refused = store.create(lamp("c", ""), &person()).await.unwrap_err();
    let by_file = WriteOptions { source: "manifests".into(), ..person() };
    let also = store.create(lamp("c", ""), &by_file).await;
    assert!(matches!(also, Err(WriteError::NoRoom(_))), "a file in a folder is a person's wish: {also:?}");
    let WriteError::NoRoom(words) = &refused else { panic!("{refused:?}") };
    assert!(words.contains("3 MiB free of 1024 GiB") && words.contains("64 MiB are free"), "{words}");
    let change = async |field: &'static str, value: Value| {
        let edit = move |old: &Object| {
            let mut value_of = old.to_value();
            match field {
                "pause" => value_of["metadata"]["annotations"]["hearth.dev/paused-until"] = value,
                field => value_of["spec"][field] = value,
            }
            Ok(Object::from_value(value_of).unwrap())
        };
        store.update(&key("a"), &person(), edit).await
    };
    let refused = change("text", "y".repeat(400).into()).await;
    assert!(matches!(refused, Err(WriteError::NoRoom(_))), "{refused:?}");
    // Pausing, stopping, what is seen, what is being done, what controllers make, and deleting.
    change("pause", "2026-11-30T00:00:00Z".into()).await.unwrap();
    change("state", "Stopped".into()).await.unwrap();
    store.update_status(&key("a"), made.uid(), json!({"summary": "Failed"})).await.unwrap();
    store.put_intent(intent(made.uid())).await.unwrap();
    store.create(lamp("child", ""), &WriteOptions::controller("lamp")).await.unwrap();
    store
        .delete(Deletion { key: key("b"), preconditions: Preconditions::default() }, &person())
        .await
        .unwrap();
    assert!(home.store.room().low.is_some() && home.store.room().full.is_none());
    FREE.store(1 << 39, Ordering::SeqCst);
    store.create(lamp("c", ""), &person()).await.unwrap();
    store.create(lamp("d", ""), &person()).await.unwrap();
    assert_eq!(home.reasons().await, ["DiskNearlyFull", "DiskHasRoom"]);
}

#[tokio::test]
async fn what_waited_for_room_is_written_by_itself() {
    let home = Home::confined(60).await;
    let first = home.store.create(lamp("first", ""), &person()).await.unwrap();
    home.fill().await;
    let seen = json!({"summary": "Failed", "message": "x".repeat(40_000)});
    home.store.update_status(&key("first"), first.uid(), seen.clone()).await.unwrap();
    let before = home.store.resource_version();
    assert!(home.store.inner.state.read().unwrap().unsaved.contains(&key("first")));
    // Somebody makes room, beside the store: as many pages as the disk had, again.
    let file = home.folder.path().join("store.db");
    make_room(&file).await;
    for _ in 0..200 {
        home.clock.advance(Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(20)).await;
        if home.store.resource_version() > before {
            break;
        }
    }
    assert_eq!(
        home.store.resource_version(),
        before + 1,
        "what was seen is down, under a version of its own"
    );
    assert_eq!(home.store.get(&key("first")).unwrap().status(), &seen);
    assert!(home.store.inner.state.read().unwrap().unsaved.is_empty());
    assert_eq!(home.store.room().full, None);
    home.store.create(lamp("small", ""), &person()).await.unwrap();
    let reasons = home.reasons().await;
    assert!(
        reasons.contains(&"DiskFull".to_owned()) && reasons.contains(&"DiskHasRoom".to_owned()),
        "{reasons:?}"
    );
}

/// Takes pages out of use, beside the store: those of objects that these tests have no more use for.
async fn make_room(file: &std::path::Path) {
    let mut other = crate::store::disk::connect(file, false).await.unwrap();
    for table in ["standing", "changes"] {
        let sql = format!("DELETE FROM {table} WHERE rv < 40");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut other).await.unwrap();
    }
}

/// A home without room, in which something that was seen waits for it, and then somebody makes room.
async fn waiting_with_room() -> (Home, Value) {
    let home = Home::confined(60).await;
    let first = home.store.create(lamp("first", ""), &person()).await.unwrap();
    home.fill().await;
    let seen = json!({"summary": "Failed", "message": "x".repeat(40_000)});
    home.store.update_status(&key("first"), first.uid(), seen.clone()).await.unwrap();
    let file = home.folder.path().join("store.db");
    make_room(&file).await;
    (home, seen)
}

#[tokio::test]
async fn whoever_keeps_asking_does_not_keep_the_store_full() {
    let (home, seen) = waiting_with_room().await;
    let mut asked = Duration::ZERO;
    while home.store.room().full.is_some() {
        assert!(asked < Duration::from_secs(5), "there is room, and it is still said to be full");
        home.clock.advance(Duration::from_secs(2));
        asked += Duration::from_secs(2);
        let name = format!("again-{}", asked.as_secs());
        let made = home.store.create(lamp(&name, ""), &person()).await;
        assert_eq!(made.is_ok(), home.store.room().full.is_none(), "{made:?}");
    }
    assert_eq!(home.store.get(&key("first")).unwrap().status(), &seen);
    assert!(home.store.inner.state.read().unwrap().unsaved.is_empty());
}

#[tokio::test]
async fn a_commit_that_finds_room_takes_along_what_waited_for_it() {
    let (home, _) = waiting_with_room().await;
    let made = home.store.create(lamp("child", ""), &WriteOptions::controller("lamp")).await;
    made.unwrap();
    // The writer goes on by itself after its answer, and no time passes.
    for _ in 0..200 {
        if home.store.room().full.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(home.store.room().full, None);
    assert!(home.store.inner.state.read().unwrap().unsaved.is_empty());
}

#[tokio::test]
async fn a_store_that_is_closed_writes_what_waited_for_room() {
    let (home, seen) = waiting_with_room().await;
    home.store.close().await;
    let options = OpenOptions {
        data_dir: home.folder.path().to_owned(),
        kinds: kinds(),
        clock: Arc::new(home.clock.clone()),
    };
    let store = Store::open(options).await.unwrap();
    assert_eq!(store.get(&key("first")).unwrap().status(), &seen);
    let events = store.events(&EventQuery::default()).await.unwrap();
    assert!(events.iter().any(|event| event.note.reason == "DiskFull"), "{events:?}");
}
