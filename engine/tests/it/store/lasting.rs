//! What was acknowledged lasts: over an end without a word, kill -9, and wrong files.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests look into the store's files, spoil them, and kill their process"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use hearth_engine::store::OpenError;
use hearth_engine::{ManualClock, Query, Store, WriteError};
use serde_json::json;
use sqlx::{Connection, Executor, SqliteConnection};
use tempfile::TempDir;

use crate::toys::{Home, card, key, object, options, person};

#[tokio::test]
async fn a_closed_store_opens_as_it_was() {
    let home = Home::new().await;
    home.lamp("a", json!({"color": "red", "room": "hall"})).await;
    home.card("c").await;
    home.delete(key("Card", "c")).await.unwrap();
    let (all, lineage) = (home.store.all(), home.store.lineage().to_owned());
    home.store.close().await;
    assert_eq!(home.create(card("d")).await.unwrap_err(), WriteError::Closed);
    let store = Store::open(options(&home.folder, &home.clock)).await.unwrap();
    assert_eq!((store.all(), store.lineage()), (all, lineage.as_str()));
    assert_eq!(store.resource_version(), 4, "also where the newest change was a deletion");
}

#[tokio::test]
async fn only_one_process_has_it_open() {
    let home = Home::new().await;
    let second = Store::open(options(&home.folder, &home.clock)).await;
    assert!(matches!(second.err(), Some(OpenError::InUse(_))));
}

/// As who looks into the file with a tool, and leaves a transaction open.
#[tokio::test]
async fn while_another_program_holds_the_file_writes_wait_and_then_are_refused_and_none_is_half_made() {
    let home = Home::new().await;
    let file = home.folder.path().join("store.db");
    let mut other = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let (waits, ()) = tokio::join!(home.create(card("soon")), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        other.execute("COMMIT").await.unwrap();
    });
    waits.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let refused = home.create(card("never")).await.unwrap_err();
    assert!(matches!(&refused, WriteError::Storage(why) if why.contains("locked")), "{refused:?}");
    assert!(
        home.store.get(&key("Card", "never")).is_none() && home.store.get(&key("Card", "soon")).is_some()
    );
    other.execute("ROLLBACK").await.unwrap();
    home.create(card("later")).await.unwrap();
    other.close().await.unwrap();
    let (before, home) = (home.store.all(), home.reopened().await);
    assert_eq!(home.store.all(), before);
    assert!(home.store.get(&key("Card", "never")).is_none());
}

async fn refusal(what: &str, spoil: impl AsyncFnOnce(&TempDir)) -> OpenError {
    let home = Home::new().await;
    home.store.close().await;
    let Home { store, clock, folder } = home;
    drop(store);
    spoil(&folder).await;
    let refused = Store::open(options(&folder, &clock)).await;
    refused.err().unwrap_or_else(|| panic!("{what}: it must not open"))
}

/// Puts something else in the place of the file and of its log.
fn replace(folder: &TempDir, content: &str) {
    for beside in ["store.db-wal", "store.db-shm"] {
        // There only until the last connection has closed.
        let _ = std::fs::remove_file(folder.path().join(beside));
    }
    std::fs::write(folder.path().join("store.db"), content).unwrap();
}

#[tokio::test]
async fn what_cannot_be_read_never_looks_like_a_new_store() {
    let spoiled = refusal("no file", async |folder: &TempDir| {
        std::fs::remove_file(folder.path().join("store.db")).unwrap();
    });
    assert!(matches!(spoiled.await, OpenError::Missing { .. }));
    let spoiled = refusal("no key", async |folder: &TempDir| {
        std::fs::remove_file(folder.path().join("store.key")).unwrap();
    });
    assert!(matches!(spoiled.await, OpenError::File { .. }));
    let spoiled = refusal("another key", async |folder: &TempDir| {
        std::fs::write(folder.path().join("store.key"), [7; 32]).unwrap();
    });
    assert!(matches!(spoiled.await, OpenError::Key { .. }), "a key of another store");
    let spoiled = refusal("not a database", async |folder: &TempDir| {
        replace(folder, &"not a database at all ".repeat(1000));
    });
    assert!(matches!(spoiled.await, OpenError::Damaged { .. }));
    let spoiled = refusal("an empty file", async |folder: &TempDir| replace(folder, ""));
    assert!(matches!(spoiled.await, OpenError::Missing { .. }));
    let spoiled = refusal("a newer store", async |folder: &TempDir| {
        let file = format!("sqlite://{}", folder.path().join("store.db").display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        sqlx::query("PRAGMA user_version = 99").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
    assert!(matches!(spoiled.await, OpenError::Newer { found: 99, .. }));
    let spoiled = refusal("an unreadable intent", async |folder: &TempDir| {
        let file = format!("sqlite://{}", folder.path().join("store.db").display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        sqlx::query("INSERT INTO intents (uid, body) VALUES ('u', '{}')")
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
    assert!(matches!(spoiled.await, OpenError::Damaged { .. }), "an intent that cannot be read");
}

#[tokio::test]
async fn a_first_start_that_died_half_way_is_finished_by_the_next() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("store.db"), "").unwrap();
    let clock = ManualClock::new(hearth_meta::Timestamp::UNIX_EPOCH);
    Store::open(options(&folder, &clock)).await.unwrap();
}

#[tokio::test]
async fn many_writers_share_commits() {
    let home = Home::new().await;
    let commits = || std::fs::metadata(home.folder.path().join("store.db-wal")).unwrap().len();
    let start = commits();
    home.card("one").await;
    let one = commits() - start;
    let start = commits();
    let writes = (0..64).map(|n| home.create(card(&format!("c{n}"))));
    for written in futures::future::join_all(writes).await {
        written.unwrap();
    }
    let many = commits() - start;
    assert!(many < one * 16, "64 writes took {many} bytes of log, one alone {one}");
}

const CHILD: &str = "HEARTH_TEST_WRITES_IN";

/// Not a test of its own: the process that the next one kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let clock = std::sync::Arc::new(hearth_engine::SystemClock::start());
    let options = hearth_engine::OpenOptions { data_dir: folder.into(), kinds: crate::toys::kinds(), clock };
    let store = Store::open(options).await.unwrap();
    store.create(object(json!({"kind": "Namespace", "metadata": {"name": "den"}})), &person()).await.unwrap();
    let writer = |writer: usize| {
        let store = store.clone();
        async move {
            for n in 0.. {
                let name = format!("w{writer}-{n}");
                let made = store.create(object(card(&name)), &person()).await.unwrap();
                let line = format!("acknowledged {} {name}\n", made.resource_version());
                std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
            }
        }
    };
    futures::future::join_all((0..8).map(writer)).await;
}

#[tokio::test]
async fn kill_9_loses_nothing_that_was_acknowledged() {
    for acknowledged in [1, 50, 400] {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::lasting::child_that_writes_until_it_is_killed", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut told = Vec::new();
        let said = |line: String| line.split("acknowledged ").nth(1).map(str::to_owned);
        while told.len() < acknowledged {
            told.extend(said(lines.next().expect("it writes until it is killed")));
        }
        child.kill().unwrap();
        // What it said before it died counts too; its last line may be torn.
        told.extend(lines.filter_map(said));
        child.wait().unwrap();
        told.pop();
        let clock = ManualClock::new(hearth_meta::Timestamp::UNIX_EPOCH);
        let store = Store::open(options(&folder, &clock)).await.unwrap();
        let kept: std::collections::BTreeMap<_, _> = store
            .list(&Query::of("Card"))
            .items
            .iter()
            .map(|o| (o.name().to_owned(), o.resource_version()))
            .collect();
        for line in &told {
            let (version, name) = line.split_once(' ').unwrap();
            assert_eq!(kept.get(name).map(ToString::to_string).as_deref(), Some(version), "{name}");
        }
        let mut versions: Vec<_> = kept.values().copied().collect();
        versions.sort_unstable();
        assert_eq!(versions, (2..=store.resource_version()).collect::<Vec<_>>(), "whole batches, no gaps");
    }
}
