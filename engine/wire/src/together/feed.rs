//! The stream itself: lists first, then changes as they come, and a beat where there are none.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hearth_engine::Clock;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::NOWHERE;
use super::part::{Came, Part};
use crate::router::Wire;
use crate::watch::DEFAULT_LENGTH;

/// How often a quiet stream shows that it lives.
pub(super) const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How long a browser waits after a cut, in milliseconds.
const RETRY: &[u8] = b"retry: 1000\n\n";
/// About how much of the lists goes out at once.
const FRAME: usize = 64 * 1024;

/// All parts and what is to be said next.
pub(super) struct Feed {
    parts: Vec<Part>,
    clock: Arc<dyn Clock>,
    closing: CancellationToken,
    is_first: bool,
    beat_due: Duration,
    ends: Duration,
}

/// What comes next of what is watched.
enum Next {
    Change(usize, Came),
    Beat,
    End,
}

impl Feed {
    pub(super) fn new(wire: &Wire, parts: Vec<Part>) -> Self {
        let (clock, closing) = (wire.gate.clock().clone(), wire.closing.clone());
        let now = clock.elapsed();
        Self { parts, clock, closing, is_first: true, beat_due: now + BEAT_EVERY, ends: now + DEFAULT_LENGTH }
    }

    /// The next frame of events; `None` when it is over.
    pub(super) async fn frame(mut self) -> Option<(Bytes, Self)> {
        let mut frame = BytesMut::new();
        if std::mem::take(&mut self.is_first) {
            frame.put(RETRY);
        }
        loop {
            self.put_waiting(&mut frame);
            if !frame.is_empty() {
                self.beat_due = self.clock.elapsed() + BEAT_EVERY;
                return Some((frame.freeze(), self));
            }
            match self.next().await {
                Next::Change(at, came) => self.take(at, came),
                Next::Beat => self.put_beat(&mut frame),
                Next::End => return None,
            }
            if self.parts.iter().any(Part::is_over) {
                return None;
            }
        }
    }

    /// What is to be said by now, as far as it fits.
    fn put_waiting(&mut self, frame: &mut BytesMut) {
        for at in 0..self.parts.len() {
            while let Some(event) = self.parts[at].next_of_list() {
                // A list that is cut off in the middle is told anew: only its end counts.
                let id = (event["type"] == "BOOKMARK").then(|| self.id());
                put(frame, &event, id.as_deref());
                if frame.len() > FRAME {
                    return;
                }
            }
            while let Some(event) = self.parts[at].next_change() {
                put(frame, &event, Some(&self.id()));
                if frame.len() > FRAME {
                    return;
                }
            }
        }
    }

    /// Takes a change, and whatever else waits by now.
    fn take(&mut self, at: usize, came: Came) {
        self.parts[at].take(came);
        for (_, part) in self.parts.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            part.take_waiting(Vec::new());
        }
    }

    async fn next(&mut self) -> Next {
        let Self { parts, clock, closing, beat_due, ends, .. } = self;
        tokio::select! {
            biased;
            () = closing.cancelled() => Next::End,
            (at, came) = poll_fn(|context| any_change(parts, context)) => Next::Change(at, came),
            () = clock.sleep_until(*ends) => Next::End,
            () = clock.sleep_until(*beat_due) => Next::Beat,
        }
    }

    fn put_beat(&mut self, frame: &mut BytesMut) {
        self.parts.iter_mut().for_each(Part::move_on);
        let versions = self.parts.iter().map(|part| {
            let version = part.come_to().map_or(Value::Null, |version| version.to_string().into());
            (part.name().to_owned(), version)
        });
        let versions: Map<String, Value> = versions.collect();
        let beat =
            json!({ "type": "BEAT", "time": self.clock.now().to_string(), "resourceVersions": versions });
        put(frame, &beat, Some(&self.id()));
    }

    fn id(&self) -> String {
        let words = self.parts.iter().map(|part| match part.come_to() {
            Some(version) => version.to_string(),
            None => NOWHERE.to_owned(),
        });
        words.collect::<Vec<_>>().join(",")
    }
}

/// Which part has something to say. Those asked in vain lose nothing by being asked again.
fn any_change(parts: &mut [Part], context: &mut Context<'_>) -> Poll<(usize, Came)> {
    for (at, part) in parts.iter_mut().enumerate() {
        if let Poll::Ready(came) = part.poll_next(context) {
            return Poll::Ready((at, came));
        }
    }
    Poll::Pending
}

fn put(frame: &mut BytesMut, event: &Value, id: Option<&str>) {
    if let Some(id) = id {
        frame.put(format!("id: {id}\n").as_bytes());
    }
    // JSON in one line holds no line breaks, which would end it here.
    frame.put(format!("data: {event}\n\n").as_bytes());
}
