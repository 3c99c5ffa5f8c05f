//! May an app do what its compose file asks? One decision, for every door.
//!
//! An allowlist over the fully interpolated, merged and normalised model: every key of the format
//! has a rule in [`crate::compose`]'s table, and what has none does not pass. What a file may reach
//! is the app's own data, the devices and folders it was granted, and the network of the app. What
//! has no effect here is said in a warning; what is not allowed is refused by its field path, with
//! the reason and what to do instead.
//!
//! A secret value stays a reference by its name. It may stand in the value of an environment
//! variable or in a file the service is given, and nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hearth_meta::Problem;

use crate::compose::{load, secret};
use crate::fault::Faults;
use crate::node::{At, Node};

mod table;
mod service;
mod fields;
mod health;
mod mounts;
mod given;
mod surroundings;

pub(crate) use service::is_host_name;
mod references;

/// What `${NAME}` becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// This text.
    Plain(String),
    /// A secret: it never enters the model and stays a reference by the value's name.
    Secret,
}

/// A package to admit.
#[derive(Clone, Debug)]
pub struct Package<'a> {
    /// The files of the package by their path in it. The compose file is the first there is of
    /// `compose.yaml`, `compose.yml`, `docker-compose.yaml`, `docker-compose.yml`.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// What variables become, by name. `DATA_DIR` is always there: the app's data folder.
    pub values: &'a BTreeMap<String, Value>,
    /// Devices the app was granted, by their path on the host (`/dev/dri`).
    pub devices: &'a [String],
    /// Folders of the host the app was granted, by their absolute path.
    pub folders: &'a [String],
    /// The service people open; the only one when none is named.
    pub main_service: Option<&'a str>,
}

/// What was admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The services to run, sorted by name. Services of a profile are not among them.
    pub services: Vec<Service>,
    /// The service people open; none when there are several and none was named.
    pub main_service: Option<String>,
    /// What the file asks for that has no effect here.
    pub warnings: Vec<Problem>,
}

/// One service, fully resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name in the file.
    pub name: String,
    /// The image, as written.
    pub image: String,
    /// Arguments; none for the image's own.
    pub command: Option<Vec<String>>,
    /// The program; none for the image's own.
    pub entrypoint: Option<Vec<String>>,
    /// Environment variables, sorted by name.
    pub environment: Vec<EnvVar>,
    /// The folder commands run in, absolute.
    pub working_dir: Option<String>,
    /// The user commands run as.
    pub user: Option<String>,
    /// The name the container knows itself by.
    pub hostname: Option<String>,
    /// How health is checked; none for what the image says.
    pub health: Option<Health>,
    /// What must have happened before the service starts, sorted by service.
    pub depends_on: Vec<Dependency>,
    /// Folders of the app's data, sorted by target.
    pub mounts: Vec<Mount>,
    /// Granted folders of the host, sorted by target.
    pub folders: Vec<FolderMount>,
    /// Granted devices.
    pub devices: Vec<Device>,
    /// Folders in memory, sorted by target.
    pub tmpfs: Vec<Tmpfs>,
    /// Files it is given, sorted by target.
    pub files: Vec<File>,
    /// Whether the container's own file system cannot be written.
    pub read_only: bool,
    /// Labels of the author.
    pub labels: BTreeMap<String, String>,
    /// Other names of the service on the app's network, sorted.
    pub aliases: Vec<String>,
    /// How long the service may take to stop.
    pub stop_grace: Option<Duration>,
    /// The signal that asks it to stop.
    pub stop_signal: Option<String>,
    /// Ports of the container: those of `ports`, then those of `expose`, each once. TCP only.
    pub ports: Vec<u16>,
    /// Whether the service runs to its end: the author wrote `restart: no` or `on-failure`, or
    /// another service waits for it to complete. Never the main service.
    pub job: bool,
    /// What happens when it ends.
    pub restart: Restart,
    /// Whether a small init process runs first.
    pub init: Option<bool>,
    /// Size of `/dev/shm` in bytes.
    pub shm_size: Option<u64>,
    /// Most memory, in bytes.
    pub memory_limit: Option<u64>,
    /// Most processor time, in thousandths of a core.
    pub cpu_limit_millis: Option<u64>,
    /// Most processes.
    pub pids_limit: Option<u64>,
    /// Limits of each process, sorted by name.
    pub ulimits: Vec<Ulimit>,
    /// Further names it can look up: each with an address, or with `host-gateway`.
    pub extra_hosts: Vec<(String, String)>,
    /// Further groups of its first process, as numbers, sorted.
    pub groups: Vec<String>,
    /// Whether its first process has a terminal.
    pub tty: bool,
    /// Whether its first process's input stays open.
    pub stdin_open: bool,
}

/// A limit of each process; -1 is without limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ulimit {
    /// Which, such as `nofile`.
    pub name: String,
    /// What is in force.
    pub soft: i64,
    /// What a process may raise it to.
    pub hard: i64,
}

/// A file in a container that it may read and not write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Where it is in the container, absolute and clean.
    pub target: String,
    /// What is in it.
    pub content: FileContent,
    /// Its mode, 9 bits.
    pub mode: u32,
    /// Its owner's number.
    pub uid: u32,
    /// Its group's number.
    pub gid: u32,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileContent {
    /// Texts and secret values, in order.
    Parts(Vec<EnvPart>),
    /// The file of this path in the package.
    OfPackage(String),
}

impl File {
    /// The path in the package, where the file is one of it.
    pub fn of_package(&self) -> Option<&str> {
        match &self.content {
            FileContent::OfPackage(path) => Some(path),
            FileContent::Parts(_) => None,
        }
    }
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value; a plain one is a single text.
    pub parts: Vec<EnvPart>,
}

/// A stretch of an environment variable's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnvPart {
    /// This text.
    Text(String),
    /// The secret value of this name.
    Secret(String),
}

impl EnvPart {
    /// How many bytes of text it is.
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Secret(_) => 0,
        }
    }
}

/// How health is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not at all, whatever the image says.
    Disabled,
    /// With a command. What is none is left to the image, then to the engine.
    Check {
        /// `CMD` or `CMD-SHELL` and its arguments; none for the image's own test.
        test: Option<Vec<String>>,
        /// Time between two checks.
        interval: Option<Duration>,
        /// Time a check may take.
        timeout: Option<Duration>,
        /// Time a service has to start before failures count.
        start_period: Option<Duration>,
        /// Time between two checks while it starts.
        start_interval: Option<Duration>,
        /// Failures in a row that make a service unhealthy.
        retries: Option<u64>,
    },
}

/// Something another service must have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The other service.
    pub service: String,
    /// What it must have done.
    pub condition: Condition,
    /// Whether its failure keeps this service from starting.
    pub required: bool,
    /// Whether this service restarts when the other does.
    pub restart: bool,
}

/// What a dependency must have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It was started.
    Started,
    /// It is healthy.
    Healthy,
    /// It ended with success.
    Completed,
}

/// A folder of the app's data in a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// Where it is in the container, absolute and clean.
    pub target: String,
    /// A normal relative path under the instance's `data/`: no `.`, no `..`, never empty.
    pub source: String,
    /// Whether the container may only read it.
    pub read_only: bool,
}

/// A granted folder of the host in a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderMount {
    /// Where it is in the container, absolute and clean.
    pub target: String,
    /// The path on the host: a granted folder, or one inside it.
    pub source: String,
    /// Whether the container may only read it.
    pub read_only: bool,
}

/// A granted device in a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// Its path on the host.
    pub source: String,
    /// Its path in the container.
    pub target: String,
    /// `r`, `w` and `m` in any mix.
    pub permissions: String,
}

/// A folder in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tmpfs {
    /// Where it is in the container, absolute and clean.
    pub target: String,
    /// Its most bytes.
    pub size: Option<u64>,
    /// Its permission bits.
    pub mode: Option<u32>,
}

/// What happens when a service ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It is started again, unless someone stopped it. Every service that is no job.
    UnlessStopped,
    /// It is started again when it failed; jobs only.
    OnFailure,
    /// It is left; jobs only.
    Never,
}

/// Where the app's data seems to be while its file is read. No container ever sees it.
const DATA: &str = "/data-of-this-app";

/// The variable that names the data folder in volume sources.
const DATA_DIR: &str = "DATA_DIR";

/// Names a package's compose file may have, the first that exists wins.
pub const COMPOSE_NAMES: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

/// Decides what a package may do.
///
/// # Errors
/// Every problem found: YAML that cannot be read, a file Docker Compose would refuse, and whatever
/// is not allowed here, each with its field path and place.
pub fn admit(package: &Package<'_>) -> Result<Admitted, Vec<Problem>> {
    let mut seen = Vec::new();
    admit_seen(package, &mut seen).map_err(|faults| faults.into_problems(&seen))
}

fn admit_seen(package: &Package<'_>, seen: &mut Vec<String>) -> Result<Admitted, Faults> {
    references::forbid_marks(package)?;
    let name = COMPOSE_NAMES.iter().find(|name| package.files.contains_key(**name));
    let Some(name) = name else {
        let message = format!("the package has no compose file; add one named {}", COMPOSE_NAMES[0]);
        return Err(Faults::one(At::default(), "", message));
    };
    let request = load::Request {
        files: package.files,
        names: &[(*name).to_owned()],
        folder: DATA,
        home: None,
        project: Some("app"),
        environment: environment(package),
        env_files: &[],
        profiles: &[],
    };
    let loaded = load::load(request, seen)?;
    let mut judge = Judge { package, faults: Faults::default(), warnings: Faults::default() };
    table::walk(&mut judge, &loaded);
    references::check(&mut judge, &loaded.model);
    let mut services = service::all(&mut judge, &loaded.model);
    given::add(&mut judge, &mut services, &loaded);
    if services.is_empty() {
        judge.faults.add_at(
            At::default(),
            "services",
            "no service is run; the file has none, or all have a profile",
        );
    }
    let main_service = main_service(&mut judge, &services);
    let services = service::with_roles(&mut judge, services, main_service.as_deref(), &loaded.model);
    mounts::forbid_nesting(&mut judge, &services);
    judge.faults.stop()?;
    let warnings = judge.warnings.into_problems(seen);
    Ok(Admitted { services, main_service, warnings })
}

fn environment(package: &Package<'_>) -> BTreeMap<String, String> {
    let values = package.values.iter().map(|(name, value)| match value {
        Value::Plain(text) => (name.clone(), text.clone()),
        Value::Secret => (name.clone(), secret::mark(name)),
    });
    values.chain([(DATA_DIR.to_owned(), DATA.to_owned())]).collect()
}

fn main_service(judge: &mut Judge<'_>, services: &[Service]) -> Option<String> {
    match (judge.package.main_service, services) {
        (Some(name), services) => {
            if !services.iter().any(|service| service.name == name) {
                let names: BTreeSet<&str> = services.iter().map(|service| service.name.as_str()).collect();
                let names = names.into_iter().collect::<Vec<_>>().join(", ");
                let message = format!("there is no service `{name}`; the file has {names}");
                judge.faults.add_at(At::default(), "mainService", message);
            }
            Some(name.to_owned())
        }
        (None, [only]) => Some(only.name.clone()),
        (None, _) => None,
    }
}

/// The decision while it is made.
struct Judge<'a> {
    package: &'a Package<'a>,
    faults: Faults,
    warnings: Faults,
}

impl Judge<'_> {
    fn refuse(&mut self, node: &Node, path: impl Into<String>, message: impl Into<String>) {
        self.faults.add_at(node.at, path, message);
    }

    fn warn(&mut self, node: &Node, path: impl Into<String>, message: impl Into<String>) {
        self.warnings.add_at(node.at, path, message);
    }
}
