//! Brings objects back, and gives uids that were remembered to those they belonged to.

use std::sync::Arc;

use hearth_meta::{ObjectMeta, Problem, Time};

use super::Stage;
use super::admit::add_finalizers;
use crate::object::{Key, Object};
use crate::store::WriteOptions;
use crate::store::error::WriteError;

impl Stage<'_> {
    /// The uid of a new object: the one that an object of its name had before the store was lost, if that is
    /// remembered, so that what was made for it is its own again.
    pub(super) fn uid_for(&self, key: &Key) -> String {
        let remembered = self.state.trust.remembered.get(key).filter(|uid| !self.stands(uid));
        remembered.cloned().unwrap_or_else(|| self.inner.beneath.new_uid().to_string())
    }

    pub(super) fn restore(
        &mut self,
        mut object: Object,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let kind = self.kind(&object.kind)?;
        let mut problems = self.check_place(&object, kind);
        problems.extend(self.check_owners(&object, None));
        if object.uid().is_empty() {
            problems.push(Problem::new("metadata.uid", "is required"));
        }
        let key = object.key();
        if self.look_up(&key).is_some() {
            return Err(WriteError::AlreadyExists(key));
        }
        if self.stands(object.uid()) {
            return Err(WriteError::Conflict(format!("an object of uid {} stands already", object.uid())));
        }
        add_finalizers(&mut object.metadata, kind);
        object.metadata = ObjectMeta {
            creation_timestamp: object.metadata.creation_timestamp.take().or(Some(Time(self.now))),
            generation: object.metadata.generation.or(Some(1)),
            resource_version: None,
            deletion_timestamp: None,
            deletion_grace_period_seconds: None,
            managed_fields: None,
            finalizers: object.metadata.finalizers.take().filter(|f| !f.is_empty()),
            ..object.metadata
        };
        object.api_version = kind.api_version();
        let object = self.admit(object, None, kind, problems)?;
        self.put(None, object, Some("restore"), options)
    }
}
