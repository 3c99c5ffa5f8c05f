//! A container as the machine keeps it, and as it is told.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_capabilities::containers::{
    BoundFolder, ContainerFacts, Health, ImageDefaults, ListedContainer, MemoryFolder, NetworkPlace,
    NewContainer, RunState, Usage,
};
use hearth_kinds::container::{HealthCheck, PublishedPort, Restart, Surroundings};
use hearth_meta::Time;
use serde::{Deserialize, Serialize};

use crate::images::Image;

/// One container.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Container {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) image_id: String,
    /// The reference it was made with, for finding its behaviour.
    pub(crate) image_reference: String,
    pub(crate) settings: Settings,
    /// Its networks by name.
    pub(crate) places: BTreeMap<String, Place>,
    pub(crate) run: Run,
    pub(crate) log: Vec<Line>,
}

/// What it was made with, as it is in force.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) command: Vec<String>,
    pub(crate) entrypoint: Vec<String>,
    working_dir: String,
    user: String,
    pub(crate) env: BTreeMap<String, String>,
    /// Host path, path, whether read-only.
    pub(crate) mounts: Vec<(String, String, bool)>,
    tmpfs: Vec<(String, Option<i64>, Option<u32>)>,
    #[serde(default)]
    surroundings: Surroundings,
    read_only_root: bool,
    pub(crate) health: Option<HealthCheck>,
    pub(crate) restart: Option<Restart>,
    stop_grace: Option<Duration>,
    stop_signal: String,
    memory_bytes: Option<i64>,
    millicpus: Option<i64>,
    devices: Vec<String>,
    capabilities: Vec<String>,
    drops_all: bool,
    no_new_privileges: bool,
    ports: Vec<PublishedPort>,
    pub(crate) labels: BTreeMap<String, String>,
    init: bool,
    hostname: Option<String>,
    foreign: Vec<String>,
}

/// Its place on a network.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Empty until the first start (seen).
    pub(crate) network_id: String,
    pub(crate) aliases: Vec<String>,
    /// Empty while it does not run (seen).
    pub(crate) ip: String,
}

/// How it runs.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) status: Status,
    pub(crate) exit_code: i64,
    pub(crate) out_of_memory: bool,
    pub(crate) error: String,
    pub(crate) started_at: Option<Time>,
    pub(crate) finished_at: Option<Time>,
    pub(crate) restarts: i64,
    pub(crate) health: HealthWord,
    /// Stopped on purpose, so that the engine does not start it again.
    pub(crate) is_stopped_by_hand: bool,
    /// How long the engine waits before it starts it again.
    pub(crate) backoff: Duration,
    /// When it was started, on the machine's time.
    pub(crate) running_since: Duration,
    /// Failed checks in a row.
    pub(crate) failures: i64,
    /// When it ends by itself, and how.
    pub(crate) ends: Option<(Duration, i64)>,
    /// When its health is checked next.
    pub(crate) checked: Option<Duration>,
    /// When the engine starts it again.
    pub(crate) started_again: Option<Duration>,
    /// When it writes its next line.
    pub(crate) writes: Option<Duration>,
}

/// What the engine says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    #[default]
    Created,
    Running,
    Restarting,
    Exited,
}

/// What its health check says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HealthWord {
    /// There is no check.
    #[default]
    None,
    Starting,
    Healthy,
    Unhealthy,
}

/// A line it wrote.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) at: Time,
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Run {
    pub(crate) fn is_running(&self) -> bool {
        self.status == Status::Running
    }
}

/// Of how much time a running container works: a fiftieth.
const IDLE_SHARE: u32 = 50;
/// What a running container takes of memory where its limit leaves it that much, in bytes.
const MEMORY: i64 = 24 << 20;

impl Container {
    /// What it uses at a time of the machine; `None` where it does not run.
    pub(crate) fn usage(&self, now: Duration) -> Option<Usage> {
        let processor = now.saturating_sub(self.run.running_since) / IDLE_SHARE;
        let half = self.settings.memory_bytes.map_or(MEMORY, |limit| (limit / 2).clamp(1, MEMORY));
        let memory_bytes = u64::try_from(half).unwrap_or(1);
        self.run.is_running().then_some(Usage { processor, memory_bytes })
    }

    /// As it is made: what is not said is the image's.
    pub(crate) fn new(id: String, wanted: &NewContainer, image: &Image) -> Self {
        let image_defaults = image.defaults();
        let text = |wanted: &Option<String>, image: &str| wanted.clone().unwrap_or_else(|| image.to_owned());
        let place = |network: &hearth_capabilities::containers::JoinedNetwork| {
            (network.name.clone(), Place { aliases: sorted(&network.aliases), ..Place::default() })
        };
        let mut env = image_defaults.env.clone();
        env.extend(wanted.env.clone());
        let settings = Settings {
            command: command_for(wanted, &image_defaults),
            entrypoint: wanted.entrypoint.clone().unwrap_or_else(|| image_defaults.entrypoint.clone()),
            working_dir: text(&wanted.working_dir, &image_defaults.working_dir),
            user: text(&wanted.user, &image_defaults.user),
            env,
            mounts: mounts(&wanted.mounts),
            tmpfs: tmpfs(&wanted.tmpfs),
            read_only_root: wanted.read_only_root,
            health: wanted.health.clone().or_else(|| image_defaults.health_check.clone()),
            restart: Some(wanted.restart),
            stop_grace: Some(wanted.stop_grace),
            stop_signal: text(&wanted.stop_signal, &image_defaults.stop_signal),
            memory_bytes: wanted.memory_bytes,
            millicpus: wanted.millicpus,
            surroundings: around(&wanted.surroundings),
            devices: sorted(&wanted.devices),
            capabilities: sorted(&wanted.capabilities),
            drops_all: true,
            no_new_privileges: true,
            ports: sorted(&wanted.ports),
            labels: wanted.labels.clone(),
            init: wanted.init,
            hostname: wanted.hostname.clone(),
            foreign: Vec::new(),
        };
        Self {
            id,
            name: wanted.name.clone(),
            image_id: wanted.image_id.clone(),
            image_reference: wanted.image_reference.clone(),
            settings,
            places: wanted.network.iter().map(place).collect(),
            run: Run::default(),
            log: Vec::new(),
        }
    }

    /// As it is listed.
    pub(crate) fn listed(&self, image: Option<&Image>) -> ListedContainer {
        // Docker merges the image's labels into the container's.
        let mut labels = image.map(|image| image.labels.clone()).unwrap_or_default();
        labels.extend(self.settings.labels.clone());
        ListedContainer {
            id: self.id.clone(),
            name: self.name.clone(),
            labels,
            state: self.run.status.as_str().to_owned(),
        }
    }

    /// As it is inspected.
    pub(crate) fn facts(&self, image: &Image) -> ContainerFacts {
        let settings = self.settings.clone();
        let is_the_images = |name: &str, value: &str| image.labels.get(name).is_some_and(|own| own == value);
        ContainerFacts {
            id: self.id.clone(),
            name: self.name.clone(),
            image_id: self.image_id.clone(),
            image: image.defaults(),
            command: settings.command,
            entrypoint: settings.entrypoint,
            working_dir: settings.working_dir,
            user: settings.user,
            env: settings.env,
            mounts: settings
                .mounts
                .into_iter()
                .map(|(host_path, path, read_only)| BoundFolder { host_path, path, read_only })
                .collect(),
            tmpfs: settings
                .tmpfs
                .into_iter()
                .map(|(path, size_bytes, mode)| MemoryFolder { path, size_bytes, mode })
                .collect(),
            read_only_root: settings.read_only_root,
            networks: self.places.iter().map(|(name, place)| place.told(name)).collect(),
            health_check: settings.health,
            restart: settings.restart,
            stop_grace: settings.stop_grace,
            stop_signal: settings.stop_signal,
            memory_bytes: settings.memory_bytes,
            millicpus: settings.millicpus,
            surroundings: settings.surroundings,
            devices: settings.devices,
            capabilities: settings.capabilities,
            drops_all: settings.drops_all,
            no_new_privileges: settings.no_new_privileges,
            ports: settings.ports,
            labels: settings.labels.into_iter().filter(|(name, value)| !is_the_images(name, value)).collect(),
            init: settings.init,
            hostname: settings.hostname,
            foreign: settings.foreign,
            state: self.run.told(),
        }
    }

    /// Takes over what somebody edited; how it runs stays as it is.
    pub(crate) fn take_over(&mut self, facts: ContainerFacts) {
        self.image_id = facts.image_id;
        self.settings = Settings {
            command: facts.command,
            entrypoint: facts.entrypoint,
            working_dir: facts.working_dir,
            user: facts.user,
            env: facts.env,
            mounts: mounts(&facts.mounts),
            tmpfs: tmpfs(&facts.tmpfs),
            read_only_root: facts.read_only_root,
            health: facts.health_check,
            restart: facts.restart,
            stop_grace: facts.stop_grace,
            stop_signal: facts.stop_signal,
            memory_bytes: facts.memory_bytes,
            millicpus: facts.millicpus,
            surroundings: around(&facts.surroundings),
            devices: facts.devices,
            capabilities: facts.capabilities,
            drops_all: facts.drops_all,
            no_new_privileges: facts.no_new_privileges,
            ports: facts.ports,
            labels: facts.labels,
            init: facts.init,
            hostname: facts.hostname,
            foreign: facts.foreign,
        };
        self.places =
            facts.networks.into_iter().map(|place| (place.name.clone(), Place::from(place))).collect();
    }
}

/// As Docker merges them: an entry point of one's own takes the image's command away.
fn command_for(wanted: &NewContainer, image: &ImageDefaults) -> Vec<String> {
    let has_own_entrypoint = wanted.entrypoint.as_ref().is_some_and(|own| !own.is_empty());
    match &wanted.command {
        Some(command) => command.clone(),
        None if has_own_entrypoint => Vec::new(),
        None => image.command.clone(),
    }
}

fn mounts(folders: &[BoundFolder]) -> Vec<(String, String, bool)> {
    let mut mounts: Vec<_> = folders
        .iter()
        .map(|folder| (folder.host_path.clone(), folder.path.clone(), folder.read_only))
        .collect();
    mounts.sort_by(|one, other| one.1.cmp(&other.1));
    mounts
}

fn tmpfs(folders: &[MemoryFolder]) -> Vec<(String, Option<i64>, Option<u32>)> {
    let all = folders.iter().map(|folder| (folder.path.clone(), folder.size_bytes, folder.mode));
    sorted(&all.collect::<Vec<_>>())
}

fn around(asked: &Surroundings) -> Surroundings {
    Surroundings {
        ulimits: sorted(&asked.ulimits),
        extra_hosts: sorted(&asked.extra_hosts),
        groups: sorted(&asked.groups),
        ..asked.clone()
    }
}

pub(crate) fn sorted<T: Clone + Ord>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort();
    list.dedup();
    list
}

impl Place {
    fn told(&self, name: &str) -> NetworkPlace {
        NetworkPlace {
            name: name.to_owned(),
            network_id: self.network_id.clone(),
            aliases: self.aliases.clone(),
            ip: self.ip.clone(),
        }
    }
}

impl From<NetworkPlace> for Place {
    fn from(place: NetworkPlace) -> Self {
        Self { network_id: place.network_id, aliases: place.aliases, ip: place.ip }
    }
}

impl Run {
    fn told(&self) -> RunState {
        let health = match self.health {
            _ if !self.is_running() => None,
            HealthWord::None => None,
            HealthWord::Starting => Some(Health::Starting),
            HealthWord::Healthy => Some(Health::Healthy),
            HealthWord::Unhealthy => Some(Health::Unhealthy),
        };
        RunState {
            status: self.status.as_str().to_owned(),
            running: self.is_running(),
            exit_code: self.exit_code,
            out_of_memory: self.out_of_memory,
            error: self.error.clone(),
            started_at: self.started_at.as_ref().map(|time| time.0),
            finished_at: self.finished_at.as_ref().map(|time| time.0),
            restarts: self.restarts,
            health,
        }
    }
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Restarting => "restarting",
            Self::Exited => "exited",
        }
    }
}
