//! What comes with a request: at most 3 MiB, and JSON but for a few.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::Value;

use crate::failure::Failure;
use crate::protobuf;

/// The largest body, as the Kubernetes API has it.
const LARGEST: usize = 3 * 1024 * 1024;

/// The media type of a body, without its parameters; a body without one is taken for JSON.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The body as it came.
pub(crate) async fn read(sent: Body) -> Result<Bytes, Failure> {
    axum::body::to_bytes(sent, LARGEST).await.map_err(|error| {
        let message = format!("the body could not be read, or is larger than {LARGEST} bytes: {error}");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    })
}

/// A JSON body.
pub(crate) async fn json(headers: &HeaderMap, sent: Body) -> Result<Value, Failure> {
    let media = media_type(headers);
    if media == protobuf::MEDIA {
        return protobuf::parse(&read(sent).await?).map_err(Failure::bad_request);
    }
    if media != "application/json" && media != "*/*" {
        return Err(Failure::unsupported(format!(
            "a body of type {media} is not read here; send application/json"
        )));
    }
    parse(&read(sent).await?)
}

/// A JSON body that may be left out, as that of a deletion may.
pub(crate) async fn options(headers: &HeaderMap, sent: Body) -> Result<Value, Failure> {
    let bytes = read(sent).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    let media = media_type(headers);
    if media != "application/json" {
        return Err(Failure::unsupported(format!(
            "a body of type {media} is not read here; send application/json"
        )));
    }
    parse(&bytes)
}

/// Text to JSON; nesting deeper than 128 is refused by the parser.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))
}
