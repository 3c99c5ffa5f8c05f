//! Carries out one step on the store or on the instance's files.

use futures::future::join_all;
use hearth_engine::controller::{StepError, Wanted};
use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Key, Object, WriteError, WriteOptions};
use hearth_kinds::App;
use hearth_meta::Reason;
use hearth_meta::labels::OWNER_UID;

use super::observe;
use super::record::{RECORD, retired};
use super::{AppController, AppStep};
use crate::fault::failed;

impl AppController {
    pub(super) async fn carry_out(&self, step: &AppStep, wanted: &Wanted<App>) -> Result<(), StepError> {
        match step {
            AppStep::SaveFiles | AppStep::SaveRecord { .. } => {
                let files = self
                    .look(wanted)
                    .await
                    .map_err(|blind| StepError::new(Reason::CannotSee, blind.0))?
                    .files;
                self.volumes.save_files(wanted.uid(), &files).await.map_err(failed)
            }
            AppStep::Retire => self.retire(wanted).await,
            AppStep::RemoveFiles => self.volumes.remove_files(wanted.uid()).await.map_err(failed),
            AppStep::Apply(children) => {
                // One that is refused keeps no other back; the first refusal is what people are told.
                let applied = join_all(children.iter().map(|child| self.apply(child, wanted))).await;
                applied.into_iter().collect()
            }
            AppStep::Delete { kind, name, uid } => {
                let namespace = if kind == "Image" { "" } else { wanted.namespace() };
                let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
                let deletion = Deletion { key: Key::new(kind, namespace, name), preconditions };
                match self.store.delete(deletion, &WriteOptions::controller("app")).await {
                    // Gone, or made anew by somebody: not the one that should go.
                    Ok(_) | Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => Ok(()),
                    Err(error) => Err(refused(error)),
                }
            }
        }
    }

    /// Only the record changes; the author's files stay for whoever takes the data up again.
    async fn retire(&self, wanted: &Wanted<App>) -> Result<(), StepError> {
        let Some(mut files) = self.volumes.load_files(wanted.uid()).await.map_err(failed)? else {
            return Ok(());
        };
        let children = observe::children(&self.store, wanted);
        let record = retired(&wanted.object, self.store.lineage(), &children);
        files.insert(RECORD.to_owned(), record);
        self.volumes.save_files(wanted.uid(), &files).await.map_err(failed)
    }

    async fn apply(&self, child: &Object, wanted: &Wanted<App>) -> Result<(), StepError> {
        let options = WriteOptions::controller("app");
        let key = child.key();
        let Some(existing) = self.store.get(&key) else {
            return self.store.create(child.clone(), &options).await.map(|_| ()).map_err(refused);
        };
        if !self.is_left_image(&existing) {
            may_change(&existing, wanted.uid())?;
        }
        let child = child.clone();
        let change = move |old: &Object| Ok(as_declared(old, &child));
        self.store.update(&key, &options, change).await.map(|_| ()).map_err(refused)
    }
}

impl AppController {
    /// Whether this is an Image whose app is gone and left it: it is no more than a reference, and whoever needs it next
    /// may have it.
    fn is_left_image(&self, existing: &Object) -> bool {
        let labels = existing.metadata.labels.as_ref();
        let of = labels.and_then(|labels| labels.get(OWNER_UID));
        existing.kind == "Image"
            && !existing.is_going()
            && existing.owners().next().is_none()
            && of.is_some_and(|uid| self.store.by_uid(uid).is_none())
    }
}

/// Whether an object may be made a child of the app of this uid: it is one already, by its owner or its label, and it
/// stays.
pub(super) fn may_change(existing: &Object, uid: &str) -> Result<(), StepError> {
    let key = existing.key();
    if existing.is_going() {
        let message = format!("{key} is being removed; it is made anew once it is gone");
        return Err(StepError::new(Reason::Removing, message));
    }
    let labels = existing.metadata.labels.as_ref();
    let is_labelled = labels.and_then(|labels| labels.get(OWNER_UID)).is_some_and(|of| of == uid);
    if is_labelled || existing.owners().any(|owner| owner == uid) {
        return Ok(());
    }
    Err(StepError::new(Reason::Taken, format!("{key} exists and belongs to something else")))
}

/// What stands in the store, with all that the app says of it: its spec, its labels and whose it is.
pub(super) fn as_declared(old: &Object, child: &Object) -> Object {
    let mut new = old.clone();
    new.metadata.labels = child.metadata.labels.clone();
    new.metadata.owner_references = child.metadata.owner_references.clone();
    if let Some(spec) = child.body.get("spec") {
        new.body.insert("spec".into(), spec.clone());
    }
    new
}

fn refused(error: WriteError) -> StepError {
    let reason = match &error {
        WriteError::Invalid(_) => Reason::Refused,
        _ => Reason::StepFailed,
    };
    StepError::new(reason, error.to_string())
}
