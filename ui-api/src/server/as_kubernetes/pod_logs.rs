//! What a Pod's container wrote, with the options clients of Kubernetes give.
//!
//! A log is of the time since its container was last started; what it wrote before is that of the previous one, though it
//! is the same container to Docker. When that was is asked of Docker: a status tells it to the second, and a container may
//! be started again within one.

use std::collections::HashMap;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, future};
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{LogLine, LogOptions, RunState};
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
    let own = pods::container_name(&container);
    let waits = || {
        let why = text(&container.status()["message"]);
        Failure::bad_request(format!("container {own:?} in pod {name:?} is waiting to start: {why}"))
    };
    let id = container.status()["containerId"].as_str().ok_or_else(waits)?;
    // Where it was taken away it is being made anew, and its log went with it.
    let facts = hands.inspect(id).await.map_err(|fault| unreadable(&fault))?.ok_or_else(waits)?;
    let started = beginning(&facts.state, has_died(&container));
    if wanted.previous && (started.is_none() || !has_died(&container)) {
        return Err(Failure::bad_request(format!(
            "previous terminated container {own:?} in pod {name:?} not found"
        )));
    }
    let options = options(&wanted, started);
    let read = || hands.logs(id, &options);
    let lines = match (wanted.previous, started) {
        (true, Some(started)) => before(read, started, wanted.tail).await,
        _ => read().await,
    };
    let lines = lines.map_err(|fault| unreadable(&fault))?;
    let text = lines.take_until(inside.behind().closing.clone().cancelled_owned());
    let body = Body::from_stream(written(text, &wanted));
    Ok(([(CONTENT_TYPE, "text/plain")], body).into_response())
}

/// Since when what a container writes is of its present run; `None` where that is all there is.
///
/// Its first lines may be stamped a moment before the start is, and the last of the run before a moment after its end, so
/// the time in the middle of the two parts them: there is a tenth of a second between them at least. Of a run that has
/// ended the end before is not known, and half of that tenth is taken.
fn beginning(state: &RunState, has_died: bool) -> Option<Timestamp> {
    let started = state.started_at?;
    let apart = match state.finished_at {
        Some(ended) if ended < started => started.duration_since(ended) / 2,
        _ if has_died => SignedDuration::from_millis(50),
        _ => return None,
    };
    Some(started.checked_sub(apart).unwrap_or(started))
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

/// A log that is read from its beginning, each time anew.
type Reading<'a> = BoxFuture<'a, Result<Lines, Fault>>;

/// The lines before a time, or the last of them.
///
/// Which are the last is known once all are counted, so the log is read twice and nothing of it is kept, however long it
/// is. What is rotated away between the two is missing from the beginning of the answer.
async fn before<'a>(
    read: impl Fn() -> Reading<'a>,
    started: Timestamp,
    tail: Option<u32>,
) -> Result<Lines, Fault> {
    let mut spare = 0;
    if let Some(tail) = tail {
        let mut counted = until(read().await?, started);
        let mut count = 0_usize;
        while counted.try_next().await?.is_some() {
            count += 1;
        }
        spare = count.saturating_sub(usize::try_from(tail).unwrap_or(usize::MAX));
    }
    Ok(until(read().await?, started).skip(spare).boxed())
}

/// The lines before a time.
fn until(lines: Lines, started: Timestamp) -> Lines {
    let is_before = move |line: &Result<LogLine, Fault>| {
        future::ready(line.as_ref().map_or(true, |line| line.at.is_none_or(|at| at < started)))
    };
    lines.take_while(is_before).boxed()
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

fn unreadable(fault: &Fault) -> Failure {
    unavailable(format!("the log cannot be read: {fault}"))
}

fn unavailable(why: String) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use futures::{FutureExt, StreamExt, TryStreamExt, future, stream};
    use hearth_capabilities::Fault;
    use hearth_capabilities::containers::{LogLine, RunState};
    use hearth_meta::Timestamp;

    use super::{Wanted, options, written};

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
    fn a_run_begins_between_the_end_of_the_one_before_and_its_own_start() {
        let state = |started: Option<i64>, finished: Option<i64>| RunState {
            status: "running".into(),
            running: true,
            exit_code: 0,
            out_of_memory: false,
            error: String::new(),
            started_at: started.map(time),
            finished_at: finished.map(time),
            restarts: 0,
            health: None,
        };
        let began = |started, finished, has_died| super::beginning(&state(started, finished), has_died);
        assert_eq!(began(None, Some(5), true), None);
        assert_eq!(began(Some(10), Some(6), true), Some(time(8)));
        assert_eq!(began(Some(10), Some(6), false), Some(time(8)), "Docker itself was started anew");
        // Whatever its first lines are stamped with, they are of the only run there was.
        assert_eq!((began(Some(10), None, false), began(Some(10), Some(20), false)), (None, None));
        let just_before = time(10) - hearth_meta::SignedDuration::from_millis(50);
        assert_eq!(began(Some(10), Some(20), true), Some(just_before), "it has ended since");
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

    /// The most memory this process has had, in KiB.
    fn most_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[tokio::test]
    async fn of_a_log_that_is_larger_than_memory_the_last_lines_are_read_without_keeping_it() {
        const LINES: i64 = 200_000;
        let read = || {
            let lines = stream::iter(0..=LINES)
                .map(|at| Ok(LogLine { at: Some(time(at)), is_error: false, text: format!("{at:2048}") }));
            future::ready(Ok(lines.boxed())).boxed()
        };
        let before_it = most_memory();
        for (tail, wanted) in [(Some(2), 2), (Some(u32::MAX), LINES), (None, LINES), (Some(0), 0)] {
            let lines = super::before(read, time(LINES), tail).await.unwrap();
            let count = lines.try_fold(0, |count, _| future::ready(Ok(count + 1))).await.unwrap();
            assert_eq!(count, wanted, "{tail:?}");
        }
        let grown = most_memory() - before_it;
        assert!(grown < 100 * 1024, "{grown} KiB more for a log of 400 MiB");
    }

    #[tokio::test]
    async fn lines_are_cut_at_so_many_bytes() {
        let lines = [(2, "two"), (3, "three")];
        let lines = lines.map(|(at, text)| {
            Ok::<_, Fault>(LogLine { at: Some(time(at)), is_error: false, text: text.into() })
        });
        let wanted = Wanted { limit_bytes: Some(7), ..Wanted::default() };
        let text: Vec<_> = written(stream::iter(lines), &wanted).try_collect().await.unwrap();
        assert_eq!(text.concat(), b"two\nthr");
    }
}
