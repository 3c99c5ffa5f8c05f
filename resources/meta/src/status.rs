//! The part of a status that every kind has, with the same names in every kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::DatedCondition;
use crate::{FieldDiff, MicroTime, ObjectRef, Progress, Reason, Time, Verdict};

/// What every status says, flattened into each kind's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommonStatus {
    /// The generation of the spec this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The one verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Verdict>,
    /// Why, from the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Why, in one sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What holds and what does not, by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<DatedCondition>,
    /// What must happen first; `hearth why` walks these to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<ObjectRef>,
    /// How far the work under way has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// When it is tried again, after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<Time>,
    /// Where what is seen differs from what is wanted. Empty means in sync.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<FieldDiff>,
    /// What was changed from outside and stands; `differences` says what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// A change from outside that stands: it is only reported, held back for a while, or fought over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// Names exactly this change: another value in another field has another id. Who answers says which they saw.
    pub id: String,
    /// Since when exactly this is seen; to the microsecond, so that an answer is never taken for one to a later change.
    pub since: MicroTime,
    /// How often it was changed from outside, one after the other: different changes while it is reported, repairs
    /// of the last hour while it is fought over.
    pub count: i64,
}

/// A status that has the common part.
pub trait HasCommon {
    /// The common part.
    fn common(&self) -> &CommonStatus;
    /// The common part, to be filled in.
    fn common_mut(&mut self) -> &mut CommonStatus;
}
