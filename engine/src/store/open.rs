//! Opening a store: lock, schema, check, key, everything into memory, then the writer.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use hearth_meta::KindInfo;
use sqlx::{Row, SqliteConnection};
use tokio::sync::mpsc;

use super::cipher::Cipher;
use super::disk::{self, Disk, Loaded, Reader};
use super::error::OpenError;
use super::lock::StoreLock;
use super::state::{RECENT_CHANGES, State};
use super::watch::Change;
use super::{Inner, Store, migrations, writer};
use crate::clock::Clock;
use crate::object::Object;

/// How many requests may wait for the writer before callers wait to ask.
const WAITING_REQUESTS: usize = 1024;

/// What a store needs to be opened.
pub struct OpenOptions {
    /// The folder it lives in; made if absent.
    pub data_dir: PathBuf,
    /// Every kind it keeps.
    pub kinds: Vec<KindInfo>,
    /// What dates everything.
    pub clock: Arc<dyn Clock>,
}

impl Store {
    /// Opens the store in a folder, making it if there is none. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// Where it is in use, damaged, newer than this program, or cannot be read or written.
    pub async fn open(options: OpenOptions) -> Result<Self, OpenError> {
        let OpenOptions { data_dir, kinds, clock } = options;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&data_dir)
            .map_err(|source| OpenError::File { action: format!("making {}", data_dir.display()), source })?;
        let lock = StoreLock::take(&data_dir)?;
        let file = data_dir.join("store.db");
        let is_new = !file.exists();
        let cipher = Cipher::load(&data_dir.join("store.key"), is_new)?;
        let mut connection = disk::connect(&file, false).await?;
        check(&mut connection).await?;
        migrations::migrate(&mut connection, &file).await?;
        let lineage = lineage(&mut connection).await?;
        let epoch = next_epoch(&mut connection).await?;
        let loaded = disk::load(&mut connection, &cipher, RECENT_CHANGES).await?;
        let kinds: BTreeMap<&'static str, KindInfo> =
            kinds.into_iter().map(|kind| (kind.kind, kind)).collect();
        let reader = Reader::new(disk::connect(&file, true).await?);
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let state = Arc::new(RwLock::new(in_memory(loaded, &kinds)));
        let disk = Disk::new(connection, cipher.clone());
        let inner = Arc::new(Inner { kinds, lineage, epoch, clock, cipher, state, requests, reader });
        tokio::spawn(writer::run(Arc::downgrade(&inner), waiting, disk, lock));
        Ok(Self { inner })
    }
}

async fn check(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await?;
    if found == "ok" { Ok(()) } else { Err(OpenError::Damaged(found)) }
}

async fn lineage(connection: &mut SqliteConnection) -> Result<String, OpenError> {
    let new = uuid::Uuid::new_v4().to_string();
    sqlx::query("INSERT INTO meta (key, value) VALUES ('lineage', ?) ON CONFLICT DO NOTHING")
        .bind(new)
        .execute(&mut *connection)
        .await?;
    Ok(sqlx::query("SELECT value FROM meta WHERE key = 'lineage'").fetch_one(connection).await?.get("value"))
}

/// Counts this process. An intent of an earlier epoch is of a process that is dead, since the lock is ours.
async fn next_epoch(connection: &mut SqliteConnection) -> Result<i64, OpenError> {
    let sql = "INSERT INTO meta (key, value) VALUES ('epoch', '1')
               ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING CAST(value AS INTEGER) AS epoch";
    Ok(sqlx::query(sql).fetch_one(connection).await?.get("epoch"))
}

fn in_memory(loaded: Loaded, kinds: &BTreeMap<&'static str, KindInfo>) -> State {
    let mut state = State { resource_version: loaded.resource_version, ..State::default() };
    for object in loaded.objects {
        let object = Arc::new(object);
        state.keep(&object.key(), &object, kinds.get(object.kind.as_str()));
    }
    state.intents = loaded.intents.into_iter().map(|intent| (intent.uid.clone(), intent)).collect();
    state.recent = loaded
        .changes
        .into_iter()
        .map(|(rv, gone, object)| Arc::new(past(rv, gone, object)))
        .collect::<VecDeque<_>>();
    state
}

/// A change from before this process: what stood before it is not known.
fn past(resource_version: u64, gone: bool, object: Object) -> Change {
    let object = Arc::new(object);
    let key = object.key();
    let (new, last) = if gone { (None, Some(object)) } else { (Some(object), None) };
    Change { resource_version, key, old: None, new, last }
}
