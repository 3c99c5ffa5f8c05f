//! `Container`: one service, fully resolved. Made by an App or by Hearth itself; people rarely write it.

use hearth_meta::{CommonStatus, HasCommon, Problem, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod given;
mod surroundings;

pub use given::{AppFile, GivenFile};
pub use surroundings::{ExtraHost, Surroundings, Ulimit};

use crate::policy::{DriftPolicy, Power};
use crate::shared::{Label, Limits, SecretKeyRef, check_unique};

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

pub(crate) fn validate(new: &Container, _old: Option<&Container>) -> Vec<Problem> {
    let spec = &new.spec;
    let mut problems = check_unique("spec.env", spec.env.iter().map(|e| e.name.as_str()));
    problems.extend(check_unique("spec.mounts", spec.mounts.iter().map(|m| m.path.as_str())));
    problems.extend(check_unique("spec.networks", spec.networks.iter().map(|n| n.name.as_str())));
    problems.extend(spec.resources.check("spec.resources"));
    let absolute =
        spec.mounts.iter().map(|m| ("mounts", &m.path)).chain(spec.tmpfs.iter().map(|t| ("tmpfs", &t.path)));
    for (list, path) in absolute.filter(|(_, path)| !path.starts_with('/')) {
        problems.push(Problem::new(
            format!("spec.{list}"),
            format!("{path:?} must be an absolute path in the container"),
        ));
    }
    if new.metadata.namespace.as_deref() != Some(crate::SYSTEM) {
        let only_system = "is only allowed in namespace system; leave it out";
        if !spec.capabilities.is_empty() {
            problems.push(Problem::new("spec.capabilities", only_system));
        }
        if !spec.ports.is_empty() {
            problems.push(Problem::new("spec.ports", only_system));
        }
    }
    if spec.r#type == ContainerType::Service && spec.restart != Restart::UnlessStopped {
        problems.push(Problem::new("spec.restart", "only a Job may have another restart than UnlessStopped"));
    }
    problems.extend(check_words(spec));
    problems.extend(spec.surroundings.check("spec.surroundings"));
    for (index, tmpfs) in spec.tmpfs.iter().enumerate().filter(|(_, tmpfs)| tmpfs.has_no_mode()) {
        let message = format!("{:?} is not a mode in octal such as \"1777\"", tmpfs.mode);
        problems.push(Problem::new(format!("spec.tmpfs[{index}].mode"), message));
    }
    for (index, file) in spec.files.iter().enumerate() {
        problems.extend(file.check(&format!("spec.files[{index}]")));
    }
    for (index, label) in spec.labels.iter().enumerate().filter(|(_, label)| is_reserved(&label.name)) {
        problems.push(Problem::new(
            format!("spec.labels[{index}].name"),
            format!("{:?} is kept for Hearth", label.name),
        ));
    }
    for (index, env) in spec.env.iter().enumerate() {
        problems.extend(check_env(env, &format!("spec.env[{index}]")));
    }
    problems
}

/// An empty word would be read as "the image's own", and a check without figures as none.
fn check_words(spec: &ContainerSpec) -> Vec<Problem> {
    let words = [
        ("user", spec.user.as_deref()),
        ("workingDir", spec.working_dir.as_deref()),
        ("hostname", spec.hostname.as_deref()),
        ("stop.signal", spec.stop.signal.as_deref()),
    ];
    let empty = words.iter().filter(|(_, word)| *word == Some(""));
    let mut problems: Vec<Problem> = empty
        .map(|(name, _)| {
            Problem::new(format!("spec.{name}"), "must not be empty; leave it out for the image's own")
        })
        .collect();
    if let Some(health) = &spec.health {
        if health.test.is_empty() {
            problems.push(Problem::new(
                "spec.health.test",
                "must not be empty; leave health out for the image's own check",
            ));
        }
        let figures = [
            ("intervalSeconds", health.interval_seconds),
            ("timeoutSeconds", health.timeout_seconds),
            ("retries", health.retries),
        ];
        for (name, _) in figures.iter().filter(|(_, figure)| *figure < 1) {
            problems.push(Problem::new(format!("spec.health.{name}"), "must be at least 1"));
        }
    }
    problems
}

/// Whether a label's name is kept for Hearth, or for what lets people's tools group its containers.
pub fn is_reserved(label: &str) -> bool {
    ["hearth.dev/", "com.docker.compose."].iter().any(|prefix| label.starts_with(prefix))
}

fn check_env(env: &EnvVar, field: &str) -> Option<Problem> {
    let one_source = env.value_from.as_ref().is_none_or(|s| s.secret_key_ref.is_some() == s.parts.is_empty());
    let one_part = env
        .value_from
        .iter()
        .flat_map(|source| &source.parts)
        .all(|part| part.text.is_some() != part.secret_key_ref.is_some());
    if env.name.contains('=') {
        Some(Problem::new(format!("{field}.name"), "may not hold ="))
    } else if env.value.is_some() && env.value_from.is_some() {
        Some(Problem::new(field, "has both value and valueFrom; keep one"))
    } else if !one_source || !one_part {
        Some(Problem::new(format!("{field}.valueFrom"), "needs exactly one of its fields"))
    } else {
        None
    }
}
