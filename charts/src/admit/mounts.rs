//! What a service sees of the disk: the app's data, granted folders and devices, memory.

use std::collections::BTreeSet;

use super::{DATA, Device, FolderMount, Judge, Mount, Service, Tmpfs};
use crate::compose::{path, units};
use crate::node::{Node, Value};

/// What the volumes of a service come to.
#[derive(Default)]
pub(super) struct Mounts {
    pub data: Vec<Mount>,
    pub folders: Vec<FolderMount>,
    pub tmpfs: Vec<Tmpfs>,
}

/// Judges `volumes` and `tmpfs`.
pub(super) fn mounts(judge: &mut Judge<'_>, name: &str, service: &Node) -> Mounts {
    let mut out = Mounts::default();
    for (index, node) in service.get("volumes").and_then(Node::as_list).unwrap_or_default().iter().enumerate()
    {
        one(judge, &format!("services.{name}.volumes[{index}]"), node, &mut out);
    }
    for (index, node) in service.get("tmpfs").and_then(Node::as_list).unwrap_or_default().iter().enumerate() {
        let path = format!("services.{name}.tmpfs[{index}]");
        match tmpfs(node.as_text().unwrap_or_default()) {
            Ok(mount) => out.tmpfs.extend(target(judge, &path, node, &mount.target).then_some(mount)),
            Err(message) => judge.refuse(node, path, message),
        }
    }
    out.data.sort();
    out.folders.sort();
    out.tmpfs.sort();
    out
}

fn one(judge: &mut Judge<'_>, path: &str, node: &Node, out: &mut Mounts) {
    let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default();
    let (source, into) = (text("source"), text("target"));
    let fits = target(judge, path, node, into);
    let read_only = node.get("read_only").and_then(Node::as_bool) == Some(true);
    match text("type") {
        "bind" => bind(judge, path, node, (source, into, read_only), out),
        "tmpfs" if fits => {
            let section = node.get("tmpfs");
            let size = super::fields::amount(section.and_then(|section| section.get("size")));
            let mode = super::fields::amount(section.and_then(|section| section.get("mode")));
            let mode = mode.and_then(|mode| u32::try_from(mode).ok());
            out.tmpfs.push(Tmpfs { target: into.to_owned(), size, mode });
        }
        "tmpfs" => {}
        "volume" if source.is_empty() => {
            let message = "a volume without a source would lose its data; write ./NAME:TARGET";
            judge.refuse(node, path, message);
        }
        "volume" => {
            let message = format!(
                "named volumes are not made here; write ./{source}:{into} to keep it in the app's data"
            );
            judge.refuse(node, path, message);
        }
        other => judge.refuse(
            node,
            path,
            format!("mounts of type `{other}` are not allowed; use a folder: ./NAME:TARGET"),
        ),
    }
}

fn bind(
    judge: &mut Judge<'_>,
    path: &str,
    node: &Node,
    (source, into, read_only): (&str, &str, bool),
    out: &mut Mounts,
) {
    if let Some(propagation) = node.get("bind").and_then(|bind| bind.get("propagation"))
        && !matches!(propagation.as_text(), Some("" | "private" | "rprivate"))
    {
        judge.refuse(node, format!("{path}.bind.propagation"), "mounts of an app are its own; remove it");
    }
    let target = into.to_owned();
    match inside_data(source) {
        Ok(inside) => {
            if judge
                .package
                .files
                .keys()
                .any(|file| file == &inside || file.starts_with(&format!("{inside}/")))
            {
                let message = format!(
                    "`{inside}` is part of the package, and packages hold no data; use another folder, \
                     or build the file into the image"
                );
                judge.refuse(node, path, message);
            }
            out.data.push(Mount { target, source: inside, read_only });
        }
        Err(_) if granted(judge.package.folders, source) => {
            out.folders.push(FolderMount { target, source: path::clean(source), read_only });
        }
        Err(message) => judge.refuse(node, format!("{path}.source"), message),
    }
}

/// The normal path under the app's data that a source names.
fn inside_data(source: &str) -> Result<String, String> {
    let outside = |why: &str| {
        Err(format!("{why}; keep data under ./ (for example ./data), or have the folder granted"))
    };
    let clean = path::clean(source);
    if clean.ends_with("docker.sock") || clean.ends_with("containerd.sock") || clean.ends_with("podman.sock")
    {
        return Err("apps do not reach the container engine; remove it".to_owned());
    }
    let Some(inside) = clean.strip_prefix(DATA) else {
        return outside(&format!("`{source}` lies outside the app's data"));
    };
    let Some(inside) = inside.strip_prefix('/') else {
        return match inside {
            "" => Err("this is the whole data folder; mount a folder in it, such as ./data".to_owned()),
            _ => outside(&format!("`{source}` lies outside the app's data")),
        };
    };
    for part in inside.split('/') {
        if part.starts_with('~') {
            return outside("`~` is somebody's home folder");
        }
        if !is_folder_name(part) {
            return Err(format!(
                "`{part}` is not a name for a folder; use letters, digits, `.`, `_` and `-`"
            ));
        }
    }
    Ok(inside.to_owned())
}

/// Whether a text is one folder name that says what it shows.
fn is_folder_name(part: &str) -> bool {
    !part.chars().any(char::is_control) && !part.contains('\\') && part.trim() == part && part.len() <= 255
}

/// Whether a path is a granted folder or lies in one, by its parts.
fn granted(folders: &[String], source: &str) -> bool {
    // A path that is not in its normal form says something else than it shows.
    source.starts_with('/')
        && source.split('/').all(is_folder_name)
        && path::clean(source) == source.trim_end_matches('/')
        && folders.iter().any(|folder| {
            let folder = path::clean(folder);
            let rest = path::clean(source).strip_prefix(&folder).map(str::to_owned);
            folder != "/" && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// Whether something may be mounted at a path of the container.
pub(super) fn target(judge: &mut Judge<'_>, path: &str, node: &Node, into: &str) -> bool {
    const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];
    let clean = path::clean(into);
    let under = |folder: &str| {
        clean == folder || clean.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let problem = if !into.starts_with('/') {
        Some(format!("the target `{into}` must be an absolute path"))
    } else if clean == "/" {
        Some("nothing can be mounted over the whole container; name a folder".to_owned())
    } else if SYSTEM.iter().any(|folder| under(folder)) && !under("/dev/shm") {
        Some(format!("nothing can be mounted at `{clean}`, which belongs to the system; use another folder"))
    } else if into.chars().any(char::is_control) {
        Some("the target has characters that no path has".to_owned())
    } else {
        None
    };
    match problem {
        None => true,
        Some(message) => {
            judge.refuse(node, format!("{path}.target"), message);
            false
        }
    }
}

/// `/run:size=64m,mode=1777`.
fn tmpfs(text: &str) -> Result<Tmpfs, String> {
    let (into, options) = text.split_once(':').unwrap_or((text, ""));
    let mut mount = Tmpfs { target: path::clean(into), size: None, mode: None };
    if !into.starts_with('/') {
        mount.target = into.to_owned();
    }
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("size", size)) => mount.size = u64::try_from(units::bytes(size)?).ok(),
            Some(("mode", mode)) => mount.mode = u32::try_from(units::octal(mode)?).ok(),
            Some(("uid" | "gid" | "nr_inodes", _)) => {}
            None if matches!(
                option,
                "rw" | "noexec" | "nosuid" | "nodev" | "exec" | "noatime" | "relatime"
            ) => {}
            _ => return Err(format!("the option `{option}` is not allowed; size and mode are")),
        }
    }
    Ok(mount)
}

/// Judges `devices`: only granted ones pass.
pub(super) fn devices(judge: &mut Judge<'_>, name: &str, service: &Node) -> Vec<Device> {
    let mut out = Vec::new();
    for (index, node) in service.get("devices").and_then(Node::as_list).unwrap_or_default().iter().enumerate()
    {
        let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default().to_owned();
        let (source, target, permissions) = (text("source"), text("target"), text("permissions"));
        let path = format!("services.{name}.devices[{index}]");
        let normal = source.starts_with("/dev/") && path::clean(&source) == source;
        if !normal || !judge.package.devices.contains(&source) {
            let message = format!("the app was not granted the device `{source}`; grant it, or remove it");
            judge.refuse(node, path, message);
        } else if !(target.is_empty() || (target.starts_with("/dev/") && path::clean(&target) == target)) {
            judge.refuse(node, format!("{path}.target"), "a device is placed under /dev");
        } else if !permissions.chars().all(|c| "rwm".contains(c)) {
            judge.refuse(node, format!("{path}.permissions"), "permissions are made of r, w and m");
        } else {
            let target = if target.is_empty() { source.clone() } else { target };
            let permissions = if permissions.is_empty() { "rwm".to_owned() } else { permissions };
            out.push(Device { source, target, permissions });
        }
    }
    out
}

/// No folder lies inside another one that is mounted: a container could swap it for a link.
pub(super) fn forbid_nesting(judge: &mut Judge<'_>, services: &[Service]) {
    let mut sources: Vec<(&str, &str)> = services
        .iter()
        .flat_map(|s| s.mounts.iter().map(|mount| (mount.source.as_str(), s.name.as_str())))
        .collect();
    sources.sort_unstable();
    sources.dedup();
    let mounted: BTreeSet<&str> = sources.iter().map(|(source, _)| *source).collect();
    for (inner, service) in &sources {
        let outer =
            inner.match_indices('/').map(|(end, _)| &inner[..end]).find(|outer| mounted.contains(outer));
        if let Some(outer) = outer {
            let message = format!(
                "`./{inner}` lies inside `./{outer}`, which is mounted too; mount folders that lie side by side"
            );
            let nowhere = Node::new(Value::Null, Default::default());
            judge.refuse(&nowhere, format!("services.{service}.volumes"), message);
        }
    }
}
