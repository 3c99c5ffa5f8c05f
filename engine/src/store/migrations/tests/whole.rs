//! A whole store of an earlier schema: read, examined, opened and restored; or refused before anything of it changed.

use std::sync::Arc;

use hearth_meta::{KindInfo, Scope};
use serde_json::json;
use sqlx::{Connection, Executor};
use tempfile::TempDir;

use super::{STEPS, connect, migrate_by, read_version};
use crate::clock::ManualClock;
use crate::object::{Key, Object};
use crate::store::error::OpenError;
use crate::store::replace::Replacement;
use crate::store::{OpenOptions, Store, WriteOptions, examine, verify};

/// A name that stands is not found by it: the index of objects and that of the audit log, which is as long, change
/// places.
const NOT_FOUND_BY_NAME: &str = "
    DELETE FROM objects WHERE name = 'b';
    INSERT INTO objects SELECT kind, namespace, name, uid, rv, sealed, body, sum FROM changes WHERE name = 'b';
    PRAGMA writable_schema = ON;
    CREATE TEMP TABLE roots AS SELECT name, rootpage FROM sqlite_schema
        WHERE name IN ('sqlite_autoindex_objects_1', 'history_object');
    UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM temp.roots WHERE roots.name <> sqlite_schema.name)
        WHERE name IN (SELECT name FROM temp.roots);
    PRAGMA writable_schema = RESET;";

/// What stands is not what the changes made.
const AT_ODDS: &str = "DELETE FROM objects WHERE name = 'a'";

async fn open(folder: &TempDir) -> Result<Store, OpenError> {
    let kinds = vec![KindInfo::plain("test.dev", "Lamp", ("lamps", "lamp"), Scope::Cluster)];
    let clock = Arc::new(ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap()));
    Store::open(OpenOptions { data_dir: folder.path().to_owned(), kinds, clock }).await
}

/// A folder whose store an earlier program wrote, and what was done to its file then.
async fn of_schema_3(spoilt: &'static str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await.unwrap();
    for name in ["a", "b", "c"] {
        let lamp = json!({ "apiVersion": "test.dev/v1", "kind": "Lamp", "metadata": { "name": name } });
        store.create(Object::from_value(lamp).unwrap(), &WriteOptions::default()).await.unwrap();
    }
    store.close().await;
    let (file, newer) = (folder.path().join("store.db"), folder.path().join("newer.db"));
    std::fs::rename(&file, &newer).unwrap();
    let mut connection = connect(&file, false).await.unwrap();
    migrate_by(&STEPS[..3], &mut connection, &file).await.unwrap();
    sqlx::query("ATTACH ? AS newer")
        .bind(newer.display().to_string())
        .execute(&mut connection)
        .await
        .unwrap();
    let rows = "INSERT INTO meta SELECT * FROM newer.meta WHERE key <> 'compacted';
                INSERT INTO changes SELECT * FROM newer.changes ORDER BY rv;
                INSERT INTO history SELECT * FROM newer.history;
                DETACH newer;";
    for sql in [rows, spoilt] {
        connection.execute(sqlx::raw_sql(sql)).await.unwrap();
    }
    connection.close().await.unwrap();
    std::fs::remove_file(newer).unwrap();
    folder
}

#[tokio::test]
async fn an_earlier_store_is_read_whole_examined_and_opened_with_all_it_held() {
    let folder = of_schema_3("").await;
    let (file, key) = (folder.path().join("store.db"), folder.path().join("store.key"));
    let facts = verify(&file, &key).await.unwrap();
    assert_eq!((facts.schema, facts.resource_version), (3, 3));
    let examined = examine(folder.path()).await.unwrap().unwrap();
    assert_eq!((examined.resource_version, examined.observe_only), (3, None));
    let store = open(&folder).await.unwrap();
    assert_eq!((store.all().len(), store.resource_version()), (3, 3));
    assert_eq!(store.history(&Key::new("Lamp", "", "b")).await.unwrap().len(), 1);
    store.close().await;
    let mut connection = connect(&file, true).await.unwrap();
    let sums = "SELECT count(*) FROM meta WHERE key = 'compacted' AND sum IS NOT NULL";
    let with_sum: i64 = sqlx::query_scalar(sums).fetch_one(&mut connection).await.unwrap();
    assert_eq!(with_sum, 1, "what was put down without a sum has one from now on");
}

#[tokio::test]
async fn an_earlier_store_whose_names_are_not_found_is_refused_as_it_is() {
    let folder = of_schema_3(NOT_FOUND_BY_NAME).await;
    let file = folder.path().join("store.db");
    assert!(examine(folder.path()).await.unwrap_err().is_damage());
    let refused = open(&folder).await.err().unwrap();
    assert!(refused.is_damage() && refused.to_string().contains("index"), "{refused}");
    assert_eq!(read_version(&mut connect(&file, true).await.unwrap()).await.unwrap(), 3);
    assert!(!folder.path().join("store.before-4.db").exists());
}

#[tokio::test]
async fn a_copy_of_an_earlier_store_is_read_whole_before_it_takes_the_place_of_another() {
    for (spoilt, is_sound) in [("", true), (AT_ODDS, false)] {
        let (home, earlier) = (TempDir::new().unwrap(), of_schema_3(spoilt).await);
        let replacement = Replacement::begin(home.path()).unwrap();
        for name in ["store.db", "store.key"] {
            std::fs::copy(earlier.path().join(name), replacement.parts().join(name)).unwrap();
        }
        let read = replacement.verify().await;
        assert_eq!(read.as_ref().map(|facts| facts.schema).ok(), is_sound.then_some(3), "{read:?}");
        if !is_sound {
            assert!(read.unwrap_err().is_damage());
            continue;
        }
        replacement.put_in_place("Restored", hearth_meta::Timestamp::UNIX_EPOCH).await.unwrap();
        let store = open(&home).await.unwrap();
        assert_eq!(store.all().len(), 3);
        assert_eq!(store.observe_only().as_deref(), Some("Restored"));
    }
}
