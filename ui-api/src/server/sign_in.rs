//! Who asks: a bearer token, checked before anything else; and as whom, where somebody may act as another.

use std::io::{Error, ErrorKind};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use hearth_wire::{Actor, Asked, Failure, Users};
use hyper::body::Body as _;
use tokio_util::sync::CancellationToken;

use super::limits::{Limits, Peer, too_many};
use super::routes::OPEN;
use super::tokens::Tokens;

/// Whom somebody acts as.
const AS_USER: &str = "impersonate-user";
const AS_GROUP: &str = "impersonate-group";
/// What every header of that sort begins with.
const AS_ANYTHING: &str = "impersonate-";

/// Who decides whether somebody comes in.
#[derive(Clone)]
pub(super) struct Gatekeeper {
    pub(super) tokens: Tokens,
    pub(super) limits: Limits,
}

/// Lets through what is open, whoever has a token, and root on this machine. What they hear ends with their right to
/// hear it.
pub(super) async fn check(State(keeper): State<Gatekeeper>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let is_open = OPEN.contains(&path);
    let (token, peer) = (bearer(request.headers()), request.extensions().get::<Peer>().copied());
    let Some(Known { mut actor, counted }) = keeper.know(token, peer) else {
        if is_open {
            return next.run(request).await;
        }
        return match keeper.limits.failed(peer.unwrap_or(NOWHERE)) {
            Ok(()) => refused(token.is_some(), keeper.tokens.are_held_back()),
            Err(wait) => too_many("too many requests from here without a token that is known", wait),
        };
    };
    if let Some(Err(wait)) = counted.as_ref().filter(|_| !is_open).map(|token| keeper.limits.request(token)) {
        return too_many("too many requests with this token", wait);
    }
    actor.source = source(request.headers());
    let actor = match acting(&keeper.tokens, actor, request.headers()) {
        Ok(actor) => actor,
        Err(failure) => return failure.into_response(),
    };
    let until = actor.until.clone();
    request.extensions_mut().insert(actor);
    let request = request.map(|body| while_allowed(body, &keeper.limits, &until));
    let at_once = counted.as_ref().filter(|_| !is_open).map(|token| keeper.limits.at_once(token)).transpose();
    let at_once = match at_once {
        Ok(held) => held,
        Err(wait) => return too_many("too many requests with this token are being answered", wait),
    };
    let answer = next.run(request).await;
    drop(at_once);
    if answer.body().size_hint().exact().is_some() {
        return answer;
    }
    // A stream: a watch, a log that is followed.
    let open = match counted.as_ref().map(|token| keeper.limits.stream(token)).transpose() {
        Ok(open) => open,
        Err(wait) => return too_many("too many streams are open with this token", wait),
    };
    let (head, body) = answer.into_parts();
    let body = body.into_data_stream().take_until(until.cancelled_owned());
    let body = body.inspect(move |_| {
        let _is_counted_while_this_lives = &open;
    });
    Response::from_parts(head, Body::from_stream(body))
}

/// A body that breaks off, so that nothing of it is taken, where the right to send it ends before it has come, or where
/// it does not come.
fn while_allowed(body: Body, limits: &Limits, until: &CancellationToken) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let (late, over) = (limits.clone().body_is_late(), until.clone().cancelled_owned());
    let end = Box::pin(async move {
        tokio::select! {
            () = late => Error::new(ErrorKind::TimedOut, "it took too long to come"),
            () = over => Error::new(ErrorKind::Interrupted, "the right to send it ended meanwhile"),
        }
    });
    let parts = futures::stream::unfold(Some((body.into_data_stream(), end)), async |state| {
        let (mut parts, mut end) = state?;
        tokio::select! { biased;
            why = &mut end => Some((Err(axum::Error::new(why)), None)),
            part = parts.next() => part.map(|part| (part, Some((parts, end)))),
        }
    });
    Body::from_stream(parts)
}

/// Where a request comes from that did not come over a connection.
const NOWHERE: Peer = Peer::Socket(u32::MAX);
/// Root's user id.
const ROOT: u32 = 0;

/// Somebody who is known.
struct Known {
    actor: Actor,
    /// As what their requests are counted; `None` where they are not.
    counted: Option<String>,
}

impl Gatekeeper {
    /// Who has a token; without one, root on this machine.
    fn know(&self, token: Option<&str>, peer: Option<Peer>) -> Option<Known> {
        match (token, peer) {
            (Some(token), _) => self.tokens.find(token).map(|(actor, counted)| Known { actor, counted }),
            (None, Some(Peer::Socket(ROOT))) => {
                Some(Known { actor: self.tokens.admin("root"), counted: None })
            }
            (None, _) => None,
        }
    }
}

fn refused(has_token: bool, are_held_back: bool) -> Response {
    let why = if has_token && are_held_back {
        "the store was put back, so no token is taken until an admin has looked through them and said go with `hearth recover accept`"
    } else if has_token {
        "the token is not known, was revoked or has run out; an admin makes another with `hearth token create`"
    } else {
        "a token is needed: Authorization: Bearer TOKEN, as in admin.kubeconfig of the data directory"
    };
    let mut answer = Failure::unauthorized(why).into_response();
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The API, and the program by the first word of what it says of itself.
fn source(headers: &HeaderMap) -> String {
    let said = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = said.split(['/', ' ']).next().unwrap_or_default();
    let name: String = name.chars().filter(|letter| letter.is_ascii_graphic()).take(64).collect();
    if name.is_empty() { "api".to_owned() } else { format!("api/{name}") }
}

/// Whom they act as; whoever may not is refused, and never heard as themselves.
fn acting(tokens: &Tokens, actor: Actor, headers: &HeaderMap) -> Result<Actor, Failure> {
    if !headers.keys().any(|name| name.as_str().starts_with(AS_ANYTHING)) {
        return Ok(actor);
    }
    let said = |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let impersonate =
        |what: &str, name: &str| actor.check(&Asked::resource("impersonate", ("", what, ""), "", name));
    let user = said(AS_USER).next().unwrap_or_default();
    impersonate("users", user)?;
    if user.is_empty() {
        return Err(Failure::bad_request("Impersonate-User is required where somebody acts as another"));
    }
    let mut other = Users::find(tokens, user);
    for group in said(AS_GROUP) {
        impersonate("groups", group)?;
        // Rights come from tokens; a group is only told.
        other.groups.push(group.to_owned());
    }
    Ok(Actor { behind: Some(actor.told()), source: actor.source, until: actor.until, ..other })
}
