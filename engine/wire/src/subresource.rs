//! Writing a status, apart from all else.

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use hearth_engine::{Object, WriteError};
use hearth_meta::schema;
use serde_json::{Value, json};

use crate::body;
use crate::failure::Failure;
use crate::metadata;
use crate::ownership::structure::Structure;
use crate::patch::{APPLY, Patch};
use crate::projection::Projection;
use crate::target::Call;
use crate::write;

/// Replaces the status; whatever else the body says is not looked at.
pub(crate) async fn update(call: &Call<'_>, mut value: Value) -> Result<Response, Failure> {
    metadata::settle_kind(&mut value, call.kind)?;
    store(call, |old| {
        write::check_version(&value, old)?;
        Ok(value["status"].clone())
    })
    .await
}

/// Patches the status; what the patch does elsewhere is dropped.
///
/// An applied status is laid over the one that stands: who set which field of a status is not kept, so nothing goes
/// by not being said.
pub(crate) async fn patch(call: &Call<'_>, headers: &HeaderMap, sent: Body) -> Result<Response, Failure> {
    if body::media_type(headers) == APPLY {
        let config = body::parse(&body::read(sent).await?)?;
        let schema = call.schema();
        // Seen as a kind without a status of its own, status is a part like any other.
        let structure = Structure::new(schema.as_deref(), false);
        return store(call, |old| {
            write::check_version(&config, old)?;
            let part = |value: &Value| json!({ "status": value["status"] });
            Ok(structure.merged(&part(&old.to_value()), &part(&config))["status"].clone())
        })
        .await;
    }
    let patch = Patch::read(headers, sent).await?;
    store(call, |old| Ok(patch.apply(old)?["status"].clone())).await
}

/// TODO(correctness): the status is read, then written; another write between the two is lost. It ends when the
/// store takes a function of the status, as it does for the rest of an object.
async fn store(
    call: &Call<'_>,
    build: impl Fn(&Object) -> Result<Value, WriteError>,
) -> Result<Response, Failure> {
    let failed = |error| Failure::of_write(error, call.kind, call.name());
    let old = call.wire.store.get(&call.key()).ok_or_else(|| Failure::not_found(call.kind, call.name()))?;
    let status = match build(&old).map_err(failed)? {
        Value::Null => json!({}),
        status => status,
    };
    check(call, &status)?;
    let new = if call.parameters.dry_run {
        let mut new = Object::clone(&old);
        new.body.insert("status".into(), status);
        std::sync::Arc::new(new)
    } else {
        call.wire.store.update_status(&call.key(), old.uid(), status).await.map_err(failed)?
    };
    Ok(Json(Projection::of(call).one(&new)).into_response())
}

fn check(call: &Call<'_>, status: &Value) -> Result<(), Failure> {
    let Some(shape) = call.kind.schema.as_ref().and_then(|schema| schema["properties"].get("status")) else {
        return Ok(());
    };
    let problems: Vec<_> =
        schema::check(status, shape).into_iter().map(|problem| problem.under("status")).collect();
    if problems.is_empty() { Ok(()) } else { Err(Failure::invalid(call.kind, call.name(), &problems)) }
}
