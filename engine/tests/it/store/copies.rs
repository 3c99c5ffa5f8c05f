//! Rolling copies: made by the clock while the store runs, whole, and only where something was written.
#![expect(clippy::disallowed_methods, reason = "these tests look at the copies' files")]

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hearth_engine::Store;
use hearth_engine::store::{EventQuery, Every, verify};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::toys::{Home, key, options};

const HOUR: Duration = Duration::from_secs(3600);

impl Home {
    fn names(&self) -> Vec<String> {
        let copies = self.store.copies().unwrap();
        copies.iter().map(|copy| copy.path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    async fn events(&self) -> Vec<String> {
        // The writer works in order: once this is answered, what was noted is down.
        self.store
            .create(crate::toys::object(crate::toys::card("marker")), &crate::toys::person())
            .await
            .unwrap();
        self.delete(key("Card", "marker")).await.unwrap();
        let events =
            self.store.events(&EventQuery { kind: Some("Store".into()), ..EventQuery::default() }).await;
        events
            .unwrap()
            .into_iter()
            .map(|event| format!("{}: {}", event.note.reason, event.note.message))
            .collect()
    }
}

#[tokio::test]
async fn copies_come_by_the_hour_and_the_day_and_only_where_something_was_written() {
    let home = Home::new().await;
    home.store.copy_if_due().await;
    assert_eq!(home.names(), ["2026-11-29T12-00-00Z-daily-at-1.db"]);
    home.clock.advance(HOUR);
    home.store.copy_if_due().await;
    assert_eq!(home.names().len(), 1, "nothing was written since");
    home.card("a").await;
    home.store.copy_if_due().await;
    assert_eq!(home.names()[1], "2026-11-29T13-00-00Z-hourly-at-2.db");
    home.card("b").await;
    home.clock.advance(HOUR / 2);
    home.store.copy_if_due().await;
    assert_eq!(home.names().len(), 2, "it is not due");
    home.clock.advance(HOUR * 23);
    home.store.copy_if_due().await;
    assert_eq!(home.names()[2], "2026-11-30T12-30-00Z-daily-at-3.db");
    let copy = home.store.copies().unwrap().pop().unwrap();
    let facts = verify(&copy.path, &home.folder.path().join("store.key")).await.unwrap();
    assert_eq!((facts.lineage.as_str(), facts.resource_version), (home.store.lineage(), 3));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&copy.path), mode(copy.path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(home.store.copies_report().newest, Some(copy.at));
}

#[tokio::test]
async fn after_a_restart_nothing_is_copied_again_until_something_is_written() {
    let home = Home::new().await;
    home.store.copy_if_due().await;
    let home = home.reopened().await;
    home.clock.advance(HOUR * 30);
    home.store.copy_if_due().await;
    assert_eq!(home.names().len(), 1);
    home.card("a").await;
    home.store.copy_if_due().await;
    assert_eq!(home.names().len(), 2);
}

#[tokio::test]
async fn the_oldest_go_and_nothing_else_is_touched() {
    let home = Home::new().await;
    home.store.copy_if_due().await;
    let folder = home.folder.path().join("copies");
    std::fs::write(folder.join("mine.db"), "precious").unwrap();
    std::fs::write(folder.join("2020-01-01T00-00-00Z-hourly-at-1.db.bak"), "precious").unwrap();
    std::fs::write(folder.join("2026-11-29T12-00-00Z.half"), "half a copy, as a crash leaves it").unwrap();
    for n in 0..40 {
        home.clock.advance(HOUR);
        home.card(&format!("c{n}")).await;
        home.store.copy_if_due().await;
    }
    let copies = home.store.copies().unwrap();
    let count = |every: Every| copies.iter().filter(|copy| copy.every == every).count();
    assert_eq!((count(Every::Hour), count(Every::Day)), (24, 2));
    assert!(
        folder.join("mine.db").exists() && folder.join("2020-01-01T00-00-00Z-hourly-at-1.db.bak").exists()
    );
    assert!(!folder.join("2026-11-29T12-00-00Z.half").exists());
}

#[tokio::test]
async fn a_clock_that_was_ahead_does_not_end_the_copies() {
    let home = Home::new().await;
    let now = home.clock.clone();
    home.clock.set_wall("2099-01-01T00:00:00Z".parse().unwrap());
    home.store.copy_if_due().await;
    now.set_wall("2026-11-29T12:00:00Z".parse().unwrap());
    home.card("a").await;
    home.store.copy_if_due().await;
    assert_eq!(home.names(), ["2026-11-29T12-00-00Z-daily-at-2.db", "2099-01-01T00-00-00Z-daily-at-1.db"]);
}

#[tokio::test]
async fn a_copy_that_fails_is_told_once_and_stops_nothing() {
    let home = Home::new().await;
    std::fs::write(home.folder.path().join("copies"), "a file where the folder should be").unwrap();
    home.store.copy_if_due().await;
    home.store.copy_if_due().await;
    assert!(home.store.copies_report().failing.is_some());
    let told = home.events().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("CopyFailed: No copy could be made"), "{told:?}");
    std::fs::remove_file(home.folder.path().join("copies")).unwrap();
    home.store.copy_if_due().await;
    assert_eq!(home.store.copies_report().failing, None);
    assert!(home.events().await.iter().any(|told| told.starts_with("CopyMade")));
}

#[tokio::test]
async fn a_damaged_store_is_not_copied_as_if_it_were_whole() {
    let home = Home::new().await;
    home.card("a").await;
    // Down into the file, which is then spoiled beneath the running store.
    let home = {
        home.store.close().await;
        home.reopened().await
    };
    let file = home.folder.path().join("store.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let places: Vec<usize> = (0..bytes.len() - 9).filter(|at| bytes[*at..].starts_with(b"\"n\":0")).collect();
    places.iter().for_each(|at| bytes[at + 4] = b'7');
    std::fs::write(&file, bytes).unwrap();
    home.store.copy_if_due().await;
    let failing = home.store.copies_report().failing.unwrap();
    assert!(failing.contains("is not what was written"), "{failing}");
    assert!(home.names().is_empty(), "and half a copy is left nowhere");
    assert!(std::fs::read_dir(home.folder.path().join("copies")).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_kept_until_cancelled_and_hold_up_no_write() {
    let folder = TempDir::new().unwrap();
    let home = Home::new().await;
    for n in 0..2000 {
        let mut card = crate::toys::card(&format!("c{n}"));
        card["spec"]["text"] = "x".repeat(2000).into();
        // Nobody waits for each: they share commits.
        let store = home.store.clone();
        tokio::spawn(async move { store.create(crate::toys::object(card), &crate::toys::person()).await });
    }
    while home.store.resource_version() < 2001 {
        tokio::task::yield_now().await;
    }
    let clock = std::sync::Arc::new(hearth_engine::SystemClock::start());
    let worst = async |copying: bool| {
        let target = folder.path().join("copy.db");
        let copy = async {
            if copying {
                home.store.copy_to(&target).await.unwrap();
            } else {
                hearth_engine::Clock::sleep(&*clock, Duration::from_millis(300)).await;
            }
        };
        tokio::pin!(copy);
        let (mut worst, mut writes) = (Duration::ZERO, 0_u32);
        loop {
            let began = hearth_engine::Clock::elapsed(&*clock);
            let write =
                home.patch(key("Card", "c0"), serde_json::json!({"spec": {"n": writes, "c": copying}}));
            let is_over = tokio::select! {
                () = &mut copy => true,
                written = write => { written.unwrap(); false }
            };
            worst = worst.max(hearth_engine::Clock::elapsed(&*clock) - began);
            writes += 1;
            if is_over {
                return (worst, writes);
            }
        }
    };
    let (alone, writes_alone) = worst(false).await;
    let (beside, writes_beside) = worst(true).await;
    println!("worst write: {alone:?} of {writes_alone} alone, {beside:?} of {writes_beside} beside a copy");
    assert!(writes_beside > 2, "writes go on while a copy is made");
    assert!(beside < Duration::from_secs(2), "{beside:?}");

    let stop = CancellationToken::new();
    let (store, stopped) = (home.store.clone(), stop.clone());
    let task = tokio::spawn(async move { store.keep_copies(stopped).await });
    while home.store.copies().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    task.await.unwrap();
    home.store.close().await;
    Store::open(options(&home.folder, &home.clock)).await.unwrap();
}
