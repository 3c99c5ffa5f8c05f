//! One service of the model to one admitted service.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Condition, Dependency, EnvPart, EnvVar, Judge, Restart, Service, fields, health, mounts, surroundings,
};
use crate::compose::secret;
use crate::node::{Map, Node, Value};

/// All services that run, sorted by name. Roles come later: they need all services.
pub(super) fn all(judge: &mut Judge<'_>, model: &Node) -> Vec<Service> {
    fields::networks(judge, model);
    let empty = Map::new();
    let services = model.get("services").and_then(Node::as_map).unwrap_or(&empty);
    let mut out: Vec<Service> =
        services.iter().map(|(name, node)| one(judge, services, name, node)).collect();
    add_link_aliases(model, &mut out);
    out
}

fn one(judge: &mut Judge<'_>, services: &Map, name: &str, node: &Node) -> Service {
    fields::judge(judge, name, node);
    let text = |key: &str| node.get(key).and_then(Node::as_text).map(str::to_owned);
    let flag = |key: &str| node.get(key).and_then(Node::as_bool);
    let limits = node
        .get("deploy")
        .and_then(|deploy| deploy.get("resources"))
        .and_then(|resources| resources.get("limits"));
    let limit =
        |own: &str, shared: &str| node.get(own).or_else(|| limits.and_then(|limits| limits.get(shared)));
    let mounted = mounts::mounts(judge, name, node);
    checked(judge, name, node);
    let stop_grace = node.get("stop_grace_period");
    Service {
        name: name.to_owned(),
        image: text("image").unwrap_or_default(),
        command: command(node, "command"),
        entrypoint: command(node, "entrypoint"),
        environment: environment(judge, name, node),
        working_dir: text("working_dir"),
        user: text("user"),
        hostname: text("hostname"),
        health: node.get("healthcheck").map(|node| health::health(judge, name, node)),
        depends_on: depends_on(node, services),
        mounts: mounted.data,
        folders: mounted.folders,
        devices: mounts::devices(judge, name, node),
        tmpfs: mounted.tmpfs,
        files: Vec::new(),
        read_only: flag("read_only") == Some(true),
        labels: fields::labels(judge, name, node),
        aliases: aliases(name, node),
        stop_grace: stop_grace
            .and_then(|node| health::duration(judge, node, &format!("services.{name}.stop_grace_period"))),
        stop_signal: text("stop_signal"),
        ports: ports(judge, name, node),
        job: false,
        restart: Restart::UnlessStopped,
        init: flag("init"),
        shm_size: fields::amount(node.get("shm_size")),
        memory_limit: fields::amount(limit("mem_limit", "memory")),
        cpu_limit_millis: fields::cores(limit("cpus", "cpus")),
        pids_limit: fields::amount(limit("pids_limit", "pids")),
        ulimits: surroundings::ulimits(judge, name, node),
        extra_hosts: surroundings::extra_hosts(judge, name, node),
        groups: surroundings::groups(judge, name, node),
        tty: flag("tty") == Some(true),
        stdin_open: flag("stdin_open") == Some(true),
    }
}

type Fits = fn(&str) -> bool;

/// Fields that are passed on as they are, once they are seen to be what they should be.
fn checked(judge: &mut Judge<'_>, name: &str, node: &Node) {
    let fits: [(&str, Fits, &str); 4] = [
        ("image", fields::is_image, "is not the name of an image; write it like postgres:17"),
        ("working_dir", |text| text.starts_with('/'), "must be an absolute path"),
        ("stop_signal", fields::is_signal, "is not a signal; write it like SIGTERM"),
        ("hostname", is_host_name, "is not a host name; use letters, digits and `-`"),
    ];
    for (key, fits, message) in fits {
        if let Some(field) = node.get(key)
            && let Some(text) = field.as_text()
            && !secret::is_marked(text)
            && !fits(text)
        {
            judge.refuse(field, format!("services.{name}.{key}"), format!("`{text}` {message}"));
        }
    }
}

pub(crate) fn is_host_name(text: &str) -> bool {
    let fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(fits)
}

fn command(node: &Node, key: &str) -> Option<Vec<String>> {
    node.get(key).filter(|node| node.as_list().is_some()).map(|node| fields::texts(Some(node)))
}

fn environment(judge: &mut Judge<'_>, name: &str, node: &Node) -> Vec<EnvVar> {
    let mut out = Vec::new();
    for (key, value) in node.get("environment").and_then(Node::as_map).into_iter().flatten() {
        let path = format!("services.{name}.environment.{}", secret::shown(key));
        if key.is_empty() || key.contains(['=', '\0']) {
            judge.refuse(value, path, "is not the name of a variable");
            continue;
        }
        match value.as_text() {
            Some(text) if text.contains('\0') => {
                judge.refuse(value, path, "has a character that no variable can hold")
            }
            Some(text) => out.push(EnvVar { name: key.clone(), parts: parts(text) }),
            // A name alone takes its value from outside. There is none, so it is not set at all.
            None => judge.warn(value, path, "has no value and is not set; give the App a value of this name"),
        }
    }
    out
}

pub(super) fn parts(text: &str) -> Vec<EnvPart> {
    let parts = secret::parts(text).into_iter().map(|part| match part {
        secret::Part::Text(text) => EnvPart::Text(text.to_owned()),
        secret::Part::Secret(name) => EnvPart::Secret(name.to_owned()),
    });
    parts.collect()
}

/// Dependencies on services that run; one on a service with a profile was not required.
fn depends_on(node: &Node, services: &Map) -> Vec<Dependency> {
    let entries = node.get("depends_on").and_then(Node::as_map).into_iter().flatten();
    let dependency = |(service, entry): (&String, &Node)| Dependency {
        service: service.clone(),
        condition: match entry.get("condition").and_then(Node::as_text) {
            Some("service_healthy") => Condition::Healthy,
            Some("service_completed_successfully") => Condition::Completed,
            _ => Condition::Started,
        },
        required: entry.get("required").and_then(Node::as_bool) != Some(false),
        restart: entry.get("restart").and_then(Node::as_bool) == Some(true),
    };
    entries.filter(|(service, _)| services.contains_key(*service)).map(dependency).collect()
}

fn aliases(name: &str, node: &Node) -> Vec<String> {
    let networks = node.get("networks").and_then(Node::as_map).into_iter().flatten();
    let all: BTreeSet<String> =
        networks.flat_map(|(_, network)| fields::texts(network.get("aliases"))).collect();
    all.into_iter().filter(|alias| alias != name).collect()
}

/// `links: [db:database]` lets a service call `db` by another name: here every service of the app can.
fn add_link_aliases(model: &Node, services: &mut [Service]) {
    let nodes = model.get("services").and_then(Node::as_map).into_iter().flatten();
    let links: Vec<String> = nodes.flat_map(|(_, node)| fields::texts(node.get("links"))).collect();
    for (target, alias) in links.iter().filter_map(|link| link.split_once(':')) {
        if let Some(service) = services.iter_mut().find(|service| service.name == target)
            && target != alias
            && !service.aliases.iter().any(|known| known == alias)
        {
            service.aliases.push(alias.to_owned());
            service.aliases.sort();
        }
    }
}

/// Ports of `ports`, then of `expose`. What `ports` asks of the host is said to have no effect.
fn ports(judge: &mut Judge<'_>, name: &str, node: &Node) -> Vec<u16> {
    let (mut out, mut seen): (Vec<u16>, BTreeSet<u16>) = Default::default();
    for (index, port) in node.get("ports").and_then(Node::as_list).unwrap_or_default().iter().enumerate() {
        let path = format!("services.{name}.ports[{index}]");
        let target = fields::amount(port.get("target")).and_then(|port| u16::try_from(port).ok());
        let protocol = port.get("protocol").and_then(Node::as_text).unwrap_or("tcp");
        let Some(target) = target else {
            judge.refuse(port, path, "the port of the container is missing or no number from 1 to 65535");
            continue;
        };
        if protocol != "tcp" {
            let message =
                format!("{protocol} port {target} is not published; only web pages of the app are reached");
            judge.warn(port, path, message);
            continue;
        }
        if let Some(published) = port.get("published").and_then(Node::as_text) {
            let message =
                format!("host port {published} is not published; the app answers at its own address");
            judge.warn(port, path, message);
        }
        if seen.insert(target) {
            out.push(target);
        }
    }
    for (index, port) in node.get("expose").and_then(Node::as_list).unwrap_or_default().iter().enumerate() {
        let text = port.as_text().unwrap_or_default();
        match exposed(text) {
            Some(ports) => ports.into_iter().for_each(|port| {
                if seen.insert(port) {
                    out.push(port);
                }
            }),
            None => judge.refuse(
                port,
                format!("services.{name}.expose[{index}]"),
                format!("`{text}` is not a port"),
            ),
        }
    }
    out
}

/// `8080`, `8080/tcp`, `3000-3005`; none when it is none of these. UDP gives no ports.
fn exposed(text: &str) -> Option<Vec<u16>> {
    let (range, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let fits = first > 0 && first <= last && last - first < 100;
    fits.then(|| if protocol.eq_ignore_ascii_case("tcp") { (first..=last).collect() } else { Vec::new() })
}

/// Decides which services are jobs and what happens when a service ends.
pub(super) fn with_roles(
    judge: &mut Judge<'_>,
    mut services: Vec<Service>,
    main: Option<&str>,
    model: &Node,
) -> Vec<Service> {
    let mut awaited: BTreeMap<String, String> = BTreeMap::new();
    for service in &services {
        let completed =
            service.depends_on.iter().filter(|dependency| dependency.condition == Condition::Completed);
        awaited.extend(completed.map(|dependency| (dependency.service.clone(), service.name.clone())));
    }
    for service in &mut services {
        let node = model.get("services").and_then(|services| services.get(&service.name));
        let (restart, described) = asked(node);
        let is_main = main == Some(service.name.as_str());
        if let Some(waiting) = awaited.get(&service.name).filter(|_| is_main) {
            let at = node.map_or_else(|| Node::new(Value::Null, Default::default()), Clone::clone);
            let message =
                format!("waits for `{}` to end, which is the main service and never does", service.name);
            judge.refuse(&at, format!("services.{waiting}.depends_on.{}", service.name), message);
        }
        service.job = !is_main && (restart.is_some() || awaited.contains_key(&service.name));
        service.restart = match (service.job, restart) {
            (false, _) => Restart::UnlessStopped,
            (true, Some(restart)) => restart,
            (true, None) => Restart::Never,
        };
        if let Some(node) = described.filter(|_| !service.job) {
            let path = format!("services.{}.restart", service.name);
            judge.warn(
                &node,
                path,
                "has no effect here: a service is always brought back until it is stopped",
            );
        }
    }
    services
}

/// The restart the author asked for when it makes a job, and the field when it says something that
/// has no effect.
fn asked(node: Option<&Node>) -> (Option<Restart>, Option<Node>) {
    let Some(node) = node else { return (None, None) };
    let policy = node.get("deploy").and_then(|deploy| deploy.get("restart_policy"));
    let field = node.get("restart").or_else(|| policy.and_then(|policy| policy.get("condition")));
    let Some(field) = field else { return (None, None) };
    match field.as_text().unwrap_or_default() {
        "no" | "none" => (Some(Restart::Never), Some(field.clone())),
        text if text == "on-failure" || text.starts_with("on-failure:") => {
            (Some(Restart::OnFailure), Some(field.clone()))
        }
        "unless-stopped" | "always" | "" => (None, None),
        _ => (None, Some(field.clone())),
    }
}
