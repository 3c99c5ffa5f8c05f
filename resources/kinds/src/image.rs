//! `Image`: a container image that should be on this machine.

use hearth_meta::{CommonStatus, HasCommon, Problem, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which image should be here.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Image",
    plural = "images",
    singular = "image",
    shortname = "img",
    status = "ImageStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"Reference","type":"string","jsonPath":".spec.reference","description":"The image"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#,
    printcolumn = r#"{"name":"Digest","type":"string","jsonPath":".status.digest","priority":1,"description":"What it was resolved to"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ImageSpec {
    /// The image, by tag (`postgres:17`) or by digest (`postgres@sha256:...`).
    #[schemars(length(min = 1))]
    pub reference: String,
    /// Whether it may be pulled.
    #[serde(default)]
    pub pull: Pull,
}

/// Whether an image may be pulled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Pull {
    /// It is pulled when it is not on this machine.
    #[default]
    IfAbsent,
    /// It must be on this machine already.
    Never,
}

/// What is seen of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// The manifest digest it was resolved to; absent where it was never pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Docker's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// Its size on disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// Whether it is on this machine.
    #[serde(default)]
    pub present: bool,
    /// The paths it declares to hold data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
    /// When Hearth pulled it; absent where it was here before, and then it is never removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulled_at: Option<Time>,
    /// How many Containers use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<i64>,
}

impl HasCommon for ImageStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

impl ImageStatus {
    /// What a Container is pinned to: the manifest digest, or the image id where it was never pushed.
    pub fn pin(&self) -> Option<&str> {
        self.digest.as_deref().or(self.image_id.as_deref())
    }
}

pub(crate) fn validate(new: &Image, old: Option<&Image>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let reference = &new.spec.reference;
    if reference.chars().any(|c| c.is_whitespace() || c.is_control()) {
        problems.push(Problem::new("spec.reference", format!("{reference:?} may not hold spaces")));
    }
    if old.is_some_and(|old| old.spec.reference != *reference) {
        problems.push(Problem::new("spec.reference", "is fixed; make another Image"));
    }
    problems
}
