//! The newest changes, kept for watchers that come back and for pages of the past. They are kept as JSON, which takes a
//! fifth of the memory of what it says, and read again where somebody asks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::watch::Change;
use crate::object::{Key, Object};

/// How many changes are kept: a home makes so many in hours.
pub(super) const RECENT_CHANGES: usize = 1024;

/// An object as JSON. The state after one change is the same bytes as the state before the next.
type Json = Arc<[u8]>;

/// The newest changes, oldest first, without gaps.
#[derive(Default)]
pub(super) struct Recent {
    changes: VecDeque<Arc<Kept>>,
}

/// One of them.
pub(super) struct Kept {
    pub(super) resource_version: u64,
    pub(super) key: Key,
    /// Whether the object went with it.
    gone: bool,
    /// The object after it; the last state of one that went.
    after: Json,
    before: Before,
}

/// What the object was before.
#[derive(Clone)]
enum Before {
    /// It lies before the changes that were read back from the file.
    Unknown,
    /// It was not there.
    Nothing,
    Was(Json),
}

impl Recent {
    /// The newest changes as they were read back from the file.
    pub(super) fn read_back(changes: &[(u64, bool, Object)]) -> Self {
        // Then these are all changes there ever were.
        let is_whole = changes.first().is_some_and(|(first, ..)| *first == 1);
        let mut seen: HashMap<Key, Before> = HashMap::new();
        let kept = changes.iter().map(|(resource_version, gone, object)| {
            let (key, after) = (object.key(), json(object));
            let now = if *gone { Before::Nothing } else { Before::Was(after.clone()) };
            let unknown = if is_whole { Before::Nothing } else { Before::Unknown };
            let before = seen.insert(key.clone(), now).unwrap_or(unknown);
            Arc::new(Kept { resource_version: *resource_version, key, gone: *gone, after, before })
        });
        Self { changes: kept.collect() }
    }

    /// Keeps a change, and drops the oldest where there are enough. `seen_since` says that more was seen of the object
    /// before it than is down, under the same version.
    pub(super) fn push(&mut self, change: &Change, seen_since: bool) {
        let Some(after) = change.new.as_ref().or(change.last.as_ref()) else { return };
        let before = match &change.old {
            Some(old) if seen_since => Before::Was(json(old)),
            Some(old) => Before::Was(self.state_of(old)),
            None => Before::Nothing,
        };
        let kept = Kept {
            resource_version: change.resource_version,
            key: change.key.clone(),
            gone: change.new.is_none(),
            after: json(after),
            before,
        };
        if self.changes.len() == RECENT_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(Arc::new(kept));
    }

    /// The JSON of an object, without a second copy where the change that made it so is kept.
    fn state_of(&self, object: &Object) -> Json {
        let version = object.resource_version();
        let place = self.changes.binary_search_by_key(&version, |kept| kept.resource_version);
        let kept = place.ok().map(|place| &self.changes[place]);
        match kept.filter(|kept| !kept.gone && is_of(&kept.key, object)) {
            Some(kept) => kept.after.clone(),
            None => json(object),
        }
    }

    /// The version of the oldest.
    pub(super) fn first(&self) -> Option<u64> {
        self.changes.front().map(|kept| kept.resource_version)
    }

    /// Those after a version, oldest first.
    pub(super) fn since(&self, version: u64) -> impl Iterator<Item = &Arc<Kept>> {
        let first = self.changes.partition_point(|kept| kept.resource_version <= version);
        self.changes.range(first..)
    }
}

impl Kept {
    /// The change it was.
    pub(super) fn change(&self) -> Change {
        let after = Some(Arc::new(object(&self.after)));
        let (new, last) = if self.gone { (None, after) } else { (after, None) };
        let old = self.before();
        let old_known = old.is_some();
        let (resource_version, key) = (self.resource_version, self.key.clone());
        Change { resource_version, key, old: old.flatten(), old_known, new, last }
    }

    /// The object before it; `None` where that is not known, `Some(None)` where there was none.
    pub(super) fn before(&self) -> Option<Option<Arc<Object>>> {
        match &self.before {
            Before::Unknown => None,
            Before::Nothing => Some(None),
            Before::Was(state) => Some(Some(Arc::new(object(state)))),
        }
    }
}

fn is_of(key: &Key, object: &Object) -> bool {
    key.kind == object.kind
        && key.name == object.name()
        && key.namespace == object.metadata.namespace.as_deref().unwrap_or_default()
}

fn json(object: &Object) -> Json {
    serde_json::to_vec(object).expect("an object always serialises").into()
}

fn object(json: &Json) -> Object {
    serde_json::from_slice(json).expect("it was made of an object")
}
