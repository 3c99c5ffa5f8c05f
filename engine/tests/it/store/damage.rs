//! A store that is damaged is found out, and its words lead to the way back. What opens is right, or says that it is
//! not all there is.
#![expect(clippy::disallowed_methods, reason = "these tests spoil the store's files")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hearth_engine::store::{EventQuery, HistoryRow, Intent, OpenError, Space};
use hearth_engine::{Object, Store};
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use crate::toys::{Home, key, options};

/// Bytes of a page of the store's file.
const PAGE: u64 = 8192;

async fn connect(file: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap()
}

/// A small random source with a seed, so that a failure can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a store held.
#[derive(Debug, PartialEq)]
struct Held {
    objects: Vec<Arc<Object>>,
    resource_version: u64,
    intents: Vec<Option<Intent>>,
    histories: Vec<Vec<HistoryRow>>,
    lineage: String,
}

impl Held {
    async fn of(store: &Store, names: &[Arc<Object>]) -> Result<Self, String> {
        let mut histories = Vec::new();
        for object in names {
            histories.push(store.history(&object.key()).await.map_err(|error| error.to_string())?);
        }
        Ok(Self {
            objects: store.all(),
            resource_version: store.resource_version(),
            intents: names.iter().map(|object| store.intent(object.uid())).collect(),
            histories,
            lineage: store.lineage().to_owned(),
        })
    }
}

/// A store with some of everything, and what it held.
async fn lived_in() -> (Home, Held) {
    let home = Home::new().await;
    let secret = json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "den"}, "data": {"a": "b"}});
    home.create(secret).await.unwrap();
    for n in 0..60 {
        let lamp = home.lamp(&format!("lamp-{n}"), json!({"color": "x".repeat(40 * n + 1)})).await;
        let status = json!({"summary": "Ready", "seen": n});
        home.store.update_status(&lamp.key(), lamp.uid(), status).await.unwrap();
        home.store.put_intent(intent(lamp.uid(), n)).await.unwrap();
    }
    // The log goes into the file, as it does by itself once it has grown.
    let mut connection = connect(&home.folder.path().join("store.db")).await;
    sqlx::query("PRAGMA wal_checkpoint").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    for n in 0..30 {
        home.patch(key("Lamp", &format!("lamp-{n}")), json!({"spec": {"color": "blue"}})).await.unwrap();
        home.card(&format!("card-{n}")).await;
        home.delete(key("Card", &format!("card-{n}"))).await.unwrap();
    }
    let held = Held::of(&home.store, &home.store.all()).await.unwrap();
    (home, held)
}

fn intent(uid: &str, n: usize) -> Intent {
    Intent {
        uid: uid.into(),
        epoch: 1,
        target: format!("target-{n}"),
        step: "paint it".into(),
        dangerous: n.is_multiple_of(2),
        opened_at: hearth_meta::Timestamp::UNIX_EPOCH,
        closed_at: None,
        last_applied: None,
    }
}

/// The files of a store as a process that is killed leaves them; the store goes on.
fn as_killed(home: &Home) -> TempDir {
    let image = TempDir::new().unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.key", "high-water"] {
        std::fs::copy(home.folder.path().join(name), image.path().join(name)).unwrap();
    }
    image
}

fn as_closed(home: &Home) -> TempDir {
    let image = TempDir::new().unwrap();
    for name in ["store.db", "store.key", "high-water"] {
        std::fs::copy(home.folder.path().join(name), image.path().join(name)).unwrap();
    }
    image
}

/// How a spoiled store came out.
#[derive(Debug, PartialEq)]
enum Found {
    Refused,
    Right,
    HeldBack,
    /// It opened, and says of some row of the audit log that it is damaged.
    Told,
}

/// Opens a spoiled store: it is refused with the way back, or it is right, or it is held back.
async fn open(image: &TempDir, home: &Home, held: &Held, what: &str) -> Found {
    let store = match Store::open(options(image, &home.clock)).await {
        Ok(store) => store,
        Err(error) => {
            let words = error.to_string();
            let folder = image.path().display();
            assert!(words.contains("hearth restore"), "{what}: {words}");
            assert!(words.contains(&format!("--data-dir {folder}")), "{what}: {words}");
            return Found::Refused;
        }
    };
    // An event has no sum; it must not bring anything down.
    let _ = store.events(&EventQuery::default()).await;
    let now = Held::of(&store, &held.objects).await;
    let is_held_back = store.observe_only().is_some();
    store.close().await;
    match now {
        Ok(now) if now == *held => Found::Right,
        _ if is_held_back => Found::HeldBack,
        Ok(now) => panic!(
            "{what}: it opened as if all were well, and {} objects at {} are not {} at {}",
            now.objects.len(),
            now.resource_version,
            held.objects.len(),
            held.resource_version
        ),
        Err(words) => {
            assert!(words.contains("not what was put down") || words.contains("error"), "{what}: {words}");
            Found::Told
        }
    }
}

#[tokio::test]
async fn a_log_cut_at_any_place_is_noticed_by_the_mark() {
    let (home, held) = lived_in().await;
    let size = std::fs::metadata(home.folder.path().join("store.db-wal")).unwrap().len();
    let mut random = Random(1);
    let mut held_back = 0;
    for seed in 0..60 {
        let image = as_killed(&home);
        let cut = random.below(size + 1);
        let log = std::fs::OpenOptions::new().write(true).open(image.path().join("store.db-wal")).unwrap();
        log.set_len(cut).unwrap();
        let found = open(&image, &home, &held, &format!("seed {seed}: the log cut at {cut} of {size}")).await;
        held_back += usize::from(found == Found::HeldBack);
    }
    assert!(
        held_back > 10,
        "a cut log that is whole up to the cut opens, and is held back: {held_back} of 60"
    );
    let image = as_killed(&home);
    assert_eq!(open(&image, &home, &held, "whole").await, Found::Right);
    // Also where only what gives out no version is lost.
    let lamp = home.store.get(&key("Lamp", "lamp-1")).unwrap();
    let before = std::fs::metadata(home.folder.path().join("store.db-wal")).unwrap().len();
    home.store.put_intent(intent(lamp.uid(), 77)).await.unwrap();
    let image = as_killed(&home);
    let log = std::fs::OpenOptions::new().write(true).open(image.path().join("store.db-wal")).unwrap();
    if std::fs::metadata(home.folder.path().join("store.db-wal")).unwrap().len() > before {
        log.set_len(before).unwrap();
        let store = Store::open(options(&image, &home.clock)).await.unwrap();
        assert!(store.observe_only().unwrap().contains("what was last being done"));
    }
}

#[tokio::test]
async fn a_flipped_page_is_found_at_the_start_or_harms_nothing() {
    let (home, held) = lived_in().await;
    home.store.close().await;
    let whole = std::fs::read(home.folder.path().join("store.db")).unwrap();
    let pages = whole.len() as u64 / PAGE;
    let mut found = Vec::new();
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut bytes = whole.clone();
        let page = if seed % 10 == 0 { pages - 1 } else { random.below(pages) };
        let first = page * PAGE;
        // One bit, some bytes, or all of the page.
        let (start, count) = match seed % 3 {
            0 => (first + random.below(PAGE), 1),
            1 => (first + random.below(PAGE - 96), 1 + random.below(90)),
            _ => (first, PAGE),
        };
        for place in start..start + count {
            bytes[usize::try_from(place).unwrap()] ^= u8::try_from(1 + random.below(255)).unwrap();
        }
        let image = as_closed(&home);
        std::fs::write(image.path().join("store.db"), &bytes).unwrap();
        let what = format!("seed {seed}: {count} bytes of page {page} of {pages}");
        found.push(open(&image, &home, &held, &what).await);
    }
    let count = |kind: &Found| found.iter().filter(|one| *one == kind).count();
    assert!(count(&Found::Refused) >= 50, "{found:?}");
    println!(
        "of 100: {} refused, {} right, {} told, {} held back",
        count(&Found::Refused),
        count(&Found::Right),
        count(&Found::Told),
        count(&Found::HeldBack)
    );
}

#[tokio::test]
async fn every_single_byte_of_what_an_object_says_is_watched_over() {
    let (home, held) = lived_in().await;
    home.store.close().await;
    let whole = std::fs::read(home.folder.path().join("store.db")).unwrap();
    let places: Vec<usize> =
        (0..whole.len() - 8).filter(|at| whole[*at..].starts_with(b"\"summary\"")).collect();
    assert!(places.len() > 60, "the statuses lie there in the clear");
    for at in places.into_iter().step_by(7) {
        let mut bytes = whole.clone();
        bytes[at + 1] = b'S';
        let image = as_closed(&home);
        std::fs::write(image.path().join("store.db"), &bytes).unwrap();
        let found = open(&image, &home, &held, &format!("one letter at {at}")).await;
        // What lies in a free page, or in a change too old to be read, harms nobody.
        assert!(found == Found::Refused || found == Found::Right, "{found:?}");
    }
}

/// What a person does with `cp` who does not know of the log beside it.
#[tokio::test]
async fn a_copy_put_back_by_hand_beside_the_log_of_another_time_is_never_believed() {
    let (home, _) = lived_in().await;
    let copy = home.folder.path().join("copy.db");
    home.store.copy_to(&copy).await.unwrap();
    let raw = as_killed(&home);
    for n in 0..40 {
        home.patch(key("Lamp", &format!("lamp-{n}")), json!({"spec": {"color": "y".repeat(n * 50 + 1)}}))
            .await
            .unwrap();
        home.card(&format!("later-{n}")).await;
    }
    let held = Held::of(&home.store, &home.store.all()).await.unwrap();
    for (what, source) in [("a copy", copy), ("the file alone", raw.path().join("store.db"))] {
        let image = as_killed(&home);
        std::fs::copy(&source, image.path().join("store.db")).unwrap();
        open(&image, &home, &held, what).await;
        // Without the stale log it opens, and is held back as an older copy.
        let image = as_killed(&home);
        for log in ["store.db-wal", "store.db-shm"] {
            std::fs::remove_file(image.path().join(log)).unwrap();
        }
        std::fs::copy(&source, image.path().join("store.db")).unwrap();
        assert_eq!(open(&image, &home, &held, what).await, Found::HeldBack);
    }
}

#[tokio::test]
async fn an_object_that_vanished_from_the_file_is_missed_by_its_change() {
    for sql in [
        "DELETE FROM standing WHERE name = 'lamp-7'",
        "UPDATE standing SET rv = 1 WHERE name = 'lamp-7'",
        "UPDATE standing SET name = 'lamp-77' WHERE name = 'lamp-7'",
        "DELETE FROM changes WHERE name = 'lamp-7' AND rv = (SELECT max(rv) FROM changes WHERE name = 'lamp-7')",
        "DELETE FROM changes WHERE rv = 20",
        "UPDATE history_last SET name = 'lamp-77' WHERE name = 'lamp-7'",
        "UPDATE history_last SET id = 1 WHERE name = 'lamp-7'",
        "DELETE FROM history_last WHERE name = 'lamp-7'",
        "UPDATE history_before SET before = NULL WHERE id = (SELECT id FROM history_last WHERE name = 'lamp-7')",
        "DELETE FROM history_before WHERE id = 20",
    ] {
        let (home, held) = lived_in().await;
        home.store.close().await;
        let mut connection = connect(&home.folder.path().join("store.db")).await;
        assert_eq!(sqlx::query(sql).execute(&mut connection).await.unwrap().rows_affected(), 1);
        connection.close().await.unwrap();
        assert_eq!(open(&as_closed(&home), &home, &held, sql).await, Found::Refused);
    }
}

#[tokio::test]
async fn a_line_that_vanished_from_the_audit_log_is_missed_by_whoever_reads_it_and_by_every_copy() {
    let (home, _) = lived_in().await;
    home.store.close().await;
    let mut connection = connect(&home.folder.path().join("store.db")).await;
    for sql in
        ["DROP TRIGGER history_no_delete", "DELETE FROM history WHERE name = 'lamp-7' AND verb = 'create'"]
    {
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
    let home = home.reopened().await;
    home.store.history(&key("Lamp", "lamp-7")).await.unwrap_err();
    assert_eq!(home.store.history(&key("Lamp", "lamp-8")).await.unwrap().len(), 2);
    home.store.copy_to(&home.folder.path().join("copy.db")).await.unwrap_err();
}

async fn refusal(spoil: impl FnOnce(&Path)) -> (OpenError, String) {
    let home = Home::new().await;
    home.store.close().await;
    let image = as_closed(&home);
    spoil(&image.path().join("store.db"));
    let refused = Store::open(options(&image, &home.clock)).await.err().expect("it must not open");
    let words = refused.to_string().replace(&image.path().display().to_string(), "DIR");
    (refused, words)
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_with_the_way_back() {
    let (error, words) = refusal(|file| std::fs::write(file, "").unwrap()).await;
    assert!(matches!(error, OpenError::Missing { .. }), "{words}");
    assert_eq!(
        words,
        "DIR/store.db is missing or empty though its key is there; `hearth backup list --data-dir DIR` shows its \
         copies, `hearth restore FILE --data-dir DIR` puts one of them, or a backup, in its place; or move the key \
         away to start anew"
    );
    let (error, words) = refusal(|file| std::fs::write(file, "no database ".repeat(2000)).unwrap()).await;
    assert!(matches!(error, OpenError::Damaged { .. }), "{words}");
    assert!(
        words.contains("the store in DIR is damaged") && words.contains("hearth restore FILE"),
        "{words}"
    );
    let (error, words) = refusal(|file| {
        std::fs::remove_file(file).unwrap();
        std::fs::create_dir(file).unwrap();
    })
    .await;
    assert!(matches!(error, OpenError::File { .. }) && words.contains("it is not a file"), "{words}");
    let (error, words) = refusal(|file| {
        std::fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink(file, file).unwrap();
    })
    .await;
    assert!(
        matches!(error, OpenError::File { .. }) && words.starts_with("looking for DIR/store.db"),
        "{words}"
    );
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_told_in_the_systems_words() {
    let home = Home::new().await;
    home.store.close().await;
    let image = as_closed(&home);
    let file = image.path().join("store.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The administrator reads everything, and then the store is simply right.
    let may_read = std::fs::File::open(&file).is_ok();
    let opened = Store::open(options(&image, &home.clock)).await;
    match opened {
        Ok(_) => assert!(may_read),
        Err(error) => assert!(!may_read && error.to_string().contains("opening"), "{error}"),
    }
}

#[tokio::test]
async fn a_newer_store_is_left_untouched() {
    let home = Home::new().await;
    home.store.close().await;
    let file = home.folder.path().join("store.db");
    let mut connection = connect(&file).await;
    sqlx::query("PRAGMA user_version = 99").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = Store::open(options(&home.folder, &home.clock)).await.err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("run the newer program again"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn the_space_of_a_disk_is_known() {
    let space = Space::of(Path::new("/")).unwrap();
    assert!(space.total_bytes >= space.free_bytes && space.total_bytes > 0);
}
