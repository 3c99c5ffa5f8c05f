//! What stands in the store now, in memory, with the indexes reads need.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_meta::KindInfo;

use super::intent::Intent;
use super::recent::Recent;
use super::trust::Trust;
use super::watch::{Change, Watcher};
use crate::object::{Key, Object};

/// Everything, as committed.
#[derive(Default)]
pub(super) struct State {
    pub(super) resource_version: u64,
    /// Watches from before this resourceVersion have seen another history, or one that is no longer kept.
    pub(super) watched_from: u64,
    pub(super) objects: BTreeMap<Key, Arc<Object>>,
    pub(super) by_uid: HashMap<String, Key>,
    pub(super) owned: HashMap<String, BTreeSet<Key>>,
    pub(super) claims: HashMap<(&'static str, String), String>,
    pub(super) intents: HashMap<String, Intent>,
    pub(super) trust: Trust,
    /// Objects whose status stands in memory alone, since the disk had no room for it.
    pub(super) unsaved: BTreeSet<Key>,
    pub(super) recent: Recent,
    /// Locked apart from the rest, so that whoever subscribes only reads: the writer alone ever writes here, and
    /// a caller's closure that reads while it runs in the writer waits for nobody.
    pub(super) watchers: Mutex<Vec<Watcher>>,
    /// Whether the writer has ended; nothing changes any more.
    pub(super) ended: bool,
}

impl State {
    /// The objects of one kind, by namespace and name; only those of one namespace where one is named.
    pub(super) fn of_kind<'a>(
        &'a self,
        kind: &'a str,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let first = Key::new(kind, namespace.unwrap_or_default(), "");
        let is_asked =
            move |key: &Key| key.kind == kind && namespace.is_none_or(|namespace| key.namespace == namespace);
        self.objects.range(first..).take_while(move |(key, _)| is_asked(key)).map(|(_, object)| object)
    }

    /// From which resourceVersion on every change is still known here.
    pub(super) fn kept_from(&self) -> u64 {
        let oldest = self.recent.first().map_or(self.resource_version, |first| first - 1);
        oldest.max(self.watched_from)
    }

    /// Takes in one committed change: objects, indexes, claims.
    pub(super) fn take(&mut self, change: &Change, kind: Option<&KindInfo>) {
        match (&change.old, &change.new) {
            // Most changes are of what is seen, and move nothing in the indexes.
            (Some(old), Some(new)) if is_indexed_the_same(old, new) => {
                self.objects.insert(change.key.clone(), new.clone());
            }
            (old, new) => {
                if let Some(old) = old {
                    self.forget(&change.key, old, kind);
                }
                if let Some(new) = new {
                    self.keep(&change.key, new, kind);
                } else if let Some(old) = old {
                    self.intents.remove(old.uid());
                }
            }
        }
        self.resource_version = change.resource_version;
        if self.resource_version > self.trust.floor {
            // Who watched the history that is lost has to list again.
            self.watched_from = self.watched_from.max(self.trust.floor);
        }
    }

    /// Indexes an object.
    pub(super) fn keep(&mut self, key: &Key, object: &Arc<Object>, kind: Option<&KindInfo>) {
        self.by_uid.insert(object.uid().to_owned(), key.clone());
        for owner in object.owners() {
            self.owned.entry(owner.to_owned()).or_default().insert(key.clone());
        }
        for claim in kind.map(|kind| kind.claims_of(|| object.to_value())).into_iter().flatten() {
            self.claims.insert((claim.space, claim.name), object.uid().to_owned());
        }
        self.objects.insert(key.clone(), object.clone());
    }

    fn forget(&mut self, key: &Key, object: &Object, kind: Option<&KindInfo>) {
        self.by_uid.remove(object.uid());
        for owner in object.owners() {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(key);
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
        for claim in kind.map(|kind| kind.claims_of(|| object.to_value())).into_iter().flatten() {
            let place = (claim.space, claim.name);
            if self.claims.get(&place).is_some_and(|holder| holder == object.uid()) {
                self.claims.remove(&place);
            }
        }
        self.objects.remove(key);
    }

    /// Shows a committed change to every watcher, and drops those that do not keep up.
    pub(super) fn publish(&mut self, change: &Arc<Change>) {
        self.offer(change);
        self.recent.push(change, self.unsaved.contains(&change.key));
    }

    fn offer(&mut self, change: &Arc<Change>) {
        self.watchers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|watcher| watcher.offer(change));
    }

    /// Takes in what was seen of an object although it is not down: its status alone, under the version it has.
    /// Watchers are told; those that come back later list the object as it is then.
    pub(super) fn see(&mut self, key: &Key, seen: &Object) {
        let Some(old) = self.objects.get(key).cloned() else { return };
        let is_of_same_wish = old.uid() == seen.uid() && old.metadata.generation == seen.metadata.generation;
        if !is_of_same_wish || old.status() == seen.status() {
            return;
        }
        let mut new = Object::clone(&old);
        new.body.insert("status".into(), seen.status().clone());
        let new = Arc::new(new);
        self.objects.insert(key.clone(), new.clone());
        self.unsaved.insert(key.clone());
        let change = Change {
            resource_version: self.resource_version,
            key: key.clone(),
            old: Some(old),
            old_known: true,
            new: Some(new),
            last: None,
        };
        self.offer(&Arc::new(change));
    }

    /// Feeds a watcher from the next change on.
    pub(super) fn feed(&self, watcher: Watcher) {
        if !self.ended {
            self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
        }
    }

    /// The writer has ended: watches end too, once they have told what they still hold.
    pub(super) fn end_watches(&mut self) {
        self.ended = true;
        self.watchers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whether a change leaves all indexes as they are: the same object, with the same owners and, since its spec is the
/// same, the same claims.
fn is_indexed_the_same(old: &Object, new: &Object) -> bool {
    old.uid() == new.uid()
        && old.metadata.owner_references == new.metadata.owner_references
        && old.spec() == new.spec()
}
