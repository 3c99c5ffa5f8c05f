//! Background collection: what an owner leaves behind is deleted once the last of its owners is gone.
//!
//! An owner is its uid: a new object under an old name owns nothing of the old one's.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::object::Object;
use crate::store::{Deletion, Preconditions, Query, Store, WriteError, WriteOptions};

/// Everything is looked at again after this, for what a failed write left.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Collects until cancelled.
pub(crate) async fn collect(store: Store, stop: CancellationToken) {
    loop {
        let Ok(mut watch) = store.watch(Query::of(Query::EVERY_KIND), None) else { continue };
        sweep(&store).await;
        let sweep_at = store.clock().elapsed().saturating_add(SWEEP_EVERY);
        loop {
            let change = tokio::select! { biased;
                () = stop.cancelled() => return,
                change = watch.next_change() => change,
                () = store.clock().sleep_until(sweep_at) => None,
            };
            let Some(change) = change else { break };
            if change.new.is_none()
                && let Some(gone) = &change.last
            {
                for object in store.owned_by(gone.uid()) {
                    delete_if_alone(&store, &object).await;
                }
            }
        }
    }
}

async fn sweep(store: &Store) {
    for object in store.all() {
        delete_if_alone(store, &object).await;
    }
}

async fn delete_if_alone(store: &Store, object: &Arc<Object>) {
    let mut owners = object.owners().peekable();
    if owners.peek().is_none() || object.is_going() || owners.any(|uid| store.by_uid(uid).is_some()) {
        return;
    }
    let preconditions = Preconditions { uid: Some(object.uid().to_owned()), resource_version: None };
    let deletion = Deletion { key: object.key(), preconditions };
    match store.delete(deletion, &WriteOptions::controller("owners")).await {
        // Gone or made anew meanwhile: not ours to delete any more.
        Ok(_) | Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => {}
        Err(error) => {
            tracing::warn!(name = %object.key(), error = %error, "what an owner left could not be deleted")
        }
    }
}
