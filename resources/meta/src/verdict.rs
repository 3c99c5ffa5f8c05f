//! The one verdict that every view of an object prints alike (UX contract C1).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an object stands, in one word. There are exactly eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// What is wanted is there, as last observed.
    Ready,
    /// Work is under way and has advanced within the stall limit.
    Progressing,
    /// Something else must happen first; `blockedBy` says what.
    Waiting,
    /// Only a person can decide how to go on.
    NeedsYou,
    /// Usable, with a problem.
    Degraded,
    /// Not usable, and trying again will not help soon; a slow retry goes on.
    Failed,
    /// A person has paused it.
    Paused,
    /// Deletion was asked for and is being carried out.
    Removing,
}

impl Verdict {
    /// All verdicts, in the order people are shown them.
    pub const ALL: [Self; 8] = [
        Self::Ready,
        Self::Progressing,
        Self::Waiting,
        Self::NeedsYou,
        Self::Degraded,
        Self::Failed,
        Self::Paused,
        Self::Removing,
    ];

    /// The word as it is written in `status.summary`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Waiting => "Waiting",
            Self::NeedsYou => "NeedsYou",
            Self::Degraded => "Degraded",
            Self::Failed => "Failed",
            Self::Paused => "Paused",
            Self::Removing => "Removing",
        }
    }

    /// Whether nothing is moving any more: the object rests where it is until something changes.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Ready | Self::NeedsYou | Self::Degraded | Self::Failed | Self::Paused)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
