//! How far a piece of work has come (UX contract C4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// What `done` and `of` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Whole things, such as services.
    Items,
}

/// How far a piece of work has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is being done, in one CamelCase word, such as `Pulling`.
    pub step: String,
    /// Which step of `total` this is, from 1.
    pub index: i32,
    /// How many steps there are.
    pub total: i32,
    /// What `done` and `of` count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// How much of the step is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<i64>,
    /// How much there is to do, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<i64>,
    /// When the work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it last moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_advance_at: Option<Time>,
}
