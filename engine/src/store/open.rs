//! Opening a store: lock, schema, check, key, everything into memory, then the writer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use hearth_meta::KindInfo;
use sqlx::{Row, SqliteConnection};
use tokio::sync::mpsc;

use super::beneath::Beneath;
use super::cipher::Cipher;
use super::disk::{self, Disk, Loaded, Reader};
use super::error::OpenError;
use super::lock::StoreLock;
use super::mark::{self, Mark, Reached};
use super::state::{RECENT_CHANGES, State};
use super::trust::{self, OBSERVE_ONLY, WATCHED_FROM};
use super::watch::Change;
use super::{Inner, Store, migrations, writer};
use crate::clock::Clock;
use crate::object::{Key, Object};

/// How many requests may wait for the writer before callers wait to ask.
const WAITING_REQUESTS: usize = 1024;

/// The file of the high-water mark.
pub(super) const MARK: &str = "high-water";

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
        Self::open_over(options, Beneath::default()).await
    }

    /// The same, with something beneath it.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_over(options: OpenOptions, beneath: Beneath) -> Result<Self, OpenError> {
        let OpenOptions { data_dir, kinds, clock } = options;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&data_dir)
            .map_err(|source| OpenError::File { action: format!("making {}", data_dir.display()), source })?;
        let lock = StoreLock::take(&data_dir)?;
        let (file, key) = (data_dir.join("store.db"), data_dir.join("store.key"));
        let has_key = is_there(&key)?;
        // The key is made after the file and its schema: a key without them is a store that was lost, not a new one.
        let lost = || OpenError::Missing(file.display().to_string());
        if has_key && !is_there(&file)? {
            return Err(lost());
        }
        let mut connection = disk::connect(&file, false).await?;
        check(&mut connection).await?;
        if has_key && migrations::read_version(&mut connection).await? == 0 {
            return Err(lost());
        }
        migrations::migrate(&mut connection, &file).await?;
        // A key is made only for a store that no process has used yet, and before it is first used.
        let cipher = Cipher::load(&key, is_unused(&mut connection).await?)?;
        check_key(&mut connection, &cipher, &key).await?;
        let lineage = kept(&mut connection, "lineage", &beneath.new_uid().to_string()).await?;
        let epoch = next_epoch(&mut connection).await?;
        let mut loaded = disk::load(&mut connection, &cipher, RECENT_CHANGES).await?;
        let reached = mark::read(&data_dir.join(MARK))?;
        let observe_only =
            observe_only(&mut connection, reached.as_ref(), &lineage, loaded.resource_version).await?;
        let watched_from =
            go_past(&mut connection, reached.filter(|r| r.lineage == lineage), &mut loaded).await?;
        let mark = Mark::open(&data_dir.join(MARK), &lineage)?;
        let kinds: BTreeMap<&'static str, KindInfo> =
            kinds.into_iter().map(|kind| (kind.kind, kind)).collect();
        let reader = Reader::new(disk::connect(&file, true).await?);
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let opened_at = loaded.resource_version;
        let trust = trust::load(&mut connection).await?;
        let state = State { watched_from, trust, ..in_memory(loaded, &kinds) };
        let state = Arc::new(RwLock::new(state));
        let disk = Disk::new(connection, cipher.clone());
        let shared = state.clone();
        let inner = Arc::new(Inner {
            kinds,
            lineage,
            epoch,
            opened_at,
            clock,
            cipher,
            state,
            requests,
            reader,
            beneath,
            observe_only: RwLock::new(observe_only),
        });
        tokio::spawn(writer::run(Arc::downgrade(&inner), shared, waiting, (disk, mark), lock));
        Ok(Self { inner })
    }
}

/// Why this store is only looked at, if so: from now, or from an earlier start and not accepted yet.
async fn observe_only(
    connection: &mut SqliteConnection,
    reached: Option<&Reached>,
    lineage: &str,
    resource_version: u64,
) -> Result<Option<String>, OpenError> {
    if let Some(why) = reached.and_then(|reached| mark::why_observe_only(reached, lineage, resource_version))
    {
        return kept(connection, OBSERVE_ONLY, &why).await.map(Some);
    }
    Ok(told(connection, OBSERVE_ONLY).await?)
}

/// A resourceVersion that was given out is never given out again: an older copy goes on from where the store had
/// come, and watches that saw the other history have to list again. Returns from where watches may go on.
async fn go_past(
    connection: &mut SqliteConnection,
    reached: Option<Reached>,
    loaded: &mut Loaded,
) -> Result<u64, OpenError> {
    if let Some(reached) = reached.filter(|reached| reached.resource_version > loaded.resource_version) {
        // One past it, so that a list of this history never bears a version that the other one has borne.
        let next = reached.resource_version + 1;
        let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2)
                   ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        sqlx::query(sql).bind(WATCHED_FROM).bind(next.to_string()).execute(&mut *connection).await?;
    }
    let from = told(connection, WATCHED_FROM).await?.and_then(|from| from.parse().ok()).unwrap_or(0);
    // Nothing may have been written since the jump; the counter stays past it all the same.
    loaded.resource_version = loaded.resource_version.max(from);
    Ok(from)
}

/// What the store says of itself, if it says anything there.
pub(super) async fn told(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT value FROM meta WHERE key = ?1").bind(key).fetch_optional(connection).await
}

pub(super) fn is_there(path: &Path) -> Result<bool, OpenError> {
    path.try_exists()
        .map_err(|source| OpenError::File { action: format!("looking for {}", path.display()), source })
}

pub(super) async fn check(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await?;
    if found == "ok" { Ok(()) } else { Err(OpenError::Damaged(found)) }
}

async fn is_unused(connection: &mut SqliteConnection) -> Result<bool, OpenError> {
    let sql = "SELECT NOT EXISTS (SELECT * FROM meta WHERE key = 'epoch')";
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

/// A key from another backup would be found out only by the first secret it cannot read.
async fn check_key(connection: &mut SqliteConnection, cipher: &Cipher, path: &Path) -> Result<(), OpenError> {
    let mark = cipher.mark();
    let fits = kept(connection, "key", &mark).await? == mark;
    if fits { Ok(()) } else { Err(OpenError::Key(path.display().to_string())) }
}

/// What the store says of itself; the first word stays.
async fn kept(connection: &mut SqliteConnection, key: &str, first: &str) -> Result<String, OpenError> {
    let sql = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING";
    sqlx::query(sql).bind(key).bind(first).execute(&mut *connection).await?;
    let sql = "SELECT value FROM meta WHERE key = ?";
    Ok(sqlx::query(sql).bind(key).fetch_one(connection).await?.get("value"))
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
    let mut before = Before::new(loaded.changes.first().is_some_and(|(first, ..)| *first == 1));
    state.recent = loaded
        .changes
        .into_iter()
        .map(|(rv, gone, object)| {
            // The newest state of an object is the one that stands; it is kept once.
            let standing = state.objects.get(&object.key()).filter(|o| o.resource_version() == rv && !gone);
            let object = standing.cloned().unwrap_or_else(|| Arc::new(object));
            Arc::new(before.past(rv, gone, object))
        })
        .collect::<VecDeque<_>>();
    state
}

/// What each object was before a change that is read back from the file, as far as the changes tell.
struct Before {
    seen: HashMap<Key, Option<Arc<Object>>>,
    /// Whether these are all changes there ever were.
    is_whole: bool,
}

impl Before {
    fn new(is_whole: bool) -> Self {
        Self { seen: HashMap::new(), is_whole }
    }

    fn past(&mut self, resource_version: u64, gone: bool, object: Arc<Object>) -> Change {
        let key = object.key();
        let (new, last) = if gone { (None, Some(object)) } else { (Some(object), None) };
        let before = self.seen.insert(key.clone(), new.clone());
        let old_known = self.is_whole || before.is_some();
        Change { resource_version, key, old: before.flatten(), old_known, new, last }
    }
}
