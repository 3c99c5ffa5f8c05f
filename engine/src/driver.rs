//! Drives one controller: wakes keys, takes turns, runs slow steps, looks for orphans.
//!
//! - `wake`: which change wakes which key; nothing more.
//! - `turn`: observe, plan, act, observe again, status.
//! - `steps`: a step with its intent and its event.
//! - `classify`, `hold`, `fights`, `backoff`: what a difference means, and when to act on it.
//! - `drift`: a change from outside that stands, and what people answered.
//! - `jobs`, `slots`: slow steps, and how many installs at once.
//! - `readings`: stored objects as typed ones, kept from turn to turn.
//! - `report`: from a controller's word to the status people read.
//! - `first_look`: nothing is changed before it is known what is there.
//! - `survey`: the cheap look once a minute. `orphans`: what is asked about them, and what was answered.
//!
//! A backend that hangs, and a controller that panics, cost one key one turn: both end as a look that could not
//! tell or a step that failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hearth_meta::resource::KindInfo;
use hearth_meta::{FieldDiff, Problem};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::controller::{Blind, Controller, Foreseen, Step, Wanted};
use crate::diagnostics::{Counters, Diagnostics};
use crate::followed::Followed;
use crate::object::{Key, Object};
use crate::panics::caught;
use crate::queue::Queue;
use crate::store::{Query, Store};

mod backoff;
pub(crate) mod classify;
mod drift;
mod fights;
mod first_look;
mod hold;
mod jobs;
mod pace;
mod readings;
mod report;
mod slots;
mod steps;
mod survey;
mod orphans;
mod turn;
mod wake;

use backoff::Retries;
use fights::Fights;
pub(crate) use first_look::FirstLook;
use jobs::Jobs;
use jobs::Pool;
use pace::Pace;
use readings::Readings;
use slots::Slots;

pub use classify::{Class, classify};
pub use jobs::STALL_LIMIT;
pub use orphans::{Orphan, OrphanSet, Orphans};

/// A controller with everything the engine keeps for it.
pub(crate) struct Runner<C: Controller> {
    controller: Arc<C>,
    kind: KindInfo,
    store: Store,
    clock: Arc<dyn Clock>,
    queue: Queue,
    jobs: Jobs<C::Step>,
    pool: Pool,
    retries: Mutex<Retries<C::Step>>,
    fights: Mutex<Fights>,
    /// When a set was written lately.
    pace: Mutex<Pace>,
    slots: Option<Mutex<Slots>>,
    /// What each key was last turned for: a newer wish starts afresh.
    wishes: Mutex<HashMap<Key, Vec<Wish>>>,
    readings: Mutex<Readings<C::Kind>>,
    /// How far the store's changes have been turned into due keys.
    followed: Followed,
    survey: Mutex<survey::Memory>,
    /// A person has answered: the next survey is due now.
    look_for_orphans: Notify,
    first_look: Arc<FirstLook>,
    /// Whether keys that were held back until the first look was over are due again.
    is_released: AtomicBool,
    counters: Counters,
}

/// A generation, and a person's poke.
type Wish = (i64, Option<String>);

/// How long turns that have begun may take to end when the engine stops. What is given up then is found
/// interrupted at the next start, as after a crash.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A runner of any controller.
#[async_trait]
pub(crate) trait Runnable: Send + Sync {
    /// Runs until cancelled.
    async fn run(self: Arc<Self>, workers: usize, stop: CancellationToken);
    /// How it stands.
    fn diagnostics(&self) -> Diagnostics;
    /// The kind it makes true.
    fn kind(&self) -> &'static str;
    /// What stands without an object, where a person was asked about it.
    fn orphans(&self) -> Option<Orphans>;
    /// Makes every key due.
    fn wake_all(&self);
    /// The spec of an object with what is seen of it taken over, field by field of these differences.
    fn keep(&self, object: &Object, differences: &[FieldDiff]) -> Result<Value, Vec<Problem>>;
    /// What would be done if an object were as it is given here. `None` where the kind is one set, of which no part
    /// can be looked at alone, or the object is not one of the kind.
    async fn foresee(&self, object: &Object) -> Option<Result<Vec<Foreseen>, Blind>>;
    /// Whether it runs and nothing is due or under way: every change of the store was followed, and what waits is
    /// due later.
    fn is_idle(&self) -> bool;
}

/// What a runner is made with besides its controller.
pub(crate) struct RunnerOptions {
    pub(crate) store: Store,
    /// How many installs or updates may go on at once; `None` means the controller has none.
    pub(crate) slots: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) first_look: Arc<FirstLook>,
}

impl<C: Controller> Runner<C> {
    pub(crate) fn new(controller: C, options: RunnerOptions) -> Self {
        let RunnerOptions { store, slots, seed, first_look } = options;
        let kind = <C::Kind as kube::Resource>::kind(&()).into_owned();
        let kind = store.kind(&kind).expect("a controller is added only for a kind of the store").clone();
        let clock = store.clock().clone();
        let queue = Queue::new(clock.clone());
        if C::TELLS_VERSIONS {
            first_look.expect(C::NAME);
        }
        // Each controller has places of its own: what hangs in one never holds up another.
        let pool = Pool::new(C::SLOW_PLACES);
        Self {
            controller: Arc::new(controller),
            jobs: Jobs::new(queue.clone(), clock.clone(), pool.clone()),
            pool,
            queue,
            retries: Mutex::new(Retries::seeded(seed)),
            fights: Mutex::default(),
            pace: Mutex::default(),
            slots: slots.map(|count| Mutex::new(Slots::new(count))),
            wishes: Mutex::default(),
            readings: Mutex::default(),
            followed: Followed::default(),
            survey: Mutex::default(),
            look_for_orphans: Notify::new(),
            first_look,
            is_released: AtomicBool::new(false),
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
            if let Err(words) = caught(self.turn(&key)).await {
                tracing::error!(controller = C::NAME, name = %key, words, "a controller panicked");
                self.counters.failed(&words);
                let retry = lock(&self.retries).look_failed(&key, &*self.clock);
                self.queue.add_after(key.clone(), retry.due.saturating_sub(self.clock.elapsed()));
            }
            self.queue.done(&key);
        }
    }

    /// Does something of the controller's that must not take for ever; `None` where it did.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! { biased;
            done = work => Some(done),
            () = self.clock.sleep(limit) => None,
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
        tasks.spawn(self.clone().wake_after_first_look(stop.clone()));
        for _ in 0..if C::IS_SET { 1 } else { workers } {
            tasks.spawn(self.clone().work(stop.clone()));
        }
        let overdue = async {
            stop.cancelled().await;
            self.clock.sleep(STOP_LIMIT).await;
        };
        tokio::pin!(overdue);
        loop {
            let ended = tokio::select! { biased;
                ended = tasks.join_next() => ended,
                () = &mut overdue => {
                    tracing::warn!(controller = C::NAME, "a turn did not end in time and is given up");
                    tasks.shutdown().await;
                    break;
                }
            };
            match ended {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::error!(controller = C::NAME, error = %error, "a task of the engine ended badly");
                }
                None => break,
            }
        }
        self.jobs.cancel_all().await;
    }

    fn diagnostics(&self) -> Diagnostics {
        // Each lock on its own: two of one mutex in one expression would wait for each other.
        let (orphans, breaker) = {
            let survey = lock(&self.survey);
            (survey.orphans(), survey.breaker())
        };
        Diagnostics {
            controller: C::NAME,
            kind: self.kind.kind,
            waiting: self.queue.waiting(),
            busy: self.queue.busy(),
            failing: lock(&self.retries).failing(),
            slow_steps: self.jobs.count(),
            slots_held: self.slots.as_ref().map_or(0, |slots| lock(slots).held()),
            orphans,
            breaker,
            ..self.counters.read()
        }
    }

    fn kind(&self) -> &'static str {
        self.kind.kind
    }

    fn orphans(&self) -> Option<Orphans> {
        lock(&self.survey).shown(self.kind.kind)
    }

    fn wake_all(&self) {
        self.add_all();
    }

    fn keep(&self, object: &Object, differences: &[FieldDiff]) -> Result<Value, Vec<Problem>> {
        let mut spec = object.spec().clone();
        let kept = |difference: &FieldDiff| {
            let kept = self.controller.keep(&mut spec, difference);
            kept.err().map(|why| Problem::new(difference.field.clone(), why))
        };
        let problems: Vec<Problem> = differences.iter().filter_map(kept).collect();
        if problems.is_empty() { Ok(spec) } else { Err(problems) }
    }

    async fn foresee(&self, object: &Object) -> Option<Result<Vec<Foreseen>, Blind>> {
        let typed = (!C::IS_SET).then(|| readings::typed(object).ok()).flatten()?;
        let wanted = Wanted { object: Arc::new(typed), gone: object.is_going(), now: self.clock.now() };
        let facts = match self.controller.observe(std::slice::from_ref(&wanted)).await {
            Ok(facts) => facts,
            Err(blind) => return Some(Err(blind)),
        };
        let shown = |step: &C::Step| Foreseen {
            doing: step.doing(),
            takes_away: step.takes_away(),
            writes: step.writes().to_vec(),
        };
        Some(Ok(self.controller.foresee(&wanted, &facts).iter().map(shown).collect()))
    }

    fn is_idle(&self) -> bool {
        let is_held = self.first_look.is_over() && !self.is_released.load(Ordering::Acquire);
        let found_nothing_more = self.followed.has_reached(self.store.resource_version())
            && !lock(&self.survey).is_under_way()
            && !is_held;
        found_nothing_more
            && self.queue.busy() == 0
            && self.jobs.count() == 0
            && self.queue.next_due().is_none_or(|due| due > self.clock.elapsed())
    }
}

/// A poisoned lock guards plain data that is whole between statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
