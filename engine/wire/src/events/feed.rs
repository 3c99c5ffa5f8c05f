//! A running watch of events.
//!
//! Once a second it asks the store for what went down since, and shows what it has not shown as it stands now. An event
//! that ages out of the store is not told: events are read, not kept.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use hearth_engine::Object;
use hearth_engine::store::{ChangeKind, EventsSeen};
use tokio_util::sync::CancellationToken;

use super::{Asked, version_of};
use crate::failure::Failure;
use crate::options;
use crate::watch::{DEFAULT_LENGTH, line, streamed, word};

/// How often it is looked for new events.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// So many events are remembered at least before those that are gone are looked for.
const PRUNED_FROM: usize = 1024;

/// Answers with a watch.
pub(super) async fn watch(asked: Asked, closing: CancellationToken) -> Result<Response, Failure> {
    options::check_watch(&asked.parameters)?;
    Ok(streamed(stream::unfold(Feed::new(asked, closing).await?, Feed::frame)))
}

/// A running watch: what it has shown already, and how that stood.
struct Feed {
    asked: Asked,
    closing: CancellationToken,
    /// By uid: the version and how often it had happened.
    known: HashMap<String, (u64, i64)>,
    /// How many may be known before those that are gone are forgotten.
    prune_at: usize,
    /// What was read of the store; nothing where all of it is to be read.
    seen: Option<EventsSeen>,
    /// What was found and is not shown yet.
    found: Vec<Arc<Object>>,
    newest: u64,
    marks_the_end: bool,
    is_first: bool,
    is_started: bool,
    ends: Duration,
}

impl Feed {
    async fn new(asked: Asked, closing: CancellationToken) -> Result<Self, Failure> {
        let since = asked.parameters.resource_version.filter(|version| *version > 0);
        let starts_with_all = asked.parameters.initial_events.unwrap_or(since.is_none());
        let clock = asked.store.clock().clone();
        let mut feed = Self {
            known: HashMap::new(),
            prune_at: PRUNED_FROM,
            seen: None,
            found: Vec::new(),
            newest: 1,
            marks_the_end: asked.parameters.initial_events == Some(true) && asked.parameters.bookmarks,
            is_first: true,
            is_started: false,
            ends: clock.elapsed().saturating_add(asked.parameters.timeout.unwrap_or(DEFAULT_LENGTH)),
            closing,
            asked,
        };
        feed.look().await?;
        let shown_up_to = match (starts_with_all, since) {
            (true, _) => 0,
            (false, Some(since)) => since,
            (false, None) => feed.newest,
        };
        for object in feed.found.extract_if(.., |object| object.resource_version() <= shown_up_to) {
            feed.known.insert(object.uid().to_owned(), standing(&object));
        }
        Ok(feed)
    }

    async fn frame(mut self) -> Option<(Bytes, Self)> {
        while self.look_on().await {
            let frame = self.show();
            if !frame.is_empty() {
                return Some((frame, self));
            }
        }
        None
    }

    /// Waits until something was looked for anew, but for the first time; false once it is over.
    async fn look_on(&mut self) -> bool {
        if !std::mem::replace(&mut self.is_started, true) {
            return true;
        }
        let clock = self.asked.store.clock().clone();
        loop {
            let next = clock.elapsed() + LOOK_EVERY;
            if next > self.ends {
                return false;
            }
            tokio::select! {
                () = self.closing.cancelled() => return false,
                () = clock.sleep_until(next) => {}
            }
            // A look that failed is tried again with the next one; nothing is taken for gone.
            if self.look().await.is_ok() {
                return true;
            }
        }
    }

    /// Reads what went down since the last look, or everything where nothing was read or much may be gone; how many
    /// rows that were.
    async fn look(&mut self) -> Result<usize, Failure> {
        let is_whole = self.seen.is_none() || self.known.len() >= self.prune_at;
        let query = self.asked.query();
        let read = self.asked.store.events_since(&query, self.seen.filter(|_| !is_whole)).await;
        let (mut rows, seen) = read.map_err(|error| Failure::of_write(error, &self.asked.kind, ""))?;
        rows.sort_by_key(|row| (row.last_at, row.id));
        self.seen = Some(seen);
        self.newest = self.newest.max(rows.last().map_or(1, version_of));
        self.found = self.asked.chosen(&rows);
        if is_whole {
            let there: HashSet<&str> = self.found.iter().map(|object| object.uid()).collect();
            self.known.retain(|uid, _| there.contains(uid.as_str()));
            self.prune_at = PRUNED_FROM.max(2 * there.len());
        }
        Ok(rows.len())
    }

    /// What was found and not shown yet, as what became of each.
    fn changes(&mut self) -> Vec<(ChangeKind, Arc<Object>)> {
        let mut changes = Vec::new();
        for object in std::mem::take(&mut self.found) {
            match self.known.insert(object.uid().to_owned(), standing(&object)) {
                None => changes.push((ChangeKind::Added, object)),
                Some(before) if before != standing(&object) => changes.push((ChangeKind::Modified, object)),
                Some(_) => {}
            }
        }
        changes
    }

    fn show(&mut self) -> Bytes {
        let projection = self.asked.projection();
        let mut frame = BytesMut::new();
        for (kind, object) in self.changes() {
            let shown = projection.next(&object, std::mem::take(&mut self.is_first));
            frame.put(line(word(kind), &shown));
        }
        if std::mem::take(&mut self.marks_the_end) {
            frame.put(line("BOOKMARK", &projection.bookmark(self.newest, true)));
        }
        frame.freeze()
    }
}

/// What one look brought.
pub(crate) struct Looked {
    /// What became of each event, oldest first.
    pub(crate) changes: Vec<(ChangeKind, Arc<Object>)>,
    /// The version of the newest event by then.
    pub(crate) newest: u64,
}

/// What is asked for, look by look, beginning with all that stands, or with what came since a version. It ends with the
/// store or the server.
pub(crate) fn looks(
    asked: Asked,
    closing: CancellationToken,
) -> impl stream::Stream<Item = Looked> + Send + 'static {
    let (store, first) = (asked.store.clone(), Some((asked, closing)));
    stream::unfold((store, first, None), async |(store, mut first, mut feed)| {
        while let Some((asked, closing)) = first.take() {
            match Feed::new(asked.clone(), closing.clone()).await {
                Ok(begun) => feed = Some(begun),
                Err(_) if store.is_closed() || closing.is_cancelled() => return None,
                // What could not be read is not taken for nothing: it is read a moment later.
                Err(_) => {
                    store.clock().sleep(LOOK_EVERY).await;
                    first = Some((asked, closing));
                }
            }
        }
        let feed_now: &mut Feed = feed.as_mut()?;
        if !feed_now.look_on().await || store.is_closed() {
            return None;
        }
        let looked = Looked { changes: feed_now.changes(), newest: feed_now.newest };
        Some((looked, (store, None, feed)))
    })
}

/// When it last happened, and how often it has: one that happens again within the same moment is told by that alone.
fn standing(object: &Object) -> (u64, i64) {
    let count = ["count", "deprecatedCount"].iter().find_map(|field| object.body.get(*field)?.as_i64());
    (object.resource_version(), count.unwrap_or_default())
}

#[cfg(test)]
mod tests;
