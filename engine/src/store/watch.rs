//! Watching: what changed, in order, without gaps, fed in memory after the commit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, Weak};

use tokio::sync::mpsc;

use super::recent::Kept;
use super::selector::Query;
use super::state::State;
use crate::object::{Key, Object};

/// How many changes a watcher may lag behind before it is dropped and must list again.
const LAG: usize = 1024;

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came, or came into view.
    Added,
    /// It changed.
    Modified,
    /// It went, or went out of view.
    Deleted,
}

/// One committed change.
#[derive(Debug)]
pub struct Change {
    /// Its place in the one order of all changes.
    pub resource_version: u64,
    /// Which object.
    pub key: Key,
    /// The object before; absent when it was made, and where it is not known.
    pub old: Option<Arc<Object>>,
    /// Whether `old` is known; of the oldest changes from before this process it is not.
    pub old_known: bool,
    /// The object after; absent when it went.
    pub new: Option<Arc<Object>>,
    /// The last state of a deleted object, dated with the deletion.
    pub last: Option<Arc<Object>>,
}

impl Change {
    /// How a watcher with this query sees the change; `None` means not at all.
    pub fn seen_by(&self, query: &Query) -> Option<(ChangeKind, &Arc<Object>)> {
        self.seen_where(query, |_| true)
    }

    /// The same to a watcher who also chooses by what no query can say. What is chosen must follow from the object alone.
    pub fn seen_where(
        &self,
        query: &Query,
        is_chosen: impl Fn(&Object) -> bool,
    ) -> Option<(ChangeKind, &Arc<Object>)> {
        let is_in_view = |object: &Object| query.matches(object) && is_chosen(object);
        // `None` where it is not known whether the object was in view before.
        let before = match &self.old {
            Some(old) => Some(is_in_view(old)),
            None => self.old_known.then_some(false),
        };
        let may_have_left = |now: &Object| before.unwrap_or_else(|| query.may_have_matched(now));
        match (&self.new, &self.last) {
            (Some(new), _) if is_in_view(new) => {
                let came = before.map_or_else(|| looks_new(new), |before| !before);
                Some((if came { ChangeKind::Added } else { ChangeKind::Modified }, new))
            }
            // Told of an object that was never in view, a watcher has nothing to forget.
            (Some(gone), _) | (None, Some(gone)) if may_have_left(gone) => Some((ChangeKind::Deleted, gone)),
            _ => None,
        }
    }
}

/// Whether an object is as its first write left it, as far as one can see.
fn looks_new(object: &Object) -> bool {
    object.metadata.generation == Some(1) && object.status().is_null()
}

/// The changes since then are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the changes since resourceVersion {asked} are no longer kept; list again and watch from there")]
pub struct Expired {
    /// What was asked for.
    pub asked: u64,
}

/// A running watch.
pub struct Watch {
    query: Query,
    backlog: std::vec::IntoIter<Arc<Kept>>,
    changes: mpsc::Receiver<Arc<Change>>,
    seen: AtomicU64,
    state: Weak<RwLock<State>>,
}

pub(super) struct Watcher {
    kind: String,
    changes: mpsc::Sender<Arc<Change>>,
}

impl Watcher {
    /// Whether the watcher still listens and keeps up.
    pub(super) fn offer(&self, change: &Arc<Change>) -> bool {
        if self.kind != change.key.kind && self.kind != Query::EVERY_KIND {
            return !self.changes.is_closed();
        }
        self.changes.try_send(change.clone()).is_ok()
    }
}

/// Held for reading, the state cannot change while a watcher joins: no change is missed and none told twice.
pub(super) fn subscribe(
    shared: &Arc<RwLock<State>>,
    query: Query,
    from: Option<u64>,
) -> Result<Watch, Expired> {
    let state = shared.read().expect("no writer panics while it holds the lock");
    let now = state.resource_version;
    let from = from.unwrap_or(now);
    // A version from the future was never given out by this store: whoever has it saw another one.
    if from < state.kept_from() || from > now {
        return Err(Expired { asked: from });
    }
    let is_within = |key: &Key| query.namespace.as_ref().is_none_or(|within| *within == key.namespace);
    let is_asked = |kept: &&Arc<Kept>| query.asks_for_kind(&kept.key.kind) && is_within(&kept.key);
    let backlog: Vec<_> = state.recent.since(from).filter(is_asked).cloned().collect();
    let (sender, changes) = mpsc::channel(LAG);
    state.feed(Watcher { kind: query.kind.clone(), changes: sender });
    let state = Arc::downgrade(shared);
    Ok(Watch { query, backlog: backlog.into_iter(), changes, seen: AtomicU64::new(from), state })
}

impl Watch {
    /// The next change that is in view; `None` once the watch was dropped for lagging, or the store closed.
    pub async fn next(&mut self) -> Option<(ChangeKind, Arc<Object>)> {
        self.next_where(|_| true).await
    }

    /// The same to whoever also chooses by what no query can say: see [`Change::seen_where`].
    pub async fn next_where(
        &mut self,
        is_chosen: impl Fn(&Object) -> bool,
    ) -> Option<(ChangeKind, Arc<Object>)> {
        loop {
            let change = self.next_change().await?;
            if let Some((kind, object)) = change.seen_where(&self.query, &is_chosen) {
                return Some((kind, object.clone()));
            }
        }
    }

    /// The next change of the watched kind, in view or not: of those from before the watch began only the ones in its
    /// namespace.
    pub async fn next_change(&mut self) -> Option<Arc<Change>> {
        let change = match self.backlog.next() {
            Some(kept) => Arc::new(kept.change()),
            None => self.changes.recv().await?,
        };
        self.seen.store(change.resource_version, Ordering::Relaxed);
        Some(change)
    }

    /// The newest resourceVersion up to which this watch has told everything, for bookmarks. It moves on with
    /// the store, also where nothing in view has changed.
    pub fn resource_version(&self) -> u64 {
        let seen = || self.seen.load(Ordering::Relaxed);
        let Some(state) = self.state.upgrade().filter(|_| self.backlog.len() == 0) else { return seen() };
        let state = state.read().expect("no writer panics while it holds the lock");
        // A watch that was dropped for lagging does not know what it missed.
        let has_told_all = self.changes.is_empty() && !self.changes.is_closed();
        if has_told_all {
            self.seen.fetch_max(state.resource_version, Ordering::Relaxed);
        }
        seen()
    }
}
