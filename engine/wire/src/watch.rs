//! Watching: every change in view, as one line of JSON each, until the time is up.
//!
//! A watcher that does not keep up is told so (410) and lists again. A watch that was asked to begin with what
//! stands (`sendInitialEvents`) marks where that ends, since clients wait for the mark.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::{FutureExt, stream};
use hearth_engine::store::{ChangeKind, Watch};
use hearth_engine::{Object, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::options;
use crate::projection::Projection;
use crate::target::Call;
use crate::views::Choice;

/// How long a watch lasts whose client does not say.
pub(crate) const DEFAULT_LENGTH: Duration = Duration::from_secs(45 * 60);
/// How often a quiet watch says how far it has come.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How many changes that wait already go out as one frame.
const CHANGES_PER_FRAME: usize = 64;

/// Starts a watch.
pub(crate) fn answer(call: &Call<'_>) -> Result<Response, Failure> {
    options::check_watch(&call.parameters)?;
    let parameters = &call.parameters;
    let from = parameters.resource_version.filter(|version| *version > 0);
    let starts_with_all = match parameters.initial_events {
        Some(wanted) => wanted,
        None => from.is_none(),
    };
    let store = call.store();
    let query = call.query();
    let (initial, from) = if starts_with_all {
        let listing = store.list(&query);
        if let Some(asked) = from.filter(|asked| *asked > listing.resource_version) {
            return Err(Failure::not_yet(asked, listing.resource_version));
        }
        (listing.items, Some(listing.resource_version))
    } else {
        (Vec::new(), from)
    };
    let clock = store.clock();
    let projection = Projection::of(call);
    // What went wrong is told within the stream: clients heed it there, and list again.
    let watch = match store.watch(query, from) {
        Ok(watch) => watch,
        Err(expired) => {
            return Ok(streamed(stream::iter([line(
                "ERROR",
                &Failure::expired(expired.to_string()).to_value(),
            )])));
        }
    };
    let feed = Feed {
        started_at: from.unwrap_or_else(|| watch.resource_version()),
        watch,
        marks_the_end: parameters.initial_events == Some(true) && parameters.bookmarks,
        initial: initial.into(),
        is_first: true,
        is_over: false,
        ends: clock.elapsed().saturating_add(parameters.timeout.unwrap_or(DEFAULT_LENGTH)),
        bookmark_due: parameters.bookmarks.then(|| clock.elapsed() + BOOKMARK_EVERY),
        store: store.clone(),
        closing: call.wire.closing.clone(),
        projection,
        choice: call.choice(),
    };
    Ok(streamed(stream::unfold(feed, Feed::frame)))
}

/// A stream of lines as an answer.
pub(crate) fn streamed(lines: impl stream::Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(futures::StreamExt::map(lines, Ok::<_, std::convert::Infallible>));
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// One event as a line.
pub(crate) fn line(kind: &str, object: &Value) -> Bytes {
    let mut line = serde_json::to_vec(&json!({ "type": kind, "object": object })).unwrap_or_default();
    line.push(b'\n');
    line.into()
}

/// The word for what happened to an object.
pub(crate) fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "ADDED",
        ChangeKind::Modified => "MODIFIED",
        ChangeKind::Deleted => "DELETED",
    }
}

/// A running watch and what it has yet to say.
struct Feed {
    watch: Watch,
    store: Store,
    projection: Projection,
    closing: CancellationToken,
    initial: VecDeque<Arc<Object>>,
    marks_the_end: bool,
    started_at: u64,
    is_first: bool,
    is_over: bool,
    ends: Duration,
    bookmark_due: Option<Duration>,
    /// Which of them are asked for by what only shows once they are shown.
    choice: Option<Choice>,
}

impl Feed {
    /// The next frame of lines; `None` when the watch is over.
    async fn frame(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let frame = match self.initial_frame() {
            Some(frame) => frame,
            None => self.live_frame().await?,
        };
        Some((frame, self))
    }

    fn initial_frame(&mut self) -> Option<Bytes> {
        let mut frame = BytesMut::new();
        while let Some(object) = self.initial.pop_front() {
            if self.choice.as_ref().is_some_and(|choice| !choice.takes(&object)) {
                continue;
            }
            self.put(&mut frame, ChangeKind::Added, &object);
            if frame.len() > 64 * 1024 {
                return Some(frame.freeze());
            }
        }
        if std::mem::take(&mut self.marks_the_end) {
            frame.put(line("BOOKMARK", &self.projection.bookmark(self.started_at, true)));
        }
        (!frame.is_empty()).then(|| frame.freeze())
    }

    async fn live_frame(&mut self) -> Option<Bytes> {
        let clock = self.store.clock().clone();
        let change = tokio::select! {
            biased;
            () = self.closing.cancelled() => return None,
            change = next(&mut self.watch, self.choice.as_ref()) => change,
            () = clock.sleep_until(self.ends) => return None,
            () = until(&clock, self.bookmark_due) => {
                self.bookmark_due = Some(clock.elapsed() + BOOKMARK_EVERY);
                // The version is read first: if nothing waits after that, this watch has seen all up to it.
                let version = self.store.resource_version();
                match next(&mut self.watch, self.choice.as_ref()).now_or_never() {
                    None => return Some(line("BOOKMARK", &self.projection.bookmark(version, false))),
                    Some(change) => change,
                }
            }
        };
        let Some((kind, object)) = change else { return Some(self.fall_behind()) };
        self.projection.at(clock.now());
        let mut frame = BytesMut::new();
        self.put(&mut frame, kind, &object);
        for _ in 1..CHANGES_PER_FRAME {
            // Whatever else came to an end is told by the next frame.
            let waiting = next(&mut self.watch, self.choice.as_ref()).now_or_never();
            let Some(Some((kind, object))) = waiting else { break };
            self.put(&mut frame, kind, &object);
        }
        Some(frame.freeze())
    }

    fn put(&mut self, frame: &mut BytesMut, kind: ChangeKind, object: &Object) {
        let is_first = std::mem::take(&mut self.is_first);
        frame.put(line(word(kind), &self.projection.next(object, is_first)));
    }

    fn fall_behind(&mut self) -> Bytes {
        self.is_over = true;
        let failure =
            Failure::expired("this watch did not keep up with the changes; list again and watch from there");
        line("ERROR", &failure.to_value())
    }
}

/// The next change in view. What was in view before follows from how the object stood then, not from what this watch has
/// told: it may go on from where another one ended.
async fn next(watch: &mut Watch, choice: Option<&Choice>) -> Option<(ChangeKind, Arc<Object>)> {
    watch.next_where(|object| choice.is_none_or(|choice| choice.takes(object))).await
}

/// Waits until then, or for ever where there is nothing to wait for.
async fn until(clock: &Arc<dyn hearth_engine::Clock>, due: Option<Duration>) {
    match due {
        Some(due) => clock.sleep_until(due).await,
        None => std::future::pending().await,
    }
}
