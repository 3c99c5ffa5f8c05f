//! What a container wrote, as plain text, line by line.

use std::collections::HashMap;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{LogLine, LogOptions};
use hearth_engine::Key;
use hearth_meta::{SignedDuration, Timestamp};
use hearth_wire::{Actor, Asked, Failure};

use super::places::Door;

/// `?follow=true&tail=100&since=5m&timestamps=true`; `since` is a time or how long ago.
pub(super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((namespace, name)): Path<(String, String)>,
    Query(asked): Query<HashMap<String, String>>,
) -> Result<Response, Failure> {
    let kind = door.kinds().find(|kind| kind.kind == "Container").ok_or_else(Failure::no_such_place)?;
    let inside = door.open(&actor, &Asked::of("get", kind, &namespace, &name).part("log"))?;
    let (store, behind) = (inside.store(), inside.behind());
    let key = Key::new("Container", namespace, name.clone());
    let container = store.get(&key).ok_or_else(|| Failure::not_found(kind, &name))?;
    let options = options(&asked, store.clock().now()).map_err(Failure::bad_request)?;
    let with_times = asked.get("timestamps").is_some_and(|value| is_true(value));
    let hands =
        behind.containers.as_ref().ok_or_else(|| unavailable("this server has no container engine"))?;
    let Some(id) = container.status()["containerId"].as_str() else {
        return Err(Failure::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{key} has not been made yet, so it has no log"),
        ));
    };
    let lines = hands.logs(id, &options).await.map_err(|fault| of_fault(&key, &fault))?;
    let closing = behind.closing.clone();
    let text = lines
        .take_until(closing.cancelled_owned())
        .map(move |line| line.map(|line| shown(&line, with_times)));
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], Body::from_stream(text)).into_response())
}

fn shown(line: &LogLine, with_times: bool) -> String {
    match line.at.filter(|_| with_times) {
        Some(at) => format!("{at} {}\n", line.text),
        None => format!("{}\n", line.text),
    }
}

fn options(asked: &HashMap<String, String>, now: Timestamp) -> Result<LogOptions, String> {
    let tail = asked
        .get("tail")
        .map(|tail| tail.parse().map_err(|_| format!("tail: {tail:?} is not a number of lines")));
    let since = asked.get("since").map(|since| moment(since, now));
    Ok(LogOptions {
        follow: asked.get("follow").is_some_and(|value| is_true(value)),
        tail: tail.transpose()?,
        since: since.transpose()?,
    })
}

fn is_true(value: &str) -> bool {
    !value.eq_ignore_ascii_case("false") && value != "0"
}

/// `2030-01-01T00:00:00Z`, or how long ago: `90s`, `5m`, `2h`, `1d`.
fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let bad = || {
        format!("since: {text:?} is neither a time such as 2030-01-01T00:00:00Z nor how long ago, such as 5m")
    };
    let unit = text.chars().last().ok_or_else(bad)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(bad()),
    };
    let count: i64 = text.trim_end_matches(unit).parse().map_err(|_| bad())?;
    let ago = SignedDuration::from_secs(count.checked_mul(seconds).ok_or_else(bad)?);
    now.checked_sub(ago).map_err(|_| bad())
}

fn unavailable(why: &str) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
}

fn of_fault(key: &Key, fault: &Fault) -> Failure {
    unavailable(&format!("the log of {key} cannot be read: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn since_is_a_time_or_how_long_ago() {
        let now = "2030-01-01T01:00:00Z".parse().unwrap();
        assert_eq!(moment("5m", now).unwrap().to_string(), "2030-01-01T00:55:00Z");
        assert_eq!(moment("2029-12-31T00:00:00Z", now).unwrap().to_string(), "2029-12-31T00:00:00Z");
        for bad in ["", "m", "5", "5x", "99999999999999999h"] {
            assert!(moment(bad, now).is_err(), "{bad:?}");
        }
    }
}
