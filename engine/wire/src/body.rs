//! What comes with a request: at most 3 MiB; JSON, or YAML by those who write by hand, or protobuf by a few.

use std::error::Error;
use std::io::ErrorKind;
use std::sync::PoisonError;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use http_body_util::LengthLimitError;
use serde_json::Value;

use crate::failure::Failure;
use crate::parameters::FieldValidation;
use crate::target::Call;
use crate::{protobuf, strict};

/// The largest body, as the Kubernetes API has it.
const LARGEST: usize = 3 * 1024 * 1024;

/// What is taken for JSON.
const JSON: [&str; 2] = ["application/json", "*/*"];
/// The media type of YAML.
const YAML: &str = "application/yaml";

/// The media type of a body, without its parameters; a body without one is taken for JSON.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The body as it came.
pub(crate) async fn read(sent: Body) -> Result<Bytes, Failure> {
    axum::body::to_bytes(sent, LARGEST).await.map_err(|error| unread(&error))
}

/// A body that did not come is not one that is too large: the one may be sent again.
fn unread(error: &axum::Error) -> Failure {
    let first: &(dyn Error + 'static) = error;
    let causes = || std::iter::successors(Some(first), |&error| error.source());
    if causes().any(|cause| cause.is::<LengthLimitError>()) {
        let message = format!("the body is larger than {LARGEST} bytes");
        return Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message);
    }
    let kind = causes().find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()));
    let message = format!("the body did not come whole: {error}; nothing was done");
    match kind {
        Some(ErrorKind::TimedOut) => Failure::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message),
        Some(ErrorKind::Interrupted) => {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
        }
        _ => Failure::bad_request(message),
    }
}

/// A JSON body of a place that keeps no object of it.
pub(crate) async fn json(headers: &HeaderMap, sent: Body) -> Result<Value, Failure> {
    let media = media_type(headers);
    if media == protobuf::MEDIA {
        return protobuf::parse(&read(sent).await?).map_err(Failure::bad_request);
    }
    if !JSON.contains(&media.as_str()) {
        return Err(not_read(&media));
    }
    parse(&read(sent).await?)
}

/// An object, in any of the forms that are read.
pub(crate) async fn object(call: &Call<'_>, headers: &HeaderMap, sent: Body) -> Result<Value, Failure> {
    let media = media_type(headers);
    match media.as_str() {
        protobuf::MEDIA => protobuf::parse(&read(sent).await?).map_err(Failure::bad_request),
        YAML => yaml(call, &read(sent).await?),
        media if JSON.contains(&media) => strictly(call, &read(sent).await?),
        media => Err(not_read(media)),
    }
}

/// JSON in which nothing is said twice unheard: refused, warned of or left so, as the request says.
pub(crate) fn strictly(call: &Call<'_>, bytes: &[u8]) -> Result<Value, Failure> {
    let (value, doubled) = strict::parse(bytes)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))?;
    let said: Vec<String> = doubled.iter().map(|path| format!("duplicate field {path:?}")).collect();
    match call.parameters.field_validation {
        FieldValidation::Strict if !said.is_empty() => {
            Err(Failure::bad_request(format!("strict decoding error: {}", said.join(", "))))
        }
        FieldValidation::Warn => {
            call.doubled.lock().unwrap_or_else(PoisonError::into_inner).extend(said);
            Ok(value)
        }
        FieldValidation::Strict | FieldValidation::Ignore => Ok(value),
    }
}

/// YAML, of which JSON is a part. A key that is said twice is refused whatever the request says: YAML is written by hand.
pub(crate) fn yaml(call: &Call<'_>, bytes: &[u8]) -> Result<Value, Failure> {
    let is_json = bytes.trim_ascii_start().first().is_some_and(|first| *first == b'{');
    let Some(reader) = call.wire.yaml.filter(|_| !is_json) else { return strictly(call, bytes) };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Failure::bad_request(format!("the body is not UTF-8: {error}")))?;
    let mut documents = reader(text).map_err(|problems| {
        let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::bad_request(format!("the body is not YAML that can be read: {}", listed.join("; ")))
    })?;
    match (documents.pop(), documents.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(Failure::bad_request("the body says nothing; send one object")),
        (Some(_), false) => {
            Err(Failure::bad_request("the body has several documents; send one object in each request"))
        }
    }
}

fn not_read(media: &str) -> Failure {
    Failure::unsupported(format!("a body of type {media} is not read here; send application/json or {YAML}"))
}

/// A JSON body that may be left out, as that of a deletion may.
pub(crate) async fn options(call: &Call<'_>, headers: &HeaderMap, sent: Body) -> Result<Value, Failure> {
    let bytes = read(sent).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    match media_type(headers).as_str() {
        YAML => yaml(call, &bytes),
        media if JSON.contains(&media) => strictly(call, &bytes),
        media => Err(not_read(media)),
    }
}

/// Text to JSON; nesting deeper than 128 is refused by the parser.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))
}
