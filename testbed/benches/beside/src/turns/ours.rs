//! Our side: the engine over a store, and its queue alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hearth_engine::queue::Queue;
use hearth_engine::store::Beneath;
use hearth_engine::{Engine, Key, Object, Store, SystemClock};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::theirs::PRESSURE;
use super::{PRESSING, WORKERS, names_told};
use crate::lamp::{KIND, Lamp, Lamps, Looking, furnished, make_all, make_namespace, open};
use crate::options::Options;

/// Turns a second where each key is due again as soon as it has had its turn.
pub(super) async fn turns(store: &Store, keys: usize, length: Duration) -> f64 {
    let (due, again) = mpsc::unbounded_channel();
    let lamps = Lamps::new(Looking::DueAgain(due));
    *lamps.due.lock().expect("nobody else has it") = Some(again);
    let mut engine = Engine::new(store.clone(), 1);
    engine.add(lamps);
    let stop = CancellationToken::new();
    let task = tokio::spawn({
        let (engine, stop) = (engine.clone(), stop.clone());
        async move { engine.run(stop).await }
    });
    let count = || engine.diagnostics().first().map_or(0, |lamps| lamps.turns);
    // The first turns write a status each.
    while count() < 2 * keys as u64 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (first, began) = (count(), Instant::now());
    tokio::time::sleep(length).await;
    let rate = (count() - first) as f64 / began.elapsed().as_secs_f64();
    stop.cancel();
    // It has nothing that could fail.
    let _ = task.await;
    rate
}

/// Keys a second through the queue, with as many workers, each of which gives its key back at once.
pub(super) async fn queue_alone(keys: usize, length: Duration) -> f64 {
    let queue = Queue::new(Arc::new(SystemClock::start()));
    for number in 0..keys {
        queue.add(Key::new(KIND, "den", format!("lamp-{number}")));
    }
    let (count, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (queue, count) = (queue.clone(), count.clone());
        workers.spawn(async move {
            loop {
                let key = queue.take().await;
                count.fetch_add(1, Ordering::Relaxed);
                queue.done(&key);
                queue.add(key);
                tokio::task::consume_budget().await;
            }
        });
    }
    tokio::time::sleep(length).await;
    let rate = count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    workers.shutdown().await;
    rate
}

fn pressing() -> impl Iterator<Item = anyhow::Result<Object>> {
    (0..PRESSING).map(|number| furnished("den", &format!("lamp-{number}")))
}

/// Those that ask for more than can be done, as the other side keeps them.
pub(super) fn pressing_lamps() -> anyhow::Result<Vec<Arc<Lamp>>> {
    let typed = |lamp: Object| lamp.typed::<Lamp>().map(Arc::new).map_err(anyhow::Error::msg);
    pressing().map(|lamp| lamp.and_then(typed)).collect()
}

/// The names of those that had a turn, in order, while more is due than can be done. Each has had one before, so that
/// no status is left to be written.
pub(super) async fn under_pressure(options: &Options) -> anyhow::Result<Vec<String>> {
    let folder = options.folder()?;
    let store = open(folder.path(), Beneath::default()).await?;
    make_namespace(&store, "den").await?;
    make_all(&store, pressing().collect::<Result<_, _>>()?).await?;
    let (names, told) = mpsc::unbounded_channel();
    let mut engine = Engine::new(store.clone(), 1);
    engine.add(Lamps::new(Looking::Takes { work: PRESSURE.work, again: PRESSURE.again, names }));
    let stop = CancellationToken::new();
    let task = tokio::spawn({
        let (engine, stop) = (engine.clone(), stop.clone());
        async move { engine.run(stop).await }
    });
    let names = names_told(told, 2 * PRESSING).await;
    stop.cancel();
    task.await?;
    store.close().await;
    Ok(names)
}
