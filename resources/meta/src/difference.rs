//! One field in which what is seen differs from what is wanted (UX contract C2).
//!
//! In sync *means* that the list of these is empty; every view prints this list and nobody compares text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// What is being done about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DiffState {
    /// The wish is newer than what was applied; it will be carried out.
    Pending,
    /// It is being carried out now.
    Applying,
    /// Changed from outside.
    Drifted,
    /// It cannot be carried out until something else changes.
    Blocked,
}

/// One difference between wanted and seen.
///
/// Values are shown as people would write them. A secret is never shown: its value is `(secret)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldDiff {
    /// The field's path in the spec, such as `spec.env[TZ]`.
    pub field: String,
    /// What is wanted; absent where the field should not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// What was seen; absent where nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// What is being done about it.
    pub state: DiffState,
    /// Since when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Who set the wanted value, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
    /// When the next try is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub will_retry_at: Option<Time>,
}

/// What stands in for a secret wherever people can read.
pub const SECRET: &str = "(secret)";

impl FieldDiff {
    /// A difference not classified yet; the engine sets state and times.
    pub fn new(field: impl Into<String>, wanted: Option<String>, seen: Option<String>) -> Self {
        Self {
            field: field.into(),
            wanted,
            seen,
            state: DiffState::Pending,
            since: None,
            set_by: None,
            will_retry_at: None,
        }
    }

    /// Pushes a difference if the two values differ, shown through `Display`.
    pub fn compare<T: PartialEq + fmt::Display + ?Sized>(
        into: &mut Vec<Self>,
        field: &str,
        wanted: &T,
        seen: &T,
    ) {
        if wanted != seen {
            into.push(Self::new(field, Some(wanted.to_string()), Some(seen.to_string())));
        }
    }

    /// Pushes a difference if the two values differ, shown as compact JSON; an absent one shows as absent.
    pub fn compare_json<T: PartialEq + Serialize>(into: &mut Vec<Self>, field: &str, wanted: &T, seen: &T) {
        if wanted != seen {
            into.push(Self::new(field, shown(wanted), shown(seen)));
        }
    }
}

fn shown<T: Serialize>(value: &T) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Null) | Err(_) => None,
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(other) => Some(other.to_string()),
    }
}

impl fmt::Display for FieldDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_absent = |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".into());
        write!(f, "{}: seen {}, wanted {}", self.field, or_absent(&self.seen), or_absent(&self.wanted))
    }
}
