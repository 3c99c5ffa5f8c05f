//! From a container that is wanted to what Docker is asked to make.
//!
//! What Hearth always sets, whatever the spec says: every capability dropped but the ones named, no new privileges,
//! a capped log, an explicit init and restart policy.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, DeviceMapping, EndpointSettings, HealthConfig, HostConfig, HostConfigLogConfig,
    Mount, MountTmpfsOptions, MountType, NetworkingConfig, PortBinding, PortMap, ResourcesUlimits,
    RestartPolicy, RestartPolicyNameEnum,
};
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{BoundFolder, JoinedNetwork, MemoryFolder, NewContainer};
use hearth_kinds::container::{HealthCheck, PublishedPort, Restart, Surroundings, Ulimit};

use super::check;

/// The driver whose logs Docker can read back.
pub(super) const LOG_DRIVER: &str = "json-file";
/// The most one log file may hold. Without a cap one chatty app fills the disk.
pub(super) const LOG_MAX_SIZE: &str = "10m";
/// How many log files are kept.
pub(super) const LOG_MAX_FILE: &str = "3";
/// The option that keeps a container from gaining privileges.
pub(super) const NO_NEW_PRIVILEGES: &str = "no-new-privileges:true";
/// The mode of a container on no network.
pub(super) const NO_NETWORK: &str = "none";

/// How many bytes `/dev/shm` holds where nothing is said, as Docker itself has it.
pub(super) const SHM_SIZE: i64 = 64 * 1024 * 1024;

const SECOND: i64 = 1_000_000_000;
/// Docker takes 0 for "as the image says", and 1 ms is the least it accepts. Read back it is 0 whole seconds.
const NO_START_PERIOD: i64 = 1_000_000;

/// What Docker is asked to make.
///
/// # Errors
/// [`Fault::Refused`] with every problem at once.
pub(super) fn body_for(wanted: &NewContainer) -> Result<ContainerCreateBody, Fault> {
    check::check(wanted)?;
    let around = &wanted.surroundings;
    let host = HostConfig {
        network_mode: Some(wanted.network.as_ref().map_or(NO_NETWORK, |network| &network.name).to_owned()),
        restart_policy: Some(restart_for(wanted.restart)),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(wanted.capabilities.clone()),
        security_opt: Some(vec![NO_NEW_PRIVILEGES.to_owned()]),
        log_config: Some(capped_log()),
        mounts: Some(wanted.mounts.iter().map(bind_for).chain(wanted.tmpfs.iter().map(tmpfs_for)).collect()),
        port_bindings: Some(bindings_for(&wanted.ports)),
        readonly_rootfs: Some(wanted.read_only_root),
        init: Some(wanted.init),
        memory: wanted.memory_bytes,
        nano_cpus: wanted.millicpus.map(|millicpus| millicpus.saturating_mul(1_000_000)),
        devices: Some(wanted.devices.iter().map(|path| device_for(path)).collect()),
        ..surrounded(around)
    };
    Ok(ContainerCreateBody {
        image: Some(wanted.image_id.clone()),
        cmd: wanted.command.clone(),
        entrypoint: wanted.entrypoint.clone(),
        working_dir: wanted.working_dir.clone(),
        user: wanted.user.clone(),
        env: Some(wanted.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        healthcheck: wanted.health.as_ref().map(health_for),
        stop_timeout: Some(whole_seconds(wanted.stop_grace)),
        stop_signal: wanted.stop_signal.clone(),
        labels: Some(wanted.labels.clone().into_iter().collect()),
        hostname: wanted.hostname.clone(),
        tty: Some(around.tty),
        open_stdin: Some(around.stdin_open),
        exposed_ports: Some(wanted.ports.iter().map(port_name).collect()),
        networking_config: wanted.network.as_ref().map(joined),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

/// What its processes find around them. The size of `/dev/shm` is always said: left out it would be the daemon's own,
/// and nothing could tell later whether somebody had asked for it.
fn surrounded(around: &Surroundings) -> HostConfig {
    let ulimit = |limit: &Ulimit| ResourcesUlimits {
        name: Some(limit.name.clone()),
        soft: Some(limit.soft),
        hard: Some(limit.hard),
    };
    let hosts = around.extra_hosts.iter().map(|host| format!("{}:{}", host.name, host.address));
    HostConfig {
        shm_size: Some(around.shm_size.unwrap_or(SHM_SIZE)),
        pids_limit: around.pids_limit,
        ulimits: Some(around.ulimits.iter().map(ulimit).collect()),
        extra_hosts: Some(hosts.collect()),
        group_add: Some(around.groups.clone()),
        ..HostConfig::default()
    }
}

/// How a container is on a network.
pub(crate) fn endpoint_for(network: &JoinedNetwork) -> EndpointSettings {
    EndpointSettings { aliases: Some(network.aliases.clone()), ..EndpointSettings::default() }
}

/// A duration in seconds, rounded up, so that nothing gets less time than it asked for.
pub(super) fn whole_seconds(duration: Duration) -> i64 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn restart_for(restart: Restart) -> RestartPolicy {
    let name = match restart {
        Restart::UnlessStopped => RestartPolicyNameEnum::UNLESS_STOPPED,
        Restart::OnFailure => RestartPolicyNameEnum::ON_FAILURE,
        Restart::Never => RestartPolicyNameEnum::NO,
    };
    RestartPolicy { name: Some(name), maximum_retry_count: None }
}

fn capped_log() -> HostConfigLogConfig {
    let config = [("max-size", LOG_MAX_SIZE), ("max-file", LOG_MAX_FILE)];
    HostConfigLogConfig {
        typ: Some(LOG_DRIVER.to_owned()),
        config: Some(config.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
    }
}

/// As a mount and not as a bind: Docker makes the missing source of a bind, owned by root, which would put an empty
/// folder in the place of lost data.
fn bind_for(folder: &BoundFolder) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(folder.host_path.clone()),
        target: Some(folder.path.clone()),
        read_only: Some(folder.read_only),
        ..Mount::default()
    }
}

fn tmpfs_for(folder: &MemoryFolder) -> Mount {
    let options = MountTmpfsOptions {
        size_bytes: folder.size_bytes,
        mode: folder.mode.map(i64::from),
        ..MountTmpfsOptions::default()
    };
    let says_something = folder.size_bytes.is_some() || folder.mode.is_some();
    Mount {
        typ: Some(MountType::TMPFS),
        target: Some(folder.path.clone()),
        tmpfs_options: says_something.then_some(options),
        ..Mount::default()
    }
}

fn bindings_for(ports: &[PublishedPort]) -> PortMap {
    let mut bindings = PortMap::new();
    for port in ports {
        let binding =
            PortBinding { host_ip: port.host_ip.clone(), host_port: Some(port.host_port.to_string()) };
        bindings.entry(port_name(port)).or_default().get_or_insert_default().push(binding);
    }
    bindings
}

fn port_name(port: &PublishedPort) -> String {
    format!("{}/tcp", port.container_port)
}

fn device_for(path: &str) -> DeviceMapping {
    DeviceMapping {
        path_on_host: Some(path.to_owned()),
        path_in_container: Some(path.to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }
}

fn health_for(health: &HealthCheck) -> HealthConfig {
    HealthConfig {
        test: Some(health.test.clone()),
        interval: Some(health.interval_seconds.saturating_mul(SECOND)),
        timeout: Some(health.timeout_seconds.saturating_mul(SECOND)),
        retries: Some(health.retries),
        start_period: Some(health.start_period_seconds.saturating_mul(SECOND).max(NO_START_PERIOD)),
        start_interval: None,
    }
}

fn joined(network: &JoinedNetwork) -> NetworkingConfig {
    let endpoints = HashMap::from([(network.name.clone(), endpoint_for(network))]);
    NetworkingConfig { endpoints_config: Some(endpoints) }
}
