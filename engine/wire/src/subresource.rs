//! Writing a status, apart from all else.

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use hearth_engine::{Object, WriteError};
use hearth_meta::{Problem, schema};
use serde_json::{Value, json};

use crate::body;
use crate::failure::Failure;
use crate::metadata;
use crate::ownership::structure::Structure;
use crate::patch::apply::drop_nulls;
use crate::patch::{APPLY, Patch};
use crate::projection::Projection;
use crate::target::Call;
use crate::write;

/// Replaces the status; whatever else the body says is not looked at.
pub(crate) async fn update(call: &Call<'_>, mut value: Value) -> Result<Response, Failure> {
    metadata::settle_kind(&mut value, call.kind)?;
    store(call, move |old| {
        write::check_preconditions(&value, old)?;
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
        let mut config = body::yaml(call, &body::read(sent).await?)?;
        drop_nulls(&mut config);
        let schema = call.schema();
        return store(call, move |old| {
            write::check_preconditions(&config, old)?;
            if config.get("status").is_none() {
                return Ok(old.to_value()["status"].clone());
            }
            // Seen as a kind without a status of its own, status is a part like any other.
            let structure = Structure::new(schema.as_deref(), false);
            let part = |value: &Value| json!({ "status": value["status"] });
            Ok(structure.merged(&part(&old.to_value()), &part(&config))["status"].clone())
        })
        .await;
    }
    let patch = Patch::read(call, headers, sent).await?;
    store(call, move |old| Ok(patch.apply(old)?["status"].clone())).await
}

/// Builds and writes in one: no other write comes between.
async fn store(
    call: &Call<'_>,
    build: impl FnOnce(&Object) -> Result<Value, WriteError> + Send + 'static,
) -> Result<Response, Failure> {
    let shape = call.kind.schema.as_ref().and_then(|schema| schema["properties"].get("status")).cloned();
    let change = move |old: &Object| {
        let status = match build(old)? {
            Value::Null => json!({}),
            status => status,
        };
        let found = shape.map(|shape| new_problems(old.status(), &status, &shape)).unwrap_or_default();
        if found.is_empty() {
            return Ok(status);
        }
        Err(WriteError::Invalid(found.into_iter().map(|problem| problem.under("status")).collect()))
    };
    let written = call.store().change_status(&call.key(), &call.write_options(), change).await;
    let new = written.map_err(|error| Failure::of_write(error, call.kind, call.name()))?;
    Ok(Json(Projection::of(call).one(&new)).into_response())
}

/// What is wrong with a status that was not wrong with the one that stands: an older program, or an older schema, may
/// have left there what nobody may write any more, and whoever writes something else is not to blame for it.
fn new_problems(old: &Value, new: &Value, shape: &Value) -> Vec<Problem> {
    let mut found = schema::check(new, shape);
    if !found.is_empty() {
        let before = schema::check(old, shape);
        let is_left = |problem: &Problem| {
            before.contains(problem) && at(old, &problem.field) == at(new, &problem.field)
        };
        found.retain(|problem| !is_left(problem));
    }
    let is_strange = |field: &str| {
        !field.is_empty() && !field.contains(['.', '[']) && shape["properties"].get(field).is_none()
    };
    for problem in found.iter_mut().filter(|problem| is_strange(&problem.field)) {
        problem
            .message
            .push_str("; what other programs have to say goes into conditions, or into an annotation");
    }
    found
}

/// The value at a path such as `conditions[0].reason`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut steps = path.split(['.', '[']).filter(|step| !step.is_empty());
    steps.try_fold(value, |value, step| match step.strip_suffix(']') {
        Some(index) => value.get(index.parse::<usize>().ok()?),
        None => value.get(step),
    })
}
