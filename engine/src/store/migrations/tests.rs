//! Migrations: forward only, with a whole copy before, and never on a newer file.

use sqlx::SqliteConnection;
use tempfile::TempDir;

use super::{STEPS, migrate_by, read_version};
use crate::store::disk::connect;
use crate::store::error::OpenError;
use crate::store::load::{check_agreement, check_history};

mod whole;

const FIRST: &str = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
const SECOND: &str = "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO b SELECT x FROM a;";
const BROKEN: &str = "CREATE TABLE c (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);";

async fn tables(connection: &mut SqliteConnection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
}

#[tokio::test]
async fn goes_forward_and_takes_a_copy_before() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut connection = connect(&file, false).await.unwrap();
    migrate_by(&[FIRST], &mut connection, &file).await.unwrap();
    let copy = folder.path().join("store.before-2.db");
    assert!(!copy.exists(), "a new store needs no copy");
    // Half a copy, as a crash leaves it, is not taken for a whole one.
    std::fs::write(folder.path().join("store.before-2.half"), "half").unwrap();
    migrate_by(&[FIRST, SECOND], &mut connection, &file).await.unwrap();
    assert_eq!(tables(&mut connection).await, ["a", "b"]);
    assert_eq!(tables(&mut connect(&copy, false).await.unwrap()).await, ["a"]);
    migrate_by(&[FIRST, SECOND], &mut connection, &file).await.unwrap();
}

#[tokio::test]
async fn only_the_newest_copies_from_before_migrations_are_kept() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    for name in [
        "store.before-2.db",
        "store.before-10.db",
        "store.before-9.db",
        "store.before-me.db",
        "a.before-1.db",
    ] {
        std::fs::write(folder.path().join(name), "copy").unwrap();
    }
    let mut connection = connect(&file, false).await.unwrap();
    let steps: Vec<String> = (0..12).map(|n| format!("CREATE TABLE t{n} (x INTEGER) STRICT;")).collect();
    let steps: Vec<&'static str> = steps.into_iter().map(|step| &*step.leak()).collect();
    migrate_by(&steps[..10], &mut connection, &file).await.unwrap();
    migrate_by(&steps[..11], &mut connection, &file).await.unwrap();
    let kept = |name: &str| folder.path().join(name).exists();
    assert!(kept("store.before-11.db") && kept("store.before-10.db") && kept("store.before-9.db"));
    assert!(!kept("store.before-2.db"), "the oldest goes");
    assert!(kept("store.before-me.db") && kept("a.before-1.db"), "what is not of our naming stays");
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_file_as_it_was() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut connection = connect(&file, false).await.unwrap();
    migrate_by(&[FIRST], &mut connection, &file).await.unwrap();
    migrate_by(&[FIRST, BROKEN], &mut connection, &file).await.unwrap_err();
    assert_eq!(tables(&mut connection).await, ["a"]);
    assert_eq!(read_version(&mut connection).await.unwrap(), 1);
    migrate_by(&[FIRST, SECOND], &mut connection, &file).await.unwrap();
    assert_eq!(tables(&mut connection).await, ["a", "b"]);
}

#[tokio::test]
async fn refuses_a_file_of_a_newer_program() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut connection = connect(&file, false).await.unwrap();
    migrate_by(&[FIRST, SECOND], &mut connection, &file).await.unwrap();
    let error = migrate_by(&[FIRST], &mut connection, &file).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 2, known: 1 }), "{error}");
}

type Row = (i64, String, String, Vec<u8>);

async fn objects(connection: &mut SqliteConnection) -> Vec<Row> {
    let sql = "SELECT rv, name, uid, body FROM objects ORDER BY name";
    sqlx::query_as(sql).fetch_all(connection).await.unwrap()
}

#[tokio::test]
async fn what_stood_as_a_copy_of_its_own_is_afterwards_its_newest_change() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut connection = connect(&file, false).await.unwrap();
    migrate_by(&STEPS[..3], &mut connection, &file).await.unwrap();
    for (rv, gone, name) in [(1, 0, "a"), (2, 0, "b"), (3, 0, "c"), (4, 0, "b"), (5, 1, "c"), (6, 0, "d")] {
        let sql = "INSERT INTO changes (rv, gone, kind, namespace, name, uid, sealed, body)
                   VALUES (?, ?, 'Lamp', 'den', ?, ?, 0, ?)";
        let change = sqlx::query(sql).bind(rv).bind(gone).bind(name).bind(format!("uid of {name}"));
        change.bind(format!("version {rv}").into_bytes()).execute(&mut connection).await.unwrap();
        let sql = "INSERT INTO history (rv, at, kind, namespace, name, uid, generation, verb, actor, source, differences, spec)
                   VALUES (?, '', 'Lamp', 'den', ?, '', 1, 'update', '', '', '', '')";
        sqlx::query(sql).bind(rv).bind(name).execute(&mut connection).await.unwrap();
    }
    // As an earlier program dropped them: whatever was old.
    sqlx::query("DELETE FROM changes WHERE rv <= 4").execute(&mut connection).await.unwrap();
    let before = objects(&mut connection).await;
    migrate_by(STEPS, &mut connection, &file).await.unwrap();
    assert_eq!(objects(&mut connection).await, before);
    assert_eq!(before.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 4, 6]);
    let compacted: String = sqlx::query_scalar("SELECT value FROM meta WHERE key = 'compacted'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(compacted, "4");
    check_agreement(&mut connection, 4).await.unwrap();
    check_history(&mut connection).await.unwrap();
    let led: Vec<(i64, Option<i64>)> =
        sqlx::query_as("SELECT id, before FROM history_before").fetch_all(&mut connection).await.unwrap();
    assert_eq!(led, [(1, None), (2, None), (3, None), (4, Some(2)), (5, Some(3)), (6, None)]);
}
