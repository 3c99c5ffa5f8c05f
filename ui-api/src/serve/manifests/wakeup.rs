//! When to look again: a file changed, as the system tells (which may be lost), or somebody changed what the folder
//! declares.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use hearth_engine::store::{Change, Watch};
use hearth_engine::{Key, Object, Query, Store};
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::apply::is_kept;
use super::lock;

/// Names a folder on a disk, whatever its path.
type Place = (u64, u64);

/// What wakes.
pub(super) struct Wakeups {
    files: Arc<Notify>,
    watcher: Option<(RecommendedWatcher, Place)>,
    concerned: Arc<Mutex<BTreeSet<Key>>>,
}

/// Changes of the store from some moment on.
pub(super) struct StoreChanges {
    watch: Option<Watch>,
    concerned: Arc<Mutex<BTreeSet<Key>>>,
}

impl Wakeups {
    pub(super) fn new() -> Self {
        Self { files: Arc::default(), watcher: None, concerned: Arc::default() }
    }

    /// Listens to the folder that is at the path now, if it does not already; why not, where it cannot.
    pub(super) fn listen(&mut self, folder: &Path) -> Option<String> {
        let place = std::fs::metadata(folder).ok().map(|there| (there.dev(), there.ino()));
        let Some(place) = place else {
            self.watcher = None;
            return Some("there is no folder to listen to".into());
        };
        if self.watcher.as_ref().is_some_and(|(_, watched)| *watched == place) {
            return None;
        }
        match begin(folder, self.files.clone()) {
            Ok(watcher) => {
                self.watcher = Some((watcher, place));
                None
            }
            Err(error) => {
                self.watcher = None;
                Some(error.to_string())
            }
        }
    }

    /// Returns once a file may have changed.
    pub(super) async fn file_change(&self) {
        self.files.notified().await;
    }

    /// These are what the files declare.
    pub(super) fn concern(&self, keys: impl Iterator<Item = Key>) {
        *lock(&self.concerned) = keys.collect();
    }

    /// From this moment on.
    pub(super) fn store_changes(&self, store: &Store) -> StoreChanges {
        let watch = store.watch(Query::of(Query::EVERY_KIND), None).ok();
        StoreChanges { watch, concerned: self.concerned.clone() }
    }
}

fn begin(folder: &Path, files: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Our own reading is no change.
        let is_reading = event.is_ok_and(|event| match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
            EventKind::Access(_) => true,
            _ => false,
        });
        if !is_reading {
            files.notify_one();
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}

impl StoreChanges {
    /// Returns once somebody has changed, made or deleted what the folder declares.
    pub(super) async fn concerning(&mut self) {
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        while let Some(change) = watch.next_change().await {
            if concerns(&self.concerned, &change) {
                return;
            }
        }
        // A watch that lagged behind, or a store that is closing: the next look is by the minute.
        std::future::pending::<()>().await;
    }
}

fn concerns(concerned: &Mutex<BTreeSet<Key>>, change: &Change) -> bool {
    let is_ours = |object: Option<&Arc<Object>>| object.is_some_and(|object| is_kept(object));
    let is_meant =
        lock(concerned).contains(&change.key) || is_ours(change.old.as_ref()) || is_ours(change.new.as_ref());
    is_meant && wish(change.old.as_ref()) != wish(change.new.as_ref())
}

/// All of an object that people write.
fn wish(object: Option<&Arc<Object>>) -> Option<Object> {
    let mut wish = Object::clone(object?);
    wish.body.remove("status");
    wish.metadata.resource_version = None;
    wish.metadata.generation = None;
    Some(wish)
}
