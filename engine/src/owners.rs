//! Background collection: what an owner leaves behind is deleted once the last of its owners is gone.
//!
//! An owner is its uid: a new object under an old name owns nothing of the old one's.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::followed::Followed;
use crate::object::Object;
use crate::store::{Deletion, Preconditions, Query, Store, WriteError, WriteOptions};

/// Everything is looked at again after this, for what a failed write left.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// So often an object that changes under our hands is tried before it is left to the next sweep.
const TRIES: usize = 5;

/// Collects until cancelled, and says how far it has come.
pub(crate) async fn collect(store: Store, followed: Followed, stop: CancellationToken) {
    while !store.is_closed() {
        let Ok(mut watch) = store.watch(Query::of(Query::EVERY_KIND), None) else { return };
        let seen = watch.resource_version();
        sweep(&store).await;
        followed.to(seen);
        let sweep_at = store.clock().elapsed().saturating_add(SWEEP_EVERY);
        loop {
            let change = tokio::select! { biased;
                () = stop.cancelled() => return,
                change = watch.next_change() => change,
                () = store.clock().sleep_until(sweep_at) => None,
            };
            let Some(change) = change else { break };
            // An owner that went, or an object whose owners were taken from it.
            let left = match (&change.new, &change.last) {
                (None, Some(gone)) => store.owned_by(gone.uid()),
                (Some(new), _) => vec![new.clone()],
                (None, None) => Vec::new(),
            };
            for object in left {
                delete_if_alone(&store, object).await;
            }
            followed.to(change.resource_version);
        }
    }
}

async fn sweep(store: &Store) {
    for object in store.all() {
        delete_if_alone(store, object).await;
    }
}

async fn delete_if_alone(store: &Store, object: Arc<Object>) {
    let (key, uid) = (object.key(), object.uid().to_owned());
    let mut standing = Some(object);
    for _ in 0..TRIES {
        let Some(object) = standing.filter(|object| object.uid() == uid && is_alone(store, object)) else {
            return;
        };
        // Of exactly this version: it may be given a living owner at this very moment.
        let resource_version = object.metadata.resource_version.clone();
        let preconditions = Preconditions { uid: Some(uid.clone()), resource_version };
        let deletion = Deletion { key: key.clone(), preconditions };
        match store.delete(deletion, &WriteOptions::controller("owners")).await {
            Ok(_) | Err(WriteError::NotFound(_) | WriteError::Closed) => return,
            Err(WriteError::Conflict(_)) => standing = store.get(&key),
            Err(error) => {
                tracing::warn!(name = %key, error = %error, "what an owner left could not be deleted");
                return;
            }
        }
    }
}

/// Whether it has owners, and none of them stands any more.
fn is_alone(store: &Store, object: &Object) -> bool {
    let mut owners = object.owners().peekable();
    // In an older store an owner may be missing that stands in the newer one.
    store.observe_only().is_none()
        && owners.peek().is_some()
        && !object.is_going()
        && owners.all(|uid| store.by_uid(uid).is_none())
}
