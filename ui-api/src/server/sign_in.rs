//! Who asks: a bearer token, checked before anything else.

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hearth_wire::{Actor, Failure};

use super::credential::Credential;
use super::routes::OPEN;

/// Lets through what is open, and whoever has the token.
pub(super) async fn check(
    State(credential): State<Credential>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let is_open = OPEN.contains(&path);
    match bearer(request.headers()) {
        Some(token) if credential.is(token) => {
            request.extensions_mut().insert(Actor("admin".into()));
            next.run(request).await
        }
        _ if is_open => next.run(request).await,
        found => {
            let why = match found {
                Some(_) => "the token is not known; take the one in admin.kubeconfig of the data directory",
                None => {
                    "a token is needed: Authorization: Bearer TOKEN, as in admin.kubeconfig of the data directory"
                }
            };
            let mut answer = Failure::unauthorized(why).into_response();
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            answer
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
