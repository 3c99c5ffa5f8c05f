//! What people are told of the folder.

use hearth_meta::Problem;
use serde::Serialize;

use super::Question;

/// How the folder stood at the last look.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Where it is.
    pub folder: String,
    /// How many manifests it holds.
    pub files: usize,
    /// How many objects they declare, each once.
    pub objects: usize,
    /// Why nothing is removed: not all that it declares is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blind: Option<String>,
    /// Why changes are noticed only by the minute, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<String>,
    /// Everything that is wrong with what the files say, with its place.
    pub problems: Vec<Problem>,
    /// What a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}
