//! What is seen of a container.

use hearth_meta::{CommonStatus, HasCommon, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is seen of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// Docker's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_id: Option<String>,
    /// The id of the image it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// What Docker says of it: `created`, `running`, `restarting`, `exited` ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What its health check says: `starting`, `healthy`, `unhealthy`; absent without a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// How it last exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How often Docker restarted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<i64>,
    /// When it died lately: at most the six newest deaths of one minute, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_deaths: Vec<Time>,
    /// Set once it died more than five times within a minute, until it has run for five minutes (AL-52).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_loop: Option<CrashLoop>,
    /// When it last started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When a job completed. Kept here, since the container may be pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// The hash of the spec the job completed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_for: Option<String>,
    /// Since when it waits to become healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Time>,
    /// Its addresses, by network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
}

/// A container that dies again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrashLoop {
    /// Since when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Whether it runs and serves again at this moment, though not for long enough to be called well.
    #[serde(default)]
    pub recovering: bool,
    /// The last lines it wrote before it died last, without the values of its secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_tail: Vec<String>,
}

/// An address on a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The Network's name.
    pub network: String,
    /// The IP address.
    pub ip: String,
}

impl HasCommon for ContainerStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}
