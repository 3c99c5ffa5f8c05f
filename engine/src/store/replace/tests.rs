//! A replacement leaves the old store or the new one, wherever it is cut short.
#![expect(clippy::disallowed_methods, reason = "these tests put files in a store's place")]

use std::sync::Arc;

use tempfile::TempDir;

use super::{PARTS, READY, RESTORING, Replacement, carry_through};
use crate::clock::ManualClock;
use crate::store::{OpenError, OpenOptions, Store};

const WHY: &str = "Restored from a backup of 2026-11-29T12:00:00Z";

fn clock() -> ManualClock {
    ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap())
}

async fn open(folder: &TempDir) -> Result<Store, OpenError> {
    let data_dir = folder.path().join("data");
    Store::open(OpenOptions { data_dir, kinds: Vec::new(), clock: Arc::new(clock()) }).await
}

/// A data directory with a closed store, and a copy of the store of another home with its key.
async fn two_stores() -> (TempDir, TempDir, [String; 2]) {
    let (home, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut lineages = Vec::new();
    for folder in [&home, &other] {
        let store = open(folder).await.unwrap();
        lineages.push(store.lineage().to_owned());
        store.copy_to(&folder.path().join("copy.db")).await.unwrap();
        store.close().await;
    }
    std::fs::create_dir(home.path().join("data/pki")).unwrap();
    std::fs::write(home.path().join("data/pki/ca.key"), "old").unwrap();
    // As a process that was killed leaves it.
    std::fs::write(home.path().join("data/store.db-wal"), "a log of the old store").unwrap();
    let lineages = <[String; 2]>::try_from(lineages).unwrap();
    (home, other, lineages)
}

fn lay_out(replacement: &Replacement, from: &TempDir) {
    let parts = replacement.parts();
    std::fs::copy(from.path().join("copy.db"), parts.join("store.db")).unwrap();
    std::fs::copy(from.path().join("data/store.key"), parts.join("store.key")).unwrap();
    std::fs::create_dir(parts.join("pki")).unwrap();
    std::fs::write(parts.join("pki/ca.key"), "new").unwrap();
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_stood_is_put_aside_and_the_new_one_is_only_looked_at() {
    let (home, other, [_, lineage]) = two_stores().await;
    let data = home.path().join("data");
    let replacement = Replacement::begin(&data).unwrap();
    lay_out(&replacement, &other);
    assert_eq!(replacement.verify().await.unwrap().lineage, lineage);
    let aside = replacement.put_in_place(WHY, "2026-12-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(aside, data.join("replaced/2026-12-01T00-00-00Z"));
    assert_eq!(names(&aside), ["pki", "store.db", "store.db-wal", "store.key"]);
    assert_eq!(std::fs::read_to_string(aside.join("pki/ca.key")).unwrap(), "old");
    assert_eq!(std::fs::read_to_string(data.join("pki/ca.key")).unwrap(), "new");
    assert!(!data.join(RESTORING).exists());
    let store = open(&home).await.unwrap();
    assert_eq!((store.lineage(), store.observe_only().as_deref()), (lineage.as_str(), Some(WHY)));
    assert!(store.resource_version() > 1_000_000, "past whatever was given out since the backup");
    store.accept("admin").await.unwrap();
    store.close().await;
    assert_eq!(open(&home).await.unwrap().observe_only(), None);
}

#[tokio::test]
async fn a_replacement_that_was_given_up_or_does_not_verify_changes_nothing() {
    let (home, other, [lineage, _]) = two_stores().await;
    std::fs::remove_file(home.path().join("data/store.db-wal")).unwrap();
    let replacement = Replacement::begin(&home.path().join("data")).unwrap();
    lay_out(&replacement, &other);
    std::fs::write(replacement.parts().join("store.key"), [7; 32]).unwrap();
    let refused = replacement.verify().await;
    assert!(matches!(refused, Err(OpenError::Key { .. })), "{refused:?}");
    drop(replacement);
    assert!(!home.path().join("data").join(RESTORING).exists());
    let store = open(&home).await.unwrap();
    assert_eq!((store.lineage(), store.observe_only()), (lineage.as_str(), None));
    let in_use = Replacement::begin(&home.path().join("data"));
    assert!(matches!(in_use.err(), Some(OpenError::InUse(_))), "a store that is open is not replaced");
}

#[tokio::test]
async fn a_copy_without_a_key_keeps_the_key_that_stands_if_it_fits() {
    let (home, other, [lineage, _]) = two_stores().await;
    let data = home.path().join("data");
    let replacement = Replacement::begin(&data).unwrap();
    std::fs::copy(other.path().join("copy.db"), replacement.parts().join("store.db")).unwrap();
    assert!(matches!(replacement.verify().await, Err(OpenError::Key { .. })), "of another home");
    std::fs::copy(home.path().join("copy.db"), replacement.parts().join("store.db")).unwrap();
    replacement.verify().await.unwrap();
    replacement.put_in_place(WHY, "2026-12-01T00:00:00Z".parse().unwrap()).await.unwrap();
    let store = open(&home).await.unwrap();
    assert_eq!((store.lineage(), store.observe_only().as_deref()), (lineage.as_str(), Some(WHY)));
}

/// Every place at which the process may die: after each of the moves, in the order they are made.
#[tokio::test]
async fn cut_short_anywhere_it_is_the_old_store_or_the_new_one() {
    for cut in 0..10_usize {
        let (home, other, lineages) = two_stores().await;
        let data = home.path().join("data");
        let replacement = Replacement::begin(&data).unwrap();
        lay_out(&replacement, &other);
        super::hold_back(&replacement.parts().join("store.db"), &data, WHY).await.unwrap();
        let is_new = cut > 0;
        if is_new {
            std::fs::write(data.join(RESTORING).join(READY), "then").unwrap();
        } else {
            // The log that stands is no log; the old store could not be opened with it.
            std::fs::remove_file(data.join("store.db-wal")).unwrap();
        }
        // As by a process that died: nothing is cleared.
        std::mem::forget(replacement);
        let aside = data.join("replaced/then");
        let moves: [(&str, Option<&str>); 8] = [
            ("store.db-wal", None),
            ("pki", None),
            ("pki", Some(PARTS)),
            ("store.key", None),
            ("store.key", Some(PARTS)),
            ("store.db", None),
            ("store.db", Some(PARTS)),
            ("", None),
        ];
        for (name, from) in moves.iter().take(cut.saturating_sub(1)).filter(|(name, _)| !name.is_empty()) {
            std::fs::create_dir_all(&aside).unwrap();
            match from {
                None => std::fs::rename(data.join(name), aside.join(name)).unwrap(),
                Some(parts) => {
                    std::fs::rename(data.join(RESTORING).join(parts).join(name), data.join(name)).unwrap()
                }
            }
        }
        // The lock of the forgotten one is held by this process; a new one would wait for ever.
        std::fs::remove_file(data.join("store.lock")).unwrap();
        let store = open(&home).await.unwrap_or_else(|error| panic!("cut after {cut}: {error}"));
        let expected = if is_new { &lineages[1] } else { &lineages[0] };
        assert_eq!(store.lineage(), expected, "cut after {cut}");
        assert_eq!(store.observe_only().as_deref(), is_new.then_some(WHY), "cut after {cut}");
        if is_new {
            assert_eq!(names(&aside), ["pki", "store.db", "store.db-wal", "store.key"], "cut after {cut}");
            assert_eq!(std::fs::read_to_string(data.join("pki/ca.key")).unwrap(), "new");
        }
        assert!(!carry_through(&data).unwrap(), "it is through");
    }
}

#[tokio::test]
async fn on_a_fresh_machine_it_is_only_looked_at_as_well() {
    let (_, other, [_, lineage]) = two_stores().await;
    let fresh = TempDir::new().unwrap();
    let replacement = Replacement::begin(&fresh.path().join("data")).unwrap();
    lay_out(&replacement, &other);
    replacement.verify().await.unwrap();
    replacement.put_in_place(WHY, "2026-12-01T00:00:00Z".parse().unwrap()).await.unwrap();
    let store = open(&fresh).await.unwrap();
    assert_eq!((store.lineage(), store.observe_only().as_deref()), (lineage.as_str(), Some(WHY)));
}
