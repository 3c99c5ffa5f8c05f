//! The one writer: takes whatever waits as a batch, puts it down in one transaction, shows it, answers.
//!
//! If the transaction fails nothing of the batch was kept: every caller is told so and memory is as it was.

use std::sync::{Arc, Weak};

use tokio::sync::{mpsc, oneshot};

use super::disk::{Batch, Disk};
use super::error::WriteError;
use super::events::EventNote;
use super::intent::Intent;
use super::lock::StoreLock;
use super::stage::{Stage, Write};
use super::{Inner, WriteOptions};
use crate::object::Object;

/// The most requests that share a commit; more would make the first of them wait too long.
const LARGEST_BATCH: usize = 256;

type Answer<T> = oneshot::Sender<Result<T, WriteError>>;

pub(super) enum Request {
    Write { write: Write, options: WriteOptions, answer: Answer<Arc<Object>> },
    Intent { intent: Intent, answer: Answer<()> },
    Event(Box<EventNote>),
    Close(oneshot::Sender<()>),
}

/// Callers whose answer waits for the commit.
enum Waiting {
    Write(Answer<Arc<Object>>, Arc<Object>),
    Intent(Answer<()>),
}

/// Runs until the store is closed or dropped. Holding the lock here means it is held until the last commit.
pub(super) async fn run(
    store: Weak<Inner>,
    mut requests: mpsc::Receiver<Request>,
    mut disk: Disk,
    lock: StoreLock,
) {
    let mut taken = Vec::with_capacity(LARGEST_BATCH);
    while requests.recv_many(&mut taken, LARGEST_BATCH).await > 0 {
        let Some(inner) = store.upgrade() else { break };
        let closing = write_batch(&inner, &mut taken, &mut disk).await;
        drop(inner);
        if let Some(closed) = closing {
            requests.close();
            disk.close().await;
            drop(lock);
            // Whoever asked may have stopped waiting.
            let _ = closed.send(());
            return;
        }
    }
    disk.close().await;
    drop(lock);
}

/// Returns whom to tell when the batch asked for the store to be closed.
async fn write_batch(
    inner: &Inner,
    taken: &mut Vec<Request>,
    disk: &mut Disk,
) -> Option<oneshot::Sender<()>> {
    let now = inner.clock.now();
    let (mut batch, mut waiting, mut closing) = (Batch::default(), Vec::new(), None);
    {
        let state = inner.state.read().expect("no reader or writer panics while it holds the lock");
        let mut stage = Stage::new(inner, &state);
        for request in taken.drain(..) {
            match request {
                Request::Write { write, options, answer } => match stage.prepare(write, &options) {
                    Ok(object) => waiting.push(Waiting::Write(answer, object)),
                    Err(error) => reply(answer, Err(error)),
                },
                Request::Intent { intent, answer } => {
                    batch.intents.push(intent);
                    waiting.push(Waiting::Intent(answer));
                }
                Request::Event(note) => batch.events.push((*note, now)),
                Request::Close(closed) => closing = Some(closed),
            }
        }
        for prepared in stage.prepared {
            let is_secret =
                inner.kinds.get(prepared.change.key.kind.as_str()).is_some_and(|kind| kind.is_secret);
            batch.changes.push((prepared.change, is_secret));
            batch.history.extend(prepared.history);
        }
    }
    let result = if batch.is_empty() { Ok(()) } else { disk.commit(&batch, now).await };
    if result.is_ok() {
        let mut state = inner.state.write().expect("no reader or writer panics while it holds the lock");
        for (change, _) in batch.changes {
            state.take(&change, inner.kinds.get(change.key.kind.as_str()));
            state.publish(change);
        }
        for intent in batch.intents {
            state.intents.insert(intent.uid.clone(), intent);
        }
    }
    for waiter in waiting {
        match waiter {
            Waiting::Write(answer, object) => reply(answer, result.clone().map(|()| object)),
            Waiting::Intent(answer) => reply(answer, result.clone()),
        }
    }
    closing
}

/// A caller that stopped waiting does not want the answer; what it asked for is done all the same.
fn reply<T>(answer: Answer<T>, result: Result<T, WriteError>) {
    let _ = answer.send(result);
}
