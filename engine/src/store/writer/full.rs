//! What becomes of a batch where the disk is full.
//!
//! The reserve is given up and the batch tried once more. If there is no room even so, wishes, deletions and intents
//! are refused to their callers: they were not kept, and no step is taken without its intent. What was seen of
//! objects is served from memory all the same, since what is served must not go on saying that all is well; it needs
//! no durability, because a new process looks again. Events wait. Both are written as soon as there is room.

use std::time::Duration;

use hearth_meta::Timestamp;

use super::super::Inner;
use super::super::disk::{Batch, CommitError};
use super::super::events::{EventKind, EventNote};
use super::Writer;

/// How long after a full disk what is left is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The most events that wait for room; of more, the oldest are dropped.
const KEPT_EVENTS: usize = 1000;

/// What a full disk kept from being written, and what went before it.
#[derive(Default)]
pub(crate) struct Left {
    events: Vec<(EventNote, Timestamp)>,
    /// When it is tried again, by the clock's monotonic reading, however much is asked for meanwhile.
    try_again_at: Option<Duration>,
    /// Whether it was told that the disk is nearly full.
    told_low: bool,
    /// Whether the reserve could not be made again, so that it is told once.
    told_no_reserve: bool,
}

impl Left {
    /// Puts what waits into the next batch, before what came later.
    pub(super) fn join(&mut self, batch: &mut Batch) {
        if !self.events.is_empty() {
            let later = std::mem::replace(&mut batch.events, std::mem::take(&mut self.events));
            batch.events.extend(later);
        }
    }

    /// Keeps events for later.
    pub(super) fn keep(&mut self, events: Vec<(EventNote, Timestamp)>) {
        self.events.extend(events);
        let over = self.events.len().saturating_sub(KEPT_EVENTS);
        self.events.drain(..over);
    }

    /// When it is tried again; the first to ask says when.
    pub(super) fn try_again_at(&mut self, inner: &Inner) -> Duration {
        *self.try_again_at.get_or_insert_with(|| inner.clock.elapsed().saturating_add(TRY_AGAIN_AFTER))
    }

    /// A batch went down, or did not, or held nothing: sets when what is left is tried again.
    pub(super) fn went(&mut self, inner: &Inner, with_left: bool, went_down: Option<bool>) {
        let now = inner.clock.elapsed();
        match (with_left, went_down) {
            (true, Some(true)) => self.try_again_at = None,
            (true, Some(false)) => self.try_again_at = Some(now.saturating_add(TRY_AGAIN_AFTER)),
            // Where there was room for something there may be room for all of it.
            (false, Some(true)) => self.try_again_at = Some(now),
            (false, Some(false)) | (_, None) => {}
        }
    }
}

/// Whether something waits for room.
pub(super) fn has_left(inner: &Inner, writer: &Writer) -> bool {
    let unsaved =
        || !inner.state.read().expect("no writer panics while it holds the lock").unsaved.is_empty();
    !writer.left.events.is_empty() || unsaved()
}

/// Whether the store is known to be full, and what waits for room is to be tried again now.
pub(super) fn is_due(inner: &Inner, writer: &Writer) -> bool {
    let is_time = |at| inner.clock.elapsed() >= at;
    inner.room.is_known_full() && writer.left.try_again_at.is_some_and(is_time)
}

/// Puts a batch down, with the room of the reserve if there is no other.
/// Only a write of everything that was left shows that there is room again.
pub(super) async fn commit(
    inner: &Inner,
    batch: &Batch,
    writer: &mut Writer,
    with_left: bool,
) -> Result<(), CommitError> {
    let mut result = writer.disk.commit(batch).await;
    if matches!(result, Err(CommitError::Full(_))) && inner.room.give_up_reserve() {
        tracing::warn!("the disk is full; the store has given up its reserve");
        note(
            inner,
            writer,
            EventKind::Warning,
            "ReserveUsed",
            "The disk is full; the store lives on its reserve",
        );
        result = writer.disk.commit(batch).await;
    }
    match result {
        Ok(()) => {
            if with_left && inner.room.has_room_again() {
                note(inner, writer, EventKind::Normal, "DiskHasRoom", "The store can be written again");
            }
            tell_low(inner, writer);
            Ok(())
        }
        Err(CommitError::Full(why)) => refused(inner, writer, &why),
        other => other,
    }
}

/// There is no room for a batch, and none to be made; that is told once.
pub(super) fn refused(inner: &Inner, writer: &mut Writer, why: &str) -> Result<(), CommitError> {
    if !inner.room.is_known_full() {
        tracing::error!(error = why, "the disk is full: the store cannot be written");
        let message = "The disk was full: nothing could be written";
        note(inner, writer, EventKind::Warning, "DiskFull", message);
    }
    Err(CommitError::Full(inner.room.is_full(why)))
}

/// Tells once that nothing new is taken, and when that is over.
fn tell_low(inner: &Inner, writer: &mut Writer) {
    let is_low = inner.room.report().low.is_some();
    if is_low == writer.left.told_low {
        return;
    }
    writer.left.told_low = is_low;
    match is_low {
        true => note(
            inner,
            writer,
            EventKind::Warning,
            "DiskNearlyFull",
            "The disk is nearly full; nothing new is taken",
        ),
        false => note(inner, writer, EventKind::Normal, "DiskHasRoom", "The disk has room again"),
    }
}

/// What was seen is shown though it is not down, and is written with the next batch that goes down.
pub(super) fn keep_in_memory(inner: &Inner, batch: Batch, writer: &mut Writer) {
    writer.left.keep(batch.events);
    let mut state = inner.state.write().expect("no writer panics while it holds the lock");
    for (change, _) in &batch.changes {
        if let (Some(_), Some(new)) = (&change.old, &change.new) {
            state.see(&change.key, new);
        }
    }
}

/// Makes the reserve where it is missing and there is room.
pub(super) fn ensure_reserve(inner: &Inner, writer: &mut Writer) {
    match inner.room.ensure_reserve() {
        Ok(_) => writer.left.told_no_reserve = false,
        Err(error) if !writer.left.told_no_reserve => {
            writer.left.told_no_reserve = true;
            tracing::warn!(error = %error, "the store has no reserve for a full disk");
        }
        Err(_) => {}
    }
}

/// Notes an event of the store itself, for the next batch.
fn note(inner: &Inner, writer: &mut Writer, kind: EventKind, reason: &str, message: &str) {
    writer.left.keep(vec![(EventNote::of_store(&inner.lineage, kind, reason, message), inner.clock.now())]);
}

#[cfg(test)]
mod tests;
