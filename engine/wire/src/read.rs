//! Getting one object, and listing many.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::failure::Failure;
use crate::projection::Projection;
use crate::target::Call;

/// One object, in the form that is wanted.
pub(crate) fn get(call: &Call<'_>) -> Result<Response, Failure> {
    let object =
        call.wire.store.get(&call.key()).ok_or_else(|| Failure::not_found(call.kind, call.name()))?;
    Ok(Json(Projection::of(call).one(&object)).into_response())
}

/// All objects the query asks for, as they stand at one resourceVersion.
///
/// `limit` is not heeded: everything is in memory and a home is small, so one answer holds it all, and the
/// protocol allows an answer that is longer than asked for.
pub(crate) fn list(call: &Call<'_>) -> Result<Response, Failure> {
    let listing = call.wire.store.list(&call.query());
    let asked = call.parameters.resource_version.unwrap_or(0);
    let matching = call.parameters.resource_version_match.as_deref();
    if asked > listing.resource_version {
        let message = format!("Too large resource version: {asked}, current: {}", listing.resource_version);
        return Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message));
    }
    if matching == Some("Exact") && asked != listing.resource_version {
        let message =
            format!("the list as it stood at resourceVersion {asked} is no longer kept; ask without it");
        return Err(Failure::expired(message));
    }
    let version = listing.resource_version.to_string();
    Ok(Json(Projection::of(call).many(&listing.items, &version)).into_response())
}
