//! The doctor: looks at everything a home leans on, and says of each part how it stands and what to do.
//!
//! A server looks for itself (`online`), since it knows best; where none can start, its data directory and the
//! machine are looked at from outside (`offline`). Nothing is changed by looking.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod machine;
mod room;
mod certificates;
mod time;
mod store;
mod declared;
mod online;
mod offline;

pub use offline::offline;
pub use online::{Home, online};
pub use time::Moment;

/// How a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standing {
    /// Nothing to do.
    Ok,
    /// It works, and somebody should look.
    Warning,
    /// Something does not work.
    Failure,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Which part, in one word.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// What was seen, in one sentence.
    pub message: String,
    /// What to do about it; empty where nothing is to be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
}

impl Check {
    /// All is well.
    pub fn ok(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.into(), standing: Standing::Ok, message: message.into(), next: String::new() }
    }

    /// It works, and somebody should look.
    pub fn warning(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { standing: Standing::Warning, next: next.into(), ..Self::ok(name, message) }
    }

    /// It does not work.
    pub fn failure(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { standing: Standing::Failure, next: next.into(), ..Self::ok(name, message) }
    }
}

/// What was seen as JSON: whether nothing failed, and every check.
pub fn to_value(checks: &[Check]) -> Value {
    let is_healthy = checks.iter().all(|check| check.standing != Standing::Failure);
    json!({ "isHealthy": is_healthy, "checks": checks })
}
