//! Opening a store: lock, schema, check, key, everything into memory, then the writer.

#![expect(clippy::disallowed_methods, reason = "the store looks at its own files")]

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock};

use hearth_meta::KindInfo;
use sqlx::SqliteConnection;
use tokio::sync::mpsc;

use super::beneath::Beneath;
use super::cipher::Cipher;
use super::copies::Copies;
use super::disk::{self, Disk};
use super::error::OpenError;
use super::load::{self, Loaded};
use super::lock::StoreLock;
use super::mark::{self, Mark, Reached};
use super::reader::Reader;
use super::recent::Recent;
use super::room::{Room, Space};
use super::state::State;
use super::writer::{self, Writer};
use super::{Inner, Store, meta, migrations, replace, trust};
use crate::clock::Clock;

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
        Self::open_over(options, Beneath::default()).await
    }

    /// The same, with something beneath it.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_over(options: OpenOptions, beneath: Beneath) -> Result<Self, OpenError> {
        let data_dir = options.data_dir.clone();
        let room = Room::new(&data_dir, Space::of);
        let opened = Self::open_with(options, room, beneath).await;
        Ok(opened.map_err(|error| error.of(&data_dir))?.start())
    }

    /// Opens the store with room of the caller's choice; the writer does not run yet.
    pub(super) async fn open_with(
        options: OpenOptions,
        room: Room,
        beneath: Beneath,
    ) -> Result<Opened, OpenError> {
        let OpenOptions { data_dir, kinds, clock } = options;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&data_dir)
            .map_err(|source| OpenError::File { action: format!("making {}", data_dir.display()), source })?;
        let lock = StoreLock::take(&data_dir)?;
        if replace::carry_through(&data_dir)? {
            tracing::warn!("a restore that was cut short was carried through");
        }
        let (file, key) = (data_dir.join("store.db"), data_dir.join("store.key"));
        let (mut connection, cipher) = open_file(&file, &key).await?;
        let lineage = meta::keep(&mut connection, meta::LINEAGE, &beneath.new_uid().to_string()).await?;
        let words = meta::load(&mut connection).await?;
        let number = |word: &str| words.get(word).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
        let (intents, epoch) = (number(meta::INTENTS), number(meta::EPOCH) + 1);
        // Counts this process. An intent of an earlier epoch is of a process that is dead, since the lock is ours.
        meta::put(&mut connection, meta::EPOCH, &epoch.to_string()).await?;
        load::check_index(&mut connection, migrations::newest()).await?;
        let compacted = number(meta::COMPACTED);
        load::check_agreement(&mut connection, compacted.max(number(meta::WATCHED_FROM))).await?;
        load::check_history(&mut connection).await?;
        let mut loaded = load::load(&mut connection, &cipher, compacted).await?;
        // Migration has put it down without a sum.
        meta::put(&mut connection, meta::COMPACTED, &compacted.to_string()).await?;
        // All of it stands in memory now; the pages it was read from need not.
        sqlx::query("PRAGMA shrink_memory").execute(&mut connection).await?;
        let come_to = loaded.resource_version.max(number(meta::WATCHED_FROM));
        let come_to = Reached { lineage: lineage.clone(), resource_version: come_to, intents };
        let reached = mark::read(&data_dir.join(mark::FILE))?;
        let why = reached.as_ref().and_then(|reached| mark::why_observe_only(reached, &come_to));
        let observe_only = match why {
            Some(why) => Some(meta::keep(&mut connection, meta::OBSERVE_ONLY, &why).await?),
            // From an earlier start, or a restore, and not accepted yet.
            None => words.get(meta::OBSERVE_ONLY).cloned(),
        };
        let reached = reached.filter(|reached| reached.lineage == lineage);
        let watched_from = go_past(&mut connection, reached, number(meta::WATCHED_FROM), &mut loaded).await?;
        let kinds: BTreeMap<&'static str, KindInfo> =
            kinds.into_iter().map(|kind| (kind.kind, kind)).collect();
        let mark = Mark::open(&data_dir.join(mark::FILE), &lineage)?;
        let reader = Reader::new(disk::connect(&file, true).await?);
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let opened_at = loaded.resource_version;
        let trust = trust::load(&words);
        let state = State { watched_from, trust, ..in_memory(loaded, &kinds) };
        let disk = Disk::new(connection, cipher.clone(), intents, compacted);
        let inner = Inner {
            kinds,
            lineage,
            epoch: epoch.cast_signed(),
            opened_at,
            clock,
            cipher,
            state: Arc::new(RwLock::new(state)),
            requests,
            reader,
            beneath,
            file,
            room,
            copies: Copies::default(),
            commits: AtomicU64::new(0),
            noted: AtomicUsize::new(0),
            news: Mutex::default(),
            observe_only: RwLock::new(observe_only),
        };
        Ok(Opened { inner, waiting, writer: Writer::new(disk, mark), lock })
    }
}

/// A store that is open and not written yet.
pub(super) struct Opened {
    inner: Inner,
    waiting: mpsc::Receiver<writer::Request>,
    pub(super) writer: Writer,
    lock: StoreLock,
}

impl Opened {
    /// Starts the writer.
    pub(super) fn start(self) -> Store {
        let Self { inner, waiting, writer, lock } = self;
        let inner = Arc::new(inner);
        let shared = inner.state.clone();
        tokio::spawn(writer::run(Arc::downgrade(&inner), shared, waiting, writer, lock));
        Store { inner, reach: None }
    }
}

/// The file and its key, brought to the newest schema and found to belong together.
async fn open_file(file: &Path, key: &Path) -> Result<(SqliteConnection, Cipher), OpenError> {
    let has_key = is_there(key)?;
    // The key is made after the file and its schema: a key without them is a store that was lost, not a new one.
    let lost = || OpenError::Missing { file: file.display().to_string(), folder: String::new() };
    if is_there(file)? {
        check_file(file)?;
    } else if has_key {
        return Err(lost());
    }
    let mut connection = disk::connect(file, false).await?;
    load::check_shape(&mut connection).await?;
    let version = migrations::read_version(&mut connection).await?;
    if has_key && version == 0 {
        return Err(lost());
    }
    if version < migrations::newest() {
        load::check_index(&mut connection, version).await?;
    }
    migrations::migrate(&mut connection, file).await?;
    // A key is made only for a store that no process has used yet, and before it is first used.
    let cipher = Cipher::load(key, is_unused(&mut connection).await?)?;
    // A key from another backup would be found out only by the first secret it cannot read.
    let mark = cipher.mark();
    if meta::keep(&mut connection, meta::KEY, &mark).await? != mark {
        return Err(OpenError::Key { key: key.display().to_string(), folder: String::new() });
    }
    Ok((connection, cipher))
}

/// Whether it is a file that can be read, in the system's own words: SQLite's are the same for all that is wrong.
pub(super) fn check_file(file: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::File { action: format!("opening {}", file.display()), source };
    let opened = std::fs::File::open(file).map_err(failed)?;
    match opened.metadata().map_err(failed)?.is_file() {
        true => Ok(()),
        false => Err(failed(std::io::Error::other("it is not a file"))),
    }
}

/// A resourceVersion that was given out is never given out again: an older copy goes on from where the store had
/// come, and watches that saw the other history have to list again. Returns from where watches may go on.
async fn go_past(
    connection: &mut SqliteConnection,
    reached: Option<Reached>,
    watched_from: u64,
    loaded: &mut Loaded,
) -> Result<u64, OpenError> {
    let come_to = loaded.resource_version.max(watched_from);
    let from = match reached.filter(|reached| reached.resource_version > come_to) {
        // One past it, so that a list of this history never bears a version that the other one has borne.
        Some(reached) => {
            let next = reached.resource_version + 1;
            meta::put(connection, meta::WATCHED_FROM, &next.to_string()).await?;
            next
        }
        None => watched_from,
    };
    // Nothing may have been written since the jump; the counter stays past it all the same.
    loaded.resource_version = loaded.resource_version.max(from);
    Ok(from)
}

pub(super) fn is_there(path: &Path) -> Result<bool, OpenError> {
    path.try_exists()
        .map_err(|source| OpenError::File { action: format!("looking for {}", path.display()), source })
}

async fn is_unused(connection: &mut SqliteConnection) -> Result<bool, OpenError> {
    let sql = "SELECT NOT EXISTS (SELECT * FROM meta WHERE key = 'epoch')";
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

fn in_memory(loaded: Loaded, kinds: &BTreeMap<&'static str, KindInfo>) -> State {
    let mut state = State { resource_version: loaded.resource_version, ..State::default() };
    for object in loaded.objects {
        let object = Arc::new(object);
        state.keep(&object.key(), &object, kinds.get(object.kind.as_str()));
    }
    state.intents = loaded.intents.into_iter().map(|intent| (intent.uid.clone(), intent)).collect();
    state.recent = Recent::read_back(&loaded.changes);
    state
}
