//! One thing after another goes on: which of those that wait, as the seed says, and how it does.

use std::time::Duration;

use hearth_engine::{Clock, Store};
use hearth_pretend::{Machine, Op};
use tokio::runtime::Runtime;

use super::gates::{About, Gates, Point, Verdict};
use super::random::Random;
use super::{Trouble, TroubleKind, World};

/// How readily a kind of thing goes on, of which each seed gives it one.
const GRUDGES: [u64; 4] = [1, 8, 64, 64];
/// The longest a single happening takes, on the world's clock.
const LONGEST_MS: usize = 4;
/// Nothing goes on so long by itself; whoever works on without a pause spins.
const MOST_WITHOUT_REST: u64 = 400_000;
/// So long has nothing been to do that it was a pause.
const PAUSE: Duration = Duration::from_secs(1);

/// What a watcher sees: the home at one moment, and what was just let go on.
pub struct Seen<'a> {
    /// What is on record.
    pub store: &'a Store,
    /// What is there.
    pub machine: &'a Machine,
    /// Since the world began.
    pub now: Duration,
    /// What was just let go on.
    pub point: &'a Point,
    /// How it went on.
    pub verdict: &'a Verdict,
    /// Counts what has happened.
    pub count: u64,
    runtime: &'a Runtime,
}

impl Seen<'_> {
    /// Asks something of the store at this moment; nothing else happens meanwhile.
    pub fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        self.runtime.block_on(question)
    }
}

/// What kind of thing waits at a gate, as far as a seed's grudges go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waits {
    Op(Op),
    Write,
    Listener(u64),
}

impl World {
    /// Runs what can run, then lets one thing go on, or time pass where nothing waits.
    ///
    /// # Errors
    /// Where something that must always hold does not.
    pub fn step(&mut self) -> Result<(), Trouble> {
        let process = self.process.take().expect("it is served");
        drive(&process.runtime, &self.gates);
        let stepped = self.step_in(&process.runtime, Some(&process.store));
        self.process = Some(process);
        stepped
    }

    /// A step of somebody who waits for no answer; after it the home is restarted, where that is due.
    ///
    /// # Errors
    /// As for [`World::step`] and [`World::start`].
    pub fn step_or_restart(&mut self) -> Result<(), Trouble> {
        self.step()?;
        if self.restarts_at.is_some_and(|at| self.lasting() >= at) {
            self.restarts_at = None;
            self.crash();
            self.judge();
            self.start()?;
        }
        Ok(())
    }

    /// Runs what can run, and no further.
    pub fn rest(&self) {
        drive(&self.process().runtime, &self.gates);
    }

    /// Whether anything waits at the gates.
    pub fn waits(&self) -> bool {
        !self.gates.is_empty()
    }

    pub(super) fn step_in(&mut self, runtime: &Runtime, store: Option<&Store>) -> Result<(), Trouble> {
        self.catch_up();
        let Some((id, point)) = self.choose() else {
            let later = self.later.first().map(|(at, _)| at.saturating_sub(self.clock.elapsed()));
            let sleeper = self.clock.next_due().into_iter().chain(later).min();
            let by = sleeper.expect("somebody always sleeps: the minutely look");
            self.pass(by);
            if by >= PAUSE {
                self.happened.without_pause = 0;
            }
            return Ok(());
        };
        let verdict = self.verdict(id, &point);
        self.note(&point, &verdict)?;
        self.gates.release(id, verdict.clone());
        if let Verdict::Late(by) = verdict {
            self.let_in_after(by, id);
        }
        let by = Duration::from_millis(self.random.below(LONGEST_MS + 1) as u64);
        drive(runtime, &self.gates);
        let mut judged = Ok(());
        if let Some(store) = store {
            let (machine, now, count) = (&self.machine, self.clock.elapsed(), self.happened.count);
            let mut seen = Seen { store, machine, now, point: &point, verdict: &verdict, count, runtime };
            if let Some(teller) = &mut self.teller {
                teller(&mut seen);
            }
            if let Some(watcher) = &mut self.watcher {
                judged = watcher(&mut seen);
            }
        }
        self.pass(by);
        judged.map_err(|broken| self.trouble(TroubleKind::Broken, broken))
    }

    /// How something that is let go on does, by what goes wrong.
    fn verdict(&mut self, id: u64, point: &Point) -> Verdict {
        match point {
            Point::Write if self.store_is_full => return Verdict::Full,
            Point::Event(..) if self.gates.is_late(id) => return Verdict::Go,
            Point::Event(_, happening) => {
                if let Some(by) = About::of(happening).and_then(|about| self.late.get(&about)) {
                    return Verdict::Late(*by);
                }
            }
            _ => {}
        }
        (self.faults)(point)
    }

    /// What is late comes in after so long; whoever was to hear it may be gone by then.
    fn let_in_after(&mut self, by: Duration, id: u64) {
        let of = self.gates.clone();
        self.after(by, move |world| {
            if world.gates.are(&of) {
                of.let_in(id);
            }
        });
    }

    /// One of those that wait, by the seed. Each seed keeps some kinds of things waiting longer than others, so that
    /// orders come up that even chances never make.
    fn choose(&mut self) -> Option<(u64, Point)> {
        let (seed, grudges) = (self.seed, &mut self.grudges);
        let weigh = |point: &Point| {
            let kind = match point {
                Point::Call(op, _) | Point::Reply(op, _) => Waits::Op(*op),
                Point::Write | Point::Written(_) => Waits::Write,
                Point::Event(listener, _) | Point::Break(listener) => Waits::Listener(*listener),
            };
            *grudges.entry(kind).or_insert_with_key(|kind| {
                let mixed = format!("{kind:?}")
                    .bytes()
                    .fold(seed, |mixed, byte| Random::new(mixed ^ u64::from(byte)).next());
                GRUDGES[(mixed % GRUDGES.len() as u64) as usize]
            })
        };
        let random = self.random.next();
        self.gates.choose(random, weigh)
    }

    fn note(&mut self, point: &Point, verdict: &Verdict) -> Result<(), Trouble> {
        let happened = &mut self.happened;
        happened.count += 1;
        happened.without_pause += 1;
        happened.commits += u64::from(matches!(point, Point::Written(_)));
        happened.changes += u64::from(is_change(point));
        let ms = self.clock.elapsed().as_millis();
        let how = if *verdict == Verdict::Go { String::new() } else { format!(" -> {verdict:?}") };
        happened.line(format!("{ms:>9} {point}{how}"));
        if happened.without_pause < MOST_WITHOUT_REST {
            return Ok(());
        }
        Err(self.trouble(TroubleKind::Unrest, "it works on and on without a pause"))
    }
}

/// Whether this is the moment at which the machine is changed.
pub fn is_change(point: &Point) -> bool {
    matches!(point, Point::Call(op, _) if op.change().is_some())
}

/// Runs what can run. A clock that was moved and a gate that was opened make things run; nothing else does.
pub(super) fn drive(runtime: &Runtime, gates: &Gates) {
    runtime.block_on(gates.idle.reached());
}

#[cfg(test)]
impl World {
    /// What a watcher would see of a world that stands still, at a point and a time of one's choice.
    pub(super) fn seen<'a>(
        &'a self,
        point: &'a Point,
        verdict: &'a Verdict,
        count: u64,
        now: Duration,
    ) -> Seen<'a> {
        let process = self.process();
        let (store, machine, runtime) = (&process.store, &self.machine, &process.runtime);
        Seen { store, machine, now, point, verdict, count, runtime }
    }
}
