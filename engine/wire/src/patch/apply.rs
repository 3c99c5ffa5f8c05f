//! Server-side apply: a manager says all it wants of an object, which is made where it is not there.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hearth_engine::WriteError;
use hearth_meta::Problem;
use serde_json::{Value, json};

use crate::body;
use crate::failure::Failure;
use crate::metadata;
use crate::ownership::apply::{Applied, Conflict, apply};
use crate::ownership::structure::Structure;
use crate::projection::Projection;
use crate::target::Call;
use crate::write;

/// How often an object may come or go between the look and the write before the client is told to try again.
const TRIES: u32 = 4;

/// Applies a configuration.
pub(super) async fn answer(call: &Call<'_>, sent: Body) -> Result<Response, Failure> {
    let (config, warnings) = read(call, sent).await?;
    for _ in 0..TRIES {
        let is_new = call.store().get(&call.key()).is_none();
        let written = if is_new { make(call, &config).await } else { change(call, &config).await };
        let object = match written {
            // Between the look and the write it came, or went.
            Err(failure)
                if failure.is_already_exists() || (!is_new && failure.code() == StatusCode::NOT_FOUND) =>
            {
                continue;
            }
            other => other?,
        };
        let code = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        let answer = (code, Json(Projection::of(call).one(&object))).into_response();
        return Ok(write::warned(answer, &warnings));
    }
    Err(Failure::conflict(call.kind, call.name(), write::MODIFIED))
}

/// Reads what is applied. JSON is YAML as well, and it is what most clients send.
async fn read(call: &Call<'_>, sent: Body) -> Result<(Value, Vec<String>), Failure> {
    let bytes = body::read(sent).await?;
    if call.parameters.field_manager.is_none() {
        let problem =
            Problem::new("fieldManager", "is required for apply; say who you are with ?fieldManager=NAME");
        return Err(Failure::invalid(call.kind, call.name(), &[problem]));
    }
    let mut config = body::yaml(call, &bytes)?;
    metadata::settle_kind(&mut config, call.kind)?;
    write::settle_namespace(call, &mut config)?;
    write::settle_name(call, &mut config)?;
    if config["metadata"]["managedFields"].as_array().is_some_and(|said| !said.is_empty()) {
        return Err(Failure::bad_request(
            "metadata.managedFields must be empty in what is applied; leave it out",
        ));
    }
    if let Some(parts) = config.as_object_mut().filter(|_| call.kind.has_status) {
        // Status is not written here, and so nobody comes to own it here.
        parts.remove("status");
    }
    drop_nulls(&mut config);
    let warnings = write::drop_unknown(call, &mut config);
    let schema = call.schema();
    let structure = Structure::new(schema.as_deref(), call.kind.has_status);
    let mut problems = write::check_fields(&structure, &config);
    // What is said twice would be laid over itself, and one of the two go unheard.
    let doubled = structure.doubled(&config);
    problems.extend(doubled.iter().filter(|path| !path.is_of_metadata()).map(write::said_twice));
    if !problems.is_empty() {
        return Err(Failure::invalid(call.kind, call.name(), &problems));
    }
    Ok((config, warnings))
}

/// A null says nothing.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, inner| !inner.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

async fn make(call: &Call<'_>, config: &Value) -> Result<Arc<hearth_engine::Object>, Failure> {
    let asked = &config["metadata"];
    if asked["resourceVersion"].is_string() || asked["uid"].is_string() {
        return Err(Failure::not_found(call.kind, call.name()));
    }
    let schema = call.schema();
    let structure = Structure::new(schema.as_deref(), call.kind.has_status);
    let applied = Applied { config, manager: &call.manager(), force: true };
    let value = apply(&json!({}), &applied, &structure).unwrap_or_else(|_| config.clone());
    write::create_checked(call, value).await
}

async fn change(call: &Call<'_>, config: &Value) -> Result<Arc<hearth_engine::Object>, Failure> {
    let found: Arc<Mutex<Vec<Conflict>>> = Arc::default();
    let (noted, config) = (found.clone(), config.clone());
    let (manager, schema) = (call.manager(), call.schema());
    let (force, has_status) = (call.parameters.force, call.kind.has_status);
    let changed = write::change(call, move |old| {
        write::check_preconditions(&config, old)?;
        let structure = Structure::new(schema.as_deref(), has_status);
        let applied = Applied { config: &config, manager: &manager, force };
        apply(&old.to_value(), &applied, &structure).map_err(|conflicts| {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = conflicts;
            WriteError::Conflict(String::new())
        })
    });
    let changed = changed.await;
    let conflicts = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    if conflicts.is_empty() { changed } else { Err(refused(call, &conflicts)) }
}

fn refused(call: &Call<'_>, conflicts: &[Conflict]) -> Failure {
    let said =
        |conflict: &Conflict| format!("conflict with {:?} using {}", conflict.manager, conflict.api_version);
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|conflict| json!({ "reason": "FieldManagerConflict", "message": said(conflict), "field": conflict.field }))
        .collect();
    let listed: Vec<String> =
        conflicts.iter().map(|conflict| format!("{}: {}", said(conflict), conflict.field)).collect();
    let count =
        if listed.len() == 1 { "1 conflict".to_owned() } else { format!("{} conflicts", listed.len()) };
    let message = format!("Apply failed with {count}: {}", listed.join("; "));
    Failure::field_conflict(call.kind, call.name(), message, causes)
}
