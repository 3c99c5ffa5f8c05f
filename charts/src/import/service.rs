//! The fields of a service: kept, changed, left out, or refused.

use std::collections::BTreeSet;

use super::given::Given;
use super::report::{Entry, Report, SetApart};
use super::volumes::{Folders, Place};
use super::{text_of, write};
use crate::admit::is_host_name;
use crate::compose::schema::Rule;
use crate::compose::schema::service::SERVICE;
use crate::node::{Map, Node, Value};

mod commands;
mod roles;

pub(super) use roles::{forget_missing, tell_jobs};

/// Keys that other tools added to the format and that mean nothing to an app.
const FOREIGN: [&str; 2] = ["exclude_from_hc", "is_directory"];

/// Leaves out the keys of other tools, before the file is checked for shape.
pub(super) fn leave_out_foreign_keys(root: &mut Node, report: &mut Report) {
    let services = root.as_map_mut().and_then(|root| root.get_mut("services")).and_then(Node::as_map_mut);
    for (name, service) in services.into_iter().flatten() {
        let Some(fields) = service.as_map_mut() else { continue };
        if fields.remove(FOREIGN[0]).is_some() {
            report
                .dropped
                .push(Entry::new(format!("services.{name}.{}", FOREIGN[0]), "it speaks to another tool"));
        }
        let Some(Node { value: Value::List(mounts), .. }) = fields.get_mut("volumes") else { continue };
        for (index, mount) in mounts.iter_mut().enumerate() {
            let Some(mount) = mount.as_map_mut() else { continue };
            let path = format!("services.{name}.volumes[{index}]");
            for key in ["is_directory", "isDirectory"] {
                if mount.remove(key).is_some() {
                    report.dropped.push(Entry::new(format!("{path}.{key}"), "folders are made by Hearth"));
                }
            }
        }
    }
}

/// Leaves out ports whose number in the container is a variable that only another tool knows.
pub(super) fn leave_out_unknown_ports(root: &mut Node, report: &mut Report) {
    let services = root.as_map_mut().and_then(|root| root.get_mut("services")).and_then(Node::as_map_mut);
    for (name, service) in services.into_iter().flatten() {
        let ports = service.as_map_mut().and_then(|fields| fields.get_mut("ports"));
        let Some(Node { value: Value::List(ports), .. }) = ports else { continue };
        let before = ports.len();
        ports.retain(|port| {
            port.as_text().is_none_or(|text| {
                let number = text.split('/').next().unwrap_or_default();
                !number.is_empty() && !number.ends_with(':')
            })
        });
        if ports.len() < before {
            let reason = "the number of a port is a variable of another tool; it is not reached from outside";
            report.dropped.push(Entry::new(format!("services.{name}.ports"), reason));
        }
    }
}

/// A service of ours for one of the author's; none when it is not run.
pub(super) fn convert(
    name: &str,
    mut node: Node,
    folders: &mut Folders,
    given: &mut Given,
    report: &mut Report,
) -> Option<Node> {
    let path = |key: &str| format!("services.{name}.{key}");
    if node.get("profiles").and_then(Node::as_list).is_some_and(|profiles| !profiles.is_empty()) {
        report.dropped.push(Entry::new(path("profiles"), "a service with a profile is not run"));
        return None;
    }
    if super::front::is_proxy(name, &node) {
        report.dropped.push(Entry::new(format!("services.{name}"), "the app gets its address from Hearth"));
        return None;
    }
    commands::read_secrets_from_environment(name, &mut node, report);
    let has_image = !text_of(&node, "image").is_empty();
    let mut out = Map::new();
    let fields = node.as_map().cloned().unwrap_or_default();
    for (key, field) in fields {
        if says_nothing(&field) && !matches!(key.as_str(), "command" | "entrypoint") {
            continue;
        }
        let mut stage = Stage { service: name, key: &key, report, out: &mut out };
        match key.as_str() {
            "volumes" => stage.volumes(&field, folders),
            "configs" | "secrets" => given.files(&mut stage, &field),
            "ports" => stage.ports(&field),
            "environment" => stage.environment(&field),
            "networks" => stage.networks(&field),
            "deploy" => stage.deploy(&field),
            "devices" => stage.devices(&field),
            "restart" => stage.restart(field),
            "labels" => stage.labels(&field),
            "build" if has_image => stage.drop("the image is used as it was published"),
            _ => stage.plain(field),
        }
    }
    expose(&node, &mut out);
    Some(Node::map(out, node.at))
}

fn says_nothing(node: &Node) -> bool {
    match &node.value {
        Value::Null | Value::Bool(false) => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

pub(super) struct Stage<'a> {
    pub(super) service: &'a str,
    pub(super) key: &'a str,
    pub(super) report: &'a mut Report,
    pub(super) out: &'a mut Map,
}

impl Stage<'_> {
    pub(super) fn path(&self) -> String {
        format!("services.{}.{}", self.service, self.key)
    }

    pub(super) fn drop(&mut self, why: impl Into<String>) {
        let path = self.path();
        self.report.dropped.push(Entry::new(path, why));
    }

    pub(super) fn change(&mut self, why: impl Into<String>) {
        let path = self.path();
        self.report.changed.push(Entry::new(path, why));
    }

    pub(super) fn refuse(&mut self, why: impl Into<String>) {
        let path = self.path();
        self.report.refused.push(Entry::new(path, why));
    }

    pub(super) fn keep(&mut self, field: Node) {
        let path = self.path();
        self.report.kept.push(Entry::new(path, "as written"));
        self.out.insert(self.key.to_owned(), field);
    }

    /// It makes the app one that manages the host.
    pub(super) fn host(&mut self, why: impl Into<String>) {
        self.report.set_apart = self.report.set_apart.or(Some(SetApart::Host));
        self.refuse(why);
    }

    /// Fields whose rule in the table is enough, and the few words some of them are known for.
    fn plain(&mut self, field: Node) {
        let text = field.as_text().unwrap_or_default().to_owned();
        match (self.key, text.as_str()) {
            (key, _) if key.starts_with("x-") => self.drop("it speaks to another tool"),
            ("env_file" | "label_file", _) => {
                self.drop("the file is not part of the compose file");
                let path = self.path();
                self.report.asked.push(Entry::new(path, "enter what the file holds as values of the App"));
            }
            ("network_mode", "bridge" | "default")
            | ("ipc", "private" | "shareable")
            | ("cgroup", "private") => {
                self.drop("it is so without it");
            }
            ("network_mode", "none") => self.drop("whether an app reaches the internet is set on the App"),
            ("network_mode", "host") => {
                self.change("it gets a network of its own; devices of the home are not discovered")
            }
            ("ipc", "host") => self.change("it shares memory with nobody; set shm_size if it needs more"),
            ("privileged", _) => {
                self.change("it does not become master of the machine");
                let path = self.path();
                self.report.asked.push(Entry::new(path, "grant the devices it needs, if it needs any"));
            }
            ("network_mode" | "pid" | "ipc" | "uts" | "userns_mode" | "cgroup", other) => {
                self.host(format!("`{other}` joins what is not the app's own"));
            }
            ("use_api_socket" | "device_cgroup_rules" | "cgroup_parent", _) => {
                self.host("the app wants to manage the host itself");
            }
            ("security_opt", _) => self.drop("every app is confined in the same way"),
            ("group_add", _) => self.groups(&field),
            ("extra_hosts", _) => self.hosts(&field),
            ("hostname", name) if !crate::compose::secret::is_marked(name) && !is_host_name(name) => {
                self.drop("it is not the name of a host; services are reached by their own names")
            }
            // Not every machine can give more than it has, and then nothing would start.
            ("ulimits", _) => {
                self.drop("the machine's own limits apply; add it again if the app asks for more")
            }
            ("gpus", _) => self.drop("no graphics card is passed on; the app runs without"),
            ("runtime", "nvidia") => self.drop("no graphics card is passed on; the app runs without"),
            ("sysctls", _) => self.sysctls(&field),
            ("cap_add", _) => self.capabilities(&field),
            ("scale", _) => self.drop("each service runs once"),
            ("build", _) => {
                self.report.set_apart = self.report.set_apart.or(Some(SetApart::Build));
                self.refuse("there is no image, and images are not built here");
            }
            _ => match SERVICE.find(self.key).map(|field| field.rule) {
                Some(Rule::Ignored(why)) => self.drop(why),
                Some(Rule::Refused(why)) => self.refuse(why),
                _ => self.keep(field),
            },
        }
    }

    fn sysctls(&mut self, field: &Node) {
        let forwards = write::texts_of(field).iter().any(|text| text.contains("forward"));
        if forwards {
            self.host("the app wants to route for other machines")
        } else {
            self.drop("it runs without, less tuned")
        }
    }

    /// Groups by number; a name is one of the host's.
    fn groups(&mut self, field: &Node) {
        let (numbers, names): (Vec<String>, Vec<String>) =
            write::texts_of(field).into_iter().partition(|group| group.parse::<u32>().is_ok());
        if !names.is_empty() {
            self.drop("apps join no groups of the host by name");
        }
        if !numbers.is_empty() {
            let at = field.at;
            self.keep(Node::list(numbers.into_iter().map(|number| Node::text(number, at)).collect(), at));
        }
    }

    /// Names with an address; one that has yet to be looked up has none.
    fn hosts(&mut self, field: &Node) {
        let pairs: Vec<String> = match &field.value {
            Value::Map(_) => write::texts_of(field),
            _ => write::texts_of(field).iter().map(|text| text.replacen(':', "=", 1)).collect(),
        };
        let has_address = |text: &String| {
            let (name, address) = text.split_once('=').unwrap_or_default();
            is_host_name(name) && (address == "host-gateway" || address.parse::<std::net::IpAddr>().is_ok())
        };
        let (kept, dropped): (Vec<_>, Vec<_>) = pairs.into_iter().partition(has_address);
        if !dropped.is_empty() {
            self.drop("a name without a plain address is not added");
        }
        if !kept.is_empty() {
            let at = field.at;
            self.keep(Node::list(kept.into_iter().map(|pair| Node::text(pair, at)).collect(), at));
        }
    }

    /// Capabilities apps have anyway, or run without, are left out; others make it one for the host.
    fn capabilities(&mut self, field: &Node) {
        const HARMLESS: [&str; 17] = [
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "FSETID",
            "KILL",
            "SETGID",
            "SETUID",
            "SETPCAP",
            "NET_BIND_SERVICE",
            "SYS_CHROOT",
            "MKNOD",
            "AUDIT_WRITE",
            "SETFCAP",
            "SYS_NICE",
            "IPC_LOCK",
            "SYS_RESOURCE",
            "PERFMON",
        ];
        let asked = write::texts_of(field);
        let strong = asked.iter().find(|name| !HARMLESS.contains(&name.trim_start_matches("CAP_")));
        match strong {
            Some(name) => self.host(format!("the capability {name} reaches beyond the app")),
            None => self.drop("the app runs without"),
        }
    }

    fn restart(&mut self, field: Node) {
        let text = field.as_text().unwrap_or_default();
        if text == "no" || text.starts_with("on-failure") {
            self.keep(field);
        } else {
            self.drop("services are always brought back");
        }
    }

    fn labels(&mut self, field: &Node) {
        const OTHERS: [&str; 6] =
            ["traefik.", "caddy", "coolify.", "com.docker.", "hearth.dev/", "com.centurylinklabs."];
        let pairs = write::pairs_of(field);
        let (dropped, kept): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|(name, _)| OTHERS.iter().any(|other| name.starts_with(other)));
        if !dropped.is_empty() {
            self.drop("labels for other tools mean nothing here");
        }
        if !kept.is_empty() {
            let at = field.at;
            let map = kept.into_iter().map(|(name, value)| (name, Node::text(value.unwrap_or_default(), at)));
            self.keep(Node::map(map.collect(), at));
        }
    }

    fn volumes(&mut self, field: &Node, folders: &mut Folders) {
        let mut mounts = Vec::new();
        for (index, mount) in field.as_list().unwrap_or_default().iter().enumerate() {
            let path = format!("services.{}.volumes[{index}]", self.service);
            let (source, target) = (text_of(mount, "source"), text_of(mount, "target"));
            if text_of(mount, "type") == "tmpfs" {
                mounts.push(mount.clone());
                self.report.kept.push(Entry::new(path, "as written"));
                continue;
            }
            match folders.place(mount, self.service) {
                Place::Folder(folder) => {
                    let read_only = if matches!(
                        mount.get("read_only").map(|node| &node.value),
                        Some(Value::Bool(true))
                    ) {
                        ":ro"
                    } else {
                        ""
                    };
                    mounts.push(Node::text(format!("./{folder}:{target}{read_only}"), mount.at));
                    let shown =
                        source.strip_prefix(super::HERE).map_or(source, |rest| rest.trim_start_matches('/'));
                    self.report.changed.push(Entry::new(
                        path,
                        format!("`{shown}` became the folder `{folder}` of the app's data"),
                    ));
                }
                Place::Nothing(why) => self.report.dropped.push(Entry::new(path, why)),
                Place::Host(why) => {
                    self.report.set_apart = self.report.set_apart.or(Some(SetApart::Host));
                    self.report.refused.push(Entry::new(path, why));
                }
                Place::Refused(why) => self.report.refused.push(Entry::new(path, why)),
            }
        }
        if !mounts.is_empty() {
            self.out.insert("volumes".to_owned(), Node::list(mounts, field.at));
        }
    }

    fn ports(&mut self, field: &Node) {
        let mut tcp = false;
        for port in field.as_list().unwrap_or_default() {
            let protocol = port.get("protocol").and_then(Node::as_text).unwrap_or("tcp");
            tcp |= protocol == "tcp";
            if protocol != "tcp" {
                let path = self.path();
                self.report
                    .dropped
                    .push(Entry::new(path, format!("{protocol} ports are not reached from outside")));
            }
        }
        if tcp {
            let path = self.path();
            self.report
                .changed
                .push(Entry::new(path, "ports of the host became routes to the app's own address"));
        }
    }

    fn environment(&mut self, field: &Node) {
        let mut map = Map::new();
        for (name, value) in write::pairs_of(field) {
            match value {
                Some(value) => {
                    map.insert(name, Node::text(value, field.at));
                }
                None if self.report.values.iter().any(|wanted| wanted.name == name) => {
                    map.insert(name.clone(), Node::text(crate::compose::secret::mark(&name), field.at));
                }
                None => self.drop(format!("`{name}` has no value")),
            }
        }
        if !map.is_empty() {
            self.keep(Node::map(map, field.at));
        }
    }

    fn networks(&mut self, field: &Node) {
        let networks = field.as_map().into_iter().flatten();
        let mut aliases: Vec<String> = networks
            .flat_map(|(_, network)| network.get("aliases").map(write::texts_of).unwrap_or_default())
            .collect();
        aliases.sort();
        aliases.dedup();
        self.drop("every app has one network of its own");
        if !aliases.is_empty() {
            let at = field.at;
            let list = Node::list(aliases.into_iter().map(|alias| Node::text(alias, at)).collect(), at);
            let default = Node::map(Map::from([("aliases".to_owned(), list)]), at);
            self.out
                .insert("networks".to_owned(), Node::map(Map::from([("default".to_owned(), default)]), at));
        }
    }

    fn deploy(&mut self, field: &Node) {
        let limits =
            field.get("resources").and_then(|resources| resources.get("limits")).and_then(Node::as_map);
        let kept: Map = limits
            .into_iter()
            .flatten()
            .filter(|(key, _)| matches!(key.as_str(), "cpus" | "memory" | "pids"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let own = ["cpus", "mem_limit", "pids_limit"].iter().any(|key| self.out.contains_key(*key));
        if !kept.is_empty() && !own {
            let limits = Node::map(Map::from([("limits".to_owned(), Node::map(kept, field.at))]), field.at);
            let deploy = Node::map(Map::from([("resources".to_owned(), limits)]), field.at);
            self.keep(deploy);
        } else {
            self.drop("it is for many machines");
        }
    }

    fn devices(&mut self, field: &Node) {
        let mut kept = Vec::new();
        for (index, device) in field.as_list().unwrap_or_default().iter().enumerate() {
            let path = format!("services.{}.devices[{index}]", self.service);
            let source = text_of(device, "source");
            if !source.starts_with("/dev/") {
                self.report.refused.push(Entry::new(path, format!("`{source}` is not a device")));
                continue;
            }
            self.report.asked.push(Entry::new(path, format!("the app asks for the device {source}")));
            if !self.report.devices.iter().any(|known| known == source) {
                self.report.devices.push(source.to_owned());
            }
            kept.push(device.clone());
        }
        if !kept.is_empty() {
            self.out.insert("devices".to_owned(), Node::list(kept, field.at));
        }
    }
}

/// The container's ports, in the order of the file: those of `ports` first, as in admission.
fn expose(node: &Node, out: &mut Map) {
    let (mut ports, mut seen): (Vec<String>, BTreeSet<String>) = Default::default();
    let mut add = |port: String| {
        if seen.insert(port.clone()) {
            ports.push(port);
        }
    };
    for port in node.get("ports").and_then(Node::as_list).unwrap_or_default() {
        if port.get("protocol").and_then(Node::as_text).unwrap_or("tcp") == "tcp"
            && let Some(Node { value: Value::Int(target), .. }) = port.get("target")
        {
            add(target.to_string());
        }
    }
    node.get("expose").map(write::texts_of).unwrap_or_default().into_iter().for_each(&mut add);
    if !ports.is_empty() {
        let list = ports.into_iter().map(|port| Node::text(port, node.at)).collect();
        out.insert("expose".to_owned(), Node::list(list, node.at));
    }
}

/// Files whose image has to be built are no apps yet.
pub(super) fn set_apart(report: &Report) -> Option<SetApart> {
    report.refused.iter().any(|entry| entry.field.ends_with(".build")).then_some(SetApart::Build)
}
