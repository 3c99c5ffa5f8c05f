//! `Container`: one service, fully resolved. Made by an App or by Hearth itself; people rarely write it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod given;
mod rules;
mod status;
mod surroundings;

pub use given::{AppFile, GivenFile};
pub use rules::is_reserved;
pub(crate) use rules::validate;
pub use status::{Address, ContainerStatus, CrashLoop};
pub use surroundings::{ExtraHost, Surroundings, Ulimit};

use crate::policy::{DriftPolicy, Power};
use crate::shared::{Label, Limits, SecretKeyRef};

/// What a container should be. Field names follow Compose.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Container",
    plural = "containers",
    singular = "container",
    shortname = "ct",
    category = "all",
    namespaced,
    status = "ContainerStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state","description":"What Docker says"}"#,
    printcolumn = r#"{"name":"Health","type":"string","jsonPath":".status.health","description":"What its health check says"}"#,
    printcolumn = r#"{"name":"Restarts","type":"integer","jsonPath":".status.restarts","description":"How often Docker restarted it"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#,
    printcolumn = r#"{"name":"Image","type":"string","jsonPath":".spec.image.ref","priority":1,"description":"The Image it runs"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    /// The image it runs.
    pub image: ImagePin,
    /// The command; absent means the image's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The entry point; absent means the image's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// The folder it starts in; absent means the image's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The user it runs as; absent means the image's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Environment variables, on top of the image's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Vec<EnvVar>,
    /// Volumes and where they appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// File systems in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tmpfs: Vec<Tmpfs>,
    /// Files it is given, such as settings and secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GivenFile>,
    /// Whether its root file system is read-only.
    #[serde(default)]
    pub read_only_root: bool,
    /// The networks it is on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkLink>,
    /// How its health is told; absent means the image's own check, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthCheck>,
    /// What must hold of other containers before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// Whether it runs on, or ends.
    #[serde(default)]
    pub r#type: ContainerType,
    /// What Docker does when it exits.
    #[serde(default)]
    pub restart: Restart,
    /// Whether it should run.
    #[serde(default)]
    pub power: Power,
    /// How it is stopped.
    #[serde(default)]
    pub stop: Stop,
    /// Limits on what it may use.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub resources: Limits,
    /// What its processes find around them.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// Devices it may use, as paths under `/dev`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Capabilities it keeps; every other is dropped. Only in namespace `system`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Ports it publishes on the host. Only in namespace `system`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PublishedPort>,
    /// Labels it carries besides Hearth's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Whether an init process reaps its children.
    #[serde(default)]
    pub init: bool,
    /// Its host name; absent means Docker's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// How long it may take to become healthy, in seconds.
    #[serde(default = "default_health_deadline")]
    #[schemars(range(min = 1, max = 86400))]
    pub health_deadline_seconds: i64,
    /// What is done when it is changed from outside.
    #[serde(default)]
    pub drift_policy: DriftPolicy,
}

fn default_health_deadline() -> i64 {
    120
}

/// An Image by name, and what exactly it must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePin {
    /// The Image object's name.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1))]
    pub image: String,
    /// The manifest digest, or the image id where it was never pushed: `sha256:` and hex.
    pub digest: String,
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its value, for everybody to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where a value that must stay secret comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvSource>,
}

/// Where a secret value comes from: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvSource {
    /// The whole value is one key of a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
    /// The value is put together from texts and secrets, in order, such as a database address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<EnvPart>,
}

/// One part of a value: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvPart {
    /// A text, as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// One key of a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
}

impl EnvVar {
    /// The secrets its value needs.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretKeyRef> {
        self.value_from.iter().flat_map(|source| {
            source
                .secret_key_ref
                .iter()
                .chain(source.parts.iter().filter_map(|part| part.secret_key_ref.as_ref()))
        })
    }
}

/// A Volume and where it appears in the container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// The Volume's name.
    #[schemars(length(min = 1))]
    pub volume: String,
    /// Where it appears, an absolute path.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Whether it may only be read.
    #[serde(default)]
    pub read_only: bool,
}

/// A file system in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tmpfs {
    /// Where it appears, an absolute path.
    #[schemars(length(min = 1))]
    pub path: String,
    /// The most it may hold, as a quantity such as `64Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<String>,
    /// Its mode in octal, such as `1777`; absent means the engine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

impl Tmpfs {
    /// The mode as a number, where one is declared and readable.
    pub fn mode_bits(&self) -> Option<u32> {
        let mode = self.mode.as_deref()?;
        u32::from_str_radix(mode, 8).ok().filter(|bits| (1..=0o7777).contains(bits))
    }

    fn has_no_mode(&self) -> bool {
        self.mode.is_some() && self.mode_bits().is_none()
    }
}

/// A network the container is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkLink {
    /// The Network's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Further names it answers to there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// How health is told, in Docker's terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// `[CMD, program, args...]`, `[CMD-SHELL, line]`, or `[NONE]` to switch the image's own check off.
    pub test: Vec<String>,
    /// The time between checks, in seconds.
    #[serde(default = "thirty")]
    pub interval_seconds: i64,
    /// How long one check may take, in seconds.
    #[serde(default = "thirty")]
    pub timeout_seconds: i64,
    /// How many failures in a row mean unhealthy.
    #[serde(default = "three")]
    pub retries: i64,
    /// How long failures do not count after a start, in seconds.
    #[serde(default)]
    pub start_period_seconds: i64,
}

fn thirty() -> i64 {
    30
}

fn three() -> i64 {
    3
}

/// What must hold of another container first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The other Container's name, in the same namespace.
    #[schemars(length(min = 1))]
    pub container: String,
    /// What must hold of it.
    #[serde(default)]
    pub condition: DependencyCondition,
}

/// What can be asked of another container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DependencyCondition {
    /// It runs.
    #[default]
    Started,
    /// Its health check passes.
    Healthy,
    /// It is a job and exited with 0.
    Completed,
}

/// Whether a container runs on, or ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ContainerType {
    /// It runs on.
    #[default]
    Service,
    /// It does its work once and exits with 0; it is then satisfied for ever for its own spec.
    Job,
}

/// What Docker does when a container exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Restart {
    /// It is started again unless it was stopped on purpose.
    #[default]
    UnlessStopped,
    /// It is started again after a failure; only for jobs.
    OnFailure,
    /// It is left as it is; only for jobs.
    Never,
}

/// How a container is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// How long it may take after the signal, in seconds, before it is killed.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 86400))]
    pub grace_seconds: i64,
    /// The signal; absent means the image's own, else SIGTERM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

fn ten() -> i64 {
    10
}

impl Default for Stop {
    fn default() -> Self {
        Self { grace_seconds: ten(), signal: None }
    }
}

/// A port published on the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedPort {
    /// The host's address; absent means every address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ip: Option<String>,
    /// The host's port.
    #[schemars(range(min = 1, max = 65535))]
    pub host_port: i32,
    /// The container's port.
    #[schemars(range(min = 1, max = 65535))]
    pub container_port: i32,
}
