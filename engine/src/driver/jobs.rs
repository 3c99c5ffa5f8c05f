//! Slow steps: they run beside the turns on a bounded pool, tell how far they are, and can be cancelled.
//!
//! A hung one holds only its place in the pool. One that makes no progress for [`STALL_LIMIT`] is given up.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_meta::{Progress, Reason, Time};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::controller::StepError;
use crate::object::Key;
use crate::queue::Queue;

/// How long a slow step may go without an advance.
pub const STALL_LIMIT: Duration = Duration::from_secs(180);

/// How often at most an advance wakes the key.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The places for slow work, shared by every controller.
#[derive(Clone)]
pub(crate) struct Pool {
    places: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)) }
    }
}

/// The slow steps of one controller, at most one a key.
pub(super) struct Jobs<S> {
    jobs: Mutex<HashMap<Key, Job<S>>>,
    /// Told when a step has ended.
    queue: Queue,
    clock: Arc<dyn Clock>,
    pool: Pool,
}

struct Job<S> {
    step: S,
    shared: Arc<Shared>,
}

/// What the job and the turns of its key both see.
pub(super) struct Shared {
    pub(super) cancel: CancellationToken,
    state: Mutex<JobState>,
}

#[derive(Default)]
struct JobState {
    progress: Option<Progress>,
    advanced_at: Duration,
    told_at: Option<Duration>,
    result: Option<Result<(), StepError>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an advance; whether it is time to tell.
    pub(super) fn advance(&self, mut progress: Progress, clock: &dyn Clock) -> bool {
        let now = clock.elapsed();
        let mut state = self.lock();
        let started = state.progress.as_ref().and_then(|p| p.started_at.clone());
        progress.started_at = started.or_else(|| Some(Time(clock.now())));
        progress.last_advance_at = Some(Time(clock.now()));
        state.progress = Some(progress);
        state.advanced_at = now;
        let tell = state.told_at.is_none_or(|told| now.saturating_sub(told) >= TELL_EVERY);
        if tell {
            state.told_at = Some(now);
        }
        tell
    }
}

/// How a key's slow step stands.
pub(super) enum Standing {
    /// There is none, or there was another, which is cancelled now.
    None,
    /// It is under way.
    Running(Option<Progress>),
    /// It has ended; this is told once.
    Ended(Result<(), StepError>),
}

impl<S: PartialEq> Jobs<S> {
    pub(super) fn new(queue: Queue, clock: Arc<dyn Clock>, pool: Pool) -> Self {
        Self { jobs: Mutex::new(HashMap::new()), queue, clock, pool }
    }

    /// How the wanted step stands. Any other step of the key is cancelled: no plan holds it any more.
    pub(super) fn standing(&self, key: &Key, wanted: Option<&S>) -> Standing {
        let mut jobs = self.lock();
        let Some(job) = jobs.get(key) else { return Standing::None };
        if Some(&job.step) != wanted {
            job.shared.cancel.cancel();
            jobs.remove(key);
            return Standing::None;
        }
        let mut state = job.shared.lock();
        match state.result.take() {
            Some(result) => {
                drop(state);
                jobs.remove(key);
                Standing::Ended(result)
            }
            None => Standing::Running(state.progress.clone()),
        }
    }

    /// Starts a slow step. `work` is given what it tells progress and hears cancellation through.
    pub(super) fn start<W, F>(&self, key: Key, step: S, work: W)
    where
        W: FnOnce(Arc<Shared>) -> F,
        F: Future<Output = Result<(), StepError>> + Send + 'static,
    {
        let shared = Arc::new(Shared { cancel: CancellationToken::new(), state: Mutex::default() });
        self.lock().insert(key.clone(), Job { step, shared: shared.clone() });
        let work = work(shared.clone());
        let (queue, clock, pool) = (self.queue.clone(), self.clock.clone(), self.pool.clone());
        tokio::spawn(async move {
            let result = tokio::select! { biased;
                () = shared.cancel.cancelled() => return,
                result = in_turn(&shared, &*clock, &pool, work) => result,
            };
            shared.lock().result = Some(result);
            queue.add(key);
        });
    }

    /// Cancels everything, at the end.
    pub(super) fn cancel_all(&self) {
        for (_, job) in self.lock().drain() {
            job.shared.cancel.cancel();
        }
    }

    /// How many are under way or wait for a place.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Job<S>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a place, then works, watched for stalls.
async fn in_turn(
    shared: &Shared,
    clock: &dyn Clock,
    pool: &Pool,
    work: impl Future<Output = Result<(), StepError>>,
) -> Result<(), StepError> {
    let _place = pool.places.acquire().await;
    shared.lock().advanced_at = clock.elapsed();
    tokio::select! { biased;
        result = work => result,
        () = stalled(shared, clock) => {
            let message = format!("it made no progress for {} s", STALL_LIMIT.as_secs());
            Err(StepError::new(Reason::Stalled, message))
        }
    }
}

async fn stalled(shared: &Shared, clock: &dyn Clock) {
    loop {
        let limit = shared.lock().advanced_at.saturating_add(STALL_LIMIT);
        if clock.elapsed() >= limit {
            return;
        }
        clock.sleep_until(limit).await;
    }
}
