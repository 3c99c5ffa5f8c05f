//! The store: every object, in one SQLite file, with one change log and a single increasing resourceVersion.
//!
//! How a write travels: [`Store`] puts a request into the queue of the one writer (`writer`), which takes
//! whatever waits as a batch, prepares each against what stands plus what the batch already holds (`stage`), puts
//! the whole batch down in one transaction (`disk`), and only then shows it to readers and watchers and answers.
//! So a write is durable before it is acknowledged, writers share a commit, and resourceVersions have no gaps.
//!
//! Reads are served from memory: the store holds every object as it stands in the file. A home has thousands of
//! objects, not millions; the file is what makes them last.
//!
//! Three histories are kept apart: `changes` (what watches need; compacted), `history` (every spec write, for
//! ever, secrets only as keyed hashes), `events` (merged by reason, 30 days).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use hearth_meta::KindInfo;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::object::{Key, Object};

mod open;
mod beneath;
mod migrations;
mod lock;
mod mark;
mod cipher;
mod sum;
mod meta;
mod rows;
mod script;
mod disk;
mod load;
mod reader;
mod recent;
mod reach;
mod verify;
mod copies;
mod replace;
mod room;
mod state;
mod stage;
mod writer;
mod watch;
mod selector;
mod page;
mod events;
mod history;
mod intent;
mod trust;
mod found;
mod examine;
mod error;

pub use beneath::{Beneath, Commit, Gate, Refusal};
pub(crate) use cipher::hex;
pub use cipher::{Cipher, KEY_BYTES};
pub use copies::{CopiesReport, CopyFile, Every, copy_closed, list as list_copies};
pub use error::{OpenError, WriteError};
pub use events::{EventKind, EventNote, EventQuery, EventRow, EventsSeen};
pub use examine::{Examined, examine, read_mark};
pub use found::{Founding, found};
pub use history::{HistoryRow, Past};
pub use intent::Intent;
pub use open::OpenOptions;
pub use page::{Page, PageError, Paged};
pub use reach::Reach;
pub use replace::Replacement;
pub use room::{RoomReport, Space};
pub use selector::{Query, Requirement, parse_selector};
pub use stage::{Cascade, Deletion, Edit, Preconditions, StatusEdit, Write};
pub use trust::LOST_HISTORY;
pub use verify::{CopyFacts, verify};
pub use watch::{Change, ChangeKind, Expired, Watch};

use events::News;
use reader::Reader;
use room::Room;
use state::State;
use writer::Request;

/// Who writes and how.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Who asked, such as `admin` or `controller/app`.
    pub actor: String,
    /// Through what, such as `api` or `controller`.
    pub source: String,
    /// Everything is checked and answered as if written, and nothing is.
    pub dry_run: bool,
}

impl WriteOptions {
    /// The sources of what people ask for: by a program or a screen, and by a file in the manifests folder.
    pub const PEOPLE: [&str; 2] = ["api", "manifests"];

    /// Whether a person asked, through whatever program: a source may name it after a slash, as in `api/kubectl`.
    pub fn is_of_people(&self) -> bool {
        Self::PEOPLE.contains(&self.source.split('/').next().unwrap_or_default())
    }

    /// A controller's own write.
    pub fn controller(name: &str) -> Self {
        Self { actor: format!("controller/{name}"), source: "controller".into(), dry_run: false }
    }
}

/// A page of objects as they stood at one resourceVersion.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The objects, by namespace and name.
    pub items: Vec<Arc<Object>>,
    /// The resourceVersion the list stands for.
    pub resource_version: u64,
}

/// The store. Clones are the same store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// How far whoever asks through it may go; absent for Hearth itself.
    reach: Option<Arc<dyn Reach>>,
}

struct Inner {
    kinds: BTreeMap<&'static str, KindInfo>,
    lineage: String,
    epoch: i64,
    /// The resourceVersion it had come to when it was opened.
    opened_at: u64,
    clock: Arc<dyn Clock>,
    cipher: Cipher,
    state: Arc<RwLock<State>>,
    requests: mpsc::Sender<Request>,
    reader: Reader,
    beneath: Beneath,
    file: PathBuf,
    room: Room,
    copies: copies::Copies,
    /// How many batches this process has put down.
    commits: AtomicU64,
    /// How many events were noted and are not down yet.
    noted: AtomicUsize,
    /// Which events went down lately.
    news: Mutex<News>,
    /// Why nothing may be changed in the world, until a person says go.
    observe_only: RwLock<Option<String>>,
}

impl Store {
    /// Names this store for ever; everything made in the world carries it.
    pub fn lineage(&self) -> &str {
        &self.inner.lineage
    }

    /// Counts the processes that opened this store; this one's number.
    pub fn epoch(&self) -> i64 {
        self.inner.epoch
    }

    /// How the store stands on its disk: space, reserve, and whether it can be written.
    pub fn room(&self) -> RoomReport {
        self.inner.room.report()
    }

    /// The clock everything here is dated by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// A keyed hash of a secret: equal values give equal hashes, and nobody without the key can guess back.
    pub fn keyed_hash(&self, value: &[u8]) -> String {
        self.inner.cipher.keyed_hash(value)
    }

    /// Every kind, by name.
    pub fn kinds(&self) -> impl Iterator<Item = &KindInfo> {
        self.inner.kinds.values()
    }

    /// One kind, by its exact name.
    pub fn kind(&self, kind: &str) -> Option<&KindInfo> {
        self.inner.kinds.get(kind)
    }

    /// The resourceVersion of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.state().resource_version
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.state().objects.get(key).cloned()
    }

    /// One object by uid.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<Object>> {
        let state = self.state();
        state.by_uid.get(uid).and_then(|key| state.objects.get(key)).cloned()
    }

    /// The objects a query asks for.
    pub fn list(&self, query: &Query) -> Listing {
        let state = self.state();
        let items = state
            .of_kind(&query.kind, query.namespace.as_deref())
            .filter(|object| query.matches(object))
            .cloned()
            .collect();
        Listing { items, resource_version: state.resource_version }
    }

    /// Every object that names `uid` as an owner.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<Object>> {
        let state = self.state();
        state.owned.get(uid).into_iter().flatten().filter_map(|key| state.objects.get(key)).cloned().collect()
    }

    /// Every object, of every kind.
    pub fn all(&self) -> Vec<Arc<Object>> {
        self.state().objects.values().cloned().collect()
    }

    /// Who holds a claim, if anybody does.
    pub fn holder(&self, claim: &hearth_meta::Claim) -> Option<Arc<Object>> {
        let state = self.state();
        let uid = state.claims.get(&(claim.space, claim.name.clone()))?;
        state.by_uid.get(uid).and_then(|key| state.objects.get(key)).cloned()
    }

    /// Makes an object.
    ///
    /// # Errors
    /// [`WriteError::AlreadyExists`], [`WriteError::Invalid`] with every problem, or a storage error.
    pub async fn create(&self, object: Object, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Create(Box::new(object)), options).await
    }

    /// Brings an object back as it was: with its uid, its generation and what its status says. For whoever has a
    /// record of it; an object whose uid stands already is refused.
    ///
    /// # Errors
    /// [`WriteError::AlreadyExists`], [`WriteError::Conflict`] where the uid stands under another name,
    /// [`WriteError::Invalid`] with every problem, or a storage error.
    pub async fn restore(&self, object: Object, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Restore(Box::new(object)), options).await
    }

    /// Changes an object, given how it stands at the moment of the write. What the closure returns replaces
    /// metadata, spec and the rest, never the status of a kind that has one.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], what the closure returns, or [`WriteError::Invalid`] with every problem.
    pub async fn update(
        &self,
        key: &Key,
        options: &WriteOptions,
        change: impl FnOnce(&Object) -> Result<Object, WriteError> + Send + 'static,
    ) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Update { key: key.clone(), change: Box::new(change) }, options).await
    }

    /// Replaces the status of an object, if it is still the one of that uid. Writing what stands already is no
    /// write at all.
    ///
    /// # Errors
    /// [`WriteError::NotFound`] where the object is gone or was made anew.
    pub async fn update_status(
        &self,
        key: &Key,
        uid: &str,
        status: serde_json::Value,
    ) -> Result<Arc<Object>, WriteError> {
        let (uid, gone) = (uid.to_owned(), WriteError::NotFound(key.clone()));
        let change = move |old: &Object| if old.uid() == uid { Ok(status) } else { Err(gone) };
        self.change_status(key, &WriteOptions::default(), change).await
    }

    /// Changes the status of an object, given how it stands at the moment of the write.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], what the closure returns, or a storage error.
    pub async fn change_status(
        &self,
        key: &Key,
        options: &WriteOptions,
        change: impl FnOnce(&Object) -> Result<serde_json::Value, WriteError> + Send + 'static,
    ) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Status { key: key.clone(), change: Box::new(change) }, options).await
    }

    /// Asks for an object's deletion. With finalizers it is marked and stays until they are dropped. What it owns goes
    /// after it, unless something else was said before.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], or [`WriteError::Conflict`] where a precondition fails.
    pub async fn delete(
        &self,
        deletion: Deletion,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Delete { deletion, cascade: None }, options).await
    }

    /// The same, and says what becomes of what it owns. It may be said anew while the object is still there.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], or [`WriteError::Conflict`] where a precondition fails.
    pub async fn delete_with(
        &self,
        deletion: Deletion,
        cascade: Cascade,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        self.write(Write::Delete { deletion, cascade: Some(cascade) }, options).await
    }

    /// Drops a finalizer; with the last one a marked object goes. Gone already is success.
    ///
    /// # Errors
    /// A storage error.
    pub async fn drop_finalizer(&self, key: &Key, uid: &str, finalizer: &str) -> Result<(), WriteError> {
        let write =
            Write::DropFinalizer { key: key.clone(), uid: uid.to_owned(), finalizer: finalizer.to_owned() };
        match self.write(write, &WriteOptions::default()).await {
            Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Records an intent durably: what is about to be done, or that it is done.
    ///
    /// # Errors
    /// A storage error, or [`WriteError::Conflict`] where the object is gone; the step must then not be taken.
    pub async fn put_intent(&self, intent: Intent) -> Result<(), WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Intent { intent, answer }).await?;
        answered.await.unwrap_or(Err(WriteError::Closed))
    }

    /// The intent recorded for an object, if any.
    pub fn intent(&self, uid: &str) -> Option<Intent> {
        self.state().intents.get(uid).cloned()
    }

    /// Every spec write of one object, oldest first.
    ///
    /// # Errors
    /// A storage error.
    pub async fn history(&self, key: &Key) -> Result<Vec<HistoryRow>, WriteError> {
        let _reading = self.inner.beneath.reading();
        self.inner.reader.history(key).await
    }

    /// What the history knows of objects, by uid. Whoever is not in it was never written here.
    ///
    /// # Errors
    /// A storage error.
    pub async fn pasts(&self, uids: &[String]) -> Result<BTreeMap<String, Past>, WriteError> {
        let _reading = self.inner.beneath.reading();
        self.inner.reader.pasts(uids).await
    }

    /// Watches what a query asks for, from just after `from`, or from now on.
    ///
    /// # Errors
    /// [`Expired`] where the changes since `from` are no longer kept: list again, then watch from there.
    pub fn watch(&self, query: Query, from: Option<u64>) -> Result<Watch, Expired> {
        watch::subscribe(&self.inner.state, query, from)
    }

    /// Whether nothing changes any more: the store was closed.
    pub fn is_closed(&self) -> bool {
        self.state().ended
    }

    /// Waits until everything asked for so far is down, then stops the writer. Later writes are refused.
    pub async fn close(&self) {
        self.inner.reader.close().await;
        let (answer, answered) = oneshot::channel();
        if self.send(Request::Close(answer)).await.is_ok() {
            // The writer answers by going away.
            let _ = answered.await;
        }
    }

    async fn write(&self, write: Write, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        let (answer, answered) = oneshot::channel();
        let reach = self.reach.clone();
        self.send(Request::Write { write, options: options.clone(), reach, answer }).await?;
        answered.await.unwrap_or(Err(WriteError::Closed))
    }

    async fn send(&self, request: Request) -> Result<(), WriteError> {
        self.inner.requests.send(request).await.map_err(|_| WriteError::Closed)
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.inner.state.read().expect("no writer panics while it holds the lock")
    }
}
