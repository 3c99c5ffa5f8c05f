//! Which change wakes which key. Waking twice, or for nothing, does no harm; a change that is missed is found by
//! the next look.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::Resource;
use tokio_util::sync::CancellationToken;

use super::Runner;
use crate::controller::{Controller, Triggers, Wake, Wanted};
use crate::object::{Key, Object};
use crate::store::{Change, Query};

/// How long to wait before subscribing again to a backend that went away.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(1);

/// How long changes of a set are gathered before it is written (DESIGN section 4).
pub(super) const GATHER: Duration = Duration::from_millis(300);

impl<C: Controller> Runner<C> {
    /// Watches the store: own objects, owned ones, referenced ones.
    pub(super) async fn wake_on_changes(self: Arc<Self>, stop: CancellationToken) {
        let triggers = self.controller.triggers();
        loop {
            // Subscribe first, then list: what changes in between is seen twice rather than never.
            let Ok(mut watch) = self.store.watch(Query::of(Query::EVERY_KIND), None) else { continue };
            self.add_all();
            loop {
                let change = tokio::select! { biased;
                    () = stop.cancelled() => return,
                    change = watch.next_change() => change,
                };
                // A watch that lagged was dropped; start over with everything.
                let Some(change) = change else { break };
                self.wake_for(&change, &triggers);
            }
        }
    }

    fn wake_for(&self, change: &Change, triggers: &Triggers) {
        let object = change.new.as_ref().or(change.last.as_ref());
        let Some(object) = object else { return };
        if object.kind == self.kind.kind {
            if is_wish(change) {
                self.wake_own(object);
            }
        } else if triggers.owned.contains(&object.kind.as_str()) {
            for owner in
                object.owners().filter_map(|uid| self.store.by_uid(uid)).filter(|o| o.kind == self.kind.kind)
            {
                self.queue.add(self.key_of(&owner));
            }
        }
        for (kind, referrers) in &triggers.referenced {
            if *kind == object.kind {
                for key in referrers(object, &self.store) {
                    self.add(key);
                }
            }
        }
    }

    /// Somebody changed what is wanted: a set gathers for a moment, anything else goes ahead at once.
    fn wake_own(&self, object: &Object) {
        if C::IS_SET {
            self.queue.add_after(self.whole(), GATHER);
        } else {
            self.queue.add_urgent(object.key());
        }
    }

    fn add(&self, key: Key) {
        if C::IS_SET {
            self.queue.add_after(self.whole(), GATHER);
        } else {
            self.queue.add(key);
        }
    }

    /// Listens to the backend, and subscribes again whenever that ends.
    pub(super) async fn wake_on_backend(self: Arc<Self>, stop: CancellationToken) {
        while let Some(mut wakes) = self.controller.wakes() {
            loop {
                let wake = tokio::select! { biased;
                    () = stop.cancelled() => return,
                    wake = wakes.next() => wake,
                };
                match wake {
                    Some(Wake::All) => self.add_all(),
                    Some(Wake::Uid(uid)) => {
                        if let Some(object) =
                            self.store.by_uid(&uid).filter(|object| object.kind == self.kind.kind)
                        {
                            self.queue.add(self.key_of(&object));
                        }
                    }
                    Some(Wake::Key(key)) => self.add(key),
                    None => break,
                }
            }
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = self.clock.sleep(RESUBSCRIBE_AFTER) => {}
            }
        }
    }

    /// The wanted objects of a key, as typed ones. One that does not fit its kind is left out and logged.
    pub(super) fn wanted(&self, key: &Key) -> Vec<Wanted<C::Kind>> {
        let objects = if C::IS_SET {
            self.store.list(&Query::of(self.kind.kind)).items
        } else {
            self.store.get(key).into_iter().collect()
        };
        let now = self.clock.now();
        objects
            .iter()
            .filter_map(|object| match object.typed::<C::Kind>() {
                Ok(typed) => {
                    let gone = typed.meta().deletion_timestamp.is_some();
                    Some(Wanted { object: Arc::new(typed), gone, now })
                }
                Err(error) => {
                    tracing::error!(
                        kind = self.kind.kind,
                        name = object.name(),
                        error,
                        "a stored object cannot be read"
                    );
                    None
                }
            })
            .collect()
    }
}

/// Whether a change of an own object is more than its status, which the engine itself writes.
fn is_wish(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let same_meta = old.metadata.generation == new.metadata.generation
        && old.metadata.annotations == new.metadata.annotations
        && old.metadata.labels == new.metadata.labels
        && old.metadata.finalizers == new.metadata.finalizers
        && old.metadata.deletion_timestamp == new.metadata.deletion_timestamp;
    !same_meta
}
