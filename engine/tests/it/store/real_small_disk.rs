//! A disk that is really full: a small filesystem in memory, mounted for the test, which takes root.
//!
//! With `HEARTH_REAL=1` a machine that cannot mount one fails the test; without it the test says so and returns.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests mount and fill a disk, and wait for it in real time"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hearth_engine::store::{EventQuery, Intent};
use hearth_engine::{ManualClock, OpenOptions, Store, WriteError};
use serde_json::json;
use tempfile::TempDir;

use crate::toys::{card, key, kinds, object, person};

/// A disk of its own size.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// `None` where none can be had and it may be left out.
    fn mount(mebibytes: u32) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .output()
            .map_err(|error| error.to_string())
            .and_then(|ended| match ended.status.success() {
                true => Ok(()),
                false => Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
            });
        match mounted {
            Ok(()) => Some(Self { folder }),
            Err(why) => {
                assert!(std::env::var("HEARTH_REAL").as_deref() != Ok("1"), "no small disk: {why}");
                eprintln!("skipped: no small disk: {why}");
                None
            }
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Fills what is left, to the last byte.
    fn fill(&self) -> PathBuf {
        let path = self.folder.path().join("film");
        let mut film = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        for block in [64 << 10, 4096, 1] {
            while film.write_all(&vec![7; block]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a thread of SQLite's may still be closing its file.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

async fn open(data: &Path, clock: &ManualClock) -> Store {
    let clock = std::sync::Arc::new(clock.clone());
    Store::open(OpenOptions { data_dir: data.to_owned(), kinds: kinds(), clock }).await.unwrap()
}

async fn until(clock: &ManualClock, what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..400 {
        if is_so() {
            return;
        }
        clock.advance(Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{what} did not come");
}

fn intent(uid: &str, n: usize) -> Intent {
    Intent {
        uid: uid.into(),
        epoch: 1,
        target: "x".repeat(100 * n),
        step: "paint".into(),
        dangerous: false,
        opened_at: hearth_meta::Timestamp::UNIX_EPOCH,
        closed_at: None,
        last_applied: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_tells_the_truth_and_is_recovered_from() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
    let store = open(&disk.data(), &clock).await;
    store.create(object(json!({"kind": "Namespace", "metadata": {"name": "den"}})), &person()).await.unwrap();
    let first = store.create(object(card("first")), &person()).await.unwrap();
    store.update_status(&first.key(), first.uid(), json!({"summary": "Ready"})).await.unwrap();
    until(&clock, "the reserve", || store.room().has_reserve).await;

    // The first line: people wish until nothing new is taken, and there is room to recover with.
    let mut made = 0;
    let refused = loop {
        let mut wish = card(&format!("c{made}"));
        wish["spec"]["text"] = "x".repeat(100_000).into();
        match store.create(object(wish), &person()).await {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    let WriteError::NoRoom(words) = &refused else { panic!("{refused:?}") };
    assert!(words.contains("nearly full") && words.contains("of 96 MiB"), "{words}");
    assert!(
        made > 10 && store.room().full.is_none() && store.room().has_reserve,
        "{made}: {:?}",
        store.room()
    );

    // The second: something else takes the rest, and what is seen and done goes on from the reserve.
    let film = disk.fill();
    let mut n = 0;
    while store.room().has_reserve {
        n += 1;
        assert!(n < 2000, "the log has no end of room: {:?}", store.room());
        store.put_intent(intent(first.uid(), n)).await.unwrap();
        disk.fill();
    }
    assert_eq!(store.room().full, None, "the reserve was enough");

    // And where that is gone too, what is seen is served all the same.
    disk.fill();
    let (mut seen, mut down) = (json!(null), 0);
    for n in 0..400 {
        down = store.resource_version();
        seen = json!({"summary": "Failed", "attempt": n, "text": "x".repeat(40_000)});
        store.update_status(&first.key(), first.uid(), seen.clone()).await.unwrap();
        disk.fill();
        if store.room().full.is_some() {
            break;
        }
    }
    assert!(store.room().full.is_some(), "{:?}", store.room());
    assert_eq!(store.get(&first.key()).unwrap().status(), &seen, "it does not go on saying Ready");
    assert_eq!(store.resource_version(), down);
    let not_kept = store.put_intent(intent(first.uid(), 500)).await;
    assert!(matches!(not_kept, Err(WriteError::NoRoom(_))), "{not_kept:?}");

    // Room comes back: by itself everything is written, and the reserve is made again.
    std::fs::remove_file(film).unwrap();
    until(&clock, "a write", || store.room().full.is_none() && store.resource_version() > down).await;
    let deletion = |n: usize| hearth_engine::store::Deletion {
        key: key("Card", &format!("c{n}")),
        preconditions: hearth_engine::store::Preconditions::default(),
    };
    store.delete(deletion(0), &person()).await.unwrap();
    let events =
        store.events(&EventQuery { kind: Some("Store".into()), ..EventQuery::default() }).await.unwrap();
    let reasons: Vec<_> = events.iter().map(|event| event.note.reason.as_str()).collect();
    for reason in ["DiskNearlyFull", "ReserveUsed", "DiskFull", "DiskHasRoom"] {
        assert!(reasons.contains(&reason), "{reason} in {reasons:?}");
    }
    let (version, all) = (store.resource_version(), store.all());
    store.close().await;
    drop(store);
    let store = open(&disk.data(), &clock).await;
    assert_eq!((store.resource_version(), store.observe_only()), (version, None));
    assert_eq!(store.all(), all);
    assert_eq!(store.get(&first.key()).unwrap().status(), &seen);
    store.close().await;
}
