//! Deleting one object, or all that are selected.
//!
//! What must hold, what becomes of what is owned, and whether it is only tried is said in a body, in the query, or not at
//! all.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use hearth_engine::store::{Cascade, Deletion, Preconditions};
use hearth_engine::{Object, WriteError, WriteOptions};
use hearth_meta::{KindInfo, Problem, Scope};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::paging::ListMeta;
use crate::projection::Projection;
use crate::read;
use crate::target::Call;

/// Deletes an object, or marks it where finalizers hold it.
pub(crate) async fn one(call: &Call<'_>, options: Value) -> Result<Response, Failure> {
    let options = DeleteOptions::read(call, &options)?;
    let deletion = Deletion { key: call.key(), preconditions: options.preconditions.clone() };
    let deleted = options.carry_out(call, deletion).await;
    let deleted = deleted.map_err(|error| Failure::of_write(error, call.kind, call.name()))?;
    let held = deleted.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
    if held {
        let mut shown = deleted.to_value();
        call.kind.hide(&mut shown);
        return Ok(Json(shown).into_response());
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": { "name": deleted.name(), "group": call.kind.group, "kind": call.kind.plural, "uid": deleted.uid() },
    });
    Ok(Json(status).into_response())
}

/// Deletes every object the query asks for, or a page of them, one by one.
pub(crate) async fn many(call: &Call<'_>, options: Value) -> Result<Response, Failure> {
    let options = DeleteOptions::read(call, &options)?;
    let (items, meta) = read::listed(call)?;
    let mut deleted = Vec::new();
    for object in &items {
        // Of just the object that was listed, besides what the client asks of each.
        let uid = options.preconditions.uid.clone().or_else(|| Some(object.uid().to_owned()));
        let preconditions = Preconditions { uid, ..options.preconditions.clone() };
        match options.carry_out(call, Deletion { key: object.key(), preconditions }).await {
            Ok(object) => deleted.push(object),
            // It went since the list was taken.
            Err(WriteError::NotFound(_)) => {}
            // It was made anew since: not what was listed.
            Err(WriteError::Conflict(_)) if !options.has_preconditions() && was_made_anew(call, object) => {}
            Err(error) => return Err(Failure::of_write(error, call.kind, object.name())),
        }
    }
    let meta = ListMeta { version: call.store().resource_version(), ..meta };
    Ok(Json(Projection::of(call).many(&deleted, &meta)).into_response())
}

fn was_made_anew(call: &Call<'_>, listed: &Object) -> bool {
    call.store().get(&listed.key()).is_none_or(|standing| standing.uid() != listed.uid())
}

/// What a deletion asks for besides.
struct DeleteOptions {
    preconditions: Preconditions,
    cascade: Option<Cascade>,
    dry_run: bool,
}

impl DeleteOptions {
    /// Reads them; the body wins over the query, and every problem is told at once.
    fn read(call: &Call<'_>, body: &Value) -> Result<Self, Failure> {
        let mut problems = Vec::new();
        if !body.is_null() && !body.is_object() {
            problems.push(Problem::new("", "must be a map of options, or nothing"));
        }
        let policy = match &body["propagationPolicy"] {
            Value::Null => call.parameters.propagation.clone(),
            Value::String(policy) => Some(policy.clone()),
            other => Some(other.to_string()),
        };
        let orphans = match &body["orphanDependents"] {
            Value::Null => call.parameters.orphan_dependents,
            Value::Bool(orphans) => Some(*orphans),
            _ => {
                problems.push(Problem::new("orphanDependents", "must be true or false"));
                None
            }
        };
        let cascade = match policy.as_deref() {
            Some("Background") => Some(Cascade::Background),
            Some("Foreground") => Some(Cascade::Foreground),
            Some("Orphan") => Some(Cascade::Orphan),
            Some(other) => {
                let message = format!("{other:?} is not one of Background, Foreground, Orphan");
                problems.push(Problem::new("propagationPolicy", message));
                None
            }
            // As it was said before there were policies.
            None => orphans.map(|orphans| if orphans { Cascade::Orphan } else { Cascade::Background }),
        };
        if policy.is_some() && orphans.is_some() {
            problems.push(Problem::new(
                "propagationPolicy",
                "must not be set together with orphanDependents, which is the older word for it",
            ));
        }
        if !matches!(body["preconditions"], Value::Null | Value::Object(_)) {
            problems.push(Problem::new("preconditions", "must be a map with uid or resourceVersion"));
        }
        let mut text = |field: &str| match &body["preconditions"][field] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => {
                problems.push(Problem::new(
                    format!("preconditions.{field}"),
                    "must be a text (put it in quotes)",
                ));
                None
            }
        };
        let preconditions = Preconditions { uid: text("uid"), resource_version: text("resourceVersion") };
        let modes = body["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_list = matches!(body["dryRun"], Value::Null | Value::Array(_));
        if !is_list || modes.iter().any(|mode| mode != "All") {
            problems.push(Problem::new("dryRun", "must be a list, and may only say All: [\"All\"]"));
        }
        if !problems.is_empty() {
            let options = KindInfo::plain(
                "meta.k8s.io",
                "DeleteOptions",
                ("deleteoptions", "deleteoptions"),
                Scope::Cluster,
            );
            return Err(Failure::invalid(&options, "", &problems));
        }
        Ok(Self { preconditions, cascade, dry_run: !modes.is_empty() || call.parameters.dry_run })
    }

    fn has_preconditions(&self) -> bool {
        self.preconditions.uid.is_some() || self.preconditions.resource_version.is_some()
    }

    async fn carry_out(&self, call: &Call<'_>, deletion: Deletion) -> Result<Arc<Object>, WriteError> {
        let write = call.write_options();
        let write = WriteOptions { dry_run: self.dry_run, ..write };
        match self.cascade {
            Some(cascade) => call.store().delete_with(deletion, cascade, &write).await,
            None => call.store().delete(deletion, &write).await,
        }
    }
}
