//! What the engine is about to do to an object, or has last done (hazards 3.4).
//!
//! Opened before the first side effect, closed only after the effect was verified. An intent that is open and of
//! an earlier process tells a crash half way from somebody else's change.

use hearth_meta::Timestamp;
use serde::{Deserialize, Serialize};

/// The record for one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The object's uid.
    pub uid: String,
    /// The process that opened it.
    pub epoch: i64,
    /// What was being applied, hashed.
    pub target: String,
    /// The step that was being taken, as a sentence.
    pub step: String,
    /// Whether the step must not be taken again without a person (AL-23).
    pub dangerous: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed, after verification; absent while it is open.
    pub closed_at: Option<Timestamp>,
    /// What was last applied and verified, hashed.
    pub last_applied: Option<String>,
}

impl Intent {
    /// Whether it was opened and not closed.
    pub fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }

    /// Whether it was closed, and what was last applied is this.
    pub fn is_closed_for(&self, target: &str) -> bool {
        !self.is_open() && self.last_applied.as_deref() == Some(target)
    }
}
