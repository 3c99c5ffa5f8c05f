//! How far whoever asks may see and may go, beyond the right to the write itself.
//!
//! The store knows no users. A store that somebody asks through carries their reach, so that what one write learns of
//! other objects (who holds a name) and what only some may wish for (a device) is settled inside the write.

use hearth_meta::KindInfo;

use super::Store;
use crate::object::Key;

/// How far somebody may see and may go.
pub trait Reach: Send + Sync {
    /// Whether they may know that an object is there, and its name.
    fn sees(&self, kind: &KindInfo, key: &Key) -> bool;

    /// Whether they may set or change a field that not everybody may who may write the object.
    ///
    /// # Errors
    /// One sentence that names the right that is missing.
    fn may_set(&self, kind: &KindInfo, key: &Key, field: &str) -> Result<(), String>;
}

impl Store {
    /// The same store, asked by somebody.
    #[must_use]
    pub fn within(&self, reach: std::sync::Arc<dyn Reach>) -> Self {
        Self { inner: self.inner.clone(), reach: Some(reach) }
    }
}
