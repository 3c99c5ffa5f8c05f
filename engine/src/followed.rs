//! How far a task has come that follows the store's changes, so that one can tell when nothing is left to do.

use std::sync::{Arc, Mutex, PoisonError};

/// The newest resourceVersion a task has dealt with. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Followed(Arc<Mutex<Option<u64>>>);

impl Followed {
    /// Everything up to this version is dealt with.
    pub(crate) fn to(&self, resource_version: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(resource_version);
    }

    /// Whether the task has begun and has dealt with this version.
    pub(crate) fn has_reached(&self, resource_version: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|seen| seen >= resource_version)
    }
}
