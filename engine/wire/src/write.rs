//! Creating and updating.
//!
//! The store admits what is written; here path and body are made to agree, preconditions are checked inside the
//! write, and what the store and the protocol find wrong is told together.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::http::header::WARNING;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hearth_engine::{Object, WriteError, WriteOptions};
use hearth_meta::Problem;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::metadata;
use crate::ownership;
use crate::ownership::fields::Path;
use crate::ownership::structure::Structure;
use crate::parameters::FieldValidation;
use crate::projection::Projection;
use crate::target::Call;
use crate::unknown_fields;

/// What an update says whose resourceVersion is not the newest.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// The most fields one object may have, items of lists among them: who set each is accounted for in the one place
/// where all writes pass.
const MOST_FIELDS: usize = 5_000;

/// Makes an object.
pub(crate) async fn create(call: &Call<'_>, mut value: Value) -> Result<Response, Failure> {
    metadata::settle_kind(&mut value, call.kind)?;
    settle_namespace(call, &mut value)?;
    if value["metadata"]["resourceVersion"].as_str().is_some_and(|version| !version.is_empty()) {
        return Err(Failure::bad_request(
            "metadata.resourceVersion must not be set on an object to be created; leave it out",
        ));
    }
    if value["metadata"].is_object() {
        // Who set which field is for the server to say.
        value["metadata"]["managedFields"] = Value::Null;
    }
    let warnings = drop_unknown(call, &mut value);
    note_owner(call)(&json!({}), &mut value)
        .map_err(|error| Failure::of_write(error, call.kind, &named(&value)))?;
    let created = create_checked(call, value).await?;
    let answer = (StatusCode::CREATED, Json(Projection::of(call).one(&created))).into_response();
    Ok(warned(answer, &warnings))
}

/// Makes an object, and tells everything that is wrong with it at once.
pub(crate) async fn create_checked(call: &Call<'_>, value: Value) -> Result<Arc<Object>, Failure> {
    let problems = metadata::check(&value);
    let name = named(&value);
    let store = call.store();
    let created = match Object::from_value(value) {
        Ok(object) if problems.is_empty() => store.create(object, &call.write_options()).await,
        // What the store finds wrong is told as well.
        Ok(object) => {
            let tried = store.create(object, &WriteOptions { dry_run: true, ..call.write_options() }).await;
            Err(also(problems, tried.err()))
        }
        Err(message) if problems.is_empty() => return Err(Failure::bad_request(message)),
        Err(_) => Err(WriteError::Invalid(problems)),
    };
    created.map_err(|error| Failure::of_write(error, call.kind, &name))
}

/// Replaces an object, but for its status.
pub(crate) async fn update(call: &Call<'_>, mut value: Value) -> Result<Response, Failure> {
    metadata::settle_kind(&mut value, call.kind)?;
    settle_namespace(call, &mut value)?;
    settle_name(call, &mut value)?;
    let version = &value["metadata"]["resourceVersion"];
    // As upstream: what its own kinds may do without, custom ones may not, so that no update is lost.
    if version.as_str().unwrap_or_default().is_empty() && !call.kind.group.is_empty() {
        let problem = Problem::new(
            "metadata.resourceVersion",
            "must be specified for an update: the one that was read",
        );
        return Err(Failure::invalid(call.kind, call.name(), &[problem]));
    }
    let warnings = drop_unknown(call, &mut value);
    let note = note_owner(call);
    let changed = change(call, move |old| {
        check_preconditions(&value, old)?;
        let mut new = value.clone();
        note(&old.to_value(), &mut new)?;
        Ok(new)
    })
    .await?;
    Ok(warned(Json(Projection::of(call).one(&changed)).into_response(), &warnings))
}

/// Changes an object by a pure function of how it stands, and tells everything that is wrong at once.
pub(crate) async fn change(
    call: &Call<'_>,
    build: impl Fn(&Object) -> Result<Value, WriteError> + Send + Sync + 'static,
) -> Result<Arc<Object>, Failure> {
    let build = Arc::new(build);
    let (key, options, first) = (call.key(), call.write_options(), build.clone());
    let changed = call.store().update(&key, &options, move |old| {
        let value = settled(first(old)?, old)?;
        match metadata::check(&value) {
            problems if problems.is_empty() => to_object(value),
            problems => Err(WriteError::Invalid(problems)),
        }
    });
    let error = match changed.await {
        Ok(changed) => return Ok(changed),
        // Metadata may have kept the store from looking at the rest.
        Err(WriteError::Invalid(problems)) => {
            let options = WriteOptions { dry_run: true, ..options };
            let tried = call.store().update(&key, &options, move |old| to_object(settled(build(old)?, old)?));
            also(problems, tried.await.err())
        }
        Err(error) => error,
    };
    Err(Failure::of_write(error, call.kind, call.name()))
}

/// Refuses a version, or a uid, that is not the one that stands.
pub(crate) fn check_preconditions(value: &Value, old: &Object) -> Result<(), WriteError> {
    let uid = value["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty());
    if uid.is_some_and(|uid| uid != old.uid()) {
        let message = format!("{} was deleted and made anew in the meantime", old.key());
        return Err(WriteError::Conflict(message));
    }
    let version = value["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty());
    match version {
        Some(version) if old.metadata.resource_version.as_deref() != Some(version) => {
            Err(WriteError::Conflict(MODIFIED.into()))
        }
        _ => Ok(()),
    }
}

/// Drops unknown fields where the request says so, and says which.
pub(crate) fn drop_unknown(call: &Call<'_>, value: &mut Value) -> Vec<String> {
    if call.parameters.field_validation == FieldValidation::Strict {
        return Vec::new();
    }
    let dropped = unknown_fields::drop_from(value, call.kind);
    if call.parameters.field_validation == FieldValidation::Warn { dropped } else { Vec::new() }
}

/// An answer with these warnings.
pub(crate) fn warned(mut answer: Response, warnings: &[String]) -> Response {
    for said in warnings {
        let text = format!("299 - {said:?}");
        if let Ok(value) = HeaderValue::from_str(&text) {
            answer.headers_mut().append(WARNING, value);
        }
    }
    answer
}

/// What an object may not become: another kind, another name, another uid.
fn settled(value: Value, old: &Object) -> Result<Value, WriteError> {
    let before = [
        ("apiVersion", Some(old.api_version.as_str())),
        ("kind", Some(old.kind.as_str())),
        ("metadata.name", Some(old.name())),
        ("metadata.namespace", old.metadata.namespace.as_deref()),
    ];
    let mut problems = Vec::new();
    for (field, wanted) in before {
        let said = field.split('.').try_fold(&value, |value, part| value.get(part)).and_then(Value::as_str);
        if let Some(said) = said.filter(|said| !said.is_empty() && Some(*said) != wanted) {
            problems.push(Problem::new(
                field,
                format!("is {:?} and cannot become {said:?}", wanted.unwrap_or_default()),
            ));
        }
    }
    if !problems.is_empty() {
        return Err(WriteError::Invalid(problems));
    }
    Ok(value)
}

/// Notes in an object who set what it changes.
pub(crate) fn note_owner(
    call: &Call<'_>,
) -> impl Fn(&Value, &mut Value) -> Result<(), WriteError> + Send + Sync + 'static {
    let (manager, schema, has_status) = (call.manager(), call.schema(), call.kind.has_status);
    let reserved = call.wire.reserved;
    move |old, new| {
        ownership::reserved::keep(old, new, reserved).map_err(WriteError::Invalid)?;
        let structure = Structure::new(schema.as_deref(), has_status);
        match check_fields(&structure, new) {
            problems if problems.is_empty() => {}
            problems => return Err(WriteError::Invalid(problems)),
        }
        ownership::after_update(old, new, &structure, &manager);
        Ok(())
    }
}

/// What keeps the accounts of an object from being kept: more fields than are worth it, or metadata said twice.
pub(crate) fn check_fields(structure: &Structure<'_>, object: &Value) -> Vec<Problem> {
    let count = structure.fields_of(object).len();
    if count > MOST_FIELDS {
        let message = format!("has {count} fields and items of lists; at most {MOST_FIELDS} are allowed");
        return vec![Problem::new("", message)];
    }
    structure.doubled(object).iter().filter(|path| path.is_of_metadata()).map(said_twice).collect()
}

/// The problem of an item that is there twice.
pub(crate) fn said_twice(path: &Path) -> Problem {
    Problem::new(path.to_string().trim_start_matches('.'), "is said more than once; keep one")
}

fn to_object(value: Value) -> Result<Object, WriteError> {
    Object::from_value(value).map_err(|message| WriteError::Invalid(vec![Problem::new("", message)]))
}

/// The problems found here and what the store found besides.
fn also(mut problems: Vec<Problem>, error: Option<WriteError>) -> WriteError {
    if let Some(WriteError::Invalid(more)) = error {
        let known = problems.clone();
        problems.extend(more.into_iter().filter(|problem| !known.contains(problem)));
    }
    WriteError::Invalid(problems)
}

fn named(value: &Value) -> String {
    let metadata = &value["metadata"];
    metadata["name"].as_str().or(metadata["generateName"].as_str()).unwrap_or_default().to_owned()
}

/// The namespace comes from the path; a body that says another is refused.
pub(crate) fn settle_namespace(call: &Call<'_>, value: &mut Value) -> Result<(), Failure> {
    let place = call.target.namespace.as_deref();
    let said = value["metadata"]["namespace"].as_str().filter(|said| !said.is_empty());
    match (place, said) {
        (Some(place), Some(said)) if place != said => {
            let message = format!(
                "metadata.namespace is {said:?}, and the request went to namespace {place:?}; change one of them"
            );
            Err(Failure::bad_request(message))
        }
        (Some(place), _) => {
            if value["metadata"].is_object() {
                value["metadata"]["namespace"] = place.into();
            }
            Ok(())
        }
        // A POST to all namespaces names none.
        (None, _) if call.kind.scope == hearth_meta::Scope::Namespaced => {
            Err(Failure::bad_request("the request names no namespace; send it to /namespaces/NAMESPACE/..."))
        }
        (None, _) => Ok(()),
    }
}

pub(crate) fn settle_name(call: &Call<'_>, value: &mut Value) -> Result<(), Failure> {
    let said = value["metadata"]["name"].as_str().unwrap_or_default();
    if !said.is_empty() && said != call.name() {
        let message = format!(
            "metadata.name is {said:?}, and the request went to {:?}; change one of them",
            call.name()
        );
        return Err(Failure::bad_request(message));
    }
    if value["metadata"].is_object() {
        value["metadata"]["name"] = call.name().into();
    }
    Ok(())
}

/// Warnings that arise inside a write.
pub(crate) type Warnings = Arc<Mutex<Vec<String>>>;

/// Takes out the warnings that arose.
pub(crate) fn take(warnings: &Warnings) -> Vec<String> {
    std::mem::take(&mut warnings.lock().unwrap_or_else(PoisonError::into_inner))
}
