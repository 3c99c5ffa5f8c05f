//! All controllers of a process, run over one store.

use std::sync::Arc;

use hearth_meta::{FieldDiff, Problem};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::controller::{Blind, Controller, Foreseen};
use crate::diagnostics::Diagnostics;
use crate::driver::{FirstLook, Orphans, Runnable, Runner, RunnerOptions};
use crate::followed::Followed;
use crate::object::Object;
use crate::owners;
use crate::store::Store;

/// How many keys of one controller are worked on at once.
const WORKERS: usize = 4;

/// Controllers over a store. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    store: Store,
    runners: Vec<Arc<dyn Runnable>>,
    collected: Followed,
    first_look: Arc<FirstLook>,
    seed: u64,
}

impl Engine {
    /// An engine without controllers. Equal seeds give equal jitter.
    pub fn new(store: Store, seed: u64) -> Self {
        Self { store, runners: Vec::new(), collected: Followed::default(), first_look: Arc::default(), seed }
    }

    /// Adds a controller.
    ///
    /// # Panics
    /// Where its kind is not one of the store's.
    pub fn add<C: Controller>(&mut self, controller: C) {
        self.add_runner(controller, None);
    }

    /// Adds a controller of which at most `slots` keys may be installing or updating at once (AL-59).
    ///
    /// # Panics
    /// Where its kind is not one of the store's.
    pub fn add_with_slots<C: Controller>(&mut self, controller: C, slots: usize) {
        self.add_runner(controller, Some(slots));
    }

    fn add_runner<C: Controller>(&mut self, controller: C, slots: Option<usize>) {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let options = RunnerOptions {
            store: self.store.clone(),
            slots,
            seed: self.seed,
            first_look: self.first_look.clone(),
        };
        self.runners.push(Arc::new(Runner::new(controller, options)));
    }

    /// Runs every controller, and collection, until cancelled. Turns that have begun are finished.
    pub async fn run(&self, stop: CancellationToken) {
        let mut tasks = JoinSet::new();
        tasks.spawn(owners::collect(self.store.clone(), self.collected.clone(), stop.clone()));
        for runner in &self.runners {
            tasks.spawn(runner.clone().run(WORKERS, stop.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(error = %error, "a task of the engine ended badly");
            }
        }
    }

    /// How every controller stands.
    pub fn diagnostics(&self) -> Vec<Diagnostics> {
        self.runners.iter().map(|runner| runner.diagnostics()).collect()
    }

    /// What stands without an object, where a person was asked about it or wants it kept.
    pub fn orphans(&self) -> Vec<Orphans> {
        self.runners.iter().filter_map(|runner| runner.orphans()).collect()
    }

    /// The spec of an object with what is seen of it taken over, field by field of these differences; `None` where no
    /// controller makes its kind true.
    ///
    /// # Errors
    /// Each field that cannot be taken over, with the reason.
    pub fn keep(&self, object: &Object, differences: &[FieldDiff]) -> Option<Result<Value, Vec<Problem>>> {
        let runner = self.runners.iter().find(|runner| runner.kind() == object.kind)?;
        Some(runner.keep(object, differences))
    }

    /// What would be done if an object were as it is given here, as its controller sees the machine now; nothing is
    /// done. `None` where nobody can tell for its kind.
    pub async fn foresee(&self, object: &Object) -> Option<Result<Vec<Foreseen>, Blind>> {
        let runner = self.runners.iter().find(|runner| runner.kind() == object.kind)?;
        runner.foresee(object).await
    }

    /// Makes every key of every controller due: a full look.
    pub fn wake_all(&self) {
        self.runners.iter().for_each(|runner| runner.wake_all());
    }

    /// Whether it runs and nothing is due or under way: every change of the store was followed, and what waits is
    /// due later. What a backend has yet to tell is not known here.
    pub fn is_idle(&self) -> bool {
        self.collected.has_reached(self.store.resource_version())
            && self.runners.iter().all(|runner| runner.is_idle())
    }
}
