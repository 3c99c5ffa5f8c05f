//! Events: what happened, in the past tense, merged by what they say and kept for 30 days (UX contract C6).
//!
//! Other programs note events too, so all of it is bounded: how long one is, and how many are kept.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hearth_meta::{ObjectRef, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use tokio::sync::oneshot;

use super::Store;
use super::error::WriteError;
use super::writer::Request;

/// How long an event is kept after it last happened.
pub(super) const KEPT_DAYS: i64 = 30;

/// The most events that are kept of one namespace; beyond it the oldest go with the next compaction, so that whoever may
/// note events in one pushes out nobody else's. A home of 50 apps has some thousands within 30 days; so many of the
/// greatest length take 30 MiB, indexes included.
pub(super) const KEPT_ROWS: i64 = 10_000;

/// How many batches of events are remembered for who looks on; further back all is read again.
const REMEMBERED: usize = 1024;

/// Whether an event calls for attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It went as it should.
    Normal,
    /// Somebody may want to look.
    Warning,
}

impl EventKind {
    /// The word as the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Something that happened, to be noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNote {
    /// The object it happened to.
    pub about: ObjectRef,
    /// That object's uid.
    pub uid: String,
    /// Whether it calls for attention.
    pub kind: EventKind,
    /// Why, in one CamelCase word.
    pub reason: String,
    /// What happened, in the past tense, without times and without ids that change.
    pub message: String,
    /// Who noted it, such as `controller/container`.
    pub reporter: String,
}

impl EventNote {
    /// The longest message, in bytes, as upstream has it.
    pub const LONGEST_MESSAGE: usize = 1024;
    /// The longest reason and the longest reporter, in bytes, as upstream has it.
    pub const LONGEST_WORD: usize = 128;

    /// The same, cut to what is kept of one: whoever notes what happened here is never refused for its length.
    #[must_use]
    pub(super) fn cut(mut self) -> Self {
        shorten(&mut self.message, Self::LONGEST_MESSAGE);
        shorten(&mut self.reason, Self::LONGEST_WORD);
        shorten(&mut self.reporter, Self::LONGEST_WORD);
        self
    }

    /// An event of the store itself, which is no object: it stands for one of that name.
    pub(super) fn of_store(lineage: &str, kind: EventKind, reason: &str, message: &str) -> Self {
        Self {
            about: ObjectRef { kind: "Store".into(), namespace: None, name: "store".into() },
            uid: lineage.to_owned(),
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
            reporter: "store".into(),
        }
    }
}

/// Cuts a text to so many bytes, between characters, and shows that it was cut.
fn shorten(text: &mut String, most: usize) {
    const MARK: &str = " ...";
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - MARK.len()));
        text.push_str(MARK);
    }
}

/// A place in what is told of events, for who looks on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventsSeen(u64);

/// Which events went down lately, so that whoever looks on reads only what is new.
///
/// Time alone does not tell: events that waited for room go down long after they happened, and the clock may be set
/// back. So each batch that went down is remembered with the earliest time in it.
#[derive(Debug, Default)]
pub(super) struct News {
    batches: u64,
    /// The earliest time in each of the newest batches, oldest first.
    earliest: VecDeque<Timestamp>,
}

impl News {
    /// A batch with these events is down.
    pub(super) fn add(&mut self, events: &[(EventNote, Timestamp)]) {
        let Some(earliest) = events.iter().map(|(_, at)| *at).min() else { return };
        self.batches += 1;
        self.earliest.push_back(earliest);
        if self.earliest.len() > REMEMBERED {
            self.earliest.pop_front();
        }
    }

    /// Everything that is down by now.
    pub(super) fn seen(&self) -> EventsSeen {
        EventsSeen(self.batches)
    }

    /// What to read to have all that went down since.
    pub(super) fn since(&self, seen: EventsSeen) -> Unread {
        let new = usize::try_from(self.batches.saturating_sub(seen.0)).unwrap_or(usize::MAX);
        match self.earliest.len().checked_sub(new) {
            None => Unread::All,
            Some(known) => self.earliest.range(known..).min().map_or(Unread::Nothing, |at| Unread::From(*at)),
        }
    }
}

/// What somebody who looks on has not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    Nothing,
    /// Whatever last happened then or later.
    From(Timestamp),
    All,
}

/// Asks for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only about this kind.
    pub kind: Option<String>,
    /// Only about this name.
    pub name: Option<String>,
    /// Only about this uid.
    pub uid: Option<String>,
}

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number.
    pub id: i64,
    /// What happened.
    pub note: EventNote,
    /// How often.
    pub count: i64,
    /// When first.
    pub first_at: Timestamp,
    /// When last.
    pub last_at: Timestamp,
}

impl EventRow {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let time = |name: &str| -> Result<Timestamp, sqlx::Error> {
            row.try_get::<&str, _>(name)?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
        };
        let namespace: String = row.try_get("namespace")?;
        Ok(Self {
            id: row.try_get("id")?,
            note: EventNote {
                about: ObjectRef {
                    kind: row.try_get("kind")?,
                    namespace: (!namespace.is_empty()).then_some(namespace),
                    name: row.try_get("name")?,
                },
                uid: row.try_get("uid")?,
                kind: if row.try_get::<&str, _>("type")? == "Warning" {
                    EventKind::Warning
                } else {
                    EventKind::Normal
                },
                reason: row.try_get("reason")?,
                message: row.try_get("message")?,
                reporter: row.try_get("reporter")?,
            },
            count: row.try_get("count")?,
            first_at: time("first_at")?,
            last_at: time("last_at")?,
        })
    }
}

impl Store {
    /// Notes an event. It is merged with equal ones and written with the next batch, or a moment later by itself;
    /// nobody waits for it.
    pub async fn note(&self, event: EventNote) {
        self.inner.noted.fetch_add(1, Ordering::Relaxed);
        // A store that is closing has nobody left to tell.
        let _ = self.send(Request::Event(Box::new((event.cut(), self.inner.clock.now())))).await;
    }

    /// The events a query asks for, oldest first.
    ///
    /// # Errors
    /// A storage error.
    pub async fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>, WriteError> {
        self.flush_events().await;
        let _reading = self.inner.beneath.reading();
        self.inner.reader.events(query, None).await
    }

    /// Of the events a query asks for, oldest first, those that went down since somebody looked, and what was seen by
    /// now; all of them where nobody has. It may hold some again, as they stand: those of the same moments.
    ///
    /// # Errors
    /// A storage error.
    pub async fn events_since(
        &self,
        query: &EventQuery,
        seen: Option<EventsSeen>,
    ) -> Result<(Vec<EventRow>, EventsSeen), WriteError> {
        self.flush_events().await;
        // Asked before the rows are read: what comes between is read again with the next look.
        let (unread, now) = {
            let news = self.inner.news.lock().unwrap_or_else(PoisonError::into_inner);
            (seen.map_or(Unread::All, |seen| news.since(seen)), news.seen())
        };
        let since = match unread {
            Unread::Nothing => return Ok((Vec::new(), now)),
            Unread::From(at) => Some(at),
            Unread::All => None,
        };
        let _reading = self.inner.beneath.reading();
        Ok((self.inner.reader.events(query, since).await?, now))
    }

    /// Puts down what was noted so far. Where it cannot be written now, what is down already is read all the same.
    async fn flush_events(&self) {
        if self.inner.noted.load(Ordering::Relaxed) > 0 {
            let (answer, written) = oneshot::channel();
            if self.send(Request::Flush(answer)).await.is_ok() {
                let _ = written.await;
            }
        }
    }

    /// The same of what is down already, and nothing is written for it: for who looks on.
    ///
    /// # Errors
    /// A storage error.
    pub async fn events_down(&self, query: &EventQuery) -> Result<Vec<EventRow>, WriteError> {
        let _reading = self.inner.beneath.reading();
        self.inner.reader.events(query, None).await
    }
}

#[cfg(test)]
mod tests {
    use hearth_meta::Timestamp;

    use super::{EventKind, EventNote, EventsSeen, News, REMEMBERED, Unread, shorten};

    fn at(second: i64) -> (EventNote, Timestamp) {
        let note = EventNote::of_store("home", EventKind::Normal, "Tried", "It was tried");
        (note, Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        for (text, most, wanted) in
            [("short", 8, "short"), ("123456789", 8, "1234 ..."), ("abcé5678", 8, "abc ...")]
        {
            let mut text = text.to_owned();
            shorten(&mut text, most);
            assert_eq!(text, wanted);
        }
    }

    #[test]
    fn whoever_looks_on_reads_from_the_earliest_that_went_down_since() {
        let mut news = News::default();
        assert_eq!(news.since(news.seen()), Unread::Nothing);
        news.add(&[at(50), at(60)]);
        let seen = news.seen();
        news.add(&[]);
        assert_eq!(news.since(seen), Unread::Nothing);
        // One that waited for room, and then what happens while the clock is set back.
        news.add(&[at(70), at(10)]);
        news.add(&[at(5)]);
        assert_eq!(news.since(seen), Unread::From(at(5).1));
        assert_eq!(news.since(EventsSeen::default()), Unread::From(at(5).1));
        (0..REMEMBERED).for_each(|_| news.add(&[at(80)]));
        assert_eq!(news.since(seen), Unread::All);
        assert_eq!(news.since(news.seen()), Unread::Nothing);
    }
}
