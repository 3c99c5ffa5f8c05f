//! Deletions: at once where nothing holds an object, else marked until the last finalizer is dropped.
//!
//! What becomes of what an object owns is said by finalizers of its own (`foregroundDeletion`, `orphan`), as the protocol
//! has it, so that it outlives a crash and can be said anew while the object is still there. `owners` carries it out.

use std::sync::Arc;

use hearth_meta::Time;

use super::Stage;
use crate::object::{Key, Object};
use crate::owners::{FOREGROUND, ORPHAN};
use crate::store::WriteOptions;
use crate::store::error::WriteError;

/// Asks for a deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Which object.
    pub key: Key,
    /// What must hold of it.
    pub preconditions: Preconditions,
}

/// What must hold of an object for a deletion to be carried out.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// It is still the one of this uid.
    pub uid: Option<String>,
    /// It has not changed since this resourceVersion.
    pub resource_version: Option<String>,
}

/// What becomes of what an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cascade {
    /// It goes after its owner.
    Background,
    /// It goes first, and its owner waits for what names it with `blockOwnerDeletion`.
    Foreground,
    /// It stays, without the owner.
    Orphan,
}

impl Preconditions {
    fn check(&self, object: &Object) -> Result<(), WriteError> {
        if let Some(uid) = self.uid.as_ref().filter(|uid| *uid != object.uid()) {
            return Err(WriteError::Conflict(format!("{} is not the one of uid {uid}", object.key())));
        }
        if self.resource_version.is_some() && self.resource_version != object.metadata.resource_version {
            let message = format!("{} has changed in the meantime; read it again", object.key());
            return Err(WriteError::Conflict(message));
        }
        Ok(())
    }
}

/// The finalizers of an object that is deleted in this way.
fn finalizers_for(object: &Object, cascade: Option<Cascade>) -> Vec<String> {
    let before = object.metadata.finalizers.clone().unwrap_or_default();
    let Some(cascade) = cascade else { return before };
    let wanted = match cascade {
        Cascade::Background => None,
        Cascade::Foreground => Some(FOREGROUND),
        Cascade::Orphan => Some(ORPHAN),
    };
    let is_kept =
        |finalizer: &String| ![FOREGROUND, ORPHAN].contains(&finalizer.as_str()) || wanted == Some(finalizer);
    let mut finalizers: Vec<String> = before.into_iter().filter(is_kept).collect();
    if let Some(wanted) = wanted.filter(|wanted| !finalizers.iter().any(|finalizer| finalizer == wanted)) {
        finalizers.push(wanted.to_owned());
    }
    finalizers
}

impl Stage<'_> {
    pub(super) fn delete(
        &mut self,
        deletion: &Deletion,
        cascade: Option<Cascade>,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let old = self.find(&deletion.key)?;
        deletion.preconditions.check(&old)?;
        if old.kind == "Namespace" && self.is_used(old.name()) {
            return Err(WriteError::Conflict(format!(
                "{} is not empty; delete what is in it first",
                old.key()
            )));
        }
        let finalizers = finalizers_for(&old, cascade);
        let is_said_anew = old.metadata.finalizers.as_deref().unwrap_or_default() != finalizers;
        if old.is_going() && !is_said_anew {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        if !old.is_going() {
            new.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
            new.metadata.deletion_timestamp = Some(Time(self.now));
        }
        new.metadata.finalizers = Some(finalizers).filter(|finalizers| !finalizers.is_empty());
        if new.metadata.finalizers.is_none() {
            return self.remove(&old, new, options);
        }
        new.metadata.deletion_grace_period_seconds = Some(0);
        self.put(Some(&old), new, Some("delete"), options)
    }

    pub(super) fn drop_finalizer(
        &mut self,
        key: &Key,
        uid: &str,
        finalizer: &str,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let old = self.find(key)?;
        let has = old.metadata.finalizers.iter().flatten().any(|f| f == finalizer);
        if old.uid() != uid || !has {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        new.metadata.finalizers = new.metadata.finalizers.map(|mut f| {
            f.retain(|f| f != finalizer);
            f
        });
        new.metadata.finalizers = new.metadata.finalizers.take().filter(|f| !f.is_empty());
        if new.is_going() && new.metadata.finalizers.is_none() {
            return self.remove(&old, new, options);
        }
        self.put(Some(&old), new, None, options)
    }
}
