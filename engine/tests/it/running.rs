//! A running engine over a toy world, and the time it lives in.

use std::time::{Duration, Instant};

use hearth_engine::store::{EventQuery, Intent};
use hearth_engine::{Clock, Engine, Key};
use hearth_meta::CommonStatus;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::toys::{Home, key};
use crate::world::{Lamps, Signs, World};

/// An engine that keeps lamps and signs.
pub(crate) struct Running {
    pub(crate) home: Home,
    pub(crate) world: World,
    pub(crate) engine: Engine,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// How long to wait for what should come: many turns of the scheduler, and some seconds, since the disk and the other
/// threads of a busy machine need real time.
#[derive(Default)]
struct Patience {
    turns: u32,
    began: Option<Instant>,
}

#[expect(clippy::disallowed_methods, reason = "what the disk and other threads need is real time")]
impl Patience {
    const TURNS: u32 = 1_000_000;
    const TIME: Duration = Duration::from_secs(30);

    fn lasts(&mut self) -> bool {
        let began = *self.began.get_or_insert_with(Instant::now);
        self.turns = self.turns.saturating_add(1);
        self.turns < Self::TURNS || began.elapsed() < Self::TIME
    }
}

impl Running {
    pub(crate) async fn new() -> Self {
        let home = Home::new().await;
        let world = World::new(&home.store);
        Self::over(home, world, None)
    }

    /// One in which so many lamps at once may be under way.
    pub(crate) async fn with_slots(slots: usize) -> Self {
        let home = Home::new().await;
        let world = World::new(&home.store);
        Self::over(home, world, Some(slots))
    }

    pub(crate) fn over(home: Home, world: World, slots: Option<usize>) -> Self {
        let mut engine = Engine::new(home.store.clone(), 7);
        match slots {
            Some(slots) => engine.add_with_slots(Lamps(world.clone()), slots),
            None => engine.add(Lamps(world.clone())),
        }
        engine.add(Signs(world.clone()));
        let stop = CancellationToken::new();
        let (running, stopped) = (engine.clone(), stop.clone());
        let task = tokio::spawn(async move { running.run(stopped).await });
        Self { home, world, engine, stop, task }
    }

    /// Ends the engine and its process; the world stays as it is. `died` is without a word.
    pub(crate) async fn ended(self, died: bool) -> (Home, World) {
        let Self { home, world, engine, stop, task } = self;
        if died {
            task.abort();
        } else {
            stop.cancel();
        }
        // Aborted or ended is the same here.
        let _ = task.await;
        drop(engine);
        if !died {
            home.store.close().await;
        }
        (home.reopened().await, world)
    }

    /// Waits until nothing more happens at this moment.
    pub(crate) async fn settle(&self) {
        let (mut calm, mut patience) = (0, Patience::default());
        while patience.lasts() {
            tokio::task::yield_now().await;
            calm = if self.engine.is_idle() { calm + 1 } else { 0 };
            if calm > 100 {
                return;
            }
        }
        panic!("it does not come to rest: {:?}", self.engine.diagnostics());
    }

    /// Waits until something holds, while other things may hang.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let mut patience = Patience::default();
        while patience.lasts() {
            if holds(self) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{what} never came: {:?}", self.engine.diagnostics());
    }

    /// Lets others run, where nothing tells when they have.
    pub(crate) async fn breathe(&self) {
        for _ in 0..30_000 {
            tokio::task::yield_now().await;
        }
    }

    /// Lets time go by, from one thing that is due to the next.
    pub(crate) async fn pass(&self, time: Duration) {
        let end = self.home.clock.elapsed() + time;
        loop {
            self.settle().await;
            let left = end.saturating_sub(self.home.clock.elapsed());
            if left.is_zero() {
                return;
            }
            let step = self.home.clock.next_due().map_or(left, |due| due.min(left));
            self.home.clock.advance(step.max(Duration::from_nanos(1)));
        }
    }

    pub(crate) async fn seconds(&self, seconds: u64) {
        self.pass(Duration::from_secs(seconds)).await;
    }

    pub(crate) fn status(&self, kind: &str, name: &str) -> CommonStatus {
        let object = self.home.store.get(&key(kind, name)).unwrap();
        serde_json::from_value(object.status().clone()).unwrap_or_default()
    }

    /// The verdict and the reason of a lamp, such as `Ready InSync`.
    pub(crate) fn verdict(&self, name: &str) -> String {
        let status = self.status("Lamp", name);
        match (status.summary, status.reason) {
            (Some(summary), Some(reason)) => format!("{summary:?} {reason}"),
            other => format!("{other:?}"),
        }
    }

    pub(crate) fn intent(&self, kind: &str, name: &str) -> Intent {
        self.home.store.intent(self.home.store.get(&key(kind, name)).unwrap().uid()).unwrap()
    }

    /// The reasons of all events of a lamp, with how often.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, i64)> {
        let query = EventQuery { kind: Some("Lamp".into()), name: Some(name.into()), ..Default::default() };
        // Events go down with the next batch; this one is after them.
        let _ = self.home.delete(Key::new("Card", "den", "not there")).await;
        let rows = self.home.store.events(&query).await.unwrap();
        rows.into_iter().map(|row| (row.note.reason, row.count)).collect()
    }

    pub(crate) async fn paint(&self, name: &str, color: &str) {
        self.patch(name, serde_json::json!({"spec": {"color": color}})).await;
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) {
        self.home.patch(key("Lamp", name), patch).await.unwrap();
    }
}
