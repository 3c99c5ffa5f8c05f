//! Containers: what there is, and making, starting, stopping and removing one.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_kinds::container::{HealthCheck, PublishedPort, Restart, Surroundings};
use hearth_meta::Timestamp;

use crate::Fault;

/// What a container engine can do with containers.
#[async_trait]
pub trait Containers: Send + Sync {
    /// Every container that carries Hearth's uid label, running or not.
    async fn list(&self) -> Result<Vec<ListedContainer>, Fault>;

    /// The container of that name, whoever made it; `None` means there is none.
    async fn inspect(&self, name: &str) -> Result<Option<ContainerFacts>, Fault>;

    /// Makes a container, on its first network only, and does not start it. Returns its id.
    ///
    /// A container of that name is a [`Fault::Conflict`], an image that is not here a [`Fault::Missing`].
    async fn create(&self, wanted: &NewContainer) -> Result<String, Fault>;

    /// Starts a container by id; running already is success.
    async fn start(&self, id: &str) -> Result<(), Fault>;

    /// Stops a container by id and waits until it has; stopped already, or gone, is success.
    async fn stop(&self, id: &str, grace: Duration) -> Result<(), Fault>;

    /// Removes a container by id, running or not; gone already is success.
    async fn remove(&self, id: &str) -> Result<(), Fault>;

    /// What a container wrote, oldest first; with `follow` the stream stays open.
    async fn logs(
        &self,
        id: &str,
        options: &LogOptions,
    ) -> Result<BoxStream<'static, Result<LogLine, Fault>>, Fault>;

    /// What a container uses now, by id; `None` where it does not run or is gone.
    async fn usage(&self, id: &str) -> Result<Option<Usage>, Fault>;

    /// What the engine says of itself.
    async fn engine(&self) -> Result<EngineFacts, Fault>;
}

/// A container in a list: enough to know whose it is and whether to look closer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedContainer {
    /// Docker's id.
    pub id: String,
    /// Its name, without a leading slash.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What the engine says of it, such as `running` or `exited`.
    pub state: String,
}

/// A container to be made. Everything is resolved: image by id, mounts by host path, secrets by value.
#[derive(Clone, PartialEq, Eq)]
pub struct NewContainer {
    /// Its name.
    pub name: String,
    /// The image, by id (`sha256:...`).
    pub image_id: String,
    /// What was asked for, such as `postgres@sha256:...`, for people to read.
    pub image_reference: String,
    /// The command; `None` means the image's own.
    pub command: Option<Vec<String>>,
    /// The entry point; `None` means the image's own.
    pub entrypoint: Option<Vec<String>>,
    /// The folder it starts in; `None` means the image's own.
    pub working_dir: Option<String>,
    /// The user; `None` means the image's own.
    pub user: Option<String>,
    /// Variables on top of the image's own. May hold secrets, so it is never printed.
    pub env: BTreeMap<String, String>,
    /// Folders and files of the host.
    pub mounts: Vec<BoundFolder>,
    /// File systems in memory, with their limit in bytes.
    pub tmpfs: Vec<MemoryFolder>,
    /// Whether the root file system is read-only.
    pub read_only_root: bool,
    /// The first network; others are connected before the start.
    pub network: Option<JoinedNetwork>,
    /// The health check; `None` means the image's own.
    pub health: Option<HealthCheck>,
    /// What the engine does when it exits.
    pub restart: Restart,
    /// How long a stop may take.
    pub stop_grace: Duration,
    /// The stop signal; `None` means the image's own.
    pub stop_signal: Option<String>,
    /// The most memory, in bytes.
    pub memory_bytes: Option<i64>,
    /// The most processor time, in thousandths of a processor.
    pub millicpus: Option<i64>,
    /// What its processes find around them.
    pub surroundings: Surroundings,
    /// Devices, as paths on the host.
    pub devices: Vec<String>,
    /// Capabilities that are kept; all others are dropped, always (AL-28).
    pub capabilities: Vec<String>,
    /// Ports published on the host.
    pub ports: Vec<PublishedPort>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Whether an init process reaps its children.
    pub init: bool,
    /// The host name; `None` means the engine's choice.
    pub hostname: Option<String>,
}

impl NewContainer {
    /// A container of an image that says nothing else: everything is the image's own, it is on no network, is restarted
    /// unless it was stopped, and has 10 seconds to stop, as Docker gives.
    pub fn of(
        name: impl Into<String>,
        image_id: impl Into<String>,
        image_reference: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            image_id: image_id.into(),
            image_reference: image_reference.into(),
            command: None,
            entrypoint: None,
            working_dir: None,
            user: None,
            env: BTreeMap::new(),
            mounts: Vec::new(),
            tmpfs: Vec::new(),
            read_only_root: false,
            network: None,
            health: None,
            restart: Restart::UnlessStopped,
            stop_grace: Duration::from_secs(10),
            stop_signal: None,
            memory_bytes: None,
            millicpus: None,
            surroundings: Surroundings::default(),
            devices: Vec::new(),
            capabilities: Vec::new(),
            ports: Vec::new(),
            labels: BTreeMap::new(),
            init: false,
            hostname: None,
        }
    }
}

impl fmt::Debug for NewContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets, so it is left out.
        f.debug_struct("NewContainer")
            .field("name", &self.name)
            .field("image", &self.image_reference)
            .finish_non_exhaustive()
    }
}

/// A folder or a file of the host in a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundFolder {
    /// The folder or file on the host.
    pub host_path: String,
    /// Where it appears.
    pub path: String,
    /// Whether it may only be read.
    pub read_only: bool,
}

/// A file system in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryFolder {
    /// Where it appears.
    pub path: String,
    /// The most it may hold, in bytes; `None` means the engine's default.
    pub size_bytes: Option<i64>,
    /// Its mode; `None` means the engine's default.
    pub mode: Option<u32>,
}

/// A network and the names a container answers to there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JoinedNetwork {
    /// The network's name in the engine.
    pub name: String,
    /// Further names the container answers to there.
    pub aliases: Vec<String>,
}

/// A container as it is, in the words of the spec.
#[derive(Clone, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Docker's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The id of its image.
    pub image_id: String,
    /// What the image itself says, which holds where the container says nothing of its own.
    pub image: ImageDefaults,
    /// The command in force.
    pub command: Vec<String>,
    /// The entry point in force.
    pub entrypoint: Vec<String>,
    /// The folder it starts in; empty means `/`.
    pub working_dir: String,
    /// The user in force; empty means root.
    pub user: String,
    /// Every variable in force, the image's own included. May hold secrets, so it is never printed.
    pub env: BTreeMap<String, String>,
    /// Folders and files of the host, sorted by path.
    pub mounts: Vec<BoundFolder>,
    /// File systems in memory, sorted by path.
    pub tmpfs: Vec<MemoryFolder>,
    /// Whether the root file system is read-only.
    pub read_only_root: bool,
    /// The networks it is on, sorted by name.
    pub networks: Vec<NetworkPlace>,
    /// The health check in force.
    pub health_check: Option<HealthCheck>,
    /// What the engine does when it exits; `None` means something Hearth never asks for.
    pub restart: Option<Restart>,
    /// How long a stop may take.
    pub stop_grace: Option<Duration>,
    /// The stop signal in force; empty means SIGTERM.
    pub stop_signal: String,
    /// The most memory, in bytes.
    pub memory_bytes: Option<i64>,
    /// The most processor time, in thousandths of a processor.
    pub millicpus: Option<i64>,
    /// What its processes find around them, every list sorted.
    pub surroundings: Surroundings,
    /// Devices, as paths on the host, sorted.
    pub devices: Vec<String>,
    /// Capabilities that were added, sorted, without `CAP_`.
    pub capabilities: Vec<String>,
    /// Whether every other capability is dropped.
    pub drops_all: bool,
    /// Whether it can gain no privileges.
    pub no_new_privileges: bool,
    /// Ports published on the host, sorted.
    pub ports: Vec<PublishedPort>,
    /// Its labels, the image's own taken off.
    pub labels: BTreeMap<String, String>,
    /// Whether an init process reaps its children.
    pub init: bool,
    /// Its host name, where it is not the engine's choice.
    pub hostname: Option<String>,
    /// Whatever is set that Hearth never sets, such as `privileged` or `pid namespace host`, for people to read.
    pub foreign: Vec<String>,
    /// How it runs.
    pub state: RunState,
}

impl fmt::Debug for ContainerFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets, so it is left out.
        f.debug_struct("ContainerFacts")
            .field("name", &self.name)
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// What an image says of the containers made from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageDefaults {
    /// Its command.
    pub command: Vec<String>,
    /// Its entry point.
    pub entrypoint: Vec<String>,
    /// Its folder to start in.
    pub working_dir: String,
    /// Its user.
    pub user: String,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Its health check.
    pub health_check: Option<HealthCheck>,
    /// Its stop signal.
    pub stop_signal: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Paths it declares as volumes; the engine mounts an anonymous one where nothing else is mounted.
    pub volumes: Vec<String>,
}

/// A container's place on a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkPlace {
    /// The network's name.
    pub name: String,
    /// The network's id, which changes when it is made anew under the same name.
    pub network_id: String,
    /// Further names it answers to there, sorted; the engine's own (its id) taken off.
    pub aliases: Vec<String>,
    /// Its address; empty while it does not run.
    pub ip: String,
}

/// How a container runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    /// What the engine says: `created`, `running`, `paused`, `restarting`, `exited`, `removing`, `dead`.
    pub status: String,
    /// Whether it runs.
    pub running: bool,
    /// How it last exited; meaningful only when it has.
    pub exit_code: i64,
    /// Whether it was killed for using too much memory.
    pub out_of_memory: bool,
    /// What the engine says went wrong, if anything.
    pub error: String,
    /// When it last started.
    pub started_at: Option<Timestamp>,
    /// When it last ended.
    pub finished_at: Option<Timestamp>,
    /// How often the engine restarted it.
    pub restarts: i64,
    /// What its health check says; `None` without one.
    pub health: Option<Health>,
}

/// What a health check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It has not passed yet.
    Starting,
    /// It passes.
    Healthy,
    /// It fails.
    Unhealthy,
}

impl Health {
    /// The word as Docker writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// What a running container uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Processor time since it started; two readings tell how busy it is.
    pub processor: Duration,
    /// Memory, without what the system only keeps of files as long as there is room, in bytes.
    pub memory_bytes: u64,
}

/// What an engine says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFacts {
    /// Its version.
    pub version: String,
    /// The folder on the host that holds images and containers; empty where it does not tell.
    pub root_folder: String,
    /// The machine it runs on.
    pub host: HostFacts,
}

/// What an engine says of the machine it runs on. Whoever asks may themselves run in a container, and see less of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Its operating system, for people to read.
    pub system: Option<String>,
    /// How many processors it has.
    pub processors: Option<u64>,
    /// All its memory, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Which lines of a log are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Whether to go on with new lines as they come.
    pub follow: bool,
    /// Only the last so many lines.
    pub tail: Option<u32>,
    /// Only lines since then.
    pub since: Option<Timestamp>,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When it was written, where the engine knows.
    pub at: Option<Timestamp>,
    /// Whether it was written to standard error.
    pub is_error: bool,
    /// The line, without its end.
    pub text: String,
}
