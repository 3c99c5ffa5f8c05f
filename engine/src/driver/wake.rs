//! Which change wakes which key. Waking twice, or for nothing, does no harm; a change that is missed is found by
//! the next look.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use hearth_meta::Reason;
use hearth_meta::labels::SYSTEM;
use kube::Resource;
use tokio_util::sync::CancellationToken;

use super::{Runner, lock};
use crate::controller::{Blind, Controller, Reference, Triggers, Wake, Wanted};
use crate::object::{Key, Object};
use crate::panics::{caught, words};
use crate::store::{Change, Query};

/// How long to wait before subscribing again to a backend that went away, and how long a new subscription must
/// hold before it counts as one.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(1);

impl<C: Controller> Runner<C> {
    /// Watches the store: own objects, owned ones, referenced ones.
    pub(super) async fn wake_on_changes(self: Arc<Self>, stop: CancellationToken) {
        let triggers = self.controller.triggers();
        while !self.store.is_closed() {
            // Subscribe first, then list: what changes in between is seen twice rather than never.
            if let Ok(mut watch) = self.store.watch(Query::of(Query::EVERY_KIND), None) {
                self.add_all();
                self.followed.to(watch.resource_version());
                loop {
                    let change = tokio::select! { biased;
                        () = stop.cancelled() => return,
                        change = watch.next_change() => change,
                    };
                    // A watch that lagged was dropped; start over with everything.
                    let Some(change) = change else { break };
                    self.wake_for(&change, &triggers);
                    self.followed.to(change.resource_version);
                }
            }
        }
    }

    fn wake_for(&self, change: &Change, triggers: &Triggers) {
        let Some(object) = change.new.as_ref().or(change.last.as_ref()) else { return };
        if object.kind == self.kind.kind && is_wish(change) {
            self.wake_own(object);
        }
        let is_news = !is_blind(object);
        if triggers.owned.contains(&object.kind.as_str()) {
            // Whoever owned it before must see that it no longer does.
            let before = change.old.iter().flat_map(|old| old.owners());
            for owner in object.owners().chain(before).filter_map(|uid| self.store.by_uid(uid)) {
                self.wake(owner.key(), is_news);
            }
        }
        if has_other_annotations(change) {
            // A pause of an owner holds what it owns, and that of a Namespace what is in it.
            for owned in self.store.owned_by(object.uid()) {
                self.wake(owned.key(), true);
            }
            if object.kind == "Namespace" {
                self.wake_namespace(object.name());
            }
        }
        for reference in &triggers.referenced {
            if reference.kind == object.kind {
                // Who referred to it as it was before must see that, too.
                let forms = || [Some(object), change.old.as_ref()].into_iter().flatten();
                let keys = || -> Vec<Key> {
                    if is_for_nothing(change, reference) {
                        return Vec::new();
                    }
                    forms().flat_map(|form| (reference.referrers)(form, &self.store)).collect()
                };
                // One that panics would leave the controller deaf; what it missed is found by the next look.
                match catch_unwind(AssertUnwindSafe(keys)) {
                    Ok(keys) => keys.into_iter().for_each(|key| self.wake(key, is_news)),
                    Err(panic) => {
                        let words = words(&*panic);
                        tracing::error!(controller = C::NAME, words, "a trigger panicked");
                        self.counters.failed(&words);
                        self.add_all();
                    }
                }
            }
        }
    }

    /// Something was said of a namespace, or of the whole home.
    fn wake_namespace(&self, name: &str) {
        let is_home = name == SYSTEM;
        for object in self.store.list(&Query::of(self.kind.kind)).items {
            if is_home || object.metadata.namespace.as_deref() == Some(name) {
                self.wake(object.key(), true);
            }
        }
        if is_home {
            // An answer about orphans may be among it.
            self.look_for_orphans.notify_one();
        }
    }

    /// Somebody changed what is wanted: a set gathers for a moment, anything else goes ahead at once.
    fn wake_own(&self, object: &Object) {
        if C::IS_SET {
            self.gather();
        } else {
            self.queue.add_urgent(object.key());
        }
    }

    /// Wakes a key. Where something new is known, looks that could not tell are tried afresh: the backend may have
    /// come back a moment ago, and may need another moment.
    fn wake(&self, key: Key, is_news: bool) {
        if key.kind != self.kind.kind {
            return;
        }
        let key = if C::IS_SET { self.whole() } else { key };
        if is_news {
            lock(&self.retries).looked(&key);
        }
        if C::IS_SET {
            self.gather();
        } else {
            self.queue.add(key);
        }
    }

    /// A set is written once for many changes.
    fn gather(&self) {
        let gathered = lock(&self.pace).gather(self.clock.elapsed());
        self.queue.add_after(self.whole(), gathered);
    }

    /// Listens to the backend, and subscribes again whenever that ends.
    pub(super) async fn wake_on_backend(self: Arc<Self>, stop: CancellationToken) {
        let mut is_again = false;
        let mut was_heard = true;
        while let Some(wakes) = self.controller.wakes() {
            let listened = tokio::select! { biased;
                () = stop.cancelled() => return,
                listened = caught(self.listen(wakes, is_again)) => listened,
            };
            let is_heard = listened.unwrap_or_else(|words| {
                tracing::error!(controller = C::NAME, words, "the events of a backend panicked");
                self.counters.failed(&words);
                false
            });
            if std::mem::replace(&mut was_heard, is_heard) && !is_heard {
                // It is out of reach. What was seen last is no longer known to be so, and people are told now and
                // not at the next full look.
                self.add_all();
            }
            is_again = true;
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = self.clock.sleep(RESUBSCRIBE_AFTER) => {}
            }
        }
    }

    /// Wakes what the backend names until its stream ends; whether it ever told anything, which it does as soon as
    /// it is heard. What happened while nobody listened was missed, so once a new stream has held for a moment
    /// everything is looked at.
    async fn listen(&self, mut wakes: BoxStream<'static, Wake>, is_again: bool) -> bool {
        let held = self.clock.sleep(RESUBSCRIBE_AFTER);
        tokio::pin!(held);
        let mut has_missed = is_again;
        let mut is_heard = false;
        loop {
            let wake = tokio::select! { biased;
                wake = wakes.next() => {
                    is_heard |= wake.is_some();
                    wake
                }
                () = &mut held, if has_missed => {
                    has_missed = false;
                    Some(Wake::All)
                }
            };
            match wake {
                Some(Wake::All) => self.add_all(),
                Some(Wake::Uid(uid)) => {
                    if let Some(object) = self.store.by_uid(&uid) {
                        self.wake(object.key(), true);
                    }
                }
                Some(Wake::Key(key)) => self.wake(key, true),
                None => return is_heard,
            }
        }
    }

    /// The wanted objects of a key, as typed ones. One that does not fit its kind was written by another program;
    /// what it wants is not known, and nothing is done to a set that it belongs to.
    pub(super) fn wanted(&self, key: &Key) -> Result<Vec<Wanted<C::Kind>>, Blind> {
        let objects = if C::IS_SET {
            self.store.list(&Query::of(self.kind.kind)).items
        } else {
            self.store.get(key).into_iter().collect()
        };
        if C::IS_SET {
            lock(&self.readings).keep(&objects);
        }
        let now = self.clock.now();
        let read = |object: &Arc<Object>| {
            let object = self.read(object).map_err(|error| {
                tracing::error!(
                    kind = self.kind.kind,
                    name = object.name(),
                    error,
                    "a stored object cannot be read"
                );
                Blind(error)
            })?;
            let gone = object.meta().deletion_timestamp.is_some();
            Ok(Wanted { object, gone, now })
        };
        objects.iter().map(read).collect()
    }
}

/// Whether the last word on an object is that it cannot be seen. That others cannot be seen either is no news to
/// what cannot be seen; were it, they would keep each other awake.
fn is_blind(object: &Object) -> bool {
    object.status()["reason"] == Reason::CannotSee.as_str()
}

/// Whether an object stays, and nothing of it changed that those who refer to it look at.
fn is_for_nothing(change: &Change, reference: &Reference) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.is_going() == new.is_going() && !(reference.matters)(old, new),
        _ => false,
    }
}

fn has_other_annotations(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.metadata.annotations != new.metadata.annotations,
        _ => false,
    }
}

/// Whether a change of an own object is more than its status, which the engine itself writes.
fn is_wish(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let same_meta = old.metadata.generation == new.metadata.generation
        && old.metadata.annotations == new.metadata.annotations
        && old.metadata.labels == new.metadata.labels
        && old.metadata.owner_references == new.metadata.owner_references
        && old.metadata.finalizers == new.metadata.finalizers
        && old.metadata.deletion_timestamp == new.metadata.deletion_timestamp;
    !same_meta
}
