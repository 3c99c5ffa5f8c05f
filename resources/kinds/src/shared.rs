//! Parts of specs that several kinds have in common.

use hearth_meta::Problem;
use hearth_meta::quantity::{parse_bytes, parse_millicpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// The Secret's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The key within it.
    #[schemars(length(min = 1))]
    pub key: String,
}

/// Limits on what a container may use; absent means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The most memory, as a quantity such as `2Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<String>,
    /// The most processor time, as a quantity such as `2` or `500m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<String>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.memory_limit.is_none() && self.cpu_limit.is_none()
    }

    /// What is wrong with the quantities.
    pub fn check(&self, field: &str) -> Vec<Problem> {
        let memory = self.memory_limit.as_deref().and_then(|text| parse_bytes(text).err());
        let cpu = self.cpu_limit.as_deref().and_then(|text| parse_millicpus(text).err());
        [("memoryLimit", memory), ("cpuLimit", cpu)]
            .into_iter()
            .filter_map(|(name, error)| error.map(|message| Problem::new(format!("{field}.{name}"), message)))
            .collect()
    }
}

/// A named value, as in labels and environments, where a map would hide who owns which entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// The label's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its value; may be empty.
    #[serde(default)]
    pub value: String,
}

/// Names that stand twice in a list that is keyed by name.
pub fn check_unique<'a>(field: &str, names: impl Iterator<Item = &'a str>) -> Vec<Problem> {
    let mut seen = std::collections::BTreeSet::new();
    names
        .enumerate()
        .filter(|(_, name)| !seen.insert(*name))
        .map(|(index, name)| {
            Problem::new(format!("{field}[{index}]"), format!("{name:?} stands here twice; keep one"))
        })
        .collect()
}
