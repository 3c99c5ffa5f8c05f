//! The service people open, and its port. The first rule that tells wins:
//!
//! 1. The catalogue says so: Dokploy's template names service and port, CasaOS names the main service and the published port, Coolify puts
//!    service and port into the name of a variable (`SERVICE_URL_WEB_8080`) or a comment.
//! 2. There is only one service.
//! 3. Of the services that publish or expose a port and are no database: the one that is named like
//!    the app or like a front, else one that no other waits for, else the first in the file.
//! 4. Otherwise the first service that no other waits for.

use std::collections::BTreeSet;

use super::report::{Entry, Report, Route};
use super::template::Template;
use super::{text_of, write};
use crate::node::{Map, Node, Value};

/// What was found.
#[derive(Default)]
pub(super) struct Front {
    pub service: Option<String>,
    pub port: Option<u16>,
}

/// Finds the front of a file, and notes the ports that could have routes.
pub(super) fn find(root: &Node, text: &str, template: &Template, report: &mut Report) -> Front {
    let empty = Map::new();
    let services = root.get("services").and_then(Node::as_map).unwrap_or(&empty);
    let all = services.iter().filter(|(_, service)| {
        service.get("profiles").and_then(Node::as_list).is_none_or(<[Node]>::is_empty)
    });
    let (proxies, running): (Vec<_>, Vec<_>) = all.partition(|(name, node)| is_proxy(name, node));
    let named =
        template.domain.as_ref().filter(|(name, _)| running.iter().any(|(running, _)| *running == name));
    let told = match named {
        Some((name, port)) => Front { service: Some(name.clone()), port: *port },
        None => catalogue(root, proxies.first().map(|(_, node)| *node), &running, text),
    };
    let service = told.service.or_else(|| guess(&running, &report.name));
    let ports = service.as_ref().and_then(|name| services.get(name)).map(ports_of).unwrap_or_default();
    let port = told.port.or_else(|| best(&ports));
    for (name, node) in &running {
        for port in ports_of(node) {
            report.routes.push(Route { service: (*name).clone(), port });
        }
    }
    let main = |route: &Route| Some(route.port) == port && Some(&route.service) == service.as_ref();
    report.routes.sort_by_key(|route| !main(route));
    match (&service, port) {
        (None, _) => {
            report.asked.push(Entry::new("mainService", "the file does not tell which service people open"))
        }
        (Some(name), None) => {
            let reason = format!("the file does not tell on which port `{name}` answers");
            report.asked.push(Entry::new("mainPort", reason));
        }
        _ => {}
    }
    Front { service, port }
}

/// What a stand-in for another tool's proxy says. Its host is a service, a container of the tool's naming, or a name the
/// service itself goes by; its port holds even where the host is a variable of the tool.
fn proxied(proxy: &Node, running: &[(&String, &Node)]) -> Front {
    let pairs = proxy.get("environment").map(write::pairs_of).unwrap_or_default();
    let value = |key: &str| pairs.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.clone());
    let host = value("APP_HOST").unwrap_or_default();
    let is_meant = |(name, node): &&(&String, &Node)| {
        let made =
            [format!("_{name}_1"), format!("-{name}-1")].iter().any(|end| host.ends_with(end.as_str()));
        let own = ["container_name", "hostname"].iter().any(|key| text_of(node, key) == host);
        host == **name || (made || own) && !host.is_empty()
    };
    let service = running.iter().find(is_meant).map(|(name, _)| (*name).clone());
    Front { service, port: value("APP_PORT").and_then(|port| port.parse().ok()) }
}

fn catalogue(root: &Node, proxy: Option<&Node>, running: &[(&String, &Node)], text: &str) -> Front {
    if let Some(front) = proxy.map(|proxy| proxied(proxy, running)) {
        return front;
    }
    if let Some(casaos) = root.get("x-casaos") {
        let main = casaos
            .get("main")
            .and_then(Node::as_text)
            .filter(|main| running.iter().any(|(name, _)| name == main));
        let published = casaos.get("port_map").map(crate::compose::merge::as_printed).unwrap_or_default();
        let node = running.iter().find(|(name, _)| Some(name.as_str()) == main).map(|(_, node)| *node);
        // On the host's own network the published port is the container's.
        let on_host = node.is_some_and(|node| text_of(node, "network_mode") == "host");
        let port = node.and_then(|node| published_as(node, &published));
        let port = port.or_else(|| published.parse().ok().filter(|_| on_host));
        if main.is_some() {
            return Front { service: main.map(str::to_owned), port };
        }
    }
    for prefix in ["SERVICE_URL_", "SERVICE_FQDN_"] {
        for (name, node) in running {
            for (variable, _) in node.get("environment").map(write::pairs_of).unwrap_or_default() {
                let port =
                    variable.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('_')?.1.parse().ok());
                if port.is_some() {
                    return Front { service: Some((*name).clone()), port };
                }
            }
        }
    }
    let comment = text.lines().take_while(|line| line.starts_with('#') || line.trim().is_empty());
    let port = comment.filter_map(|line| line.strip_prefix("# port:")?.trim().parse().ok()).next();
    let magic = |node: &Node| {
        let environment = node.get("environment").map(write::pairs_of).unwrap_or_default();
        environment
            .iter()
            .any(|(name, _)| name.starts_with("SERVICE_URL_") || name.starts_with("SERVICE_FQDN_"))
    };
    let service = running.iter().find(|(_, node)| magic(node)).map(|(name, _)| (*name).clone());
    Front { service, port }
}

/// Umbrel's stand-in for its own proxy: no service, only the name and port of the front.
pub(super) fn is_proxy(name: &str, node: &Node) -> bool {
    name == "app_proxy" && node.get("image").is_none() && node.get("environment").is_some()
}

fn published_as(node: &Node, published: &str) -> Option<u16> {
    let ports = node.get("ports").and_then(Node::as_list).unwrap_or_default();
    let port = ports.iter().find(|port| {
        port.get("published").map(crate::compose::merge::as_printed).is_some_and(|text| text == published)
    })?;
    target(port)
}

fn target(port: &Node) -> Option<u16> {
    match port.get("target")?.value {
        Value::Int(value) => u16::try_from(value).ok().filter(|port| *port > 0),
        _ => None,
    }
}

/// Ports of the container, those of `ports` first.
fn ports_of(node: &Node) -> Vec<u16> {
    let published = node.get("ports").and_then(Node::as_list).unwrap_or_default();
    let tcp = |port: &&Node| matches!(text_of(port, "protocol"), "" | "tcp");
    let exposed = node.get("expose").map(write::texts_of).unwrap_or_default();
    let exposed = exposed.iter().filter_map(|text| text.split('/').next()?.parse().ok());
    let mut seen = BTreeSet::new();
    published.iter().filter(tcp).filter_map(target).chain(exposed).filter(|port| seen.insert(*port)).collect()
}

/// The port that most likely answers with a page.
fn best(ports: &[u16]) -> Option<u16> {
    const PAGES: [u16; 9] = [80, 8080, 3000, 8000, 5000, 8888, 9000, 8081, 8096];
    PAGES.iter().find(|page| ports.contains(page)).or(ports.first()).copied()
}

fn guess(running: &[(&String, &Node)], app: &str) -> Option<String> {
    let mut ordered: Vec<(&String, &Node)> = running.to_vec();
    ordered.sort_by_key(|(_, node)| node.at.line);
    if let [(only, _)] = ordered.as_slice() {
        return Some((*only).clone());
    }
    let awaited = |name: &str| {
        running.iter().any(|(_, node)| {
            node.get("depends_on").and_then(Node::as_map).is_some_and(|map| map.contains_key(name))
        })
    };
    let open: Vec<&(&String, &Node)> =
        ordered.iter().filter(|(_, node)| !ports_of(node).is_empty() && !is_database(node)).collect();
    let like_app = open.iter().find(|(name, _)| *name == app || name.contains(app) && app.len() > 2);
    let like_front = open.iter().find(|(name, _)| is_front(name));
    let free = open.iter().find(|(name, _)| !awaited(name));
    let found = like_app.or(like_front).or(free).or(open.first()).map(|(name, _)| (*name).clone());
    found.or_else(|| {
        let free = ordered.iter().find(|(name, node)| !awaited(name) && !is_database(node));
        free.or(ordered.first()).map(|(name, _)| (*name).clone())
    })
}

fn is_front(name: &str) -> bool {
    const FRONTS: [&str; 10] =
        ["web", "app", "frontend", "front", "server", "ui", "nginx", "proxy", "client", "dashboard"];
    FRONTS.iter().any(|front| {
        name == *front || name.ends_with(&format!("-{front}")) || name.ends_with(&format!("_{front}"))
    })
}

fn is_database(node: &Node) -> bool {
    const STORES: [&str; 16] = [
        "postgres",
        "mysql",
        "mariadb",
        "redis",
        "valkey",
        "mongo",
        "memcached",
        "rabbitmq",
        "clickhouse",
        "elasticsearch",
        "opensearch",
        "minio",
        "kafka",
        "zookeeper",
        "meilisearch",
        "qdrant",
    ];
    let image = text_of(node, "image");
    let name = image.rsplit('/').next().unwrap_or_default();
    STORES.iter().any(|store| name.starts_with(store))
}
