//! The one writer: takes whatever waits as a batch, puts it down in one transaction, shows it, answers.
//!
//! If the transaction fails nothing of the batch was kept: every caller is told so and memory is as it was. A
//! refusal, too, is answered only after the commit, since it may rest on what the batch itself held.
//!
//! Where the disk is full, `full` says what becomes of the batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use hearth_meta::Timestamp;
use tokio::sync::{mpsc, oneshot};

use super::beneath::{Commit, Refusal};
use super::disk::{Batch, CommitError, Disk};
use super::error::WriteError;
use super::events::EventNote;
use super::intent::Intent;
use super::lock::StoreLock;
use super::mark::Mark;
use super::stage::{Stage, Write};
use super::state::State;
use super::trust::Note;
use super::{Inner, Reach, WriteOptions};
use crate::clock::Clock;
use crate::object::{Key, Object};
use crate::panics::words;

mod full;

use full::Left;

/// The most requests that share a commit; more would make the first of them wait too long.
const LARGEST_BATCH: usize = 256;

/// So long events wait for something to go down with. Nobody waits for them, and each commit costs the disk the same.
const EVENTS_WAIT: Duration = Duration::from_millis(200);

type Answer<T> = oneshot::Sender<Result<T, WriteError>>;

pub(super) enum Request {
    Write {
        write: Write,
        options: WriteOptions,
        reach: Option<Arc<dyn Reach>>,
        answer: Answer<Arc<Object>>,
    },
    Intent {
        intent: Intent,
        answer: Answer<()>,
    },
    Event(Box<(EventNote, Timestamp)>),
    /// Somebody wants to read what was noted before: it waits no longer.
    Flush(Answer<()>),
    Trust(Vec<Note>, Answer<()>),
    Close(oneshot::Sender<()>),
}

/// Callers whose answer waits for the commit, and what they are told if it holds.
enum Waiting {
    Write(Answer<Arc<Object>>, Result<Arc<Object>, WriteError>),
    /// What was seen of an object; it outlives a full disk in memory.
    Status(Answer<Arc<Object>>, Result<Arc<Object>, WriteError>, Key),
    Intent(Answer<()>, Result<(), WriteError>),
}

/// What the writer alone holds.
pub(super) struct Writer {
    pub(super) disk: Disk,
    pub(super) mark: Mark,
    /// What a full disk kept from being written.
    pub(super) left: Left,
}

impl Writer {
    pub(super) fn new(disk: Disk, mark: Mark) -> Self {
        Self { disk, mark, left: Left::default() }
    }
}

/// Runs until the store is closed or dropped. Holding the lock here means it is held until the last commit.
pub(super) async fn run(
    store: Weak<Inner>,
    state: Arc<RwLock<State>>,
    mut requests: mpsc::Receiver<Request>,
    mut writer: Writer,
    lock: StoreLock,
) {
    // However this task ends, whoever watches must learn that nothing more will come.
    let _end = EndWatches(state);
    let mut taken = Vec::with_capacity(LARGEST_BATCH);
    let mut closing = None;
    if let Some(inner) = store.upgrade() {
        full::ensure_reserve(&inner, &mut writer);
    }
    while closing.is_none() {
        if !next(&store, &mut requests, &mut taken, &mut writer).await {
            break;
        }
        let Some(inner) = store.upgrade() else { break };
        gather(&inner, &mut requests, &mut taken).await;
        let passed = pass_gate(&inner, &mut taken, &mut requests).await;
        let events = taken.iter().filter(|request| matches!(request, Request::Event(_))).count();
        // Alone: what is asked for now, such as a deletion, must not fail for what waits already.
        if taken.is_empty() || full::is_due(&inner, &writer) {
            write_batch(&inner, &mut Vec::new(), &mut writer, passed.clone()).await;
        }
        if !taken.is_empty() {
            closing = write_batch(&inner, &mut taken, &mut writer, passed.clone()).await;
        }
        if closing.is_some() && full::has_left(&inner, &writer) {
            // The last chance: after this it is nowhere.
            write_batch(&inner, &mut Vec::new(), &mut writer, passed).await;
        }
        inner.noted.fetch_sub(events, Ordering::Relaxed);
        // After the answers, so that nobody waits for it.
        let reached = inner.state.read().expect("no writer panics while it holds the lock").resource_version;
        writer.mark.move_to(reached, writer.disk.intents());
        writer.disk.compact_if_due(inner.clock.now()).await;
        full::ensure_reserve(&inner, &mut writer);
        inner.beneath.gate.iter().for_each(|gate| gate.leave());
    }
    requests.close();
    writer.disk.close().await;
    drop(lock);
    if let Some(closed) = closing {
        // Whoever asked may have stopped waiting.
        let _ = closed.send(());
    }
}

/// Waits for requests, or until what is left should be tried again; `false` once nobody can ask any more.
async fn next(
    store: &Weak<Inner>,
    requests: &mut mpsc::Receiver<Request>,
    taken: &mut Vec<Request>,
    writer: &mut Writer,
) -> bool {
    let again = store.upgrade().filter(|inner| full::has_left(inner, writer));
    let again = again.map(|inner| (inner.clock.clone(), writer.left.try_again_at(&inner)));
    let goes_on = match again {
        None => requests.recv_many(taken, LARGEST_BATCH).await > 0,
        Some((clock, at)) => tokio::select! {
            count = requests.recv_many(taken, LARGEST_BATCH) => count > 0,
            () = clock.sleep_until(at) => true,
        },
    };
    if let Some(clock) = store.upgrade().map(|inner| inner.clock.clone()) {
        gather_events(&*clock, requests, taken).await;
    }
    goes_on
}

/// Where there is nothing but events, waits for more, or for something that others wait for.
async fn gather_events(clock: &dyn Clock, requests: &mut mpsc::Receiver<Request>, taken: &mut Vec<Request>) {
    let is_lazy = |taken: &[Request]| {
        let room = LARGEST_BATCH.saturating_sub(taken.len());
        let all_events = taken.iter().all(|request| matches!(request, Request::Event(_)));
        (!taken.is_empty() && room > 0 && all_events).then_some(room)
    };
    if is_lazy(taken).is_none() {
        return;
    }
    let over = clock.sleep(EVENTS_WAIT);
    tokio::pin!(over);
    while let Some(room) = is_lazy(taken) {
        tokio::select! { biased;
            count = requests.recv_many(taken, room) => if count == 0 { return },
            () = &mut over => return,
        }
    }
}

/// Lets everybody who is ready ask first, so that they share this commit: those who were answered by the last one are
/// about to ask again, and the first of them would otherwise have a commit of its own while all others wait for it.
/// With something beneath, that decides what a commit holds.
async fn gather(inner: &Inner, requests: &mut mpsc::Receiver<Request>, taken: &mut Vec<Request>) {
    let mut before = 0;
    while inner.beneath.gate.is_none() && taken.len() > before && taken.len() < LARGEST_BATCH {
        before = taken.len();
        tokio::task::yield_now().await;
        take_what_waits(requests, taken);
    }
}

fn take_what_waits(requests: &mut mpsc::Receiver<Request>, taken: &mut Vec<Request>) {
    while taken.len() < LARGEST_BATCH
        && let Ok(request) = requests.try_recv()
    {
        taken.push(request);
    }
}

struct EndWatches(Arc<RwLock<State>>);

impl Drop for EndWatches {
    fn drop(&mut self) {
        if let Ok(mut state) = self.0.write() {
            state.end_watches();
        }
    }
}

/// Waits at the gate, where there is one, and takes what has come meanwhile; says why nothing can be written.
async fn pass_gate(
    inner: &Inner,
    taken: &mut Vec<Request>,
    requests: &mut mpsc::Receiver<Request>,
) -> Result<(), Refusal> {
    let Some(gate) = &inner.beneath.gate else { return Ok(()) };
    let passed = gate.enter().await;
    take_what_waits(requests, taken);
    passed
}

/// Returns whom to tell when the batch asked for the store to be closed.
async fn write_batch(
    inner: &Inner,
    taken: &mut Vec<Request>,
    writer: &mut Writer,
    passed: Result<(), Refusal>,
) -> Option<oneshot::Sender<()>> {
    let with_left = taken.is_empty() || !inner.room.is_known_full();
    let Staged { mut batch, waiting, closing } = stage(inner, taken, with_left);
    if with_left {
        writer.left.join(&mut batch);
    }
    let result = match passed {
        _ if batch.is_empty() => Ok(()),
        Ok(()) => full::commit(inner, &batch, writer, with_left).await,
        Err(Refusal::Full(why)) => full::refused(inner, writer, &why),
        Err(Refusal::Failed(why)) => Err(CommitError::Other(WriteError::Storage(why))),
    };
    if result.is_ok() && !batch.is_empty() {
        tell_gate(inner, &batch).await;
    }
    writer.left.went(inner, with_left, (!batch.is_empty()).then_some(result.is_ok()));
    match &result {
        Ok(()) => show(inner, batch, with_left),
        Err(CommitError::Full(_)) => full::keep_in_memory(inner, batch, writer),
        // What waits for room goes on waiting; other events are lost with their batch.
        Err(CommitError::Other(_)) if inner.room.is_known_full() => writer.left.keep(batch.events),
        Err(CommitError::Other(_)) => {}
    }
    answer(inner, waiting, result);
    closing
}

/// Shows a committed batch to readers and watchers.
fn show(inner: &Inner, batch: Batch, with_left: bool) {
    if batch.is_empty() {
        return;
    }
    inner.commits.fetch_add(1, Ordering::Relaxed);
    inner.news.lock().unwrap_or_else(PoisonError::into_inner).add(&batch.events);
    let mut state = inner.state.write().expect("no writer panics while it holds the lock");
    for (change, _) in batch.changes {
        state.take(&change, inner.kinds.get(change.key.kind.as_str()));
        state.publish(&change);
    }
    if with_left {
        state.unsaved.clear();
    }
    for key in &batch.taken_up {
        state.trust.remembered.remove(key);
    }
    for note in batch.trust {
        note.apply(&mut state, inner);
    }
    for intent in batch.intents {
        state.intents.insert(intent.uid.clone(), intent);
    }
}

fn answer(inner: &Inner, waiting: Vec<Waiting>, result: Result<(), CommitError>) {
    let is_full = matches!(result, Err(CommitError::Full(_)));
    let result = result.map_err(|error| match error {
        CommitError::Full(why) => WriteError::NoRoom(why),
        CommitError::Other(error) => error,
    });
    for waiter in waiting {
        match waiter {
            Waiting::Status(answer, Ok(object), key) if is_full => {
                // It is kept in memory if the object stands without this batch.
                let state = inner.state.read().expect("no writer panics while it holds the lock");
                let kept = state.objects.get(&key).filter(|kept| kept.status() == object.status());
                reply(answer, kept.cloned().map_or_else(|| result.clone().and(Ok(object)), Ok));
            }
            Waiting::Write(answer, outcome) | Waiting::Status(answer, outcome, _) => {
                reply(answer, result.clone().and(outcome));
            }
            Waiting::Intent(answer, outcome) => reply(answer, result.clone().and(outcome)),
        }
    }
}

async fn tell_gate(inner: &Inner, batch: &Batch) {
    let Some(gate) = &inner.beneath.gate else { return };
    let changes = batch.changes.iter().map(|(change, _)| change.clone()).collect();
    let commit = Commit { changes, intents: batch.intents.clone(), events: batch.events.len() };
    gate.committed(&commit).await;
}

/// What a batch of requests comes to.
struct Staged {
    batch: Batch,
    waiting: Vec<Waiting>,
    closing: Option<oneshot::Sender<()>>,
}

fn stage(inner: &Inner, taken: &mut Vec<Request>, with_left: bool) -> Staged {
    let (mut batch, mut waiting, mut closing) = (Batch::default(), Vec::new(), None);
    let state = inner.state.read().expect("no writer panics while it holds the lock");
    let mut stage = Stage::new(inner, &state);
    if with_left {
        stage.write_unsaved();
    }
    let mut intents = Vec::new();
    for request in taken.drain(..) {
        match request {
            Request::Write { write, options, reach, answer } => {
                stage.reach = reach;
                let status_of = write.status_of();
                // A caller's closure or a kind's rule that panics must not take the store down with it.
                let prepared = catch_unwind(AssertUnwindSafe(|| stage.prepare(write, &options)));
                let outcome = prepared.unwrap_or_else(|panic| {
                    Err(WriteError::Storage(format!("it panicked: {}", words(&*panic))))
                });
                waiting.push(match status_of {
                    Some(key) => Waiting::Status(answer, outcome, key),
                    None => Waiting::Write(answer, outcome),
                });
            }
            Request::Intent { intent, answer } => intents.push((intent, answer)),
            Request::Event(event) => batch.events.push(*event),
            Request::Flush(answer) => waiting.push(Waiting::Intent(answer, Ok(()))),
            Request::Trust(notes, answer) => {
                batch.trust.extend(notes);
                waiting.push(Waiting::Intent(answer, Ok(())));
            }
            Request::Close(closed) => closing = Some(closed),
        }
    }
    for (intent, answer) in intents {
        // Looked at last: an object that went in this very batch takes its intent with it.
        let outcome = if stage.stands(&intent.uid) {
            batch.intents.push(intent);
            Ok(())
        } else {
            Err(WriteError::Conflict(format!("the object of uid {} is gone", intent.uid)))
        };
        waiting.push(Waiting::Intent(answer, outcome));
    }
    for prepared in stage.prepared {
        let is_secret = inner.kinds.get(prepared.change.key.kind.as_str()).is_some_and(|kind| kind.is_secret);
        batch.changes.push((prepared.change, is_secret));
        batch.history.extend(prepared.history);
        let change = &batch.changes.last().expect("one was just put there").0;
        if change.old.is_none() && state.trust.remembered.contains_key(&change.key) {
            batch.taken_up.push(change.key.clone());
        }
    }
    Staged { batch, waiting, closing }
}

/// A caller that stopped waiting does not want the answer; what it asked for is done all the same.
fn reply<T>(answer: Answer<T>, result: Result<T, WriteError>) {
    let _ = answer.send(result);
}

#[cfg(test)]
mod tests;
