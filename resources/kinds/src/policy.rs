//! Policies and wishes that several kinds have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done when something is changed from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DriftPolicy {
    /// It is put back, and an event says so.
    #[default]
    Enforce,
    /// It is shown, and a person chooses to put it back or to keep it.
    Report,
}

/// What becomes of data when its owner is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DataPolicy {
    /// The data stays.
    #[default]
    Retain,
    /// The data is deleted.
    Delete,
}

/// Whether something should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Power {
    /// It runs.
    #[default]
    Running,
    /// It is stopped, and stays installed.
    Stopped,
}
