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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::Wakeups;

    async fn wakes(wakeups: &Wakeups) -> bool {
        tokio::time::timeout(Duration::from_secs(20), wakeups.file_change()).await.is_ok()
    }

    #[tokio::test]
    async fn files_wake_however_they_are_written_and_whatever_became_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (folder, at) = (place.path().join("manifests"), |name: &str| place.path().join(name));
        let mut wakeups = Wakeups::new();
        assert!(wakeups.listen(&folder).is_some(), "there is none yet");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(wakeups.listen(&folder), None);
        std::fs::write(folder.join("a.yaml"), "1").unwrap();
        assert!(wakes(&wakeups).await, "written in place");
        std::fs::write(at("beside"), "2").unwrap();
        std::fs::rename(at("beside"), folder.join("a.yaml")).unwrap();
        assert!(wakes(&wakeups).await, "renamed into place");
        std::fs::remove_file(folder.join("a.yaml")).unwrap();
        assert!(wakes(&wakeups).await, "removed");
        std::fs::rename(&folder, at("old")).unwrap();
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(wakeups.listen(&folder), None);
        while tokio::time::timeout(Duration::from_millis(200), wakeups.file_change()).await.is_ok() {}
        std::fs::write(folder.join("a.yaml"), "3").unwrap();
        assert!(wakes(&wakeups).await, "another folder is at the path");
    }

    #[test]
    fn where_the_system_has_no_watches_left_that_is_said_and_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut wakeups = Wakeups::new();
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).unwrap();
        let refused = wakeups.listen(folder.path());
        setrlimit(Resource::Nofile, before).unwrap();
        assert!(refused.is_some());
        assert_eq!(wakeups.listen(folder.path()), None);
    }
}
