//! `Revision`: one rendering of an App, never changed once made.

use hearth_meta::{CommonStatus, HasCommon, Problem};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an App was rendered to.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Revision",
    plural = "revisions",
    singular = "revision",
    shortname = "rev",
    namespaced,
    status = "RevisionStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"App","type":"string","jsonPath":".spec.app","description":"The App it renders"}"#,
    printcolumn = r#"{"name":"Number","type":"integer","jsonPath":".spec.number","description":"Its number, from 1"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it stands"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct RevisionSpec {
    /// The App it renders, by name.
    pub app: String,
    /// Its number, from 1.
    #[schemars(range(min = 1))]
    pub number: i64,
    /// The SHA-256 of the compose file and the values it was rendered from, in hex.
    pub compose_digest: String,
    /// What each service's image was resolved to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<RevisionImage>,
    /// The objects it was rendered to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<RevisionChild>,
}

/// What one service's image was resolved to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionImage {
    /// The service.
    pub service: String,
    /// The reference in the compose file.
    pub reference: String,
    /// The digest it was resolved to, or the image id where it was never pushed.
    pub digest: String,
}

/// One object an App was rendered to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionChild {
    /// The object's kind.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The SHA-256 of its spec, in hex.
    pub spec_hash: String,
}

/// What is seen of a revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
}

impl HasCommon for RevisionStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

pub(crate) fn validate(new: &Revision, old: Option<&Revision>) -> Vec<Problem> {
    match old {
        Some(old) if old.spec != new.spec => {
            vec![Problem::new("spec", "a revision never changes; change the App, which makes a new one")]
        }
        _ => Vec::new(),
    }
}
