//! What the specification adds to the merged file, what it forbids there, and paths made whole.

use super::path::{self, Base};
use super::ports;
use super::schema::SECTIONS;
use crate::fault::Faults;
use crate::node::{Map, Node, Path, Value};

/// Adds the values that are understood where nothing was written.
pub(crate) fn fill(root: &mut Node) {
    let Some(services) = root.as_map_mut().and_then(|entries| entries.get_mut("services")) else { return };
    let Some(services) = services.as_map_mut() else { return };
    for service in services.values_mut() {
        let Some(fields) = service.as_map_mut() else { continue };
        if let Some(build) = fields.get_mut("build").and_then(Node::as_map_mut) {
            put(build, "context", Value::Text(".".to_owned()));
        }
        for secret in items(fields.get_mut("secrets")) {
            let source = secret.get("source").and_then(Node::as_text).unwrap_or_default();
            let target = format!("/run/secrets/{source}");
            if let Some(fields) = secret.as_map_mut() {
                put(fields, "target", Value::Text(target));
            }
        }
        for port in items(fields.get_mut("ports")).iter_mut().filter_map(Node::as_map_mut) {
            put(port, "protocol", Value::Text("tcp".to_owned()));
            put(port, "mode", Value::Text("ingress".to_owned()));
        }
        for request in device_requests(fields) {
            if let Some(request) = request.as_map_mut()
                && !request.contains_key("device_ids")
            {
                put(request, "count", Value::Text("all".to_owned()));
            }
        }
    }
}

fn items(field: Option<&mut Node>) -> &mut [Node] {
    match field.map(|field| &mut field.value) {
        Some(Value::List(items)) => items,
        _ => &mut [],
    }
}

fn put(fields: &mut Map, key: &str, value: Value) {
    fields.entry(key.to_owned()).or_insert_with(|| Node::new(value, Default::default()));
}

/// The requests for devices under `gpus` and under `deploy.resources.reservations.devices`.
fn device_requests(fields: &mut Map) -> Vec<&mut Node> {
    let mut gpus = None;
    let mut deploy = None;
    for (key, field) in fields {
        match key.as_str() {
            "gpus" => gpus = Some(field),
            "deploy" => deploy = Some(field),
            _ => {}
        }
    }
    let reserved = ["resources", "reservations", "devices"]
        .iter()
        .try_fold(deploy, |node, key| node.map(|node| node.as_map_mut().and_then(|map| map.get_mut(*key))))
        .flatten();
    items(gpus).iter_mut().chain(items(reserved)).collect()
}

/// Refuses what has the right shape but contradicts itself.
pub(crate) fn check(root: &mut Node) -> Result<(), Faults> {
    let mut faults = Faults::default();
    for section in SECTIONS {
        let Some(resources) = root.get(section).and_then(Node::as_map) else { continue };
        for (name, resource) in resources {
            let mut path = Path::default();
            path.enter(section);
            path.enter(name);
            check_resource(section, resource, &path, &mut faults);
        }
    }
    let services =
        root.as_map_mut().and_then(|entries| entries.get_mut("services")).and_then(Node::as_map_mut);
    for (name, service) in services.into_iter().flatten() {
        let Some(fields) = service.as_map_mut() else { continue };
        for (index, port) in items(fields.get_mut("ports")).iter().enumerate() {
            if let Some(ip) = port.get("host_ip").and_then(Node::as_text)
                && !ports::is_address(ip)
            {
                let path = format!("services.{name}.ports[{index}].host_ip");
                faults.add_at(port.at, path, format!("`{ip}` is not an IP address"));
            }
        }
        for request in device_requests(fields) {
            if request.get("count").is_some() && request.get("device_ids").is_some() {
                let message = "count and device_ids exclude each other; keep one";
                faults.add_at(request.at, format!("services.{name}"), message);
            }
        }
        let watch = fields.get("develop").and_then(|develop| develop.get("watch")).and_then(Node::as_list);
        for trigger in watch.unwrap_or_default() {
            if trigger.get("path").and_then(Node::as_text) == Some("") {
                faults.add_at(trigger.at, format!("services.{name}.develop.watch"), "the path is empty");
            }
        }
    }
    faults.stop()
}

fn check_resource(section: &str, resource: &Node, path: &Path, faults: &mut Faults) {
    let Some(fields) = resource.as_map() else { return };
    let sources: &[&str] = match section {
        "configs" => &["file", "environment", "content"],
        "secrets" => &["file", "environment"],
        "volumes" => return check_external(resource, fields, path, faults),
        _ => return,
    };
    let set = sources.iter().filter(|source| fields.contains_key(**source)).count();
    let listed = sources.join(", ");
    if set > 1 {
        faults.add(resource.at, path, format!("only one of {listed} can be set"));
    }
    if set == 0 && !fields.contains_key("driver") && !fields.contains_key("external") {
        faults.add(resource.at, path, format!("one of {listed} must be set"));
    }
}

fn check_external(resource: &Node, fields: &Map, path: &Path, faults: &mut Faults) {
    match fields.get("external").map(|external| &external.value) {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            let other =
                |key: &&String| !matches!(key.as_str(), "name" | "external") && !key.starts_with("x-");
            for key in fields.keys().filter(other) {
                let message = format!("an external volume takes no `{key}`; remove one of the two");
                faults.add(resource.at, path, message);
            }
        }
        Some(_) => faults.add(resource.at, path, "external is true or false"),
    }
}

/// Makes every path of the file whole, seen from `base`.
pub(crate) fn resolve_paths(root: &mut Node, base: &Base<'_>) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let Some(entries) = root.as_map_mut() else { return Ok(()) };
    for section in ["configs", "secrets"] {
        for resource in values(entries.get_mut(section)) {
            change(resource, "file", |text| unix(base, text));
        }
    }
    for volume in values(entries.get_mut("volumes")) {
        driver_options(volume, base);
    }
    for (name, service) in entries.get_mut("services").and_then(Node::as_map_mut).into_iter().flatten() {
        if let Some(fields) = service.as_map_mut() {
            service_paths(name, fields, base, &mut faults);
        }
    }
    faults.stop()
}

fn service_paths(name: &str, fields: &mut Map, base: &Base<'_>, faults: &mut Faults) {
    if let Some(build) = fields.get_mut("build") {
        change(build, "context", |text| context(base, text));
        if let Some(build) = build.as_map_mut() {
            for extra in values(build.get_mut("additional_contexts")) {
                change_text(extra, |text| context(base, text));
            }
            for key in values(build.get_mut("ssh")) {
                change_text(key, |text| unix(base, text));
            }
        }
    }
    for file in items(fields.get_mut("env_file")) {
        change(file, "path", |text| absolute(base, text));
    }
    for file in items(fields.get_mut("label_file")) {
        change_text(file, |text| absolute(base, text));
    }
    if let Some(extends) = fields.get_mut("extends") {
        change(extends, "file", |text| absolute(base, text));
    }
    if let Some(watch) = fields.get_mut("develop").and_then(Node::as_map_mut) {
        for trigger in items(watch.get_mut("watch")) {
            change(trigger, "path", |text| absolute(base, text));
        }
    }
    for (index, mount) in items(fields.get_mut("volumes")).iter_mut().enumerate() {
        if mount.get("type").and_then(Node::as_text) != Some("bind") {
            continue;
        }
        if mount.get("source").is_none() {
            let path = format!("services.{name}.volumes[{index}]");
            faults.add_at(mount.at, path, "a bind needs a source");
        }
        change(mount, "source", |text| unix(base, text));
    }
}

fn values(field: Option<&mut Node>) -> impl Iterator<Item = &mut Node> {
    field.and_then(Node::as_map_mut).into_iter().flat_map(|entries| entries.values_mut())
}

fn change(node: &mut Node, key: &str, new: impl Fn(&str) -> String) {
    if let Some(field) = node.as_map_mut().and_then(|fields| fields.get_mut(key)) {
        change_text(field, new);
    }
}

fn change_text(node: &mut Node, new: impl Fn(&str) -> String) {
    if let Value::Text(text) = &mut node.value {
        *text = new(text);
    }
}

fn absolute(base: &Base<'_>, text: &str) -> String {
    if text.is_empty() { String::new() } else { base.join(text) }
}

/// Paths that may be written for Windows stay as they are when they are.
fn unix(base: &Base<'_>, text: &str) -> String {
    if path::is_windows_absolute(text) { text.to_owned() } else { base.join(text) }
}

/// Places to build from: addresses and other services stay as they are.
fn context(base: &Base<'_>, text: &str) -> String {
    const REMOTE: [&str; 7] = ["https://", "http://", "git://", "ssh://", "github.com/", "git@", "service:"];
    let remote = text.contains("://") || REMOTE.iter().any(|prefix| text.starts_with(prefix));
    if remote { text.to_owned() } else { absolute(base, text) }
}

/// A `local` volume with `o: bind` is a bind in disguise; its device is a path.
fn driver_options(volume: &mut Node, base: &Base<'_>) {
    let text = |node: Option<&Node>| node.and_then(Node::as_text).map(str::to_owned);
    let local = text(volume.get("driver")).as_deref() == Some("local");
    let Some(options) = volume.as_map_mut().and_then(|fields| fields.get_mut("driver_opts")) else { return };
    if local && text(options.get("o")).as_deref() == Some("bind") {
        change(options, "device", |text| unix(base, text));
    }
}
