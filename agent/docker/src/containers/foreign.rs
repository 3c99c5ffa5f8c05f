//! What a container has that Hearth never sets, so that one replaced or edited by hand is seen to differ.
//!
//! Left out on purpose, since they come from settings of the daemon and not from whoever made the container: whether
//! the control groups are private, and `shareable` against `private` memory. Swap of twice the
//! memory is what Docker itself adds to a limit, and -1 where the machine cannot limit swap.

use std::collections::HashMap;
use std::fmt::Display;

use bollard::models::{
    ContainerConfig, ContainerInspectResponse, HostConfig, HostConfigIsolationEnum, MountPoint,
};

use super::create::{LOG_DRIVER, LOG_MAX_FILE, LOG_MAX_SIZE};
use super::inspect::{endpoints, is_no_new_privileges};
use crate::images::Image;

/// Everything foreign, in words for people, sorted.
pub(super) fn found(
    seen: &ContainerInspectResponse,
    config: &ContainerConfig,
    host: &HostConfig,
    image: &Image,
    default_runtime: &str,
) -> Vec<String> {
    let mut found = Found(Vec::new());
    privileges(&mut found, host, default_runtime);
    namespaces(&mut found, host);
    limits(&mut found, host);
    surroundings(&mut found, host);
    mounts(&mut found, seen, host, image);
    own_settings(&mut found, config, image);
    networks(&mut found, seen);
    found.0.sort();
    found.0
}

struct Found(Vec<String>);

impl Found {
    /// A setting that is on.
    fn on(&mut self, what: &str, is_on: Option<bool>) {
        if is_on == Some(true) {
            self.0.push(what.to_owned());
        }
    }

    /// A setting with a value.
    fn text(&mut self, what: &str, value: Option<&String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.0.push(format!("{what} {value}"));
        }
    }

    /// A number that is not its default.
    fn number<N: Copy + PartialEq + Default + Display>(&mut self, what: &str, value: Option<N>) {
        if let Some(value) = value.filter(|value| *value != N::default()) {
            self.0.push(format!("{what} {value}"));
        }
    }

    /// A list that is not empty; its entries may be long, so they are not repeated.
    fn any<T>(&mut self, what: &str, list: Option<&Vec<T>>) {
        if list.is_some_and(|list| !list.is_empty()) {
            self.0.push(what.to_owned());
        }
    }

    fn each<'a>(&mut self, what: &str, list: Option<&'a Vec<String>>, is_ours: impl Fn(&'a str) -> bool) {
        let others = list.into_iter().flatten().filter(|entry| !is_ours(entry));
        self.0.extend(others.map(|entry| format!("{what} {entry}")));
    }
}

fn privileges(found: &mut Found, host: &HostConfig, default_runtime: &str) {
    found.on("privileged", host.privileged);
    found.each("security option", host.security_opt.as_ref(), is_no_new_privileges);
    found.any("device request", host.device_requests.as_ref());
    found.any("device rule", host.device_cgroup_rules.as_ref());
    found.each("capability dropped", host.cap_drop.as_ref(), |cap| cap.eq_ignore_ascii_case("ALL"));
    // Docker lists what it hides; an empty list is how hiding is switched off.
    let cleared = |list: Option<&Vec<String>>| list.is_some_and(Vec::is_empty);
    found.on("masked paths cleared", Some(cleared(host.masked_paths.as_ref())));
    found.on("read-only paths cleared", Some(cleared(host.readonly_paths.as_ref())));
    let runtime = host.runtime.as_ref().filter(|runtime| *runtime != default_runtime);
    found.text("runtime", runtime);
    for device in host.devices.iter().flatten() {
        let (outside, inside) = (device.path_on_host.as_deref(), device.path_in_container.as_deref());
        if outside != inside || device.cgroup_permissions.as_deref().is_some_and(|rights| rights != "rwm") {
            found.0.push(format!(
                "device {} in another place or with other rights",
                outside.unwrap_or_default()
            ));
        }
    }
}

fn namespaces(found: &mut Found, host: &HostConfig) {
    found.text("pid namespace", host.pid_mode.as_ref());
    found.text("uts namespace", host.uts_mode.as_ref());
    found.text("user namespace", host.userns_mode.as_ref());
    let ipc = host.ipc_mode.as_ref().filter(|mode| !matches!(mode.as_str(), "private" | "shareable"));
    found.text("ipc namespace", ipc);
    let network = host.network_mode.as_ref().filter(|mode| *mode == "host" || mode.starts_with("container:"));
    found.text("network namespace", network);
    found.text("cgroup", host.cgroup.as_ref());
    found.text("cgroup parent", host.cgroup_parent.as_ref());
}

fn limits(found: &mut Found, host: &HostConfig) {
    found.number("cpu shares", host.cpu_shares);
    found.number("cpu period", host.cpu_period);
    found.number("cpu quota", host.cpu_quota);
    found.number("cpu real-time period", host.cpu_realtime_period);
    found.number("cpu real-time runtime", host.cpu_realtime_runtime);
    found.text("processors", host.cpuset_cpus.as_ref());
    found.text("memory nodes", host.cpuset_mems.as_ref());
    found.number("memory reservation", host.memory_reservation);
    found.number("memory swappiness", host.memory_swappiness.filter(|&swappiness| swappiness != -1));
    let doubled = host.memory.unwrap_or_default().saturating_mul(2);
    found.number("memory and swap", host.memory_swap.filter(|&swap| swap != doubled && swap != -1));
    found.on("never killed for memory", host.oom_kill_disable);
    found.number("memory score", host.oom_score_adj);
    found.number("block weight", host.blkio_weight);
    found.any("block weight of a device", host.blkio_weight_device.as_ref());
    found.any("block read limit", host.blkio_device_read_bps.as_ref());
    found.any("block write limit", host.blkio_device_write_bps.as_ref());
    found.any("block read operations limit", host.blkio_device_read_iops.as_ref());
    found.any("block write operations limit", host.blkio_device_write_iops.as_ref());
}

fn surroundings(found: &mut Found, host: &HostConfig) {
    found.each("name server", host.dns.as_ref(), |_| false);
    found.each("resolver option", host.dns_options.as_ref(), |_| false);
    found.each("search domain", host.dns_search.as_ref(), |_| false);
    found.each("link", host.links.as_ref(), |_| false);
    found.each("volumes from", host.volumes_from.as_ref(), |_| false);
    found.text("volume driver", host.volume_driver.as_ref());
    found.on("removed when it ends", host.auto_remove);
    found.on("every port published", host.publish_all_ports);
    let settings = |list: Option<&HashMap<String, String>>| -> Vec<String> {
        list.into_iter().flatten().map(|(name, value)| format!("{name}={value}")).collect()
    };
    found.each("kernel setting", Some(&settings(host.sysctls.as_ref())), |_| false);
    found.each("storage option", Some(&settings(host.storage_opt.as_ref())), |_| false);
    found.any("annotation", Some(&settings(host.annotations.as_ref())));
    let isolation = [HostConfigIsolationEnum::EMPTY, HostConfigIsolationEnum::DEFAULT];
    found.on("isolation", host.isolation.map(|kind| !isolation.contains(&kind)));
    log(found, host);
    for (name, bindings) in host.port_bindings.iter().flatten() {
        let chosen =
            bindings.iter().flatten().any(|bound| bound.host_port.as_ref().is_none_or(String::is_empty));
        if !name.ends_with("/tcp") || chosen {
            found.0.push(format!("published port {name}"));
        }
    }
}

fn log(found: &mut Found, host: &HostConfig) {
    let Some(log) = &host.log_config else { return };
    let driver = log.typ.as_deref().unwrap_or_default();
    let option = |name: &str| log.config.as_ref().and_then(|config| config.get(name)).map(String::as_str);
    if driver != LOG_DRIVER {
        found.0.push(format!("log driver {driver}"));
    } else if option("max-size") != Some(LOG_MAX_SIZE)
        || option("max-file") != Some(LOG_MAX_FILE)
        || log.config.as_ref().is_some_and(|config| config.len() != 2)
    {
        found.0.push("log options".to_owned());
    }
}

fn mounts(found: &mut Found, seen: &ContainerInspectResponse, host: &HostConfig, image: &Image) {
    for mount in seen.mounts.iter().flatten() {
        let path = mount.destination.as_deref().unwrap_or_default();
        match mount.typ.as_deref() {
            Some("bind") => {
                let spread =
                    mount.propagation.as_ref().filter(|how| !matches!(how.as_str(), "rprivate" | "private"));
                found.text(&format!("mount at {path} with propagation"), spread);
                found.text(&format!("mount at {path} with mode"), relabelled(mount));
            }
            Some("tmpfs") => {}
            Some("volume") if is_of_image(mount, image) => {}
            _ => found.0.push(format!("volume {} at {path}", mount.name.as_deref().unwrap_or_default())),
        }
    }
    for (path, options) in host.tmpfs.iter().flatten().filter(|(_, options)| !options.is_empty()) {
        found.0.push(format!("tmpfs {path} with options {options}"));
    }
}

/// A label for SELinux; `rw` and `ro` are told by the mount itself.
fn relabelled(mount: &MountPoint) -> Option<&String> {
    mount.mode.as_ref().filter(|mode| !matches!(mode.as_str(), "rw" | "ro"))
}

/// Whether it is the anonymous volume Docker makes for a path the image declares: expected, and removed with the
/// container.
fn is_of_image(mount: &MountPoint, image: &Image) -> bool {
    let is_anonymous = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    mount.name.as_deref().is_some_and(is_anonymous)
        && mount.destination.as_ref().is_some_and(|path| image.defaults.volumes.contains(path))
}

fn own_settings(found: &mut Found, config: &ContainerConfig, image: &Image) {
    found.text("domain", config.domainname.as_ref());
    found.on("network disabled", config.network_disabled);
    found.each("variable without a value", config.env.as_ref(), |entry| entry.contains('='));
    let start_interval = config.healthcheck.as_ref().and_then(|health| health.start_interval);
    found.number("health start interval", start_interval.filter(|_| start_interval != image.start_interval));
}

fn networks(found: &mut Found, seen: &ContainerInspectResponse) {
    for (name, endpoint) in endpoints(seen) {
        let fixed = endpoint.ipam_config.as_ref();
        found
            .text(&format!("fixed address on {name}"), fixed.and_then(|config| config.ipv4_address.as_ref()));
        found
            .text(&format!("fixed address on {name}"), fixed.and_then(|config| config.ipv6_address.as_ref()));
        found.any(&format!("link on {name}"), endpoint.links.as_ref());
        found
            .on(&format!("driver option on {name}"), endpoint.driver_opts.map(|options| !options.is_empty()));
    }
}
