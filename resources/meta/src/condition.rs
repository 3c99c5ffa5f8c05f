//! Conditions, as the Kubernetes API conventions have them, before the engine dates them.

use crate::{ObjectMeta, Reason, Time};

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as DatedCondition;

/// The three values a condition can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It could not be told.
    Unknown,
}

impl ConditionStatus {
    /// The word as the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// One condition as a controller states it. The engine adds the generation and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition's name, such as `Ready`; positive or neutral.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, from the catalogue.
    pub reason: Reason,
    /// One English sentence for people; may be empty.
    pub message: String,
}

impl Condition {
    /// States a condition.
    pub fn new(
        kind: &'static str,
        status: impl Into<ConditionStatus>,
        reason: Reason,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status: status.into(), reason, message: message.into() }
    }
}

/// Dates stated conditions: `lastTransitionTime` moves only when a condition's status flips.
pub fn dated(
    stated: &[Condition],
    before: &[DatedCondition],
    meta: &ObjectMeta,
    now: Time,
) -> Vec<DatedCondition> {
    stated
        .iter()
        .map(|condition| {
            let since = before
                .iter()
                .find(|old| old.type_ == condition.kind && old.status == condition.status.as_str())
                .map_or_else(|| now.clone(), |old| old.last_transition_time.clone());
            DatedCondition {
                type_: condition.kind.to_owned(),
                status: condition.status.as_str().to_owned(),
                reason: condition.reason.as_str().to_owned(),
                message: condition.message.clone(),
                observed_generation: meta.generation,
                last_transition_time: since,
            }
        })
        .collect()
}
