//! Watching: what changed, in order, without gaps, fed in memory after the commit.

use std::sync::Arc;

use tokio::sync::mpsc;

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
    /// The object before; absent when it was made, and for changes from before this process.
    pub old: Option<Arc<Object>>,
    /// The object after; absent when it went.
    pub new: Option<Arc<Object>>,
    /// The last state of a deleted object, dated with the deletion.
    pub last: Option<Arc<Object>>,
}

impl Change {
    /// How a watcher with this query sees the change; `None` means not at all.
    pub fn seen_by(&self, query: &Query) -> Option<(ChangeKind, &Arc<Object>)> {
        if self.key.kind != query.kind {
            return None;
        }
        let before = self.old.as_ref().is_some_and(|old| query.matches(old));
        match (&self.new, &self.last) {
            (Some(new), _) if query.matches(new) => {
                let kind = if before || self.is_update() { ChangeKind::Modified } else { ChangeKind::Added };
                Some((kind, new))
            }
            (Some(new), _) if before => Some((ChangeKind::Deleted, new)),
            (None, Some(last)) if before || query.matches(last) => Some((ChangeKind::Deleted, last)),
            _ => None,
        }
    }

    /// Changes read back from the file do not know what stood before; only their first one makes the object.
    fn is_update(&self) -> bool {
        self.old.is_none() && self.new.as_ref().is_some_and(|new| new.metadata.generation != Some(1))
    }
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
    backlog: std::vec::IntoIter<Arc<Change>>,
    changes: mpsc::Receiver<Arc<Change>>,
    seen: u64,
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

pub(super) fn subscribe(state: &mut State, query: Query, from: Option<u64>) -> Result<Watch, Expired> {
    let now = state.resource_version;
    let from = from.unwrap_or(now);
    let kept_from = state.recent.front().map_or(now, |change| change.resource_version - 1);
    // A version from the future was never given out by this store: whoever has it saw another one.
    if from < kept_from || from > now {
        return Err(Expired { asked: from });
    }
    let backlog: Vec<_> =
        state.recent.iter().filter(|change| change.resource_version > from).cloned().collect();
    let (sender, changes) = mpsc::channel(LAG);
    state.watchers.push(Watcher { kind: query.kind.clone(), changes: sender });
    Ok(Watch { query, backlog: backlog.into_iter(), changes, seen: from })
}

impl Watch {
    /// The next change that is in view; `None` once the watch was dropped for lagging, or the store closed.
    pub async fn next(&mut self) -> Option<(ChangeKind, Arc<Object>)> {
        loop {
            let change = self.next_change().await?;
            if let Some((kind, object)) = change.seen_by(&self.query) {
                return Some((kind, object.clone()));
            }
        }
    }

    /// The next change of the watched kind, in view or not.
    pub async fn next_change(&mut self) -> Option<Arc<Change>> {
        let change = match self.backlog.next() {
            Some(change) => change,
            None => self.changes.recv().await?,
        };
        self.seen = change.resource_version;
        Some(change)
    }

    /// The newest resourceVersion this watch has come to, for bookmarks.
    pub fn resource_version(&self) -> u64 {
        self.seen
    }
}
