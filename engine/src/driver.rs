//! Drives one controller: wakes keys, takes turns, runs slow steps, looks for orphans.
//!
//! - `wake`: which change wakes which key; nothing more.
//! - `turn`: observe, plan, act, observe again, status.
//! - `classify`, `fights`, `backoff`: what a difference means, and when to act on it.
//! - `jobs`, `slots`: slow steps, and how many installs at once.
//! - `report`: from a controller's word to the status people read.
//! - `survey`: the cheap look once a minute, and orphans.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use hearth_meta::resource::KindInfo;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::controller::Controller;
use crate::diagnostics::{Counters, Diagnostics};
use crate::object::{Key, Object};
use crate::queue::Queue;
use crate::store::{Query, Store};

mod backoff;
pub(crate) mod classify;
mod fights;
mod jobs;
mod report;
mod slots;
mod survey;
mod turn;
mod wake;

use backoff::Backoff;
use fights::Fights;
use jobs::Jobs;
pub(crate) use jobs::Pool;
use slots::Slots;

pub use classify::{Class, classify};
pub use jobs::STALL_LIMIT;

/// A controller with everything the engine keeps for it.
pub(crate) struct Runner<C: Controller> {
    controller: Arc<C>,
    kind: KindInfo,
    store: Store,
    clock: Arc<dyn Clock>,
    queue: Queue,
    jobs: Jobs<C::Step>,
    backoff: Mutex<Backoff>,
    fights: Mutex<Fights>,
    slots: Option<Mutex<Slots>>,
    /// The generation each key was last turned for: a newer wish starts afresh.
    generations: Mutex<HashMap<Key, Vec<i64>>>,
    survey: Mutex<survey::Memory>,
    counters: Counters,
}

/// A runner of any controller.
#[async_trait]
pub(crate) trait Runnable: Send + Sync {
    /// Runs until cancelled.
    async fn run(self: Arc<Self>, workers: usize, stop: CancellationToken);
    /// How it stands.
    fn diagnostics(&self) -> Diagnostics;
    /// Makes every key due.
    fn wake_all(&self);
    /// Whether nothing is due, waiting or under way but deadlines.
    fn is_idle(&self) -> bool;
}

/// What a runner is made with besides its controller.
pub(crate) struct RunnerOptions {
    pub(crate) store: Store,
    pub(crate) pool: Pool,
    /// How many installs or updates may go on at once; `None` means the controller has none.
    pub(crate) slots: Option<usize>,
    pub(crate) seed: u64,
}

impl<C: Controller> Runner<C> {
    pub(crate) fn new(controller: C, options: RunnerOptions) -> Self {
        let RunnerOptions { store, pool, slots, seed } = options;
        let kind = <C::Kind as kube::Resource>::kind(&()).into_owned();
        let kind = store.kind(&kind).expect("a controller is added only for a kind of the store").clone();
        let clock = store.clock().clone();
        let queue = Queue::new(clock.clone());
        Self {
            controller: Arc::new(controller),
            jobs: Jobs::new(queue.clone(), clock.clone(), pool),
            queue,
            backoff: Mutex::new(Backoff::seeded(seed)),
            fights: Mutex::default(),
            slots: slots.map(|count| Mutex::new(Slots::new(count))),
            generations: Mutex::default(),
            survey: Mutex::default(),
            counters: Counters::default(),
            kind,
            store,
            clock,
        }
    }

    /// The key an object is worked on under.
    fn key_of(&self, object: &Object) -> Key {
        if C::IS_SET { self.whole() } else { object.key() }
    }

    /// The one key of a set.
    fn whole(&self) -> Key {
        Key::new(self.kind.kind, "", "*")
    }

    fn add_all(&self) {
        if C::IS_SET {
            self.queue.add(self.whole());
        }
        for object in self.store.list(&Query::of(self.kind.kind)).items {
            self.queue.add(self.key_of(&object));
        }
    }

    async fn work(self: Arc<Self>, stop: CancellationToken) {
        loop {
            let key = tokio::select! { biased;
                () = stop.cancelled() => return,
                key = self.queue.take() => key,
            };
            // A turn that has begun is finished: it is short, and its last write is its status.
            self.turn(&key).await;
            self.queue.done(&key);
        }
    }
}

#[async_trait]
impl<C: Controller> Runnable for Runner<C> {
    async fn run(self: Arc<Self>, workers: usize, stop: CancellationToken) {
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(self.clone().wake_on_changes(stop.clone()));
        tasks.spawn(self.clone().wake_on_backend(stop.clone()));
        tasks.spawn(self.clone().survey_on_time(stop.clone()));
        for _ in 0..if C::IS_SET { 1 } else { workers } {
            tasks.spawn(self.clone().work(stop.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(controller = C::NAME, error = %error, "a task of the engine ended badly");
            }
        }
        self.jobs.cancel_all();
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics {
            controller: C::NAME,
            kind: self.kind.kind,
            waiting: self.queue.waiting(),
            busy: self.queue.busy(),
            failing: lock(&self.backoff).failing(),
            slow_steps: self.jobs.count(),
            slots_held: self.slots.as_ref().map_or(0, |slots| lock(slots).held()),
            orphans: lock(&self.survey).orphans(),
            breaker: lock(&self.survey).breaker(),
            ..self.counters.read()
        }
    }

    fn wake_all(&self) {
        self.add_all();
    }

    fn is_idle(&self) -> bool {
        self.queue.busy() == 0
            && self.jobs.count() == 0
            && self.queue.next_due().is_none_or(|due| due > self.clock.elapsed())
    }
}

/// A poisoned lock guards plain data that is whole between statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
