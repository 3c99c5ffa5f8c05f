//! How every controller stands, live: for `/metrics`, for support, and for tests.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// How a controller stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// Its name.
    pub controller: &'static str,
    /// The kind it makes true.
    pub kind: &'static str,
    /// Keys that wait, due now or later.
    pub waiting: usize,
    /// Keys that are being worked on.
    pub busy: usize,
    /// Keys whose last try failed.
    pub failing: usize,
    /// Slow steps under way or waiting for a place.
    pub slow_steps: usize,
    /// Installs and updates under way.
    pub slots_held: usize,
    /// Things of ours without an object, at the last look.
    pub orphans: usize,
    /// Why orphans are kept, where the breaker tripped.
    pub breaker: Option<String>,
    /// Turns taken since the start.
    pub turns: u64,
    /// Steps carried out since the start.
    pub steps: u64,
    /// Steps that failed since the start.
    pub failures: u64,
    /// Looks that could not tell since the start.
    pub blind: u64,
    /// What last went wrong.
    pub last_error: Option<String>,
}

/// The counters behind the diagnostics.
#[derive(Default)]
pub(crate) struct Counters {
    turns: AtomicU64,
    steps: AtomicU64,
    failures: AtomicU64,
    blind: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.remember(why);
    }

    pub(crate) fn blind(&self, why: &str) {
        self.blind.fetch_add(1, Ordering::Relaxed);
        self.remember(why);
    }

    fn remember(&self, why: &str) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    pub(crate) fn read(&self) -> Diagnostics {
        Diagnostics {
            turns: self.turns.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            blind: self.blind.load(Ordering::Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            ..Diagnostics::default()
        }
    }
}
