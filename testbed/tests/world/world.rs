//! The product's own world, as a test wants it: what goes wrong fails the test, with the last of what happened.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Once;

use hearth_engine::WriteError;
use serde_json::Value;
use tokio::task::JoinHandle;

/// How many lines of the trace a failure shows.
const SHOWN_LINES: usize = 300;

/// A world whose troubles are failures.
pub(crate) struct World(hearth::world::World);

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self(hearth::world::World::new(seed).unwrap())
    }

    pub(crate) fn fork(&self, seed: u64) -> Self {
        Self(self.0.fork(seed).unwrap())
    }

    pub(crate) fn start(&mut self) {
        self.0.start().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn step(&mut self) {
        self.0.step().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn settle(&mut self) {
        self.0.settle().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn apply(&mut self, object: &Value) {
        self.0.apply(object).unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn delete(&mut self, kind: &str, name: &str) {
        self.0.delete(kind, name).unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn until_over<T>(&mut self, task: JoinHandle<Result<T, WriteError>>) -> Result<T, WriteError> {
        self.0.until_over(task).unwrap_or_else(|trouble| self.fail(&trouble.said))
    }

    pub(crate) fn all_is_well(&self) {
        self.0.all_is_well().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn is_steady(&mut self) {
        self.0.is_steady().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    pub(crate) fn restarts_the_same(&mut self) {
        self.0.restarts_the_same().unwrap_or_else(|trouble| self.fail(&trouble.said));
    }

    fn fail(&self, said: &str) -> ! {
        panic!("seed {}: {said}", self.seed)
    }
}

impl Deref for World {
    type Target = hearth::world::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

thread_local! {
    /// Whether a failure is tried out and not to be told.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does something whose failure is not told.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                told(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}

impl Drop for World {
    fn drop(&mut self) {
        // What was only cut off, before anything happened in it, has nothing to tell.
        if std::thread::panicking() && !QUIET.get() && self.happened.count > 0 {
            println!("the last of what happened (seed {}):\n{}", self.seed, self.happened.tail(SHOWN_LINES));
        }
    }
}
