//! Slow steps: they run beside the turns on a bounded pool, tell how far they are, and can be cancelled.
//!
//! A hung one holds only its place in the pool. One that makes no progress for its limit is given up. A key has
//! one at a time: the next one starts, and a turn takes a step, only after a cancelled one has ended.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_meta::{Progress, Reason, Time};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::controller::{Step, StepError};
use crate::object::Key;
use crate::panics::caught;
use crate::queue::Queue;

/// How long a step may take, or a slow one go without an advance, where it says nothing else.
pub const STALL_LIMIT: Duration = Duration::from_secs(180);

/// How often at most an advance wakes the key.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The places for slow work of one controller.
#[derive(Clone)]
pub(super) struct Pool {
    places: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)) }
    }

    /// Waits for a place, and holds it as long as what it returns.
    pub(super) async fn place(&self) -> impl Drop + use<'_> {
        self.places.acquire().await.expect("the places are never closed")
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
    task: JoinHandle<()>,
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
    /// There is none, or there was another, which has been cancelled.
    None,
    /// It is under way, or has ended a moment ago.
    Running(Option<Progress>),
}

impl<S: Step> Jobs<S> {
    pub(super) fn new(queue: Queue, clock: Arc<dyn Clock>, pool: Pool) -> Self {
        Self { jobs: Mutex::new(HashMap::new()), queue, clock, pool }
    }

    /// How the wanted step stands. Any other step of the key is cancelled: no plan holds it any more.
    pub(super) async fn standing(&self, key: &Key, wanted: &S) -> Standing {
        let found = self.look_up(key, wanted);
        if found.is_none() {
            self.cancel(key).await;
        }
        found.unwrap_or(Standing::None)
    }

    fn look_up(&self, key: &Key, wanted: &S) -> Option<Standing> {
        let jobs = self.lock();
        let job = jobs.get(key).filter(|job| job.step == *wanted)?;
        Some(Standing::Running(job.shared.lock().progress.clone()))
    }

    /// The slow step of a key, if it has ended, and how; it is told once. One that ends after this call has woken
    /// its key for the next turn.
    pub(super) fn take_ended(&self, key: &Key) -> Option<(S, Result<(), StepError>)> {
        let mut jobs = self.lock();
        let result = jobs.get(key)?.shared.lock().result.take()?;
        jobs.remove(key).map(|job| (job.step.clone(), result))
    }

    /// Cancels the slow step of a key, if there is one, and waits until it has ended.
    pub(super) async fn cancel(&self, key: &Key) {
        let job = self.lock().remove(key);
        if let Some(job) = job {
            job.end().await;
        }
    }

    /// Starts a slow step. `work` is given what it tells progress and hears cancellation through.
    pub(super) fn start<W, F>(&self, key: Key, step: S, work: W)
    where
        W: FnOnce(Arc<Shared>) -> F,
        F: Future<Output = Result<(), StepError>> + Send + 'static,
    {
        let shared = Arc::new(Shared { cancel: CancellationToken::new(), state: Mutex::default() });
        let work = work(shared.clone());
        let (queue, clock, pool) = (self.queue.clone(), self.clock.clone(), self.pool.clone());
        let (of, seen, limit) = (key.clone(), shared.clone(), step.limit());
        let task = tokio::spawn(async move {
            let result = tokio::select! { biased;
                () = seen.cancel.cancelled() => return,
                result = in_turn(&seen, &*clock, &pool, limit, work) => result,
            };
            seen.lock().result = Some(result);
            queue.add(of);
        });
        self.lock().insert(key, Job { step, shared, task });
    }

    /// Cancels everything, at the end, and waits until it has ended.
    pub(super) async fn cancel_all(&self) {
        let jobs: Vec<_> = self.lock().drain().map(|(_, job)| job).collect();
        for job in &jobs {
            job.shared.cancel.cancel();
        }
        for job in jobs {
            job.end().await;
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

impl<S> Job<S> {
    async fn end(mut self) {
        self.shared.cancel.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(error = %error, "a slow step ended badly");
        }
    }
}

/// An engine that is dropped without being stopped leaves nothing behind that goes on.
impl<S> Drop for Job<S> {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
    }
}

/// Waits for a place, then works, watched for stalls.
async fn in_turn(
    shared: &Shared,
    clock: &dyn Clock,
    pool: &Pool,
    limit: Duration,
    work: impl Future<Output = Result<(), StepError>>,
) -> Result<(), StepError> {
    let _place = pool.place().await;
    shared.lock().advanced_at = clock.elapsed();
    tokio::select! { biased;
        result = caught(work) => result.unwrap_or_else(|words| {
            Err(StepError::new(Reason::StepFailed, format!("it panicked: {words}")))
        }),
        () = stalled(shared, clock, limit) => {
            let message = format!("it made no progress for {} s", limit.as_secs());
            Err(StepError::new(Reason::Stalled, message))
        }
    }
}

async fn stalled(shared: &Shared, clock: &dyn Clock, limit: Duration) {
    loop {
        let end = shared.lock().advanced_at.saturating_add(limit);
        if clock.elapsed() >= end {
            return;
        }
        clock.sleep_until(end).await;
    }
}
