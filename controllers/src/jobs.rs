//! Which one-shots of an app are done, as its instance's folder remembers it: Docker may be pruned and the store may be
//! lost, and a migration must not run twice (DESIGN 11, 13).
//!
//! The App writes it from what its Containers say; a Container whose status does not know reads it.

use std::collections::BTreeMap;

use hearth_meta::Time;
use serde::{Deserialize, Serialize};

/// Its place in an instance's folder.
pub(crate) const RECORD: &str = ".hearth/jobs.json";

/// One that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completion {
    /// The hash of the spec it was done for, as in a Container's status.
    pub(crate) completed_for: String,
    /// When it was done.
    pub(crate) completed_at: Option<Time>,
}

/// Those that are done, by the name of their Container.
pub(crate) type Completions = BTreeMap<String, Completion>;

/// What an instance's files say.
///
/// # Errors
/// The record cannot be understood, so that nothing is known; in words for people.
pub(crate) fn recorded(files: &BTreeMap<String, Vec<u8>>) -> Result<Completions, String> {
    let Some(record) = files.get(RECORD) else { return Ok(Completions::new()) };
    serde_json::from_slice(record)
        .map_err(|error| format!("{RECORD} in the instance's folder cannot be understood: {error}"))
}

/// The same as a file; equal contents give equal bytes.
pub(crate) fn record(completions: &Completions) -> Vec<u8> {
    serde_json::json!(completions).to_string().into_bytes()
}
