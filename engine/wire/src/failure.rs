//! What goes wrong, as the `Status` object every Kubernetes client understands.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use hearth_engine::{Key, WriteError};
use hearth_meta::{KindInfo, Problem};
use serde_json::{Value, json};

use crate::paging::Mark;

/// A refusal: HTTP code, reason, a sentence for people, and what it is about.
#[derive(Clone, Debug)]
pub struct Failure {
    code: StatusCode,
    reason: &'static str,
    message: String,
    details: Option<Value>,
    /// Where a list may go on.
    next: Option<String>,
}

impl Failure {
    /// A refusal of any kind; `reason` is one of the reasons the Kubernetes API has.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, next: None }
    }

    /// The request itself is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// Who asks is not known.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", message)
    }

    /// There is no such place.
    pub fn no_such_place() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// What was asked cannot be done with this place.
    pub fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    /// The body is of a type this server does not read.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// The changes since then are no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// How things stood at the first page is no longer known; the list may go on from this mark in what stands now.
    pub(crate) fn page_expired(mark: &Mark) -> Self {
        let message = "the list as it stood at its first page is no longer kept; begin anew without continue, or go on \
                       with the one in this answer, and what came, changed or went meanwhile may be missed or seen twice";
        Self { next: Some(mark.encode()), ..Self::expired(message) }
    }

    /// The version asked for was never given out by this store, or not yet.
    pub(crate) fn not_yet(asked: u64, newest: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {newest}");
        // Clients tell by the cause that they should ask again, or without a version.
        let details = json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        });
        Self { details: Some(details), ..Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message) }
    }

    /// The server itself failed; trying again may help.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// There is no such object.
    pub fn not_found(kind: &KindInfo, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(kind.plural, kind));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(kind, kind.plural, name, Vec::new())
    }

    /// It changed in the meantime.
    pub fn conflict(kind: &KindInfo, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(kind.plural, kind));
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, kind.plural, name, Vec::new())
    }

    /// Whoever asks may not set what is asked for.
    pub fn forbidden(kind: &KindInfo, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", qualified(kind.plural, kind));
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(kind, kind.plural, name, Vec::new())
    }

    /// Some fields were set otherwise by others; all of them are listed.
    pub(crate) fn field_conflict(kind: &KindInfo, name: &str, message: String, causes: Vec<Value>) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, kind.plural, name, causes)
    }

    /// Whether there is one already.
    pub(crate) fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Some fields are wrong; all of them are listed.
    pub fn invalid(kind: &KindInfo, name: &str, problems: &[Problem]) -> Self {
        let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let listed = match listed.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {listed}", qualified(kind.kind, kind));
        let causes = problems.iter().map(cause).collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(kind, kind.kind, name, causes)
    }

    /// What the store refused, in the words of the protocol: the one door for every write and every try of one.
    ///
    /// `kind` and `name` are of the object that was written.
    pub fn of_write(error: WriteError, kind: &KindInfo, name: &str) -> Self {
        match error {
            WriteError::NotFound(Key { name, .. }) => Self::not_found(kind, &name),
            WriteError::AlreadyExists(Key { name, .. }) => {
                let message = format!("{} {name:?} already exists", qualified(kind.plural, kind));
                Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(
                    kind,
                    kind.plural,
                    &name,
                    Vec::new(),
                )
            }
            WriteError::Conflict(why) => Self::conflict(kind, name, &why),
            WriteError::Invalid(problems) => Self::invalid(kind, name, &problems),
            WriteError::Forbidden(why) => Self::forbidden(kind, name, &why),
            WriteError::Storage(why) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "InternalError",
                format!("nothing was kept: {why}"),
            ),
            WriteError::NoRoom(why) => {
                let message = format!("nothing new is taken: {why}");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "InsufficientStorage", message)
            }
            WriteError::Closed => Self::closing(),
        }
    }

    /// The server is going down.
    pub fn closing() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            "the server is stopping; try again soon",
        )
    }

    /// The same with the details clients read.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// The HTTP code.
    pub fn code(&self) -> StatusCode {
        self.code
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if let Some(next) = &self.next {
            status["metadata"]["continue"] = next.as_str().into();
        }
        status
    }

    fn about(mut self, kind: &KindInfo, named: &str, name: &str, causes: Vec<Value>) -> Self {
        let mut details = json!({ "name": name, "group": kind.group, "kind": named });
        if !causes.is_empty() {
            details["causes"] = Value::Array(causes);
        }
        self.details = Some(details);
        self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.to_value();
        let wait = status["details"]["retryAfterSeconds"].as_u64();
        let head = wait.map(|seconds| [(RETRY_AFTER, seconds.to_string())]);
        match head {
            Some(head) => (self.code, head, Json(status)).into_response(),
            None => (self.code, Json(status)).into_response(),
        }
    }
}

fn cause(problem: &Problem) -> Value {
    json!({ "reason": "FieldValueInvalid", "message": problem.message, "field": problem.field })
}

fn qualified(word: &str, kind: &KindInfo) -> String {
    if kind.group.is_empty() { word.to_owned() } else { format!("{word}.{}", kind.group) }
}

#[cfg(test)]
mod tests {
    use super::{Failure, WriteError};

    #[test]
    fn a_disk_without_room_is_told_as_such_with_its_words() {
        let kind = crate::events::kind("");
        let status =
            Failure::of_write(WriteError::NoRoom("the disk of /x is nearly full".into()), &kind, "a");
        let status = status.to_value();
        assert_eq!((&status["code"], &status["reason"]), (&507.into(), &"InsufficientStorage".into()));
        assert_eq!(status["message"], "nothing new is taken: the disk of /x is nearly full");
    }
}
