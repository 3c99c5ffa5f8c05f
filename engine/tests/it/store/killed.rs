//! Random writes by a process that is killed at random moments, with copies and restores in between: what was
//! acknowledged is there, versions have no gaps, and none is given out twice.
#![expect(clippy::disallowed_methods, reason = "these tests start and kill their own process, in real time")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hearth_engine::store::{CopyFacts, Deletion, Preconditions, Replacement, verify};
use hearth_engine::{Object, OpenOptions, Query, Store, SystemClock};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::json;
use tempfile::TempDir;

use crate::toys::{card, key, kinds, object, person};

const CHILD: &str = "HEARTH_TEST_WRITES_AT_RANDOM_IN";
const SEED: &str = "HEARTH_TEST_SEED";

async fn open(folder: &Path) -> Store {
    let clock = Arc::new(SystemClock::start());
    Store::open(OpenOptions { data_dir: folder.to_owned(), kinds: kinds(), clock }).await.unwrap()
}

/// Not a test of its own: the process that the next one kills. It makes, changes and deletes cards, sees their
/// status, and copies the store all the while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_at_random_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let mut seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let store = open(Path::new(&folder)).await;
    let den = json!({"kind": "Namespace", "metadata": {"name": "den"}});
    if store.get(&key("Namespace", "den")).is_none() {
        store.create(object(den), &person()).await.unwrap();
    }
    let copying = store.clone();
    tokio::spawn(async move {
        for n in 0_u64.. {
            let file = copying.data_dir().join(format!("copy-{n}.db"));
            // One that a killed process left is there already, whole or not.
            if copying.copy_to(&file).await.is_ok() {
                let kept = copying.data_dir().join("copy.db");
                std::fs::rename(file, kept).unwrap();
            }
        }
    });
    let say = |words: String| std::io::stdout().lock().write_all(words.as_bytes()).unwrap();
    loop {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("c{}", (seed >> 33) % 20);
        let at = key("Card", &name);
        let written = match (store.get(&at), (seed >> 40) % 4) {
            (None, _) => store.create(object(card(&name)), &person()).await,
            (Some(_), 0) => {
                let deletion = Deletion { key: at, preconditions: Preconditions::default() };
                store.delete(deletion, &person()).await
            }
            (Some(old), 1) => store.update_status(&at, old.uid(), json!({"seen": seed})).await,
            (Some(_), _) => {
                let change = move |old: &Object| {
                    let mut new = old.clone();
                    new.body.insert(
                        "spec".into(),
                        json!({"n": seed, "text": "x".repeat((seed >> 50) as usize % 3000)}),
                    );
                    Ok(new)
                };
                store.update(&at, &person(), change).await
            }
        };
        let written = written.unwrap();
        let state = if store.get(&key("Card", &name)).is_some() { "stands" } else { "gone" };
        say(format!("acknowledged {} {name} {state}\n", written.resource_version()));
    }
}

/// What a killed process had acknowledged: the newest version of each card, and whether it stands.
fn run_and_kill(folder: &Path, seed: u64, acknowledged: usize) -> BTreeMap<String, (u64, bool)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::killed::child_that_writes_at_random_until_it_is_killed", "--nocapture"])
        .env(CHILD, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = |line: String| line.split("acknowledged ").nth(1).map(str::to_owned);
    let mut told = Vec::new();
    while told.len() < acknowledged {
        told.extend(said(lines.next().expect("it writes until it is killed")));
    }
    child.kill().unwrap();
    told.extend(lines.filter_map(said));
    child.wait().unwrap();
    let mut newest = BTreeMap::new();
    for line in told {
        // The last line may be torn.
        if let [version, name, state @ ("stands" | "gone")] = line.split(' ').collect::<Vec<_>>()[..] {
            newest.insert(name.to_owned(), (version.parse().unwrap(), state == "stands"));
        }
    }
    newest
}

/// The versions of all changes that are kept, in order.
async fn versions(store: &Store) -> Vec<u64> {
    let file = store.data_dir().join("store.db");
    let options = format!("sqlite://{}?mode=ro", file.display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&options).await.unwrap();
    let found: Vec<i64> =
        sqlx::query_scalar("SELECT rv FROM changes ORDER BY rv").fetch_all(&mut connection).await.unwrap();
    found.into_iter().map(i64::unsigned_abs).collect()
}

async fn round(folder: &Path, seed: u64, acknowledged: usize, highest: &mut u64) {
    let told = run_and_kill(folder, seed, acknowledged);
    let store = open(folder).await;
    for (name, (version, stands)) in &told {
        let found = store.get(&key("Card", name)).map(|card| card.resource_version());
        match found {
            // One more may have gone down than was said.
            Some(found) => {
                assert!(found > *version || (*stands && found == *version), "{name}: {found} {version}")
            }
            None => assert!(!stands || store.resource_version() > *version, "{name} is lost"),
        }
    }
    let last = told.values().map(|(version, _)| *version).max().unwrap_or(0);
    assert!(store.resource_version() >= last && last > *highest, "none is given out twice: {last} {highest}");
    *highest = store.resource_version();
    store.close().await;
}

async fn story(seeds: &[(u64, usize, bool)]) {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let (mut highest, mut restored) = (0, 0);
    for (seed, acknowledged, restores) in seeds {
        round(&data, *seed, *acknowledged, &mut highest).await;
        let store = open(&data).await;
        let versions = versions(&store).await;
        let gaps = versions.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert!(gaps <= restored, "only a restore leaps: {versions:?}");
        assert_eq!(versions.iter().collect::<BTreeSet<_>>().len(), versions.len());
        assert_eq!(store.observe_only().is_some(), restored > 0, "killed is no older copy");
        store.close().await;
        drop(store);
        let copy = data.join("copy.db");
        if *restores && copy.exists() {
            let facts = restore(&data, &copy).await;
            restored += 1;
            let store = open(&data).await;
            assert!(store.observe_only().unwrap().starts_with("Restored"));
            assert!(store.resource_version() > highest.min(facts.resource_version));
            let all = store.list(&Query::of("Card")).items;
            assert!(
                all.iter().all(|card| card.resource_version() <= facts.resource_version),
                "as it was then"
            );
            highest = highest.max(store.resource_version());
            store.close().await;
        }
    }
}

async fn restore(data: &Path, copy: &Path) -> CopyFacts {
    let facts = verify(copy, &data.join("store.key")).await.unwrap();
    let replacement = Replacement::begin(data).unwrap();
    std::fs::rename(copy, replacement.parts().join("store.db")).unwrap();
    replacement.verify().await.unwrap();
    replacement.put_in_place("Restored from a copy", hearth_meta::Timestamp::UNIX_EPOCH).await.unwrap();
    facts
}

proptest! {
    #![proptest_config(Config { cases: 4, ..Config::default() })]
    #[test]
    fn whatever_is_killed_and_restored_nothing_acknowledged_is_lost_and_no_version_is_given_out_twice(
        seeds in proptest::collection::vec((any::<u64>(), 1_usize..120, any::<bool>()), 2..4)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(story(&seeds));
    }
}

/// A restore that is killed at any moment leaves the old store or the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_restores_until_it_is_killed() {
    let Some(folder) = std::env::var_os(RESTORES) else { return };
    let data = Path::new(&folder).join("data");
    println!("begins");
    for copy in ["a.db", "b.db"].iter().cycle() {
        let replacement = Replacement::begin(&data).unwrap();
        std::fs::copy(Path::new(&folder).join(copy), replacement.parts().join("store.db")).unwrap();
        replacement.put_in_place(copy, hearth_meta::Timestamp::UNIX_EPOCH).await.unwrap();
        std::fs::remove_dir_all(data.join("replaced")).unwrap();
    }
}

const RESTORES: &str = "HEARTH_TEST_RESTORES_IN";

#[tokio::test]
async fn a_restore_killed_at_any_moment_leaves_the_old_store_or_the_new_one() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let store = open(&data).await;
    store.create(object(json!({"kind": "Namespace", "metadata": {"name": "den"}})), &person()).await.unwrap();
    for name in ["a", "b"] {
        store.create(object(card(name)), &person()).await.unwrap();
        store.copy_to(&folder.path().join(format!("{name}.db"))).await.unwrap();
    }
    store.close().await;
    drop(store);
    let mut seen = BTreeSet::new();
    for n in 0_u32..25 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::killed::child_that_restores_until_it_is_killed", "--nocapture"])
            .env(RESTORES, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.contains("begins")).expect("it begins");
        tokio::time::sleep(std::time::Duration::from_micros(u64::from(n) * 1_700)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(&data).await;
        let names: Vec<String> =
            store.list(&Query::of("Card")).items.iter().map(|c| c.name().to_owned()).collect();
        let expected: &[&str] = match store.observe_only().as_deref() {
            Some("a.db") => &["a"],
            Some("b.db") | None => &["a", "b"],
            other => panic!("{other:?}"),
        };
        assert_eq!(names, expected, "killed after {n}");
        seen.insert(store.observe_only());
        store.close().await;
    }
    assert!(seen.len() > 1, "some were through: {seen:?}");
}
