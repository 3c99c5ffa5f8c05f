//! One of the watches that are told together: its list, its changes, and how far it has come.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use hearth_engine::store::{ChangeKind, Watch};
use hearth_engine::{Object, Query, Store};
use hearth_meta::KindInfo;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::accept::Form;
use crate::access::Granted;
use crate::events;
use crate::events::feed::{Looked, looks};
use crate::failure::Failure;
use crate::parameters::IncludeObject;
use crate::projection::Projection;
use crate::router::Wire;
use crate::watch::word;

/// A change in view, as a watch tells it.
pub(super) type Seen = (ChangeKind, Arc<Object>);

/// What came of a part that was waited for.
pub(super) enum Came {
    /// A change of what is stored.
    Change(Seen),
    /// A look for events.
    Looked(Looked),
    /// Its watch was dropped, or could not be begun.
    Cut,
}

/// Where its changes come from.
enum Source {
    Kind(Watch),
    Events(BoxStream<'static, Looked>),
}

/// One of the watches.
pub(super) struct Part {
    name: String,
    projection: Projection,
    query: Query,
    /// The kind of events that are asked for; `None` where it is what is stored.
    of_events: Option<KindInfo>,
    closing: CancellationToken,
    /// What was granted; who may not is told why.
    access: Result<Granted, Failure>,
    /// What is to be said before anything else.
    first: VecDeque<Value>,
    /// What is left of its list, and the version that stands for; absent once it is out.
    listing: Option<(VecDeque<Arc<Object>>, u64)>,
    /// Changes that were taken from the watch and are not told yet.
    pending: VecDeque<Seen>,
    source: Option<Source>,
    /// The version up to which everything was told; absent while its list is not out.
    come_to: Option<u64>,
}

impl Part {
    pub(super) fn new(
        name: String,
        kind: KindInfo,
        query: Query,
        access: Result<Granted, Failure>,
        wire: &Wire,
    ) -> Self {
        let now = wire.gate.clock().now();
        Self {
            name,
            projection: Projection::new(&kind, Form::Object, IncludeObject::default(), now),
            query,
            of_events: events::is_kind(&kind).then_some(kind),
            closing: wire.closing.clone(),
            access,
            first: VecDeque::new(),
            listing: None,
            pending: VecDeque::new(),
            source: None,
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
        if let Some(kind) = self.of_events.clone() {
            return self.begin_events(kind, store, from);
        }
        if let Some(from) = from {
            match store.watch(self.query.clone(), Some(from)) {
                Ok(watch) => {
                    (self.source, self.come_to) = (Some(Source::Kind(watch)), Some(from));
                    return;
                }
                Err(expired) => self.miss(&expired.to_string()),
            }
        }
        // A watch from just what was listed misses nothing in between and tells nothing twice.
        let listing = store.list(&self.query);
        self.first.push_back(json!({ "type": "LIST", "of": self.name }));
        self.source = store.watch(self.query.clone(), Some(listing.resource_version)).ok().map(Source::Kind);
        self.listing = Some((listing.items.into(), listing.resource_version));
    }

    /// Events are read, not kept in memory: their list comes with the first look.
    fn begin_events(&mut self, kind: KindInfo, store: Store, from: Option<u64>) {
        let (namespace, labels) = (self.query.namespace.clone(), self.query.labels.clone());
        let asked = events::Asked::on_and_on(store, kind, namespace, labels, from);
        self.source = Some(Source::Events(looks(asked, self.closing.clone()).boxed()));
        self.come_to = from;
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

    /// Whether all of its list is told, so that changes may be.
    fn is_listed(&self) -> bool {
        self.listing.is_none() && self.first.is_empty()
    }

    /// The watch of what is stored, where it is told live.
    fn live(&mut self) -> Option<&mut Watch> {
        let is_listed = self.is_listed();
        match &mut self.source {
            Some(Source::Kind(watch)) if is_listed => Some(watch),
            _ => None,
        }
    }

    /// What came next. Asked in vain it loses nothing by being asked again.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Came> {
        if !self.is_listed() || self.access.is_err() {
            return Poll::Pending;
        }
        match &mut self.source {
            None => Poll::Ready(Came::Cut),
            Some(Source::Kind(watch)) => {
                pin!(watch.next()).poll(context).map(|change| change.map_or(Came::Cut, Came::Change))
            }
            Some(Source::Events(looks)) => {
                looks.poll_next_unpin(context).map(|looked| looked.map_or(Came::Cut, Came::Looked))
            }
        }
    }

    /// Whether the store it watches is closed, so that nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.access.as_ref().is_ok_and(|granted| granted.store().is_closed())
    }

    /// Takes what came, and whatever waits behind it.
    pub(super) fn take(&mut self, came: Came) {
        match came {
            Came::Change(seen) => self.take_waiting(vec![seen]),
            Came::Looked(looked) => self.take_look(looked),
            Came::Cut => self.fall_behind(),
        }
    }

    /// The first look is the list where none was told yet.
    fn take_look(&mut self, looked: Looked) {
        if self.come_to.is_none() {
            self.first.push_back(json!({ "type": "LIST", "of": self.name }));
            let objects = looked.changes.into_iter().map(|(_, object)| object);
            self.listing = Some((objects.collect(), looked.newest));
            return;
        }
        self.pending = once_each(looked.changes).into();
        if self.pending.is_empty() {
            self.come_to = self.come_to.max(Some(looked.newest));
        }
    }

    /// Takes whatever waits. Where nothing does, it has come as far as the store.
    pub(super) fn take_waiting(&mut self, mut found: Vec<Seen>) {
        while let Some(next) = self.live().and_then(|watch| watch.next().now_or_never()) {
            let Some(seen) = next else { return self.fall_behind() };
            found.push(seen);
        }
        if self.of_events.is_none() {
            self.pending = once_each(found).into();
            self.move_on();
        }
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
