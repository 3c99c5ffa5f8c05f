//! Lists whose entries have an identity: of two with the same one the later stays, in the place of
//! the earlier. A variable is known by its name, a mount by its target, a port by all it binds.

use std::collections::HashMap;

use super::volume;
use crate::fault::Faults;
use crate::node::{Node, Path, Value};

/// The identity of an entry, or a sentence why it has none.
type Identity = fn(&Node) -> Result<String, String>;

/// Applies the rule to every list of the file that has one.
pub(crate) fn enforce(root: &mut Node) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let mut path = Path::default();
    for_each(root, "networks", &mut path, |network, path| {
        list(network, &["labels"], pair, path, &mut faults);
    });
    for_each(root, "services", &mut path, |service, path| {
        for (keys, identity) in LISTS {
            list(service, keys, *identity, path, &mut faults);
        }
        for_each(service, "networks", path, |network, path| {
            list(network, &["aliases"], pair, path, &mut faults);
            list(network, &["link_local_ips"], pair, path, &mut faults);
        });
    });
    faults.stop()
}

const LISTS: &[(&[&str], Identity)] = &[
    (&["annotations"], pair),
    (&["build", "args"], pair),
    (&["build", "additional_contexts"], pair),
    (&["build", "tags"], pair),
    (&["build", "labels"], pair),
    (&["cap_add"], pair),
    (&["cap_drop"], pair),
    (&["devices"], device),
    (&["configs"], config),
    (&["deploy", "labels"], pair),
    (&["dns"], pair),
    (&["dns_opt"], pair),
    (&["dns_search"], pair),
    (&["environment"], pair),
    (&["env_file"], env_file),
    (&["expose"], expose),
    (&["labels"], pair),
    (&["links"], pair),
    (&["ports"], port),
    (&["profiles"], pair),
    (&["secrets"], secret),
    (&["sysctls"], pair),
    (&["tmpfs"], pair),
    (&["volumes"], mount),
];

fn for_each(node: &mut Node, key: &str, path: &mut Path, mut act: impl FnMut(&mut Node, &mut Path)) {
    let Some(entries) = node.as_map_mut().and_then(|map| map.get_mut(key)).and_then(Node::as_map_mut) else {
        return;
    };
    path.enter(key);
    for (name, entry) in entries {
        path.enter(name);
        act(entry, path);
        path.leave();
    }
    path.leave();
}

fn list(node: &mut Node, keys: &[&str], identity: Identity, path: &mut Path, faults: &mut Faults) {
    let Some((key, below)) = keys.split_first() else { return };
    let Some(field) = node.as_map_mut().and_then(|map| map.get_mut(*key)) else { return };
    path.enter(key);
    if !below.is_empty() {
        list(field, below, identity, path, faults);
    } else if let Value::List(items) = &mut field.value {
        let unique = keep_last(std::mem::take(items), identity, path, faults);
        *items = unique;
    }
    path.leave();
}

fn keep_last(items: Vec<Node>, identity: Identity, path: &mut Path, faults: &mut Faults) -> Vec<Node> {
    let mut kept: Vec<Node> = Vec::with_capacity(items.len());
    let mut places: HashMap<String, usize> = HashMap::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match identity(&item) {
            Ok(key) => match places.get(&key) {
                Some(&place) => kept[place] = item,
                None => {
                    places.insert(key, kept.len());
                    kept.push(item);
                }
            },
            Err(message) => {
                path.enter_item(index);
                faults.add(item.at, path, message);
                path.leave();
            }
        }
    }
    kept
}

fn pair(item: &Node) -> Result<String, String> {
    let text = item.as_text().ok_or_else(|| format!("expected text, this is {}", item.kind()))?;
    Ok(text.split_once('=').map_or(text, |(key, _)| key).to_owned())
}

fn device(item: &Node) -> Result<String, String> {
    match &item.value {
        Value::Text(text) => {
            let parts: Vec<&str> = text.split(':').collect();
            Ok(parts.get(1).unwrap_or(&parts[0]).to_string())
        }
        Value::Map(_) => text_of(item, "target").ok_or_else(|| "a device needs a target".to_owned()),
        _ => Ok(String::new()),
    }
}

fn mount(item: &Node) -> Result<String, String> {
    match &item.value {
        Value::Text(text) => Ok(volume::parse(text)?.target),
        Value::Map(_) => {
            text_of(item, "target").ok_or_else(|| "a volume needs a target in the container".to_owned())
        }
        _ => Ok(String::new()),
    }
}

fn expose(item: &Node) -> Result<String, String> {
    match &item.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Int(value) => Ok(value.to_string()),
        _ => Err(format!("expected a port number, this is {}", item.kind())),
    }
}

fn config(item: &Node) -> Result<String, String> {
    file_mount(item, "")
}

fn secret(item: &Node) -> Result<String, String> {
    file_mount(item, "/run/secrets")
}

fn file_mount(item: &Node, folder: &str) -> Result<String, String> {
    match &item.value {
        Value::Text(text) => Ok(format!("{folder}/{text}")),
        Value::Map(entries) => match entries.get("target") {
            Some(target) => {
                target.as_text().map(str::to_owned).ok_or_else(|| format!("the target is {}", target.kind()))
            }
            None => Ok(format!("{folder}/{}", text_of(item, "source").unwrap_or_default())),
        },
        _ => Err(format!("expected a name or a mapping, this is {}", item.kind())),
    }
}

fn port(item: &Node) -> Result<String, String> {
    match &item.value {
        Value::Int(value) => Ok(value.to_string()),
        Value::Text(text) => Ok(text.clone()),
        Value::Map(entries) => {
            let target = entries.get("target").ok_or("a port needs a target")?;
            let part = |key: &str, default: &str| {
                entries.get(key).map_or_else(|| default.to_owned(), |value| format!("{:?}", value.value))
            };
            let (host, protocol) = (part("host_ip", "Text(\"0.0.0.0\")"), part("protocol", "Text(\"tcp\")"));
            Ok(format!("{host}:{}:{:?}/{protocol}", part("published", ""), target.value))
        }
        _ => Ok(String::new()),
    }
}

fn env_file(item: &Node) -> Result<String, String> {
    match &item.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Map(_) => text_of(item, "path").ok_or_else(|| "an env_file needs a path".to_owned()),
        _ => Ok(String::new()),
    }
}

fn text_of(item: &Node, key: &str) -> Option<String> {
    item.get(key).and_then(Node::as_text).map(str::to_owned)
}
