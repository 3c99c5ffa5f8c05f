//! Files a service is given: its `configs` and `secrets`.
//!
//! Three forms are honoured: a file of the package, a text in the compose file, and a value of the App. What lies
//! outside the package does not exist for an app. A secret value stays a reference here too.

use std::collections::BTreeSet;

use super::{DATA, File, FileContent, Judge, Service, service};
use crate::compose::load::Loaded;
use crate::compose::path;
use crate::node::{Map, Node, Value};

/// The most bytes of text all services together are given, since the texts stand in the objects of the App.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// What everybody in the container may read.
const FOR_ALL: u32 = 0o444;
/// What its owner alone may read.
const FOR_ONE: u32 = 0o400;

/// Adds their files to the services.
pub(super) fn add(judge: &mut Judge<'_>, services: &mut [Service], loaded: &Loaded) {
    let empty = Map::new();
    let mut bytes = 0;
    let nodes = loaded.model.get("services").and_then(Node::as_map).unwrap_or(&empty);
    for (section, folder) in [("configs", "/"), ("secrets", "/run/secrets/")] {
        let sources = sources(judge, section, loaded);
        for given in services.iter_mut() {
            let mounts = nodes.get(&given.name).and_then(|node| node.get(section)).and_then(Node::as_list);
            for (index, mount) in mounts.unwrap_or_default().iter().enumerate() {
                let path = format!("services.{}.{section}[{index}]", given.name);
                let name = text(mount, "source").unwrap_or_default();
                let Some(content) = sources.get(name).and_then(Option::as_ref) else { continue };
                // Before it is copied: one text in many services is many texts.
                bytes += length(content);
                if bytes > MOST_BYTES {
                    let message = format!(
                        "the texts of all configs are over {MOST_BYTES} bytes; put large ones into files of the package"
                    );
                    return judge.refuse(mount, path, message);
                }
                let content = content.clone();
                let target = match text(mount, "target").unwrap_or(name) {
                    whole if whole.starts_with('/') => path::clean(whole),
                    part => path::clean(&format!("{folder}{part}")),
                };
                let owner = owner(judge, mount, &path, given);
                let known = owner.0.is_some();
                let usual = if section == "secrets" && known { FOR_ONE } else { FOR_ALL };
                let mode = mode(judge, mount, &path).unwrap_or(usual);
                if super::mounts::target(judge, &path, mount, &target) {
                    let (uid, gid) = (owner.0.unwrap_or_default(), owner.1.unwrap_or_default());
                    given.files.push(File { target, content, mode, uid, gid });
                }
            }
        }
    }
    for given in services.iter_mut() {
        given.files.sort();
        forbid_doubles(judge, given, nodes.get(&given.name));
    }
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::as_text).filter(|text| !text.is_empty())
}

/// What is in each entry of a section that some service uses; none where that was refused.
fn sources(
    judge: &mut Judge<'_>,
    section: &str,
    loaded: &Loaded,
) -> std::collections::BTreeMap<String, Option<FileContent>> {
    let entries = loaded.model.get(section).and_then(Node::as_map).into_iter().flatten();
    entries.map(|(name, entry)| (name.clone(), source(judge, section, name, entry, loaded))).collect()
}

fn source(
    judge: &mut Judge<'_>,
    section: &str,
    name: &str,
    entry: &Node,
    loaded: &Loaded,
) -> Option<FileContent> {
    let field = |key: &str| format!("{section}.{name}.{key}");
    if let Some(external) = entry.get("external").filter(|node| node.as_bool() != Some(false)) {
        let message = "is not allowed: an app is given nothing from outside; name a file of the package, \
                       or a value of the App under `environment`";
        judge.refuse(external, field("external"), message);
        return None;
    }
    if let Some(content) = entry.get("content") {
        return Some(FileContent::Parts(service::parts(content.as_text().unwrap_or_default())));
    }
    if let Some(variable) = entry.get("environment") {
        let variable_name = variable.as_text().unwrap_or_default();
        let Some(value) = loaded.environment.get(variable_name) else {
            let message = format!("`{variable_name}` has no value; give the App a value of this name");
            judge.refuse(variable, field("environment"), message);
            return None;
        };
        return Some(FileContent::Parts(service::parts(value)));
    }
    let file = entry.get("file")?;
    match of_package(judge, file.as_text().unwrap_or_default()) {
        Ok(path) => Some(FileContent::OfPackage(path)),
        Err(message) => {
            judge.refuse(file, field("file"), message);
            None
        }
    }
}

/// The path in the package that a file is named by.
fn of_package(judge: &Judge<'_>, named: &str) -> Result<String, String> {
    let clean = path::clean(named);
    let inside = clean.strip_prefix(DATA).and_then(|rest| rest.strip_prefix('/'));
    let Some(inside) = inside.filter(|inside| !inside.starts_with(".hearth")) else {
        return Err("lies outside the package; put the file beside the compose file".to_owned());
    };
    if judge.package.files.contains_key(inside) {
        return Ok(inside.to_owned());
    }
    let below = format!("{inside}/");
    if judge.package.files.keys().any(|file| file.starts_with(&below)) {
        return Err(format!("`{inside}` is a folder; name one file"));
    }
    Err(format!("the package has no file `{inside}`; put it beside the compose file"))
}

/// Whose the file is in the container, where that is said: in the mount, or by the service's user.
fn owner(judge: &mut Judge<'_>, mount: &Node, path: &str, given: &Service) -> (Option<u32>, Option<u32>) {
    let user = given.user.as_deref().unwrap_or_default();
    let (user, group) = user.split_once(':').unwrap_or((user, ""));
    let mut number = |key: &str, of_user: &str| match text(mount, key) {
        Some(text) => match text.parse().ok() {
            Some(number) => Some(number),
            None => {
                let node = mount.get(key).unwrap_or(mount);
                judge.refuse(node, format!("{path}.{key}"), format!("`{text}` is not a number"));
                None
            }
        },
        None => of_user.parse().ok(),
    };
    (number("uid", user), number("gid", group))
}

fn mode(judge: &mut Judge<'_>, mount: &Node, path: &str) -> Option<u32> {
    let node = mount.get("mode")?;
    let Value::Mode(bits) = node.value else { return None };
    match u32::try_from(bits).ok().filter(|bits| *bits <= 0o777) {
        Some(bits) => Some(bits),
        None => {
            judge.refuse(node, format!("{path}.mode"), "is not a mode; write it like 0440");
            None
        }
    }
}

/// Two things at one place: the engine would refuse it, or one would hide the other.
fn forbid_doubles(judge: &mut Judge<'_>, given: &Service, node: Option<&Node>) {
    let mounts = given.mounts.iter().map(|mount| &mount.target);
    let others = mounts.chain(given.folders.iter().map(|folder| &folder.target));
    let mut taken: BTreeSet<String> =
        others.chain(given.tmpfs.iter().map(|tmpfs| &tmpfs.target)).map(|path| path::clean(path)).collect();
    for file in &given.files {
        if !taken.insert(file.target.clone()) {
            let nowhere = Node::new(Value::Null, Default::default());
            let message = format!("two things are mounted at `{}`; keep one", file.target);
            judge.refuse(node.unwrap_or(&nowhere), format!("services.{}", given.name), message);
        }
    }
}

fn length(content: &FileContent) -> usize {
    match content {
        FileContent::Parts(parts) => parts.iter().map(super::EnvPart::len).sum(),
        FileContent::OfPackage(_) => 0,
    }
}
