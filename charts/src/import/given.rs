//! Files a service is given: `configs` and `secrets`, and what another tool writes beside a file when it is installed.
//!
//! A text stays a text. A secret kept in a file beside the author's becomes a secret value of the App: the file is not
//! part of what was published, or ought not to be.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Entry, Report, ValueKind, Wanted};
use super::service::Stage;
use super::{HERE, text_of};
use crate::node::{Map, Node, Value};

/// What becomes of each entry of the two sections.
pub(super) struct Given {
    entries: BTreeMap<(String, String), Result<Node, String>>,
    used: BTreeSet<(String, String)>,
}

impl Given {
    /// Decides for every entry.
    pub(super) fn new(root: &Node, report: &mut Report) -> Self {
        let mut entries = BTreeMap::new();
        for section in ["configs", "secrets"] {
            for (name, entry) in root.get(section).and_then(Node::as_map).into_iter().flatten() {
                let decided = decide(section, name, entry, report);
                entries.insert((section.to_owned(), name.clone()), decided);
            }
        }
        report.values.sort_by(|one, other| one.name.cmp(&other.name));
        Self { entries, used: BTreeSet::new() }
    }

    /// The files of one service.
    pub(super) fn files(&mut self, stage: &mut Stage<'_>, field: &Node) {
        for mount in field.as_list().unwrap_or_default() {
            let key = (stage.key.to_owned(), text_of(mount, "source").to_owned());
            match self.entries.get(&key) {
                Some(Ok(_)) => drop(self.used.insert(key)),
                Some(Err(why)) => return stage.refuse(why.clone()),
                None => return stage.refuse(format!("there is no `{}` under `{}`", key.1, key.0)),
            }
        }
        stage.keep(field.clone());
    }

    /// The two sections of our file, with what is used of them.
    pub(super) fn sections(&self) -> Map {
        let mut sections = Map::new();
        for key in &self.used {
            let Some(Ok(entry)) = self.entries.get(key) else { continue };
            let section = sections.entry(key.0.clone()).or_insert_with(|| Node::map(Map::new(), entry.at));
            if let Some(section) = section.as_map_mut() {
                section.insert(key.1.clone(), entry.clone());
            }
        }
        sections
    }
}

fn decide(section: &str, name: &str, entry: &Node, report: &mut Report) -> Result<Node, String> {
    let is_external = entry.get("external").is_some_and(|node| !matches!(node.value, Value::Bool(false)));
    if is_external {
        return Err(format!("`{name}` lies outside the app; make it a value of the App"));
    }
    let one = |key: &str, value: &Node| Ok(Node::map(Map::from([(key.to_owned(), value.clone())]), entry.at));
    if let Some(content) = entry.get("content") {
        return one("content", content);
    }
    if let Some(variable) = entry.get("environment") {
        return one("environment", variable);
    }
    let file = text_of(entry, "file");
    let file = file.strip_prefix(HERE).unwrap_or(file).trim_start_matches('/');
    if section == "configs" || file.is_empty() {
        return Err(format!("the file `{file}` stands beside the author's file and is not part of it"));
    }
    let variable = variable_for(name);
    if !report.values.iter().any(|wanted| wanted.name == variable) {
        report.values.push(Wanted {
            name: variable.clone(),
            kind: ValueKind::Secret,
            default: String::new(),
        });
    }
    let path = format!("secrets.{name}.file");
    report.changed.push(Entry::new(&path, format!("what was in a file is the secret value {variable}")));
    if !is_made_up(name, file) {
        let reason = format!("enter what the file `{file}` holds as the secret value {variable}");
        report.asked.push(Entry::new(&path, reason));
    }
    one("environment", &Node::text(variable, entry.at))
}

/// `db-password` becomes `DB_PASSWORD`.
fn variable_for(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.chars().map(fits).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Whether any word serves, and people need not be asked for the one that was in the file.
fn is_made_up(name: &str, file: &str) -> bool {
    let words = ["password", "passwd", "pass", "pwd", "secret", "token", "salt", "key"];
    let lower = name.to_lowercase();
    let ending = file.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let plain = ending.is_none_or(|ending| matches!(ending, "txt" | "secret" | "password" | "env"));
    plain && words.iter().any(|word| lower.contains(word))
}

/// Mounts with a `content`, which another tool writes beside the file at install, become configs with that text. Its
/// dollars are meant for the app, so they are doubled.
pub(super) fn from_install_files(root: &mut Node, report: &mut Report) {
    let mut configs = Map::new();
    let services = root.as_map_mut().and_then(|root| root.get_mut("services")).and_then(Node::as_map_mut);
    for (name, service) in services.into_iter().flatten() {
        let at = service.at;
        let Some(fields) = service.as_map_mut() else { continue };
        let Some(Node { value: Value::List(mounts), .. }) = fields.get_mut("volumes") else { continue };
        let mut given = Vec::new();
        let mut index = 0;
        mounts.retain(|mount| {
            index += 1;
            let Some(content) = mount.get("content").and_then(Node::as_text) else { return true };
            let source = format!("{name}-{}", configs.len() + 1);
            let text = Node::text(content.replace('$', "$$"), mount.at);
            configs.insert(source.clone(), Node::map(Map::from([("content".to_owned(), text)]), mount.at));
            let fields = [("source", Node::text(source, mount.at)), ("target", target(mount))];
            let fields = fields.map(|(key, node)| (key.to_owned(), node));
            given.push(Node::map(Map::from(fields), mount.at));
            let path = format!("services.{name}.volumes[{}].content", index - 1);
            report
                .changed
                .push(Entry::new(path, "the file is one of the package, which the app can only read"));
            false
        });
        if mounts.is_empty() {
            fields.remove("volumes");
        }
        if !given.is_empty() {
            match fields.get_mut("configs").map(|node| &mut node.value) {
                Some(Value::List(own)) => own.extend(given),
                _ => drop(fields.insert("configs".to_owned(), Node::list(given, at))),
            }
        }
    }
    if configs.is_empty() {
        return;
    }
    let at = root.at;
    let Some(entries) = root.as_map_mut() else { return };
    let own = entries.entry("configs".to_owned()).or_insert_with(|| Node::map(Map::new(), at));
    if let Some(own) = own.as_map_mut() {
        for (name, node) in configs {
            own.entry(name).or_insert(node);
        }
    }
}

fn target(mount: &Node) -> Node {
    Node::text(text_of(mount, "target"), mount.at)
}
