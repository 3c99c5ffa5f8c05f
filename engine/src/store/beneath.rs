//! What a simulation puts beneath a store: a gate that each commit passes, and where new uids come from.
//!
//! The gate stands at the lowest seam, under the code that gathers, stages and answers, so that a simulation decides
//! when a commit happens, may refuse it as a disk does, and may stop the world between a commit and its answers.
//! With nothing beneath, uids are random and commits go straight to the file.

use std::sync::Arc;

use async_trait::async_trait;

use super::intent::Intent;
use super::watch::Change;

/// What stands beneath a store; by default nothing.
#[derive(Clone, Default)]
pub struct Beneath {
    /// What each commit passes.
    pub gate: Option<Arc<dyn Gate>>,
    /// Where the random bits of a new uid come from.
    pub bits: Option<Arc<dyn Fn() -> u128 + Send + Sync>>,
}

/// What each commit passes.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Something waits to be written: returns once it may be, with all that was asked for until then.
    ///
    /// # Errors
    /// Why nothing of it can be written now.
    async fn enter(&self) -> Result<(), Refusal>;

    /// A batch is down, and nobody has been told yet.
    async fn committed(&self, commit: &Commit);

    /// The writer has answered everybody and turns to what comes next.
    fn leave(&self);

    /// Somebody reads from the file from now on; nothing can be said of the order of things until that is over.
    fn reads(&self) {}

    /// What [`Gate::reads`] began is over, or given up.
    fn has_read(&self) {}
}

/// A read of the file, told to the gate as long as it is held.
pub(super) struct Reading(Option<Arc<dyn Gate>>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.iter().for_each(|gate| gate.has_read());
    }
}

/// Why a disk refuses a write, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room.
    Full(String),
    /// Anything else, such as an error of the device or a file that somebody else holds.
    Failed(String),
}

/// What has gone down in one transaction.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Changes of objects, in the order of their resourceVersions.
    pub changes: Vec<Arc<Change>>,
    /// Intents that were opened or closed.
    pub intents: Vec<Intent>,
    /// How many events were noted.
    pub events: usize,
}

impl Beneath {
    /// Tells the gate of a read that begins.
    pub(super) fn reading(&self) -> Reading {
        self.gate.iter().for_each(|gate| gate.reads());
        Reading(self.gate.clone())
    }

    /// A new uid.
    pub(super) fn new_uid(&self) -> uuid::Uuid {
        match &self.bits {
            Some(bits) => uuid::Builder::from_random_bytes(bits().to_be_bytes()).into_uuid(),
            None => uuid::Uuid::new_v4(),
        }
    }
}
