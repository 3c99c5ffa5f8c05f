//! `Volume`: a folder of an app's data, which once made is never made again by itself.

use hearth_meta::{CommonStatus, HasCommon, Problem, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{DataPolicy, DriftPolicy};

/// What a folder of data should be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Volume",
    plural = "volumes",
    singular = "volume",
    shortname = "vol",
    category = "all",
    namespaced,
    status = "VolumeStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"Path","type":"string","jsonPath":".status.hostPath","description":"Where it is on the machine"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSpec {
    /// The instance whose data it is part of: the uid of its App, or a name of Hearth's own.
    #[schemars(length(min = 1))]
    pub instance: String,
    /// The folder under the instance's `data/`.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Whether it is data that matters, or can be made again.
    #[serde(default)]
    pub class: VolumeClass,
    /// Who owns the folder; absent means whoever the app makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The folder's mode in octal, such as `0700`; absent means whatever the app makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What becomes of it when it is deleted.
    #[serde(default)]
    pub data_policy: DataPolicy,
    /// What is done when owner or mode are changed from outside.
    #[serde(default)]
    pub drift_policy: DriftPolicy,
}

/// Whether a folder matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeClass {
    /// Data that matters: snapshots and backups hold it.
    #[default]
    Data,
    /// Can be made again: no copy is kept.
    Cache,
}

/// An owner by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The user's number.
    #[schemars(range(min = 0, max = 4294967294i64))]
    pub uid: i64,
    /// The group's number.
    #[schemars(range(min = 0, max = 4294967294i64))]
    pub gid: i64,
}

/// What is seen of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// Where it is on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// When the folder was made. From then on, gone means lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<Time>,
    /// How much it holds, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// When that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<Time>,
}

impl HasCommon for VolumeStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

impl VolumeSpec {
    /// The mode as a number, where one is declared and readable.
    pub fn mode_bits(&self) -> Option<u32> {
        self.mode.as_deref().and_then(|mode| u32::from_str_radix(mode, 8).ok())
    }
}

/// The most parts a path may have, and the most bytes of one; the disk's hands can do no more.
const MOST_PARTS: usize = 8;
const LONGEST_PART: usize = 220;

pub(crate) fn validate(new: &Volume, old: Option<&Volume>) -> Vec<Problem> {
    let spec = &new.spec;
    let mut problems = Vec::new();
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !spec.path.split('/').all(plain) {
        problems.push(Problem::new(
            "spec.path",
            format!("{:?} must be a plain path under the instance's data, without . or ..", spec.path),
        ));
    }
    if spec.path.split('/').count() > MOST_PARTS || spec.path.split('/').any(|part| part.len() > LONGEST_PART)
    {
        let message = format!("may have at most {MOST_PARTS} parts of at most {LONGEST_PART} bytes");
        problems.push(Problem::new("spec.path", message));
    }
    if spec.path.split('/').any(|part| part.starts_with(".hearth-")) {
        problems.push(Problem::new(
            "spec.path",
            "may have no part that begins with .hearth-, which is kept for Hearth",
        ));
    }
    if spec.instance.contains('/') || !plain(&spec.instance) {
        problems.push(Problem::new("spec.instance", "must be one plain name"));
    }
    if let Some(mode) = &spec.mode
        && spec.mode_bits().is_none_or(|bits| bits > 0o7777)
    {
        problems.push(Problem::new("spec.mode", format!("{mode:?} is not a mode in octal such as \"0700\"")));
    }
    if let Some(old) = old
        && (old.spec.path != spec.path || old.spec.instance != spec.instance)
    {
        problems.push(Problem::new(
            "spec.path",
            "is fixed once made, since moving it would leave the data behind; make another Volume",
        ));
    }
    problems
}
