//! A disk that fails once, at each single call in turn: `strace` lets the kernel answer that call of a real process
//! with an error. What was acknowledged stands afterwards, what was refused does not, and the store opens again.
//!
//! One run of all takes minutes, so an ordinary run takes every few, another few each time, by a seed that is printed and
//! can be given as `HEARTH_TEST_SEED`; `HEARTH_TEST_LONG` takes all.
//! With `HEARTH_REAL=1` a machine without `strace` fails the test; without it the test says so and returns.
#![expect(clippy::disallowed_methods, reason = "these tests start processes and wait for them in real time")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hearth_engine::store::{Deletion, EventQuery, OpenError, Preconditions};
use hearth_engine::{Object, OpenOptions, Query, Store, SystemClock, WriteError};
use serde_json::json;
use tempfile::TempDir;

use crate::toys::{card, key, kinds, object, person};

const CHILD: &str = "HEARTH_TEST_WRITES_A_FEW_IN";

/// With it the process ends without closing its store.
const DIES: &str = "HEARTH_TEST_DIES";

/// What a store asks of a disk: each call, and an error that a disk answers it with.
const CALLS: [(&str, &str); 6] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fsync", "EIO"),
    ("ftruncate", "EIO"),
    ("pread64", "EIO"),
    ("openat", "EIO"),
];

/// The files of a store and of its copy.
const FILES: [&str; 7] =
    ["store.db", "store.db-wal", "store.db-shm", "store.key", "high-water", "copy.db", "copy.db-journal"];

/// How many failing disks an ordinary run tries, of each kind of folder.
const TRIED: usize = 60;

async fn open(folder: &Path) -> Result<Store, OpenError> {
    let clock = Arc::new(SystemClock::start());
    Store::open(OpenOptions { data_dir: folder.to_owned(), kinds: kinds(), clock }).await
}

/// What stands, by the number that each card holds.
fn cards(store: &Store) -> BTreeMap<String, i64> {
    let all = store.list(&Query::of("Card")).items;
    all.iter().map(|card| (card.name().to_owned(), card.body["spec"]["n"].as_i64().unwrap_or(0))).collect()
}

async fn write(store: &Store, step: i64) -> (&'static str, String, Result<Arc<Object>, WriteError>) {
    let name = format!("c{}", step % 4);
    let at = key("Card", &name);
    let change = move |old: &Object| {
        let mut new = old.clone();
        new.body.insert("spec".into(), json!({"n": step, "text": "x".repeat(3000)}));
        Ok(new)
    };
    match store.get(&at) {
        None => ("stands", name.clone(), store.create(object(card(&name)), &person()).await),
        Some(_) if step % 5 == 0 => {
            let deletion = Deletion { key: at, preconditions: Preconditions::default() };
            ("gone", name, store.delete(deletion, &person()).await)
        }
        Some(_) => ("stands", name, store.update(&at, &person(), change).await),
    }
}

/// Not a test of its own: the process whose disk fails. It says what it was told of each write.
#[tokio::test]
async fn child_that_writes_a_few_and_says_what_it_was_told() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = Path::new(&folder);
    let say = |words: String| std::io::stderr().lock().write_all(words.as_bytes()).unwrap();
    let store = match open(folder).await {
        Ok(store) => store,
        Err(error) => return say(format!("cannot open: {error}\n")),
    };
    if store.get(&key("Namespace", "den")).is_none() {
        let den = object(json!({"kind": "Namespace", "metadata": {"name": "den"}}));
        if store.create(den, &person()).await.is_err() {
            return say("cannot begin\n".into());
        }
    }
    for step in 1..=12 {
        let before = cards(&store);
        let (what, name, told) = write(&store, step).await;
        match told {
            Ok(_) => say(format!("told {name} {what} {}\n", cards(&store).get(&name).unwrap_or(&-1))),
            Err(error) => {
                assert_eq!(cards(&store), before, "what was refused is not shown");
                say(format!("refused {name}: {error}\n"));
            }
        }
    }
    let copied = store.copy_to(&folder.join("copy.db")).await.map(|_| ());
    let history = store.history(&key("Card", "c1")).await.map(|rows| rows.len());
    let events = store.events(&EventQuery::default()).await.map(|rows| rows.len());
    say(format!("copied {copied:?} history {history:?} events {events:?}\n"));
    if std::env::var_os(DIES).is_some() {
        std::process::exit(0);
    }
    store.close().await;
}

/// One call that fails: which, how, and the how manieth of its thread.
type Fault = (&'static str, &'static str, usize);

/// The child, its disk as it is or with one call that fails. What it said, and how often a thread made each call.
fn run(folder: &Path, fault: Option<Fault>, dies: bool) -> (String, BTreeMap<String, usize>) {
    let calls = folder.with_extension("calls");
    let mut strace = Command::new("strace");
    strace.args(["--follow-forks", "--seccomp-bpf", "--quiet=all", "--output"]).arg(&calls);
    strace.arg("-P").arg(folder);
    for file in FILES {
        strace.arg("-P").arg(folder.join(file));
    }
    let traced: BTreeSet<&str> = CALLS.iter().map(|(call, _)| *call).collect();
    strace.arg(format!("--trace={}", Vec::from_iter(traced).join(",")));
    if let Some((call, error, nth)) = fault {
        strace.arg(format!("--inject={call}:error={error}:when={nth}"));
    }
    if dies {
        strace.env(DIES, "1");
    }
    let child = "store::failing_disk::child_that_writes_a_few_and_says_what_it_was_told";
    let ended = strace
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--nocapture"])
        .env(CHILD, folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{fault:?}: {said}");
    (said, most_of_a_thread(&std::fs::read_to_string(calls).unwrap()))
}

/// How often one thread made each call, at most: errors are counted so too.
fn most_of_a_thread(calls: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    for line in calls.lines() {
        let called =
            line.split_once(' ').and_then(|(thread, rest)| Some((thread, rest.trim().split_once('(')?.0)));
        *counts.entry(called.unwrap_or_default()).or_default() += 1;
    }
    let mut most = BTreeMap::new();
    for ((_, call), count) in counts {
        let known = most.entry(call.to_owned()).or_insert(count);
        *known = count.max(*known);
    }
    most
}

/// What the child was told of each card, the last words last: the number it holds or that it is gone, or a refusal.
fn told(said: &str) -> Vec<(String, Result<Option<i64>, ()>)> {
    let word = |line: &str| match line.split([' ', ':']).collect::<Vec<_>>()[..] {
        ["told", name, "gone", _] => Some((name.to_owned(), Ok(None))),
        ["told", name, "stands", number] => Some((name.to_owned(), Ok(number.parse().ok()))),
        ["refused", name, ..] => Some((name.to_owned(), Err(()))),
        _ => None,
    };
    said.lines().filter_map(word).collect()
}

/// Whether what stands is what the child was told. Only what was refused last may have gone down all the same, if
/// nothing went down after it and the process died.
fn holds(
    before: &BTreeMap<String, i64>,
    said: &str,
    after: &BTreeMap<String, i64>,
    dies: bool,
) -> Result<(), String> {
    let told = told(said);
    let mut wanted = before.clone();
    for (name, word) in &told {
        match word {
            Ok(Some(number)) => drop(wanted.insert(name.clone(), *number)),
            Ok(None) => drop(wanted.remove(name)),
            Err(()) => {}
        }
    }
    let open = match told.last() {
        Some((name, Err(()))) if dies => Some(name),
        _ => None,
    };
    let differs = |name: &&String| wanted.get(*name) != after.get(*name) && Some(*name) != open;
    match wanted.keys().chain(after.keys()).find(differs) {
        None => Ok(()),
        Some(name) => Err(format!("{name} should be {:?} and is {:?}", wanted.get(name), after.get(name))),
    }
}

async fn reopened(folder: &Path) -> BTreeMap<String, i64> {
    let store = open(folder).await.unwrap();
    assert_eq!(store.observe_only(), None, "it is no older copy");
    let found = cards(&store);
    store.close().await;
    found
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Every failing disk for a folder that is there, or for one that is made.
async fn every_failure(prepared: Option<&Path>) {
    let place = TempDir::new().unwrap();
    let fresh = |name: String| {
        let folder = place.path().join(name);
        prepared.iter().for_each(|from| copy_folder(from, &folder));
        folder
    };
    let before = match prepared {
        Some(_) => reopened(&fresh("before".into())).await,
        None => BTreeMap::new(),
    };
    let (_, calls) = run(&fresh("undisturbed".into()), None, false);
    let points: Vec<Fault> = CALLS
        .iter()
        .flat_map(|(call, error)| {
            (1..=calls.get(*call).copied().unwrap_or(0)).map(|nth| (*call, *error, nth))
        })
        .collect();
    assert!(points.len() > TRIED, "the store's calls are seen: {calls:?}");
    let long = std::env::var_os("HEARTH_TEST_LONG").is_some();
    let stride = if long { 1 } else { points.len().div_ceil(TRIED) };
    let seed = seed();
    println!("HEARTH_TEST_SEED={seed}");
    let first = usize::try_from(seed % stride as u64).unwrap();
    let mut refusals = 0;
    for (number, fault) in points.iter().enumerate().skip(first).step_by(stride) {
        let (dies, folder) = (number / stride % 2 == 0, fresh(number.to_string()));
        let (said, _) = run(&folder, Some(*fault), dies);
        refusals += usize::from(said.contains("refused") || said.contains("cannot"));
        let after = reopened(&folder).await;
        if let Err(why) = holds(&before, &said, &after, dies) {
            panic!("{fault:?}, dies: {dies}: {why}\n{said}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
    println!("{} of {} failing disks, {refusals} of them told", points.len().div_ceil(stride), points.len());
    assert!(refusals > 0, "errors reach whoever writes");
}

/// The one that was given, or one that nobody had before.
fn seed() -> u64 {
    let given = std::env::var("HEARTH_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    let of_now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    given.unwrap_or_else(|| u64::from(of_now().subsec_nanos()) ^ of_now().as_secs())
}

/// Whether processes can be given a failing disk here.
fn can_trace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok_and(|ended| ended.status.success());
    assert!(found || std::env::var("HEARTH_REAL").as_deref() != Ok("1"), "strace is missing");
    if !found {
        eprintln!("skipped: no strace");
    }
    found
}

#[tokio::test]
async fn a_disk_that_fails_at_any_call_of_a_store_that_is_made_loses_nothing_and_keeps_nothing_refused() {
    if can_trace() {
        every_failure(None).await;
    }
}

#[tokio::test]
async fn a_disk_that_fails_at_any_call_of_a_store_that_stands_loses_nothing_and_keeps_nothing_refused() {
    if can_trace() {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        let (said, _) = run(&data, None, false);
        assert!(!said.contains("refused"), "{said}");
        every_failure(Some(&data)).await;
    }
}
