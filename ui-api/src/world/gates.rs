//! The gates: where everything that touches the world waits until the driver lets it go on.
//!
//! A call to the machine waits twice: before it is carried out, and after its effect before its reply. A commit
//! waits twice likewise. What the machine tells waits once for each listener. Nothing goes on by itself, so the order
//! of all of it is the driver's choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hearth_capabilities::{Fault, Happening};
use hearth_engine::store::{Commit, Gate, Refusal};
use hearth_pretend::Op;
use tokio::sync::{Notify, mpsc, oneshot};

/// What the machine tells.
pub type Told = Result<Happening, Fault>;

/// Something that waits to go on.
#[derive(Clone, Debug)]
pub enum Point {
    /// A call to the machine: the operation, and on what.
    Call(Op, String),
    /// The same call, carried out and not answered yet.
    Reply(Op, String),
    /// The store wants to write.
    Write,
    /// It has written, and nobody has been told yet: what, in words.
    Written(String),
    /// The machine tells a listener something.
    Event(u64, Happening),
    /// The stream of a listener breaks off.
    Break(u64),
}

/// What the machine tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A container.
    Container,
    /// A network.
    Network,
    /// An image.
    Image,
}

impl About {
    /// Everything it tells of.
    pub const ALL: [Self; 3] = [Self::Container, Self::Network, Self::Image];

    /// What this is about; that somebody listens again is about nothing on the machine.
    pub fn of(happening: &Happening) -> Option<Self> {
        match happening {
            Happening::Listening => None,
            Happening::Container { .. } => Some(Self::Container),
            Happening::Network { .. } => Some(Self::Network),
            Happening::Image { .. } => Some(Self::Image),
        }
    }
}

/// How a call goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As asked.
    Go,
    /// It is not carried out, and this is the answer.
    Fail(Fault),
    /// It is carried out, and the answer is lost.
    Lost,
    /// It is not carried out, and there is no answer for so long.
    Hang(Duration),
    /// It is carried out after so long.
    Slow(Duration),
    /// The answer is what it was so many looks ago, or as long ago as is remembered.
    Stale(usize),
    /// The answer is that nothing is there.
    Empty,
    /// Half of a list is missing.
    Partial,
    /// Of a write: there is no room for it.
    Full,
    /// Of an event: it comes in after so long, behind those that happened later.
    Late(Duration),
}

enum Waiter {
    Call(oneshot::Sender<Verdict>),
    Event(mpsc::UnboundedSender<Told>, Told),
}

/// Everything that waits, and whether the store is at work. Clones are the same gates.
#[derive(Clone, Default)]
pub struct Gates {
    waiting: Arc<Mutex<Waiting>>,
    pub(crate) idle: Arc<Idle>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    points: BTreeMap<u64, (Point, Waiter)>,
    /// What comes in late.
    held: BTreeMap<u64, (Point, Waiter)>,
    /// What came in late, and goes on now.
    late: BTreeSet<u64>,
    listeners: u64,
}

/// Tells when nothing can run: the runtime is about to park and the store is not at work on its file.
#[derive(Default)]
pub(crate) struct Idle {
    armed: AtomicBool,
    at_work: AtomicUsize,
    parked: Notify,
}

impl Idle {
    /// Called by the runtime before it parks its thread.
    pub(crate) fn parks(&self) {
        if self.at_work.load(Ordering::SeqCst) == 0 && self.armed.swap(false, Ordering::SeqCst) {
            self.parked.notify_one();
        }
    }

    /// Returns once nothing can run any more.
    pub(crate) async fn reached(&self) {
        self.armed.store(true, Ordering::SeqCst);
        self.parked.notified().await;
    }
}

impl Gates {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits here until the driver says how to go on.
    pub(crate) async fn pass(&self, point: Point) -> Verdict {
        let (answer, answered) = oneshot::channel();
        self.lock().add(point, Waiter::Call(answer));
        match answered.await {
            Ok(verdict) => verdict,
            // The driver is gone, and with it the world.
            Err(_) => std::future::pending().await,
        }
    }

    /// The number of somebody who listens from now on.
    pub(crate) fn new_listener(&self) -> u64 {
        let mut waiting = self.lock();
        waiting.listeners += 1;
        waiting.listeners
    }

    /// Something is on its way to a listener.
    pub(crate) fn send(&self, listener: u64, to: mpsc::UnboundedSender<Told>, told: Told) {
        let point = match &told {
            Ok(happening) => Point::Event(listener, happening.clone()),
            Err(_) => Point::Break(listener),
        };
        self.lock().add(point, Waiter::Event(to, told));
    }

    /// Whether anybody waits.
    pub fn is_empty(&self) -> bool {
        self.lock().wanted().next().is_none()
    }

    /// One of those that wait, by their weights and a random number; they are asked in the order they came.
    pub fn choose(&self, random: u64, mut weigh: impl FnMut(&Point) -> u64) -> Option<(u64, Point)> {
        let mut waiting = self.lock();
        let weights: Vec<(u64, u64)> = waiting.wanted().map(|(id, point)| (id, weigh(point))).collect();
        let all: u64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = random.checked_rem(all)?;
        let chosen = weights.into_iter().find(|(_, weight)| match left.checked_sub(*weight) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let (id, _) = chosen?;
        Some((id, waiting.points.get(&id)?.0.clone()))
    }

    /// Whether these are the same gates.
    pub(crate) fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.waiting, &other.waiting)
    }

    /// What was held back waits for its turn again.
    pub(crate) fn let_in(&self, id: u64) {
        let mut waiting = self.lock();
        if let Some(held) = waiting.held.remove(&id) {
            waiting.points.insert(id, held);
            waiting.late.insert(id);
        }
    }

    /// Whether this was held back already.
    pub(crate) fn is_late(&self, id: u64) -> bool {
        self.lock().late.contains(&id)
    }

    /// Lets one go on. Of an event `Go` delivers it, `Slow` twice, and `Late` holds it back; anything else loses it.
    pub fn release(&self, id: u64, verdict: Verdict) {
        let mut waiting = self.lock();
        waiting.late.remove(&id);
        let Some((point, waiter)) = waiting.points.remove(&id) else { return };
        match waiter {
            Waiter::Call(answer) => drop(answer.send(verdict)),
            waiter @ Waiter::Event(..) if matches!(verdict, Verdict::Late(_)) => {
                waiting.held.insert(id, (point, waiter));
            }
            Waiter::Event(to, told) => {
                let times = match verdict {
                    Verdict::Go => 1,
                    Verdict::Slow(_) => 2,
                    _ => 0,
                };
                for _ in 0..times {
                    let _ = to.send(told.clone());
                }
            }
        }
    }
}

impl Waiting {
    /// Whoever waits; whoever stopped waiting has been given up by the engine.
    fn wanted(&mut self) -> impl Iterator<Item = (u64, &Point)> {
        self.points.retain(|_, (_, waiter)| match waiter {
            Waiter::Call(answer) => !answer.is_closed(),
            Waiter::Event(to, _) => !to.is_closed(),
        });
        self.points.iter().map(|(id, (point, _))| (*id, point))
    }

    fn add(&mut self, point: Point, waiter: Waiter) {
        self.next += 1;
        self.points.insert(self.next, (point, waiter));
    }
}

#[async_trait]
impl Gate for Gates {
    async fn enter(&self) -> Result<(), Refusal> {
        let verdict = self.pass(Point::Write).await;
        self.idle.at_work.fetch_add(1, Ordering::SeqCst);
        match verdict {
            Verdict::Go => Ok(()),
            Verdict::Full => Err(Refusal::Full("the disk is full".into())),
            other => Err(Refusal::Failed(format!("the disk refuses: {other:?}"))),
        }
    }

    async fn committed(&self, commit: &Commit) {
        self.idle.at_work.fetch_sub(1, Ordering::SeqCst);
        self.pass(Point::Written(in_words(commit))).await;
        self.idle.at_work.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.idle.at_work.fetch_sub(1, Ordering::SeqCst);
    }

    fn reads(&self) {
        self.idle.at_work.fetch_add(1, Ordering::SeqCst);
    }

    fn has_read(&self) {
        self.idle.at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

fn in_words(commit: &Commit) -> String {
    let change = |change: &Arc<hearth_engine::store::Change>| {
        let what = match (&change.old, &change.new) {
            (_, None) => "gone",
            (None, _) => "made",
            (Some(old), Some(new)) if old.metadata.generation != new.metadata.generation => "spec",
            (Some(old), Some(new)) if old.status() != new.status() => "status",
            _ => "metadata",
        };
        format!("{what} {}", change.key)
    };
    let mut words: Vec<String> = commit.changes.iter().map(change).collect();
    for intent in &commit.intents {
        let which = if intent.is_open() { "opens" } else { "closes" };
        words.push(format!("{which} intent {}", intent.uid));
    }
    if commit.events > 0 {
        words.push(format!("{} events", commit.events));
    }
    words.join(", ")
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(op, object) => write!(f, "call {op:?} {object}"),
            Self::Reply(op, object) => write!(f, "reply {op:?} {object}"),
            Self::Write => write!(f, "write"),
            Self::Written(what) => write!(f, "written {what}"),
            Self::Event(listener, happening) => write!(f, "event to {listener}: {happening:?}"),
            Self::Break(listener) => write!(f, "break of {listener}"),
        }
    }
}
