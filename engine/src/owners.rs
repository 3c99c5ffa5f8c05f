//! Collection: what an owner leaves behind is deleted once the last of its owners is gone; before its owner where it is
//! deleted in the foreground; or let go of where it is orphaned (`cascade`).
//!
//! An owner is its uid: a new object under an old name owns nothing of the old one's.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::breaker;
use crate::followed::Followed;
use crate::object::Object;
use crate::store::{
    Change, Deletion, EventKind, EventNote, Preconditions, Query, Store, WriteError, WriteOptions,
};

mod cascade;

/// The finalizer of an owner that waits for what it owns to go first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose own is let go of before it goes.
pub const ORPHAN: &str = "orphan";

/// Everything is looked at again after this, for what a failed write left.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// So often an object that changes under our hands is tried before it is left to the next sweep.
const TRIES: usize = 5;

/// Collects until cancelled, and says how far it has come.
pub(crate) async fn collect(store: Store, followed: Followed, stop: CancellationToken) {
    let mut told = BTreeSet::new();
    while !store.is_closed() {
        let Ok(mut watch) = store.watch(Query::of(Query::EVERY_KIND), None) else { return };
        let seen = watch.resource_version();
        sweep(&store, &mut told).await;
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
                (Some(new), _) if has_other_owners(&change) => vec![new.clone()],
                // One whose owner is missing without anybody's doing is for the sweep to judge.
                (Some(_), _) | (None, None) => Vec::new(),
            };
            for object in left {
                delete_if_alone(&store, object).await;
            }
            for owner in cascade::concerned(&store, &change) {
                cascade::carry_on(&store, &owner).await;
            }
            followed.to(change.resource_version);
            // Also where one change follows on the other without a pause.
            if store.clock().elapsed() >= sweep_at {
                break;
            }
        }
    }
}

/// Deletes what was left, but asks before it deletes much whose owners nobody ever deleted: owners that vanished from
/// the store are a sign of damage. What is kept is told of once.
async fn sweep(store: &Store, told: &mut BTreeSet<String>) {
    let all = store.all();
    for owner in all.iter().filter(|object| cascade::is_pending(object)) {
        cascade::carry_on(store, owner).await;
    }
    let alone: Vec<_> = all.iter().filter(|object| is_alone(store, object)).cloned().collect();
    if alone.is_empty() {
        return;
    }
    let owners: Vec<String> = alone.iter().flat_map(|object| object.owners()).map(str::to_owned).collect();
    let pasts = match store.pasts(&owners).await {
        Ok(pasts) => pasts,
        // Whether they were deleted is not known; the next sweep asks again.
        Err(error) => return tracing::warn!(error = %error, "the history of owners could not be read"),
    };
    let was_deleted = |uid: &str| pasts.get(uid).is_some_and(|past| past.deleted_by.is_some());
    let (left, lost): (Vec<_>, Vec<_>) =
        alone.into_iter().partition(|object| object.owners().all(was_deleted));
    for object in left {
        delete_if_alone(store, object).await;
    }
    let owned = all.iter().filter(|object| object.owners().next().is_some()).count();
    for object in lost.iter().cloned() {
        if !breaker::trips(lost.len(), owned) {
            delete_if_alone(store, object).await;
        } else if told.insert(object.uid().to_owned()) {
            tell_lost(store, &object).await;
        }
    }
}

async fn tell_lost(store: &Store, object: &Object) {
    let message =
        "Its owner is not in the store, and nobody ever deleted it; this is kept until somebody deletes it";
    tracing::error!(name = %object.key(), message);
    let note = EventNote {
        about: object.key().reference(),
        uid: object.uid().to_owned(),
        kind: EventKind::Warning,
        reason: "OwnerLost".to_owned(),
        message: message.to_owned(),
        reporter: "controller/owners".to_owned(),
    };
    store.note(note).await;
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

fn has_other_owners(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    old.metadata.owner_references != new.metadata.owner_references
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

#[cfg(test)]
mod tests;
