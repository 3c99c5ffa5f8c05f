//! From what Docker says of a container to [`ContainerFacts`].
//!
//! Pure, and total: whatever Docker leaves out has its default. Traps that are taken care of here:
//!
//! - Docker merges what the image says into the container, so labels of the image are taken off again.
//! - On every network it adds the container's short id to the aliases, and after it the host name; the aliases that
//!   were asked for stand before.
//! - A health check that says 0 means Docker's default. 1 ms of start period is how 0 is written.
//! - The state of a health check stays behind when the container ends, and means nothing then.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bollard::models::{
    ContainerConfig, ContainerInspectResponse, ContainerState, EndpointSettings, HealthConfig,
    HealthStatusEnum, HostConfig, MountPoint, MountType, PortMap, RestartPolicy, RestartPolicyNameEnum,
};
use hearth_capabilities::containers::{
    BoundFolder, ContainerFacts, Health, MemoryFolder, NetworkPlace, RunState,
};
use hearth_kinds::container::{ExtraHost, HealthCheck, PublishedPort, Restart, Surroundings, Ulimit};
use hearth_meta::Timestamp;

use super::create::{NO_NETWORK, NO_NEW_PRIVILEGES, SHM_SIZE};
use super::foreign;
use crate::images::Image;

const SECOND: i64 = 1_000_000_000;
/// What Docker takes where a health check says 0, in seconds, and for its retries.
const DEFAULT_INTERVAL: i64 = 30;
const DEFAULT_TIMEOUT: i64 = 30;
const DEFAULT_RETRIES: i64 = 3;
/// How much of its id Docker uses as host name and alias.
const SHORT_ID: usize = 12;

/// A container in the words of the spec.
pub(super) fn facts_from(
    seen: &ContainerInspectResponse,
    image: &Image,
    default_runtime: &str,
) -> ContainerFacts {
    let (config, host) =
        (seen.config.clone().unwrap_or_default(), seen.host_config.clone().unwrap_or_default());
    let id = seen.id.clone().unwrap_or_default();
    let name = seen.name.as_deref().unwrap_or_default().trim_start_matches('/').to_owned();
    let labels = config.labels.clone().unwrap_or_default().into_iter();
    ContainerFacts {
        image_id: seen.image.clone().unwrap_or_default(),
        image: image.defaults.clone(),
        command: config.cmd.clone().unwrap_or_default(),
        entrypoint: config.entrypoint.clone().unwrap_or_default(),
        working_dir: config.working_dir.clone().unwrap_or_default(),
        user: config.user.clone().unwrap_or_default(),
        env: env_from(config.env.as_deref()),
        mounts: mounts_from(seen.mounts.as_deref()),
        tmpfs: tmpfs_from(&host),
        read_only_root: host.readonly_rootfs.unwrap_or_default(),
        networks: networks_from(seen, &id),
        health_check: config.healthcheck.as_ref().and_then(health_check_from),
        restart: restart_from(host.restart_policy.as_ref()),
        stop_grace: config
            .stop_timeout
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(Duration::from_secs),
        stop_signal: config.stop_signal.clone().unwrap_or_default(),
        memory_bytes: host.memory.filter(|&bytes| bytes != 0),
        millicpus: host.nano_cpus.filter(|&nanos| nanos != 0).map(|nanos| nanos / 1_000_000),
        surroundings: surroundings_from(&config, &host),
        devices: devices_from(&host),
        capabilities: capabilities_from(&host),
        drops_all: host.cap_drop.iter().flatten().any(|cap| cap.eq_ignore_ascii_case("ALL")),
        no_new_privileges: host.security_opt.iter().flatten().any(|option| is_no_new_privileges(option)),
        ports: ports_from(host.port_bindings.as_ref()),
        labels: labels.filter(|(name, value)| image.defaults.labels.get(name) != Some(value)).collect(),
        init: host.init.unwrap_or_default(),
        hostname: hostname_from(&config, &id),
        foreign: foreign::found(seen, &config, &host, image, default_runtime),
        state: seen.state.as_ref().map(|state| state_from(state, seen.restart_count)).unwrap_or_default(),
        id,
        name,
    }
}

/// Variables by name. One without a value unsets the image's own and is told as foreign.
pub(crate) fn env_from(env: Option<&[String]>) -> BTreeMap<String, String> {
    let pairs = env.unwrap_or_default().iter().filter_map(|entry| entry.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A health check in whole seconds, Docker's defaults filled in; `None` where there is no test.
pub(crate) fn health_check_from(health: &HealthConfig) -> Option<HealthCheck> {
    let test = health.test.clone().filter(|test| !test.is_empty())?;
    let seconds = |nanos: Option<i64>, default: i64| match nanos.unwrap_or_default() {
        0 => default,
        nanos => (nanos / SECOND).max(1),
    };
    Some(HealthCheck {
        test,
        interval_seconds: seconds(health.interval, DEFAULT_INTERVAL),
        timeout_seconds: seconds(health.timeout, DEFAULT_TIMEOUT),
        retries: health.retries.filter(|&retries| retries != 0).unwrap_or(DEFAULT_RETRIES),
        start_period_seconds: health.start_period.unwrap_or_default() / SECOND,
    })
}

/// Whether a security option is the one Hearth always sets, in any of its spellings.
pub(super) fn is_no_new_privileges(option: &str) -> bool {
    matches!(option, NO_NEW_PRIVILEGES | "no-new-privileges" | "no-new-privileges=true")
}

/// The names asked for on a network: what stands before the short id, which Docker appends, and what it appends
/// after it.
pub(super) fn asked_aliases(endpoint: &EndpointSettings, id: &str) -> Vec<String> {
    let short = id.get(..SHORT_ID).unwrap_or(id);
    let asked = endpoint.aliases.iter().flatten().take_while(|alias| *alias != short);
    let mut aliases: Vec<String> = asked.cloned().collect();
    aliases.sort();
    aliases.dedup();
    aliases
}

/// The networks Docker says a container is on, by name.
pub(super) fn endpoints(seen: &ContainerInspectResponse) -> HashMap<String, EndpointSettings> {
    let networks = seen.network_settings.as_ref().and_then(|settings| settings.networks.clone());
    let mut networks = networks.unwrap_or_default();
    // The place of a container that is on no network.
    networks.remove(NO_NETWORK);
    networks
}

fn networks_from(seen: &ContainerInspectResponse, id: &str) -> Vec<NetworkPlace> {
    let mut places: Vec<NetworkPlace> = endpoints(seen)
        .into_iter()
        .map(|(name, endpoint)| NetworkPlace {
            name,
            aliases: asked_aliases(&endpoint, id),
            network_id: endpoint.network_id.unwrap_or_default(),
            ip: endpoint.ip_address.unwrap_or_default(),
        })
        .collect();
    places.sort();
    places
}

fn mounts_from(mounts: Option<&[MountPoint]>) -> Vec<BoundFolder> {
    let binds = mounts.unwrap_or_default().iter().filter(|mount| mount.typ.as_deref() == Some("bind"));
    let mut folders: Vec<BoundFolder> = binds
        .map(|mount| BoundFolder {
            host_path: mount.source.clone().unwrap_or_default(),
            path: mount.destination.clone().unwrap_or_default(),
            read_only: mount.rw == Some(false),
        })
        .collect();
    folders.sort_by(|one, other| one.path.cmp(&other.path));
    folders
}

fn tmpfs_from(host: &HostConfig) -> Vec<MemoryFolder> {
    let mounts = host.mounts.iter().flatten().filter(|mount| mount.typ == Some(MountType::TMPFS));
    let mounts = mounts.map(|mount| {
        let options = mount.tmpfs_options.as_ref();
        MemoryFolder {
            path: clean(mount.target.as_deref().unwrap_or_default()),
            size_bytes: options.and_then(|options| options.size_bytes).filter(|&size| size != 0),
            mode: options.and_then(|options| u32::try_from(options.mode?).ok()).filter(|&mode| mode != 0),
        }
    });
    // The other way to ask for one, which Hearth does not use; its options are told as foreign.
    let short = host.tmpfs.iter().flatten().map(|(path, _)| MemoryFolder {
        path: clean(path),
        size_bytes: None,
        mode: None,
    });
    let mut folders: Vec<MemoryFolder> = mounts.chain(short).collect();
    folders.sort();
    folders
}

/// A path without a slash at its end, as Docker writes mounted paths.
fn clean(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/".to_owned() } else { trimmed.to_owned() }
}

fn restart_from(policy: Option<&RestartPolicy>) -> Option<Restart> {
    let retries = policy.and_then(|policy| policy.maximum_retry_count).unwrap_or_default();
    match policy.and_then(|policy| policy.name) {
        Some(RestartPolicyNameEnum::UNLESS_STOPPED) => Some(Restart::UnlessStopped),
        Some(RestartPolicyNameEnum::ON_FAILURE) if retries == 0 => Some(Restart::OnFailure),
        None | Some(RestartPolicyNameEnum::NO | RestartPolicyNameEnum::EMPTY) => Some(Restart::Never),
        Some(RestartPolicyNameEnum::ON_FAILURE | RestartPolicyNameEnum::ALWAYS) => None,
    }
}

fn surroundings_from(config: &ContainerConfig, host: &HostConfig) -> Surroundings {
    let ulimits = host.ulimits.iter().flatten().map(|limit| Ulimit {
        name: limit.name.clone().unwrap_or_default(),
        soft: limit.soft.unwrap_or_default(),
        hard: limit.hard.unwrap_or_default(),
    });
    let hosts = host.extra_hosts.iter().flatten().filter_map(|host| host.split_once([':', '=']));
    let hosts = hosts.map(|(name, address)| ExtraHost { name: name.to_owned(), address: address.to_owned() });
    Surroundings {
        shm_size: host.shm_size.filter(|&size| size != 0 && size != SHM_SIZE),
        pids_limit: host.pids_limit.filter(|&limit| limit > 0),
        ulimits: sorted(ulimits),
        extra_hosts: sorted(hosts),
        groups: sorted(host.group_add.iter().flatten().cloned()),
        tty: config.tty.unwrap_or_default(),
        stdin_open: config.open_stdin.unwrap_or_default(),
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}

fn devices_from(host: &HostConfig) -> Vec<String> {
    let mut devices: Vec<String> =
        host.devices.iter().flatten().filter_map(|device| device.path_on_host.clone()).collect();
    devices.sort();
    devices
}

fn capabilities_from(host: &HostConfig) -> Vec<String> {
    let plain = |capability: &String| {
        let upper = capability.to_ascii_uppercase();
        upper.strip_prefix("CAP_").map(str::to_owned).unwrap_or(upper)
    };
    let mut capabilities: Vec<String> = host.cap_add.iter().flatten().map(plain).collect();
    capabilities.sort();
    capabilities.dedup();
    capabilities
}

fn ports_from(bindings: Option<&PortMap>) -> Vec<PublishedPort> {
    let mut ports = Vec::new();
    for (name, bindings) in bindings.into_iter().flatten() {
        // Another protocol, and a port of Docker's own choice, are told as foreign.
        let Some(container_port) = name.strip_suffix("/tcp").and_then(|port| port.parse().ok()) else {
            continue;
        };
        for binding in bindings.iter().flatten() {
            let host_port = binding.host_port.as_deref().and_then(|port| port.parse().ok());
            let host_ip = binding.host_ip.clone().filter(|ip| !ip.is_empty());
            ports.extend(host_port.map(|host_port| PublishedPort { host_ip, host_port, container_port }));
        }
    }
    ports.sort();
    ports
}

fn hostname_from(config: &ContainerConfig, id: &str) -> Option<String> {
    config.hostname.clone().filter(|name| !name.is_empty() && id.get(..SHORT_ID) != Some(name.as_str()))
}

fn state_from(state: &ContainerState, restarts: Option<i64>) -> RunState {
    // Docker says "running" of a container that waits to be started again; nothing runs in it.
    let running = state.running.unwrap_or_default() && !state.restarting.unwrap_or_default();
    let health = state.health.as_ref().and_then(|health| health.status);
    RunState {
        status: state.status.map(|status| status.to_string()).unwrap_or_default(),
        running,
        exit_code: state.exit_code.unwrap_or_default(),
        out_of_memory: state.oom_killed.unwrap_or_default(),
        error: state.error.clone().unwrap_or_default(),
        started_at: time_from(state.started_at.as_deref()),
        finished_at: time_from(state.finished_at.as_deref()),
        restarts: restarts.unwrap_or_default(),
        health: health.filter(|_| running).and_then(health_from),
    }
}

fn health_from(status: HealthStatusEnum) -> Option<Health> {
    match status {
        HealthStatusEnum::STARTING => Some(Health::Starting),
        HealthStatusEnum::HEALTHY => Some(Health::Healthy),
        HealthStatusEnum::UNHEALTHY => Some(Health::Unhealthy),
        HealthStatusEnum::EMPTY | HealthStatusEnum::NONE => None,
    }
}

/// Docker writes the year 1 for "never".
fn time_from(text: Option<&str>) -> Option<Timestamp> {
    text.filter(|text| !text.starts_with("0001-")).and_then(|text| text.parse().ok())
}
