//! What a Pod's container wrote, with the options clients of Kubernetes give.
//!
//! A log is of the time since its container was last started; what it wrote before is that of the previous one, though it
//! is the same container to Docker.

use std::collections::{HashMap, VecDeque};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, future, stream};
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{LogLine, LogOptions};
use hearth_engine::{Key, Object};
use hearth_meta::{SignedDuration, Timestamp};
use hearth_wire::{Actor, Asked, Failure};

use super::super::places::Door;
use super::{pods, text};

/// What is asked for.
#[derive(Debug, Default, PartialEq)]
struct Wanted {
    container: Option<String>,
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail: Option<u32>,
    since: Option<Timestamp>,
    limit_bytes: Option<usize>,
}

impl Wanted {
    fn read(asked: &HashMap<String, String>, now: Timestamp) -> Result<Self, Failure> {
        let is = |name: &str| asked.get(name).is_some_and(|value| ["true", "1"].contains(&value.as_str()));
        let number = |name: &str| match asked.get(name).filter(|value| !value.is_empty()) {
            None => Ok(None),
            Some(value) => match value.parse::<i64>() {
                Ok(number) if number >= 0 => Ok(Some(number)),
                _ => Err(Failure::bad_request(format!("{name}: {value:?} is not a number of at least 0"))),
            },
        };
        let ago = number("sinceSeconds")?
            .map(|seconds| now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN));
        let from = match asked.get("sinceTime").filter(|value| !value.is_empty()) {
            None => None,
            Some(value) => Some(value.parse().map_err(|_| {
                Failure::bad_request(format!(
                    "sinceTime: {value:?} is not a time such as 2030-01-01T00:00:00Z"
                ))
            })?),
        };
        if ago.is_some() && from.is_some() {
            return Err(Failure::bad_request("sinceSeconds and sinceTime cannot be used together"));
        }
        Ok(Self {
            container: asked.get("container").filter(|name| !name.is_empty()).cloned(),
            follow: is("follow"),
            previous: is("previous"),
            timestamps: is("timestamps"),
            tail: number("tailLines")?.map(|lines| u32::try_from(lines).unwrap_or(u32::MAX)),
            since: ago.or(from),
            limit_bytes: number("limitBytes")?.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        })
    }
}

/// `/api/v1/namespaces/NAMESPACE/pods/NAME/log`.
pub(in super::super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((namespace, name)): Path<(String, String)>,
    Query(asked): Query<HashMap<String, String>>,
) -> Result<Response, Failure> {
    let kind = pods::kind();
    let inside = door.open(&actor, &Asked::of("get", &kind, &namespace, &name).part("log"))?;
    let store = inside.store();
    let container = store.get(&Key::new("Container", namespace, name.clone()));
    let container = container.ok_or_else(|| Failure::not_found(&kind, &name))?;
    let wanted = Wanted::read(&asked, store.clock().now())?;
    check_name(&container, &wanted)?;
    let hands = inside.behind().containers.as_ref();
    let hands = hands.ok_or_else(|| unavailable("this server has no container engine".to_owned()))?;
    let started = text(&container.status()["startedAt"]).parse::<Timestamp>().ok();
    let Some(id) = container.status()["containerId"].as_str() else {
        let own = pods::container_name(&container);
        return Err(Failure::bad_request(format!(
            "container {own:?} in pod {name:?} is waiting to start: {}",
            text(&container.status()["message"])
        )));
    };
    if wanted.previous && (started.is_none() || !has_died(&container)) {
        let own = pods::container_name(&container);
        return Err(Failure::bad_request(format!(
            "previous terminated container {own:?} in pod {name:?} not found"
        )));
    }
    let options = options(&wanted, started);
    let lines = hands
        .logs(id, &options)
        .await
        .map_err(|fault| unavailable(format!("the log cannot be read: {fault}")))?;
    let lines = match (wanted.previous, started) {
        (true, Some(started)) => before(lines, started, wanted.tail).await,
        _ => lines,
    };
    let text = lines.take_until(inside.behind().closing.clone().cancelled_owned());
    let body = Body::from_stream(written(text, &wanted));
    Ok(([(CONTENT_TYPE, "text/plain")], body).into_response())
}

/// A Pod of this home has one container.
fn check_name(container: &Object, wanted: &Wanted) -> Result<(), Failure> {
    let own = pods::container_name(container);
    match &wanted.container {
        Some(named) if *named != own => Err(Failure::bad_request(format!(
            "container {named} is not valid for pod {}; it has only {own}",
            container.name()
        ))),
        _ => Ok(()),
    }
}

fn has_died(container: &Object) -> bool {
    let status = container.status();
    status["restarts"].as_i64().unwrap_or(0) > 0
        || status["recentDeaths"].as_array().is_some_and(|deaths| !deaths.is_empty())
}

/// What Docker is asked for.
fn options(wanted: &Wanted, started: Option<Timestamp>) -> LogOptions {
    if wanted.previous {
        // Where it ends is not for Docker to know, so it is counted from there here.
        return LogOptions { since: wanted.since, ..LogOptions::default() };
    }
    LogOptions { follow: wanted.follow, tail: wanted.tail, since: wanted.since.max(started) }
}

type Lines = BoxStream<'static, Result<LogLine, Fault>>;

/// The lines before a time, or the last of them.
async fn before(lines: Lines, started: Timestamp, tail: Option<u32>) -> Lines {
    let earlier = lines.take_while(move |line| {
        future::ready(line.as_ref().map_or(true, |line| line.at.is_none_or(|at| at < started)))
    });
    let Some(tail) = tail else { return earlier.boxed() };
    let most = usize::try_from(tail).unwrap_or(usize::MAX);
    let last = earlier.fold(VecDeque::new(), move |mut last, line| {
        last.push_back(line);
        if last.len() > most {
            last.pop_front();
        }
        future::ready(last)
    });
    stream::iter(last.await).boxed()
}

/// Lines as text, up to so many bytes.
fn written(
    lines: impl futures::Stream<Item = Result<LogLine, Fault>> + Send + 'static,
    wanted: &Wanted,
) -> impl futures::Stream<Item = Result<Bytes, Fault>> + Send + 'static {
    let timestamps = wanted.timestamps;
    let left = wanted.limit_bytes.unwrap_or(usize::MAX);
    lines.scan(left, move |left, line| {
        if *left == 0 {
            return future::ready(None);
        }
        future::ready(Some(line.map(|line| {
            let text = match line.at.filter(|_| timestamps) {
                Some(at) => format!("{at} {}\n", line.text),
                None => format!("{}\n", line.text),
            };
            let mut text = Bytes::from(text);
            text.truncate(*left);
            *left -= text.len();
            text
        })))
    })
}

fn unavailable(why: String) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use futures::{StreamExt, TryStreamExt, stream};
    use hearth_capabilities::Fault;
    use hearth_capabilities::containers::LogLine;
    use hearth_meta::Timestamp;

    use super::{Wanted, before, options, written};

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn read(asked: &[(&str, &str)]) -> Result<Wanted, String> {
        let asked: HashMap<_, _> =
            asked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Wanted::read(&asked, time(1000)).map_err(|failure| failure.to_value()["message"].to_string())
    }

    #[test]
    fn the_log_is_of_the_time_since_the_start_and_previous_of_the_time_before() {
        let wanted = read(&[("sinceSeconds", "100"), ("tailLines", "5"), ("follow", "true")]).unwrap();
        let asked = options(&wanted, Some(time(950)));
        assert_eq!((asked.since, asked.tail, asked.follow), (Some(time(950)), Some(5), true));
        assert_eq!(options(&wanted, Some(time(10))).since, Some(time(900)));
        let previous = read(&[("previous", "true"), ("tailLines", "5")]).unwrap();
        let asked = options(&previous, Some(time(950)));
        assert_eq!((asked.since, asked.tail, asked.follow), (None, None, false));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (name, value) in
            [("tailLines", "x"), ("sinceSeconds", "-1"), ("sinceTime", "yesterday"), ("limitBytes", "1k")]
        {
            assert!(read(&[(name, value)]).unwrap_err().contains(name), "{name}");
        }
        assert!(read(&[("sinceSeconds", "1"), ("sinceTime", "2030-01-01T00:00:00Z")]).is_err());
    }

    #[tokio::test]
    async fn the_last_lines_before_a_start_are_cut_at_so_many_bytes() {
        let lines = [(1, "one"), (2, "two"), (3, "three"), (9, "new")];
        let lines = lines.map(|(at, text)| {
            Ok::<_, Fault>(LogLine { at: Some(time(at)), is_error: false, text: text.into() })
        });
        let last = before(stream::iter(lines).boxed(), time(9), Some(2)).await;
        let wanted = Wanted { limit_bytes: Some(7), ..Wanted::default() };
        let text: Vec<_> = written(last, &wanted).try_collect().await.unwrap();
        assert_eq!(text.concat(), b"two\nthr");
    }
}
