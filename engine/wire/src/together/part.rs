//! One of the watches that are told together: its list, its changes, and how far it has come.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::FutureExt;
use hearth_engine::store::{ChangeKind, Watch};
use hearth_engine::{Object, Query};
use hearth_meta::{KindInfo, Timestamp};
use serde_json::{Value, json};

use crate::accept::Form;
use crate::access::Granted;
use crate::failure::Failure;
use crate::parameters::IncludeObject;
use crate::projection::Projection;
use crate::watch::word;

/// A change in view, as a watch tells it.
pub(super) type Seen = (ChangeKind, Arc<Object>);

/// One of the watches.
pub(super) struct Part {
    name: String,
    projection: Projection,
    query: Query,
    /// What was granted; who may not is told why.
    access: Result<Granted, Failure>,
    /// What is to be said before anything else.
    first: VecDeque<Value>,
    /// What is left of its list, and the version that stands for; absent once it is out.
    listing: Option<(VecDeque<Arc<Object>>, u64)>,
    /// Changes that were taken from the watch and are not told yet.
    pending: VecDeque<Seen>,
    watch: Option<Watch>,
    /// The version up to which everything was told; absent while its list is not out.
    come_to: Option<u64>,
}

impl Part {
    pub(super) fn new(
        name: String,
        kind: &KindInfo,
        namespace: Option<String>,
        access: Result<Granted, Failure>,
        now: Timestamp,
    ) -> Self {
        let query = Query { namespace, ..Query::of(kind.kind) };
        Self {
            name,
            projection: Projection::new(kind, Form::Object, IncludeObject::default(), now),
            query,
            access,
            first: VecDeque::new(),
            listing: None,
            pending: VecDeque::new(),
            watch: None,
            come_to: None,
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.access.is_err()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn come_to(&self) -> Option<u64> {
        self.come_to
    }

    /// Goes on from a version, or begins with a list.
    pub(super) fn begin(&mut self, from: Option<u64>) {
        let store = match &self.access {
            Ok(granted) => granted.store().clone(),
            Err(refusal) => {
                let refusal = refusal.to_value();
                return self.first.push_back(self.event("ERROR", &refusal));
            }
        };
        if let Some(from) = from {
            match store.watch(self.query.clone(), Some(from)) {
                Ok(watch) => {
                    (self.watch, self.come_to) = (Some(watch), Some(from));
                    return;
                }
                Err(expired) => self.miss(&expired.to_string()),
            }
        }
        // A watch from just what was listed misses nothing in between and tells nothing twice.
        let listing = store.list(&self.query);
        self.first.push_back(json!({ "type": "LIST", "of": self.name }));
        self.watch = store.watch(self.query.clone(), Some(listing.resource_version)).ok();
        self.listing = Some((listing.items.into(), listing.resource_version));
    }

    fn miss(&mut self, why: &str) {
        self.come_to = None;
        let missed = Failure::expired(why.to_owned()).to_value();
        self.first.push_back(self.event("ERROR", &missed));
    }

    /// Too much happened while it was not read: it begins anew.
    fn fall_behind(&mut self) {
        self.pending.clear();
        self.miss("too much has changed since this was last read; the list of what stands follows");
        self.begin(None);
    }

    /// The next thing to say before any change: of what went wrong, or of its list.
    pub(super) fn next_of_list(&mut self) -> Option<Value> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        let (left, version) = self.listing.as_mut()?;
        if let Some(object) = left.pop_front() {
            return Some(self.change(ChangeKind::Added, &object));
        }
        let version = *version;
        (self.listing, self.come_to) = (None, Some(version));
        Some(self.event("BOOKMARK", &self.projection.bookmark(version, true)))
    }

    /// Whether it is told live: its changes come, and end where it fell behind.
    pub(super) fn live(&mut self) -> Option<&mut Watch> {
        self.watch.as_mut().filter(|_| self.listing.is_none() && self.first.is_empty())
    }

    /// Whether its list stands without a watch that goes on from it.
    pub(super) fn is_cut_off(&self) -> bool {
        self.access.is_ok() && self.watch.is_none() && self.listing.is_none() && self.first.is_empty()
    }

    /// Whether the store it watches is closed, so that nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.access.as_ref().is_ok_and(|granted| granted.store().is_closed())
    }

    /// Takes the change that came, and whatever waits behind it; `None` where the watch was dropped.
    pub(super) fn take(&mut self, came: Option<Seen>) {
        let Some(came) = came else { return self.fall_behind() };
        self.take_waiting(vec![came]);
    }

    /// Takes whatever waits. Where nothing does, it has come as far as the store.
    pub(super) fn take_waiting(&mut self, mut found: Vec<Seen>) {
        while let Some(next) = self.live().and_then(|watch| watch.next().now_or_never()) {
            let Some(seen) = next else { return self.fall_behind() };
            found.push(seen);
        }
        self.pending = once_each(found).into();
        self.move_on();
    }

    /// The next change to tell; with it the part has come that far.
    pub(super) fn next_change(&mut self) -> Option<Value> {
        let (kind, object) = self.pending.pop_front()?;
        self.come_to = self.come_to.max(Some(object.resource_version()));
        Some(self.change(kind, &object))
    }

    /// Moves on with the store, also where nothing in view has changed.
    pub(super) fn move_on(&mut self) {
        if !self.pending.is_empty() {
            return;
        }
        if let Some(version) = self.live().map(|watch| watch.resource_version()) {
            self.come_to = self.come_to.max(Some(version));
        }
    }

    fn change(&self, kind: ChangeKind, object: &Object) -> Value {
        self.event(word(kind), &self.projection.one(object))
    }

    fn event(&self, kind: &str, object: &Value) -> Value {
        json!({ "type": kind, "of": self.name, "object": object })
    }
}

/// The same changes with each object told once, as it is by the last of them, in the order of these.
pub(super) fn once_each(changes: Vec<Seen>) -> Vec<Seen> {
    let mut kept: Vec<Option<Seen>> = Vec::with_capacity(changes.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (kind, object) in changes {
        let before = places.remove(object.uid()).and_then(|place| kept[place].take());
        let kind = match (before.map(|(kind, _)| kind), kind) {
            // It came and went while nobody looked.
            (Some(ChangeKind::Added), ChangeKind::Deleted) => continue,
            (Some(ChangeKind::Added), _) => ChangeKind::Added,
            // It went out of view and came back.
            (Some(ChangeKind::Deleted), ChangeKind::Added) => ChangeKind::Modified,
            (_, kind) => kind,
        };
        places.insert(object.uid().to_owned(), kept.len());
        kept.push(Some((kind, object)));
    }
    kept.into_iter().flatten().collect()
}
