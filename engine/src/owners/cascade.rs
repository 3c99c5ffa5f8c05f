//! Deletions that say what becomes of what an object owns.
//!
//! *Foreground*: all it owns is deleted, and the owner goes once nothing is left that names it with
//! `blockOwnerDeletion`. *Orphan*: all it owns is let go of, then the owner goes.
//!
//! An owner whose kind has finalizers of its own is taken down by its controller first, which knows in which order;
//! what is left then is done here. Finalizers of others are not waited for: they may themselves wait for what is owned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{FOREGROUND, ORPHAN};
use crate::object::Object;
use crate::store::{Cascade, Change, Deletion, Preconditions, Store, WriteError, WriteOptions};

/// Whether something is still to be done before it goes.
pub(super) fn is_pending(object: &Object) -> bool {
    object.is_going() && (object.has_finalizer(FOREGROUND) || object.has_finalizer(ORPHAN))
}

/// The owners that a change may let go on: the object itself, and those it names or has named.
pub(super) fn concerned(store: &Store, change: &Change) -> Vec<Arc<Object>> {
    let forms = [&change.old, &change.new, &change.last];
    let owners: BTreeSet<&str> = forms.iter().copied().flatten().flat_map(|object| object.owners()).collect();
    let owners = owners.into_iter().filter_map(|uid| store.by_uid(uid));
    let own = change.new.iter().filter_map(|new| store.by_uid(new.uid()));
    own.chain(owners).filter(|object| is_pending(object)).collect()
}

/// Does what can be done now. What fails is left to the next sweep.
pub(super) async fn carry_on(store: &Store, owner: &Object) {
    // A store that may be of another time is no ground to delete by.
    if store.observe_only().is_some() || is_taken_down_by_its_controller(store, owner) {
        return;
    }
    let done = if owner.has_finalizer(ORPHAN) {
        let_go_of_all(store, owner).await
    } else {
        delete_owned(store, owner).await
    };
    if let Err(error) = done {
        tracing::warn!(name = %owner.key(), error = %error, "what it owns could not be dealt with yet");
    }
}

fn is_taken_down_by_its_controller(store: &Store, owner: &Object) -> bool {
    let own = store.kind(&owner.kind).map(|kind| kind.finalizers.as_slice()).unwrap_or_default();
    own.iter().any(|finalizer| owner.has_finalizer(finalizer))
}

async fn let_go_of_all(store: &Store, owner: &Object) -> Result<(), WriteError> {
    for owned in store.owned_by(owner.uid()) {
        let_go(store, &owned, owner.uid()).await?;
    }
    if store.owned_by(owner.uid()).is_empty() {
        store.drop_finalizer(&owner.key(), owner.uid(), ORPHAN).await?;
    }
    // Else something came meanwhile; its change brings us back here.
    Ok(())
}

/// Takes the owner from what it owns.
async fn let_go(store: &Store, owned: &Object, owner: &str) -> Result<(), WriteError> {
    let (uid, owner) = (owned.uid().to_owned(), owner.to_owned());
    let change = move |old: &Object| {
        let mut new = old.clone();
        if old.uid() == uid {
            let owners = new.metadata.owner_references.get_or_insert_default();
            owners.retain(|reference| reference.uid != owner);
            new.metadata.owner_references =
                new.metadata.owner_references.take().filter(|all| !all.is_empty());
        }
        Ok(new)
    };
    match store.update(&owned.key(), &WriteOptions::controller("owners"), change).await {
        Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn delete_owned(store: &Store, owner: &Object) -> Result<(), WriteError> {
    for owned in store.owned_by(owner.uid()) {
        if owned.is_going() {
            continue;
        }
        if has_staying_owner(store, &owned) {
            let_go(store, &owned, owner.uid()).await?;
        } else {
            delete(store, &owned).await?;
        }
    }
    let waited_for = |owned: &Arc<Object>| blocks(owned, owner) && !waits_for(store, owned, owner.uid());
    if !store.owned_by(owner.uid()).iter().any(waited_for) {
        store.drop_finalizer(&owner.key(), owner.uid(), FOREGROUND).await?;
    }
    Ok(())
}

/// Of exactly the version that was looked at: it may be given an owner that stays at this very moment.
async fn delete(store: &Store, owned: &Object) -> Result<(), WriteError> {
    let preconditions = Preconditions {
        uid: Some(owned.uid().to_owned()),
        resource_version: owned.metadata.resource_version.clone(),
    };
    let deletion = Deletion { key: owned.key(), preconditions };
    let options = WriteOptions::controller("owners");
    // What was said of its own before is kept.
    let says_itself = owned.has_finalizer(ORPHAN) || owned.has_finalizer(FOREGROUND);
    let deleted = if says_itself || store.owned_by(owned.uid()).is_empty() {
        store.delete(deletion, &options).await
    } else {
        store.delete_with(deletion, Cascade::Foreground, &options).await
    };
    match deleted {
        // It changed meanwhile, and its change brings us back here.
        Ok(_) | Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether another owner stands that does not wait for it to go.
fn has_staying_owner(store: &Store, owned: &Object) -> bool {
    let mut owners = owned.owners().filter_map(|uid| store.by_uid(uid));
    owners.any(|owner| !(owner.is_going() && owner.has_finalizer(FOREGROUND)))
}

fn blocks(owned: &Object, owner: &Object) -> bool {
    let mut owners = owned.metadata.owner_references.iter().flatten();
    owners.any(|reference| reference.uid == owner.uid() && reference.block_owner_deletion == Some(true))
}

/// Whether an object that is owned itself waits, through what it owns, for this one: who own each other in a ring would
/// wait for ever.
fn waits_for(store: &Store, object: &Object, uid: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![object.uid().to_owned()]);
    while let Some(waiting) = open.pop() {
        let Some(owner) = store.by_uid(&waiting).filter(|owner| is_pending(owner)) else { continue };
        for owned in store.owned_by(&waiting).into_iter().filter(|owned| blocks(owned, &owner)) {
            if owned.uid() == uid {
                return true;
            }
            if seen.insert(owned.uid().to_owned()) {
                open.push(owned.uid().to_owned());
            }
        }
    }
    false
}
