//! The one writer: takes whatever waits as a batch, puts it down in one transaction, shows it, answers.
//!
//! If the transaction fails nothing of the batch was kept: every caller is told so and memory is as it was. A
//! refusal, too, is answered only after the commit, since it may rest on what the batch itself held.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, RwLock, Weak};

use hearth_meta::Timestamp;
use tokio::sync::{mpsc, oneshot};

use super::beneath::Commit;
use super::disk::{Batch, Disk};
use super::error::WriteError;
use super::events::EventNote;
use super::intent::Intent;
use super::lock::StoreLock;
use super::mark::Mark;
use super::stage::{Stage, Write};
use super::state::State;
use super::trust::Note;
use super::{Inner, WriteOptions};
use crate::object::Object;
use crate::panics::words;

/// The most requests that share a commit; more would make the first of them wait too long.
const LARGEST_BATCH: usize = 256;

type Answer<T> = oneshot::Sender<Result<T, WriteError>>;

pub(super) enum Request {
    Write { write: Write, options: WriteOptions, answer: Answer<Arc<Object>> },
    Intent { intent: Intent, answer: Answer<()> },
    Event(Box<(EventNote, Timestamp)>),
    Trust(Vec<Note>, Answer<()>),
    Close(oneshot::Sender<()>),
}

/// Callers whose answer waits for the commit, and what they are told if it holds.
enum Waiting {
    Write(Answer<Arc<Object>>, Result<Arc<Object>, WriteError>),
    Intent(Answer<()>, Result<(), WriteError>),
}

/// Runs until the store is closed or dropped. Holding the lock here means it is held until the last commit.
pub(super) async fn run(
    store: Weak<Inner>,
    state: Arc<RwLock<State>>,
    mut requests: mpsc::Receiver<Request>,
    (mut disk, mark): (Disk, Mark),
    lock: StoreLock,
) {
    // However this task ends, whoever watches must learn that nothing more will come.
    let _end = EndWatches(state);
    let mut taken = Vec::with_capacity(LARGEST_BATCH);
    let mut closing = None;
    while closing.is_none() && requests.recv_many(&mut taken, LARGEST_BATCH).await > 0 {
        let Some(inner) = store.upgrade() else { break };
        let passed = pass_gate(&inner, &mut taken, &mut requests).await;
        closing = write_batch(&inner, &mut taken, &mut disk, passed).await;
        // After the answers, so that nobody waits for it.
        mark.move_to(inner.state.read().expect("no writer panics while it holds the lock").resource_version);
        disk.compact_if_due(inner.clock.now()).await;
        inner.beneath.gate.iter().for_each(|gate| gate.leave());
    }
    requests.close();
    disk.close().await;
    drop(lock);
    if let Some(closed) = closing {
        // Whoever asked may have stopped waiting.
        let _ = closed.send(());
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
) -> Result<(), WriteError> {
    let Some(gate) = &inner.beneath.gate else { return Ok(()) };
    let passed = gate.enter().await;
    while taken.len() < LARGEST_BATCH
        && let Ok(request) = requests.try_recv()
    {
        taken.push(request);
    }
    passed.map_err(WriteError::Storage)
}

/// Returns whom to tell when the batch asked for the store to be closed.
async fn write_batch(
    inner: &Inner,
    taken: &mut Vec<Request>,
    disk: &mut Disk,
    passed: Result<(), WriteError>,
) -> Option<oneshot::Sender<()>> {
    let Staged { batch, waiting, closing } = stage(inner, taken);
    let result = match passed {
        _ if batch.is_empty() => Ok(()),
        Ok(()) => disk.commit(&batch).await,
        Err(refused) => Err(refused),
    };
    if result.is_ok() && !batch.is_empty() {
        tell_gate(inner, &batch).await;
    }
    if result.is_ok() {
        let mut state = inner.state.write().expect("no writer panics while it holds the lock");
        for (change, _) in batch.changes {
            state.take(&change, inner.kinds.get(change.key.kind.as_str()));
            state.publish(change);
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
    for waiter in waiting {
        match waiter {
            Waiting::Write(answer, outcome) => reply(answer, result.clone().and(outcome)),
            Waiting::Intent(answer, outcome) => reply(answer, result.clone().and(outcome)),
        }
    }
    closing
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

fn stage(inner: &Inner, taken: &mut Vec<Request>) -> Staged {
    let (mut batch, mut waiting, mut closing) = (Batch::default(), Vec::new(), None);
    let state = inner.state.read().expect("no writer panics while it holds the lock");
    let mut stage = Stage::new(inner, &state);
    let mut intents = Vec::new();
    for request in taken.drain(..) {
        match request {
            Request::Write { write, options, answer } => {
                // A caller's closure or a kind's rule that panics must not take the store down with it.
                let prepared = catch_unwind(AssertUnwindSafe(|| stage.prepare(write, &options)));
                let outcome = prepared.unwrap_or_else(|panic| {
                    Err(WriteError::Storage(format!("it panicked: {}", words(&*panic))))
                });
                waiting.push(Waiting::Write(answer, outcome));
            }
            Request::Intent { intent, answer } => intents.push((intent, answer)),
            Request::Event(event) => batch.events.push(*event),
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
