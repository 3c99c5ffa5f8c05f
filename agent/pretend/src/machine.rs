//! The machine itself: its lock, its clock, and the way every call takes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_capabilities::{Fault, Happening};
use hearth_engine::Clock;
use hearth_meta::Time;
use tokio::sync::{Notify, mpsc};

use crate::containers::life;
use crate::faults::{Answered, Backend, Faults, Gate, Op};
use crate::state::{Moment, State};

/// A pretend machine. Clones are the same machine.
#[derive(Clone)]
pub struct Machine {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    parts: Mutex<Parts>,
    /// Wakes whoever waits for something to change.
    changed: Notify,
}

#[derive(Default)]
struct Parts {
    state: State,
    faults: Faults,
    listeners: Vec<mpsc::UnboundedSender<Result<Happening, Fault>>>,
    file: Option<PathBuf>,
}

impl Machine {
    /// A machine with nothing on it, whose time is that of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let inner = Inner { clock, parts: Mutex::default(), changed: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// A machine of its own that stands as this one does now, with what goes wrong with it, and without its
    /// listeners. Its time is that of `clock`, which must read the same.
    pub fn fork(&self, clock: Arc<dyn Clock>) -> Self {
        let faults = self.with_faults(|faults| faults.clone());
        let parts = Parts { state: self.snapshot(), faults, ..Parts::default() };
        let inner = Inner { clock, parts: Mutex::new(parts), changed: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// The name of the container or network of this id or name; what nothing goes by stays as it is.
    pub fn name_of(&self, id: &str) -> String {
        let name = self.look(|state| {
            state.container_name(id).or_else(|| state.network(id).map(|network| network.name.clone()))
        });
        name.unwrap_or_else(|| id.to_owned())
    }

    /// Every change that was asked for, such as `create container photos-web`, and how often.
    ///
    /// Between two looks at a steady home nothing here grows.
    pub fn writes(&self) -> BTreeMap<String, u64> {
        self.look(|state| state.writes.clone())
    }

    /// All changes that were asked for, in one number.
    pub fn write_count(&self) -> u64 {
        self.look(|state| state.writes.values().sum())
    }

    /// The machine's clock.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// The way of every call: it waits, may fail, is carried out, and its answer may be lost.
    pub(crate) async fn call<T>(
        &self,
        op: Op,
        object: &str,
        work: impl FnOnce(&mut State) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let answered = self.arrive(op).await?;
        let answer = if op.change().is_some() {
            self.change(|state| {
                let counted = state.container_name(object).unwrap_or_else(|| object.to_owned());
                state.count(op, &counted);
                work(state)
            })
        } else {
            self.look_as_told(op, work)
        };
        self.answer(answered, answer).await
    }

    /// Lets the answer come, or not.
    pub(crate) async fn answer<T>(&self, answered: Answered, answer: Result<T, Fault>) -> Result<T, Fault> {
        match answered {
            Answered::Comes => answer,
            Answered::IsLost => Err(Fault::Blind("the answer was lost".into())),
            Answered::NeverComes => self.stop_for_ever().await,
        }
    }

    async fn stop_for_ever<T>(&self) -> T {
        self.with_faults(|faults| faults.stopped += 1);
        std::future::pending().await
    }

    /// Waits as long as the call takes to arrive; says what will become of its answer.
    pub(crate) async fn arrive(&self, op: Op) -> Result<Answered, Fault> {
        loop {
            let changed = self.inner.changed.notified();
            let gate = self.parts().faults.gate(op);
            match gate {
                Gate::Hung => changed.await,
                Gate::Open(Duration::ZERO) => break,
                Gate::Open(delay) => {
                    self.inner.clock.sleep(delay).await;
                    break;
                }
            }
        }
        let taken = self.parts().faults.take(op)?;
        match taken {
            Some(answered) => Ok(answered),
            None => self.stop_for_ever().await,
        }
    }

    /// Looks at what is there, or at what the faults say is.
    fn look_as_told<T>(&self, op: Op, work: impl FnOnce(&mut State) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut parts = self.up_to_date();
        let is_told = op.backend() == Backend::Engine;
        if is_told && parts.faults.says_nothing_is_there {
            return work(&mut State::default());
        }
        match parts.faults.stale.as_deref() {
            Some(stale) if is_told => work(&mut stale.clone()),
            _ => work(&mut parts.state),
        }
    }

    /// Looks at what is there.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&State) -> T) -> T {
        work(&self.up_to_date().state)
    }

    /// Changes what is there, tells of it and saves it.
    pub(crate) fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut parts = self.up_to_date();
        let answer = work(&mut parts.state);
        // What was started may be due at once.
        parts.catch_up(&self.moment());
        parts.publish();
        parts.save();
        drop(parts);
        self.inner.changed.notify_waiters();
        answer
    }

    pub(crate) fn snapshot(&self) -> State {
        self.look(State::clone)
    }

    pub(crate) fn with_faults<T>(&self, work: impl FnOnce(&mut Faults) -> T) -> T {
        let answer = work(&mut self.parts().faults);
        self.inner.changed.notify_waiters();
        answer
    }

    /// Puts in place what was saved, and saves there from now on.
    pub(crate) fn take_over(&self, saved: Option<State>, file: PathBuf) {
        let mut parts = self.parts();
        if let Some(mut state) = saved {
            life::shift(&mut state, self.inner.clock.elapsed());
            parts.state = state;
        }
        parts.file = Some(file);
        parts.save();
    }

    /// A new listener to what happens; `Err` while the engine is out of reach.
    pub(crate) fn listen(&self) -> Result<mpsc::UnboundedReceiver<Result<Happening, Fault>>, Fault> {
        let mut parts = self.up_to_date();
        if parts.faults.is_out_of_reach(Backend::Engine) {
            return Err(Fault::Blind("no answer: connection refused".into()));
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        // Whoever hears this listens already, so nothing is missed after it.
        let _ = sender.send(Ok(Happening::Listening));
        parts.listeners.push(sender);
        Ok(receiver)
    }

    /// Ends every event stream with a fault, as a lost connection does.
    pub fn end_event_streams(&self) {
        for listener in self.parts().listeners.drain(..) {
            let _ = listener.send(Err(Fault::Blind("the event stream broke off".into())));
        }
    }

    /// Waits until something may have changed: somebody did something, or the next thing is due.
    pub(crate) async fn next_change(&self) {
        let changed = self.inner.changed.notified();
        let due = self.look(life::next_due);
        match due {
            Some(due) => {
                tokio::select! {
                    biased;
                    () = changed => {}
                    () = self.inner.clock.sleep_until(due) => {}
                }
            }
            None => changed.await,
        }
        // Lets happen what is due, so that it is told.
        drop(self.up_to_date());
    }

    /// How long each step of a pull takes.
    pub(crate) fn pull_step(&self) -> Duration {
        self.parts().faults.latency.pull_step
    }

    fn moment(&self) -> Moment {
        Moment { elapsed: self.inner.clock.elapsed(), wall: Time(self.inner.clock.now()) }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.inner.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts, with everything having happened that is due by now.
    fn up_to_date(&self) -> MutexGuard<'_, Parts> {
        let mut parts = self.parts();
        if parts.catch_up(&self.moment()) {
            parts.publish();
            parts.save();
            self.inner.changed.notify_waiters();
        }
        parts
    }
}

impl Parts {
    /// Lets happen what is due; `true` if anything did.
    fn catch_up(&mut self, now: &Moment) -> bool {
        life::advance(&mut self.state, now)
    }

    fn publish(&mut self) {
        let untold = std::mem::take(&mut self.state.untold);
        if self.faults.drops_events {
            return;
        }
        for happening in untold {
            self.listeners.retain(|listener| listener.send(Ok(happening.clone())).is_ok());
        }
    }

    fn save(&self) {
        if let Some(file) = &self.file {
            crate::saved::save(&self.state, file);
        }
    }
}
