//! Changing an object in part: JSON patch, merge patch, server-side apply, and for the core group strategic merge patch.
//!
//! A patch is applied inside the write, to the object as it stands then. A resourceVersion within it is a
//! precondition, as the protocol has it.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use hearth_engine::{Object, WriteError};
use hearth_meta::Problem;
use serde_json::Value;

use crate::body;
use crate::failure::Failure;
use crate::parameters::FieldValidation;
use crate::projection::Projection;
use crate::target::Call;
use crate::unknown_fields;
use crate::write::{self, Warnings};

/// The media type of server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

pub(crate) mod apply;
mod json;
mod merge;
mod strategic;

/// The media type of patches that know the lists of a kind.
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A patch, read.
pub(crate) enum Patch {
    Json(Vec<json::Operation>),
    Merge(Value),
    Strategic(Value),
}

impl Patch {
    /// Reads a patch by its media type.
    pub(crate) async fn read(call: &Call<'_>, headers: &HeaderMap, sent: Body) -> Result<Self, Failure> {
        let media = body::media_type(headers);
        match media.as_str() {
            "application/merge-patch+json" => {
                Ok(Self::Merge(body::strictly(call, &body::read(sent).await?)?))
            }
            // Clients know the kinds of the core group, and send this for them unasked.
            STRATEGIC if call.kind.group.is_empty() => {
                Ok(Self::Strategic(body::strictly(call, &body::read(sent).await?)?))
            }
            "application/json-patch+json" => {
                let value = body::strictly(call, &body::read(sent).await?)?;
                json::Operation::read_all(value).map(Self::Json).map_err(Failure::bad_request)
            }
            _ => Err(Failure::unsupported(format!(
                "a patch of type {media} is not offered here; use application/merge-patch+json, application/json-patch+json or {APPLY}"
            ))),
        }
    }

    /// What the patch makes of an object.
    pub(crate) fn apply(&self, old: &Object) -> Result<Value, WriteError> {
        let mut value = old.to_value();
        let applied = match self {
            Self::Json(operations) => json::Operation::apply_all(operations, &mut value),
            Self::Merge(patch) => {
                merge::apply(&mut value, patch);
                Ok(())
            }
            Self::Strategic(patch) => strategic::apply(&mut value, patch),
        };
        let wrong = |message: String| WriteError::Invalid(vec![Problem::new("", message)]);
        applied.map_err(|message| wrong(format!("the patch does not fit the object: {message}")))?;
        if !value.is_object() {
            return Err(wrong("the patch leaves no object".into()));
        }
        write::check_preconditions(&value, old)?;
        Ok(value)
    }
}

/// Patches an object, but for its status.
pub(crate) async fn answer(call: &Call<'_>, headers: &HeaderMap, sent: Body) -> Result<Response, Failure> {
    if body::media_type(headers) == APPLY {
        return apply::answer(call, sent).await;
    }
    let patch = Patch::read(call, headers, sent).await?;
    let warnings = Warnings::default();
    let noted = warnings.clone();
    let lenient =
        (call.parameters.field_validation != FieldValidation::Strict).then(|| Arc::new(call.kind.clone()));
    let note = write::note_owner(call);
    let changed = write::change(call, move |old| {
        let mut value = patch.apply(old)?;
        if let Some(kind) = &lenient {
            let dropped = unknown_fields::drop_from(&mut value, kind);
            *noted.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = dropped;
        }
        note(&old.to_value(), &mut value)?;
        Ok(value)
    })
    .await?;
    let answer = Json(Projection::of(call).one(&changed)).into_response();
    let dropped = write::take(&warnings);
    Ok(if call.parameters.field_validation == FieldValidation::Warn {
        write::warned(answer, &dropped)
    } else {
        answer
    })
}
