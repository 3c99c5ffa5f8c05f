//! What a container's processes find around them, where it is not the engine's usual.

use hearth_meta::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings few services need, each named as in Compose. What is absent is the engine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Surroundings {
    /// How many bytes `/dev/shm` holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub shm_size: Option<i64>,
    /// The most processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pids_limit: Option<i64>,
    /// Limits of each process, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ulimits: Vec<Ulimit>,
    /// Further names it can look up, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<ExtraHost>,
    /// Further groups of its first process, sorted; each is a name of the image's or a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Whether its first process has a terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tty: bool,
    /// Whether its first process's input stays open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdin_open: bool,
}

/// A limit of each process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ulimit {
    /// Which, such as `nofile`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What is in force; -1 is without limit.
    pub soft: i64,
    /// What a process may raise it to; -1 is without limit.
    pub hard: i64,
}

/// A name and what it means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtraHost {
    /// The name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// An address, or `host-gateway` for the host as the container sees it.
    #[schemars(length(min = 1))]
    pub address: String,
}

impl Surroundings {
    /// Whether everything is as the engine has it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self, field: &str) -> Vec<Problem> {
        let figures = [("shmSize", self.shm_size), ("pidsLimit", self.pids_limit)];
        let small = figures.into_iter().filter(|(_, figure)| figure.is_some_and(|figure| figure < 1));
        let mut problems: Vec<Problem> =
            small.map(|(name, _)| Problem::new(format!("{field}.{name}"), "must be at least 1")).collect();
        for (index, limit) in self.ulimits.iter().enumerate() {
            // -1 stands above every number.
            let over = limit.hard != -1 && (limit.soft == -1 || limit.soft > limit.hard);
            if over || limit.soft < -1 || limit.hard < -1 {
                let message = format!("{}: soft must be at most hard, and neither below -1", limit.name);
                problems.push(Problem::new(format!("{field}.ulimits[{index}]"), message));
            }
        }
        problems
    }
}
