//! A store that is lost, older, new, or of another home: nothing on the machine is touched, one screen says what is
//! seen, and there is a way out that makes nothing anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hearth::cli::exit::Exit;
use hearth::config::Config;
use hearth_capabilities::volumes::LeafState;
use hearth_engine::SystemClock;
use serde_json::json;

use crate::home::{Home, app, on_pretend, on_real, page, trio};

/// The files a store consists of.
const STORE: [&str; 5] = ["store.db", "store.db-wal", "store.db-shm", "high-water", "store.key"];

/// The containers of the story.
const CONTAINERS: [&str; 4] = ["system/caddy", "trio-web", "trio-db", "trio-migrate"];

/// What stands, by which it is known that nothing was made anew.
#[derive(Debug, PartialEq)]
struct Before {
    ids: BTreeMap<String, String>,
    leaf: LeafState,
}

async fn before(home: &Home) -> Before {
    let mut ids = BTreeMap::new();
    for name in CONTAINERS {
        ids.insert(name.to_owned(), home.id(name).await);
    }
    Before { ids, leaf: home.leaf_state(&home.leaf("trio", "rows")).await }
}

fn file(home: &Home, name: &str) -> PathBuf {
    home.config.data_dir.join(name)
}

/// Takes away every file of the store that is not in `kept`.
fn drop_files(home: &Home, kept: &[&str]) {
    for name in STORE.iter().filter(|name| !kept.contains(name)) {
        let _ = fs::remove_file(file(home, name));
    }
}

/// Copies the files of a store from one folder to another.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in STORE {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// No container, network or folder was made, changed or removed.
async fn nothing_was_touched(home: &Home, what: &str) {
    // An app's files are Hearth's own, and so is what it says to its proxy.
    let touched = |change: &String| !["save files", "write proxy"].iter().any(|own| change.starts_with(own));
    let changes: Vec<String> = home.world.changes().await.into_iter().filter(touched).collect();
    assert_eq!(changes, Vec::<String>::new(), "{what}");
}

/// The home looks and does nothing; returns the one screen.
async fn only_looks(home: &Home, what: &str) -> String {
    home.settle().await;
    home.look_again().await;
    home.settle().await;
    nothing_was_touched(home, what).await;
    let said = home.hearth(&["recover", "status"]).await;
    assert_eq!(said.exit, Exit::Unwell, "{what}: {}{}", said.out, said.err);
    assert!(said.out.lines().count() < 30, "one screen: {}", said.out);
    said.out
}

/// A person says go, and everything is as it was.
async fn is_whole_after_accepting(home: &Home, stood: &Before, what: &str) {
    home.ask(&["recover", "accept"]).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    home.settle().await;
    nothing_was_touched(home, what).await;
    assert_eq!(before(home).await, *stood, "{what}: nothing is made anew");
    let folder = home.data("trio", "migrations");
    assert_eq!(home.world.runs(&home.engine_name("trio-migrate"), &folder).await, 1, "{what}");
    let said = home.hearth(&["recover", "status"]).await;
    assert_eq!(said.exit, Exit::Done, "{what}: {}", said.out);
}

#[test]
fn pretend_a_store_that_is_lost_is_rebuilt_from_what_stands_and_nothing_is_made_anew() {
    on_pretend(rebuilt);
}

#[test]
fn real_a_store_that_is_lost_is_rebuilt_from_what_stands_and_nothing_is_made_anew() {
    on_real(rebuilt);
}

async fn rebuilt(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    home.until_served("trio").await;
    home.pass(2).await;
    let stood = before(home).await;
    let dir = home.config.data_dir.display().to_string();
    type Loss = (&'static str, fn(&Home), &'static str);
    let losses: [Loss; 5] = [
        ("the file is missing", |home| drop_files(home, &["store.key", "high-water"]), "Lost"),
        ("the file is empty", |home| fs::write(file(home, "store.db"), "").unwrap(), "Lost"),
        (
            "the file is cut off",
            |home| {
                let bytes = fs::read(file(home, "whole.db")).unwrap();
                drop_files(home, &["store.key", "high-water"]);
                fs::write(file(home, "store.db"), &bytes[..bytes.len() / 2]).unwrap();
            },
            "Damaged",
        ),
        ("the key is another's", |home| fs::write(file(home, "store.key"), [7; 32]).unwrap(), "WrongKey"),
        ("all of it is gone", |home| drop_files(home, &[]), "None"),
    ];
    for (what, lose, state) in losses {
        let lineage = home.store().lineage().to_owned();
        let version = home.store().resource_version();
        let whole = file(home, "whole.db");
        let _ = fs::remove_file(&whole);
        home.store().copy_to(&whole).await.unwrap();
        home.stop().await;
        home.world.mark().await;
        lose(home);
        let said = home.hearth(&["recover", "status", "--data-dir", &dir]).await;
        assert_eq!(said.exit, Exit::Unwell, "{what}");
        assert!(
            said.out.starts_with(state) && said.out.contains("hearth recover rebuild"),
            "{what}: {}",
            said.out
        );
        if state != "None" {
            home.is_refused().await;
        }
        let rebuilt = home.rebuild().await.unwrap();
        assert_eq!(
            (rebuilt.apps.as_slice(), &rebuilt.lineage),
            (&["household/trio".to_owned()][..], &lineage),
            "{what}"
        );
        assert!(rebuilt.aside.is_none_or(|aside| aside.is_dir()), "nothing is deleted");
        home.serve().await;
        assert_eq!(home.store().lineage(), lineage);
        // With the mark gone as well, only what stands tells how far the store had come.
        if state != "None" {
            assert!(home.store().resource_version() > version, "{what}: no version is given out twice");
        }
        let screen = only_looks(home, what).await;
        assert!(screen.contains("rebuilt from 1 instances"), "{what}: {screen}");
        is_whole_after_accepting(home, &stood, what).await;
    }
    home.pass(3).await;
    nothing_was_touched(home, "in the end").await;
    assert!(home.rebuild().await.unwrap_err().to_string().contains("open"), "not while it is served");
}

#[test]
fn pretend_a_data_folder_of_an_older_time_touches_nothing_and_what_came_since_is_taken_over() {
    on_pretend(older);
}

#[test]
fn real_a_data_folder_of_an_older_time_touches_nothing_and_what_came_since_is_taken_over() {
    on_real(older);
}

async fn older(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    home.stop().await;
    let copy = PathBuf::from(home.file("older", "")).with_extension("folder");
    copy_files(&home.config.data_dir, &copy);
    home.serve().await;
    home.install(&page(home, "late").await).await;
    let mut services = trio(home).await;
    services["web"]["environment"]["NAME"] = json!("newer");
    home.install(&app("trio", &services)).await;
    home.until_served("late").await;
    let (late, web) = (home.id("late-web").await, home.id("trio-web").await);

    home.stop().await;
    copy_files(&copy, &home.config.data_dir);
    home.world.mark().await;
    home.serve().await;
    let screen = only_looks(home, "older").await;
    assert!(screen.contains("older copy") && screen.contains("was made at version"), "{screen}");
    assert!(screen.contains("hearth recover adopt app/household/late"), "{screen}");
    home.pass(5).await;
    nothing_was_touched(home, "older, for a while").await;
    assert_eq!(home.id("trio-web").await, web, "what is newer runs on");
    assert!(home.page("late").await.is_the_apps());

    home.ask(&["recover", "adopt", "app/late"]).await;
    home.ask(&["recover", "accept"]).await;
    home.until_ready("trio").await;
    home.until_ready("late").await;
    home.pass(5).await;
    assert_eq!(home.id("late-web").await, late, "it is the same one");
    assert_ne!(home.id("trio-web").await, web, "a person said go: it is as the older store says");
    home.until_served("late").await;
}

#[test]
fn pretend_a_new_store_beside_what_stands_touches_nothing_and_takes_it_over_when_asked() {
    on_pretend(new_beside);
}

#[test]
fn real_a_new_store_beside_what_stands_touches_nothing_and_takes_it_over_when_asked() {
    on_real(new_beside);
}

async fn new_beside(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let stood = before(home).await;
    home.stop().await;
    home.world.mark().await;
    drop_files(home, &[]);
    home.serve().await;
    let screen = only_looks(home, "new").await;
    assert!(screen.contains("This store is new, and 1 apps"), "{screen}");
    assert!(screen.contains("things of another home"), "{screen}");
    home.restart().await;
    only_looks(home, "new, and started again").await;
    let said = home.ask(&["recover", "adopt", "--all"]).await;
    assert!(said.contains("app/household/trio") && said.contains("system"), "{said}");
    is_whole_after_accepting(home, &stood, "taken over").await;
    home.restart().await;
    home.until_ready("trio").await;
    home.pass(5).await;
    nothing_was_touched(home, "taken over, for a while").await;
}

#[test]
fn pretend_the_store_of_another_home_touches_nothing_of_this_one() {
    on_pretend(another_home);
}

#[test]
fn real_the_store_of_another_home_touches_nothing_of_this_one() {
    on_real(another_home);
}

async fn another_home(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let stood = before(home).await;
    home.stop().await;
    let other = PathBuf::from(home.file("other", "")).with_extension("home");
    let config = Config { data_dir: other.clone(), ..home.config.clone() };
    let store = hearth::serve::open_store(&config, Arc::new(SystemClock::start())).await.unwrap();
    store.close().await;
    let own = PathBuf::from(home.file("own", "")).with_extension("home");
    copy_files(&home.config.data_dir, &own);
    fs::copy(own.join("high-water"), other.join("high-water")).unwrap();
    copy_files(&other, &home.config.data_dir);
    home.world.mark().await;
    home.serve().await;
    let screen = only_looks(home, "another home").await;
    assert!(screen.contains("belongs to another home"), "{screen}");

    // Accepted, it is a home of its own, and what stands stays the other's.
    home.ask(&["recover", "accept"]).await;
    home.pass(10).await;
    nothing_was_touched(home, "accepted").await;
    let said = home.ask(&["recover", "status"]).await;
    assert!(said.contains("of another home") && said.contains("adopt app/household/trio"), "{said}");

    // The way back: the store that belongs here.
    home.stop().await;
    copy_files(&own, &home.config.data_dir);
    home.serve().await;
    home.until_ready("trio").await;
    home.pass(3).await;
    nothing_was_touched(home, "back").await;
    assert_eq!(before(home).await, stood);
}

#[test]
fn pretend_a_store_of_a_newer_program_is_left_alone() {
    on_pretend(newer);
}

async fn newer(home: &Home) {
    home.install(&page(home, "site").await).await;
    let path = file(home, "store.db");
    home.store().copy_to(&file(home, "whole.db")).await.unwrap();
    home.stop().await;
    home.world.mark().await;
    let whole = fs::read(file(home, "whole.db")).unwrap();
    drop_files(home, &["store.key", "high-water"]);
    let mut bytes = whole.clone();
    // SQLite keeps user_version here.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    assert!(home.is_refused().await.contains("schema version 99"));
    let dir = home.config.data_dir.display().to_string();
    let said = home.hearth(&["recover", "status", "--data-dir", &dir]).await;
    assert!(said.out.starts_with("Newer") && said.out.contains("run the newer program"), "{}", said.out);
    assert!(!said.out.contains("rebuild"), "what a newer program can read is not lost: {}", said.out);
    assert!(home.rebuild().await.is_err());
    let left = fs::read(&path).unwrap();
    assert!(left.len() == bytes.len() && left[60..64] == bytes[60..64], "it is not touched");
    fs::write(&path, whole).unwrap();
    home.serve().await;
    home.until_ready("site").await;
    nothing_was_touched(home, "newer").await;
}

#[test]
fn pretend_data_that_was_kept_is_taken_up_again_when_a_person_says_so() {
    on_pretend(taken_up);
}

#[test]
fn real_data_that_was_kept_is_taken_up_again_when_a_person_says_so() {
    on_real(taken_up);
}

async fn taken_up(home: &Home) {
    let shelf = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "photos" },
    });
    home.apply(&shelf).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    home.ask(&["delete", "volume/shelf", "--yes"]).await;
    home.until_gone("Volume", "shelf").await;
    home.apply(&shelf).await;
    home.until_verdict("Volume", "shelf", "NeedsYou").await;
    let said = home.ask(&["recover", "status"]).await;
    assert!(said.contains("hearth recover adopt volume/household/shelf"), "{said}");
    home.ask(&["recover", "adopt", "volume/shelf"]).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    let missing = home.hearth(&["recover", "adopt", "volume/nowhere"]).await;
    assert!(missing.exit == Exit::Conflict && missing.err.contains("declare it first"), "{}", missing.err);

    // An app that was deleted comes back with its data, and only when it is named.
    home.install(&app("trio", &trio(home).await)).await;
    let leaf = home.leaf("trio", "rows");
    let stood = home.leaf_state(&leaf).await;
    home.ask(&["delete", "app/trio", "--yes", "--timeout", "140s"]).await;
    home.until_gone("App", "trio").await;
    home.settle().await;
    let said = home.ask(&["recover", "status"]).await;
    assert!(said.contains("App household/trio was deleted and its data kept"), "{said}");
    home.ask(&["recover", "adopt", "--all"]).await;
    assert!(home.find("App", "trio").is_none(), "what was deleted is not brought back unasked");
    home.stop().await;
    drop_files(home, &["store.key", "high-water"]);
    assert_eq!(home.rebuild().await.unwrap().apps, Vec::<String>::new(), "nor by a rebuilt store");
    home.serve().await;
    home.ask(&["recover", "accept"]).await;
    home.ask(&["recover", "adopt", "app/trio"]).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert_eq!(home.leaf_state(&leaf).await, stood, "it is the same data");
}
