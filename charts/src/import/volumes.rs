//! Which folder of the app's data takes the place of a volume or of a path of the host.
//!
//! One source gets one folder, in every service. Folders lie side by side, also where the author's
//! paths lay in each other, since no folder may lie inside another that is mounted.

use std::collections::{BTreeMap, BTreeSet};

use super::HERE;
use crate::compose::path;
use crate::node::{Node, Value};

/// The folders given so far.
pub(super) struct Folders {
    by_source: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

/// What a mount of the author becomes.
pub(super) enum Place {
    /// A folder of the app's data.
    Folder(String),
    /// Nothing: what it gave is there without it.
    Nothing(&'static str),
    /// It cannot be carried, and makes the app one for the host.
    Host(String),
    /// It cannot be carried.
    Refused(String),
}

impl Folders {
    /// Folders under the file keep their own names, so those are taken first.
    pub(super) fn new(root: &Node) -> Self {
        let mut folders = Self { by_source: BTreeMap::new(), taken: BTreeSet::new() };
        let services = root.get("services").and_then(Node::as_map).into_iter().flatten();
        for (_, service) in services {
            for mount in service.get("volumes").and_then(Node::as_list).unwrap_or_default() {
                let source = mount.get("source").and_then(Node::as_text).unwrap_or_default();
                if let Some(inside) = source.strip_prefix(HERE).and_then(|rest| rest.strip_prefix('/')) {
                    folders.give(source, inside);
                }
            }
        }
        folders
    }

    /// The place of one mount.
    pub(super) fn place(&mut self, mount: &Node, service: &str) -> Place {
        let text = |key: &str| mount.get(key).and_then(Node::as_text).unwrap_or_default();
        let (source, target) = (text("source"), text("target"));
        match text("type") {
            "volume" if source.is_empty() => {
                let key = format!("volume of {service} at {target}");
                Place::Folder(self.give(&key, &format!("{service}-{}", last(target))))
            }
            "volume" => Place::Folder(self.give(&format!("volume {source}"), source)),
            "bind" => self.bind(source, target, mount),
            "tmpfs" => Place::Nothing(""),
            other => Place::Refused(format!("mounts of type `{other}` cannot be carried")),
        }
    }

    fn bind(&mut self, source: &str, target: &str, mount: &Node) -> Place {
        const CLOCK: [&str; 4] = ["/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo", "/etc/TZ"];
        const SYSTEM: [&str; 11] = [
            "/proc",
            "/sys",
            "/dev",
            "/run",
            "/var/run",
            "/lib",
            "/usr",
            "/boot",
            "/etc",
            "/var/lib/docker",
            "/root/.docker",
        ];
        let under = |folder: &str| {
            source == folder || source.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        if CLOCK.iter().any(|clock| under(clock)) {
            return Place::Nothing("the time zone is a value of the App");
        }
        if source == "/dev/shm" {
            return Place::Nothing("memory for sharing belongs to each container");
        }
        if source.ends_with(".sock") || source == "/" || SYSTEM.iter().any(|folder| under(folder)) {
            return Place::Host(format!("`{source}` belongs to the host itself"));
        }
        if is_file(target) && !is_folder_made(mount) {
            let file = source.strip_prefix(HERE).unwrap_or(source).trim_start_matches('/');
            return Place::Refused(format!(
                "the file `{file}` stands beside the author's file and is not part of it"
            ));
        }
        Place::Folder(self.give(source, &suggestion(source)))
    }

    /// The folder of a source, a new one the first time.
    fn give(&mut self, source: &str, suggestion: &str) -> String {
        if let Some(known) = self.by_source.get(source) {
            return known.clone();
        }
        let base = sanitised(suggestion);
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}-{number}");
            number += 1;
        }
        self.by_source.insert(source.to_owned(), name.clone());
        name
    }
}

/// A name for a path: what follows the folder that catalogues put before every app's data.
fn suggestion(source: &str) -> String {
    let clean = path::clean(source);
    let inside = clean.strip_prefix(HERE).map(|rest| rest.trim_start_matches('/').to_owned());
    if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
        return inside;
    }
    let parts: Vec<&str> = clean.split('/').filter(|part| !matches!(*part, "" | "..")).collect();
    match parts.as_slice() {
        ["DATA", "AppData", _, rest @ ..] if !rest.is_empty() => rest.join("-"),
        ["DATA", "AppData", app] => (*app).to_owned(),
        [.., last] => (*last).to_owned(),
        [] => "data".to_owned(),
    }
}

fn last(target: &str) -> &str {
    target.trim_end_matches('/').rsplit('/').next().unwrap_or("data")
}

/// One folder name: no separators, no dots in front.
fn sanitised(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = text.chars().map(fits).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() { "data".to_owned() } else { name.chars().take(80).collect() }
}

/// Whether a target looks like a file: it has an ending that files of settings have.
fn is_file(target: &str) -> bool {
    const ENDINGS: [&str; 34] = [
        "conf",
        "cfg",
        "cnf",
        "ini",
        "toml",
        "yml",
        "yaml",
        "json",
        "json5",
        "xml",
        "env",
        "properties",
        "sh",
        "py",
        "js",
        "php",
        "sql",
        "txt",
        "html",
        "css",
        "pem",
        "crt",
        "key",
        "template",
        "tmpl",
        "lua",
        "hcl",
        "acl",
        "rules",
        "cron",
        "log",
        "db",
        "Caddyfile",
        "sqlite",
    ];
    let name = last(target);
    let ending = name.rsplit_once('.');
    match ending {
        Some((front, ending)) => !front.is_empty() && ENDINGS.contains(&ending),
        None => matches!(name, "Caddyfile" | "crontab" | "passwd" | "group" | "Dockerfile"),
    }
}

/// Whether the author says that the path is a folder.
fn is_folder_made(mount: &Node) -> bool {
    mount.get("is_directory").is_some_and(|node| matches!(node.value, Value::Bool(true)))
}
