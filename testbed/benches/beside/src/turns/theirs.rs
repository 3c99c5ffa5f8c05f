//! The other side: kube-runtime's `applier` over its own store in memory.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use hearth_engine::Controller;
use hearth_engine::controller::{Outcome, Wanted, spec_hash};
use hearth_meta::Timestamp;
use kube_runtime::controller::{Action, Config, ReconcileRequest, applier};
use kube_runtime::reflector::{self, ObjectRef};
use kube_runtime::watcher::Event;
use tokio::sync::mpsc;

use super::{WORKERS, names_told};
use crate::lamp::{Lamp, Lamps, Looking};

/// How long one turn takes under pressure, and how soon the key is due again.
pub(super) struct Pressure {
    pub(super) work: Duration,
    pub(super) again: Duration,
}

/// Four at a time, a millisecond each, are at most 4,000 a second; 1,000 keys every 25 ms ask for 40,000.
pub(super) const PRESSURE: Pressure =
    Pressure { work: Duration::from_millis(1), again: Duration::from_millis(25) };

type Reconciled = BoxFuture<'static, Result<Action, Infallible>>;

/// Reconciles a second where each key is due again as soon as it has had its turn.
pub(super) async fn turns(lamps: &[Arc<Lamp>], does_as_much: bool, length: Duration) -> f64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let reconcile = move |lamp: Arc<Lamp>| -> Reconciled {
        counted.fetch_add(1, Ordering::Relaxed);
        if does_as_much {
            look(&lamp);
        }
        std::future::ready(Ok(Action::requeue(Duration::ZERO))).boxed()
    };
    let task = tokio::spawn(run(lamps, reconcile));
    while count.load(Ordering::Relaxed) < 2 * lamps.len() as u64 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (first, began) = (count.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(length).await;
    let rate = (count.load(Ordering::Relaxed) - first) as f64 / began.elapsed().as_secs_f64();
    task.abort();
    rate
}

/// The pure functions of a turn of ours: what it is, how it differs, what to do, what to tell, and whether that is
/// new.
fn look(lamp: &Arc<Lamp>) {
    let lamps = Lamps::new(Looking::Nothing);
    let wanted = Wanted { object: lamp.clone(), gone: false, now: Timestamp::now() };
    let seen = lamps.diff(&wanted, &());
    let target = lamps.target(&wanted, &()).unwrap_or_else(|| spec_hash(&wanted.object.spec));
    let plan = lamps.plan(std::slice::from_ref(&wanted), &());
    let report = lamps.status(&wanted, Ok(&()), &Outcome::Steady);
    let is_news = lamp.status.as_ref() != Some(&report.status);
    std::hint::black_box((seen, target, plan, is_news));
}

/// The names of those that had a turn, in order, while more is due than can be done.
pub(super) async fn under_pressure(lamps: &[Arc<Lamp>]) -> Vec<String> {
    let (names, told) = mpsc::unbounded_channel();
    let reconcile = move |lamp: Arc<Lamp>| -> Reconciled {
        // Whoever listens has gone once enough was told.
        let _ = names.send(lamp.metadata.name.clone().unwrap_or_default());
        async {
            tokio::time::sleep(PRESSURE.work).await;
            Ok(Action::requeue(PRESSURE.again))
        }
        .boxed()
    };
    let task = tokio::spawn(run(lamps, reconcile));
    let names = names_told(told, 0).await;
    task.abort();
    names
}

/// Every lamp asks for its first turn; what comes then is the applier's.
fn run<R>(lamps: &[Arc<Lamp>], mut reconcile: R) -> impl Future<Output = ()> + Send + use<R>
where
    R: FnMut(Arc<Lamp>) -> Reconciled + Send + 'static,
{
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&Event::Init);
    lamps.iter().for_each(|lamp| writer.apply_watcher_event(&Event::InitApply(Lamp::clone(lamp))));
    writer.apply_watcher_event(&Event::InitDone);
    let first: Vec<_> =
        lamps.iter().map(|lamp| Ok(ReconcileRequest::from(ObjectRef::from_obj(lamp.as_ref())))).collect();
    // It never ends, or the applier would.
    let queue = futures::stream::iter(first).chain(futures::stream::pending::<Result<_, Infallible>>());
    let never = |_: Arc<Lamp>, _: &Infallible, _: Arc<()>| Action::await_change();
    let config = Config::default().concurrency(WORKERS);
    let reconciler = move |lamp, _: Arc<()>| reconcile(lamp);
    let turns = applier(reconciler, never, Arc::new(()), store, queue, config);
    async move {
        // The writer goes with the store it writes.
        let _writer = writer;
        turns.for_each(|_| std::future::ready(())).await;
    }
}
