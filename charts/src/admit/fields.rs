//! Fields whose value decides: what an app may say of its namespaces, labels, limits and signals.

use std::collections::BTreeMap;

use super::Judge;
use crate::node::{Map, Node, Value};

/// The texts of a list.
pub(super) fn texts(node: Option<&Node>) -> Vec<String> {
    let items = node.and_then(Node::as_list).unwrap_or_default();
    items.iter().filter_map(Node::as_text).map(str::to_owned).collect()
}

/// Checks the fields of a service that allow some values and not others.
pub(super) fn judge(judge: &mut Judge<'_>, name: &str, service: &Node) {
    let path = |field: &str| format!("services.{name}.{field}");
    for (field, allowed, why) in WORDS {
        if let Some(node) = service.get(field)
            && let Some(text) = node.as_text().filter(|text| !allowed.contains(text))
        {
            judge.refuse(node, path(field), format!("`{text}` is not allowed: {why}"));
        }
    }
    for (field, why) in FLAGS {
        if let Some(node) = service.get(field)
            && node.as_bool() == Some(true)
        {
            judge.refuse(node, path(field), format!("is not allowed: {why}"));
        }
    }
    security(judge, name, service);
    copies(judge, name, service);
    network_mode(judge, name, service);
}

/// Fields with a few harmless words.
const WORDS: &[(&str, &[&str], &str)] = &[
    ("cgroup", &["private"], "apps do not see the host's control groups; remove it"),
    ("ipc", &["private", "none", "shareable"], "apps share no memory with the host or each other; remove it"),
    ("pid", &[], "apps do not see other processes; remove it"),
    ("uts", &[], "apps have their own host name; remove it"),
    ("userns_mode", &[], "apps cannot choose their user namespace; remove it"),
];

const FLAGS: &[(&str, &str)] = &[
    ("privileged", "it would make the app master of the machine; remove it, and ask for the device it needs"),
    ("use_api_socket", "apps do not reach the container engine; remove it"),
];

fn security(judge: &mut Judge<'_>, name: &str, service: &Node) {
    for (index, option) in
        service.get("security_opt").and_then(Node::as_list).unwrap_or_default().iter().enumerate()
    {
        let path = format!("services.{name}.security_opt[{index}]");
        match option.as_text().unwrap_or_default() {
            "no-new-privileges" | "no-new-privileges:true" | "no-new-privileges=true" => {
                judge.warn(option, path, "has no effect here: every app runs so");
            }
            other => {
                let message =
                    format!("`{other}` is not allowed: apps cannot loosen their confinement; remove it");
                judge.refuse(option, path, message);
            }
        }
    }
}

fn copies(judge: &mut Judge<'_>, name: &str, service: &Node) {
    let replicas = service.get("deploy").and_then(|deploy| deploy.get("replicas"));
    for (field, node) in [("scale", service.get("scale")), ("deploy.replicas", replicas)] {
        let Some(node) = node else { continue };
        if !matches!(node.value, Value::Int(1)) {
            let path = format!("services.{name}.{field}");
            judge.refuse(node, path, "each service runs once; set it to 1 or remove it");
        }
    }
}

fn network_mode(judge: &mut Judge<'_>, name: &str, service: &Node) {
    let Some(node) = service.get("network_mode") else { return };
    let path = format!("services.{name}.network_mode");
    match node.as_text().unwrap_or_default() {
        "" => {}
        "bridge" | "default" => {
            judge.warn(node, path, "has no effect here: every app has a network of its own")
        }
        other => {
            let message = format!("`{other}` is not allowed: every app has a network of its own; remove it");
            judge.refuse(node, path, message);
        }
    }
}

/// Networks of the file: only bridges of the app itself.
pub(super) fn networks(judge: &mut Judge<'_>, model: &Node) {
    for (name, network) in model.get("networks").and_then(Node::as_map).into_iter().flatten() {
        if network.get("external").and_then(Node::as_bool) == Some(true) {
            let message = "is not allowed: an app joins no network but its own; remove `external`";
            judge.refuse(network, format!("networks.{name}.external"), message);
        }
        if let Some(driver) = network.get("driver")
            && let Some(text) = driver.as_text().filter(|text| !matches!(*text, "bridge" | "default"))
        {
            let message = format!("`{text}` is not allowed: an app's network is a bridge; remove it");
            judge.refuse(driver, format!("networks.{name}.driver"), message);
        }
    }
    let joined = model.get("networks").and_then(Node::as_map).map_or(0, Map::len);
    if joined > 1
        && let Some(network) = model.get("networks")
    {
        let message = "all services of the app share one network; the others are not made";
        judge.warn(network, "networks", message);
    }
}

/// Labels of the author. Those Hearth itself writes cannot be claimed.
pub(super) fn labels(judge: &mut Judge<'_>, name: &str, service: &Node) -> BTreeMap<String, String> {
    const OURS: [&str; 2] = ["hearth.dev/", "com.docker.compose."];
    let mut out = BTreeMap::new();
    for (key, value) in service.get("labels").and_then(Node::as_map).into_iter().flatten() {
        if OURS.iter().any(|prefix| key.starts_with(prefix)) {
            let message =
                "is not allowed: this label says what belongs to whom, and Hearth writes it; remove it";
            judge.refuse(value, format!("services.{name}.labels.{key}"), message);
        } else {
            out.insert(key.clone(), value.as_text().unwrap_or_default().to_owned());
        }
    }
    out
}

/// A whole number above zero, whatever type it has.
pub(super) fn amount(node: Option<&Node>) -> Option<u64> {
    match node?.value {
        Value::Int(value) | Value::Bytes(value) => u64::try_from(value).ok().filter(|value| *value > 0),
        _ => None,
    }
}

/// Cores, in thousandths.
pub(super) fn cores(node: Option<&Node>) -> Option<u64> {
    match node?.value {
        // Half a thousandth more or less is no difference anybody can see.
        Value::Single(value) if value > 0.0 && value < 1.0e6 => {
            Some(((f64::from(value) * 1000.0).round() as u64).max(1))
        }
        _ => None,
    }
}

/// Whether a text is an image reference: a name, and a tag or digest.
pub(super) fn is_image(text: &str) -> bool {
    let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
    let digest_fits = digest.is_none_or(|digest| {
        let hex = digest.strip_prefix("sha256:");
        hex.is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        })
    });
    let (name, tag) = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (name, None),
    };
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let tag_fits = tag.is_none_or(|tag| word(tag) && tag.len() <= 128 && !tag.starts_with(['.', '-']));
    let parts: Vec<&str> = name.split('/').collect();
    let host = |part: &str| {
        part.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:".contains(&b)) && !part.is_empty()
    };
    let small = |part: &&str| word(part) && !part.bytes().any(|b| b.is_ascii_uppercase());
    let name_fits = match parts.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && (first.contains(['.', ':']) || *first == "localhost") => {
            host(first) && rest.iter().all(small)
        }
        parts => parts.iter().all(small),
    };
    // `sha256:...` is no name but any image that happens to lie on the machine.
    digest_fits && tag_fits && name_fits && name != "sha256"
}

/// Whether a text names a signal: `SIGTERM`, `TERM`, `15`.
pub(super) fn is_signal(text: &str) -> bool {
    let number = text.parse::<u8>().is_ok_and(|number| (1..=64).contains(&number));
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let named = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"+-".contains(&b));
    number || named
}
