//! Compaction that fails once, as where a disk is full, and goes on afterwards.

use hearth_meta::Timestamp;
use tempfile::TempDir;

use super::{COMPACT_EVERY, Cipher, Disk, connect};
use crate::store::migrations::migrate;

#[tokio::test]
async fn a_compaction_that_sqlite_has_rolled_back_is_made_the_next_time() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut connection = connect(&file, false).await.unwrap();
    migrate(&mut connection, &file).await.unwrap();
    let cipher = Cipher::load(&folder.path().join("store.key"), true).unwrap();
    let changes =
        "WITH RECURSIVE counted (rv) AS (SELECT 1 UNION ALL SELECT rv + 1 FROM counted WHERE rv < 2000)
                   INSERT INTO changes (rv, gone, kind, namespace, name, uid, sealed, body)
                   SELECT rv, 0, 'Lamp', 'den', 'lamp-' || rv % 3, '', 0, x'00' FROM counted";
    sqlx::query(changes).execute(&mut connection).await.unwrap();
    let spoilt = "CREATE TRIGGER spoilt BEFORE DELETE ON changes BEGIN SELECT RAISE(ROLLBACK, 'full'); END";
    sqlx::query(spoilt).execute(&mut connection).await.unwrap();
    let mut disk = Disk::new(connection, cipher, 0, 0);
    disk.compact_if_due(Timestamp::UNIX_EPOCH).await;
    assert_eq!(disk.compacted, 0);
    sqlx::query("DROP TRIGGER spoilt").execute(&mut disk.connection).await.unwrap();
    disk.since_compaction = COMPACT_EVERY;
    disk.compact_if_due(Timestamp::UNIX_EPOCH).await;
    assert_eq!(disk.compacted, 976);
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM changes").fetch_one(&mut disk.connection).await.unwrap();
    assert_eq!(kept, 1024);
}
