//! What the file means without saying it: the default network, implied dependencies, names.

use super::schema::SECTIONS;
use super::{merge, path};
use crate::node::{At, Map, Node, Value};

/// The variables of the project, for names that are written without a value.
pub(crate) type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Adds the value to variables in a list, and to configs and secrets that come from the environment.
pub(crate) fn resolve_environment(root: &mut Node, environment: &Environment<'_>) {
    let Some(entries) = root.as_map_mut() else { return };
    for (_, service) in services_of(entries) {
        if let Some(Node { value: Value::List(items), .. }) = service.get_mut("environment") {
            items.retain(|item| item.as_text().is_some());
            for item in items {
                let found = item.as_text().and_then(|name| Some(format!("{name}={}", environment(name)?)));
                if let Some(found) = found {
                    item.value = Value::Text(found);
                }
            }
        }
    }
}

fn services_of(entries: &mut Map) -> impl Iterator<Item = (&String, &mut Map)> {
    let services = entries.get_mut("services").and_then(Node::as_map_mut);
    services.into_iter().flatten().filter_map(|(name, service)| Some((name, service.as_map_mut()?)))
}

/// Fills in what is implied, for the project `name`.
pub(crate) fn normalise(root: &mut Node, name: &str, environment: &Environment<'_>) {
    let Some(entries) = root.as_map_mut() else { return };
    networks(entries);
    for (_, service) in services_of(entries) {
        fields(service, environment);
        let dependencies = implied(service);
        if !dependencies.is_empty() {
            let at = dependencies.values().next().map_or_else(At::default, |node| node.at);
            let field = service.entry("depends_on".to_owned()).or_insert_with(|| Node::map(Map::new(), at));
            if let Some(field) = field.as_map_mut() {
                dependencies.into_iter().for_each(|(name, value)| {
                    field.entry(name).or_insert(value);
                });
            }
        }
    }
    names(entries, name);
}

fn networks(entries: &mut Map) {
    let mut uses_default = false;
    for (_, service) in services_of(entries) {
        if service.contains_key("provider") || service.contains_key("network_mode") {
            continue;
        }
        let joined = service.get("networks").and_then(Node::as_map);
        match joined {
            Some(joined) if !joined.is_empty() => uses_default |= joined.contains_key("default"),
            _ => {
                let at = service.get("networks").map_or_else(At::default, |node| node.at);
                let default = Map::from([("default".to_owned(), Node::null(at))]);
                service.insert("networks".to_owned(), Node::map(default, at));
                uses_default = true;
            }
        }
    }
    if uses_default {
        let networks =
            entries.entry("networks".to_owned()).or_insert_with(|| Node::map(Map::new(), At::default()));
        if let Some(networks) = networks.as_map_mut() {
            networks.entry("default".to_owned()).or_insert_with(|| Node::null(At::default()));
        }
    }
}

fn fields(service: &mut Map, environment: &Environment<'_>) {
    if let Some(policy) = service.get_mut("pull_policy")
        && policy.as_text() == Some("if_not_present")
    {
        policy.value = Value::Text("missing".to_owned());
    }
    if let Some(build) = service.get_mut("build").and_then(Node::as_map_mut) {
        fill_build(build, environment);
    }
    if let Some(variables) = service.get_mut("environment") {
        resolve(variables, environment, true);
    }
    for mount in service.get_mut("volumes").into_iter().flat_map(items_mut) {
        if let Some(target) = mount.as_map_mut().and_then(|fields| fields.get_mut("target"))
            && let Value::Text(text) = &mut target.value
        {
            *text = path::clean(text);
        }
    }
}

fn items_mut(node: &mut Node) -> &mut [Node] {
    match &mut node.value {
        Value::List(items) => items,
        _ => &mut [],
    }
}

fn fill_build(build: &mut Map, environment: &Environment<'_>) {
    let missing = |build: &Map, key: &str| build.get(key).is_none_or(Node::is_null);
    if missing(build, "context") {
        build.insert("context".to_owned(), Node::text(".", At::default()));
    }
    if missing(build, "dockerfile") && missing(build, "dockerfile_inline") {
        build.insert("dockerfile".to_owned(), Node::text("Dockerfile", At::default()));
    }
    if let Some(arguments) = build.get_mut("args") {
        resolve(arguments, environment, false);
    }
}

/// Gives names without a value the one of the environment; without one they go or stay.
fn resolve(node: &mut Node, environment: &Environment<'_>, keep: bool) {
    match &mut node.value {
        Value::Map(entries) => entries.retain(|name, value| {
            if value.is_null()
                && let Some(found) = environment(name)
            {
                value.value = Value::Text(found);
            }
            keep || !value.is_null()
        }),
        Value::List(items) => items.retain_mut(|item| {
            let Some(text) = item.as_text().filter(|text| !text.contains('=')) else { return true };
            match environment(text) {
                Some(found) => {
                    item.value = Value::Text(format!("{text}={found}"));
                    true
                }
                None => keep,
            }
        }),
        _ => {}
    }
}

/// Services this one leans on without saying so under `depends_on`.
fn implied(service: &Map) -> Map {
    let mut out = Map::new();
    let mut add = |name: &str, at: At, restart: bool| {
        let mut dependency = merge::plain_dependency(at);
        if let Some(fields) = dependency.as_map_mut() {
            fields.insert("restart".to_owned(), Node::bool(restart, at));
        }
        out.entry(name.to_owned()).or_insert(dependency);
    };
    let texts = |key: &str| service.get(key).and_then(Node::as_list).unwrap_or_default();
    for link in texts("links") {
        let text = link.as_text().unwrap_or_default();
        let parts: Vec<&str> = text.split(':').collect();
        add(if parts.len() == 2 { parts[0] } else { text }, link.at, true);
    }
    for key in ["network_mode", "ipc", "pid", "uts", "cgroup"] {
        if let Some(field) = service.get(key)
            && let Some(shared) = field.as_text().and_then(|text| text.strip_prefix("service:"))
        {
            add(shared, field.at, true);
        }
    }
    for source in texts("volumes_from") {
        let text = source.as_text().unwrap_or_default();
        if !text.starts_with("container:") {
            add(text.split(':').next().unwrap_or_default(), source.at, false);
        }
    }
    out
}

/// Resources without a name are named after the project and their key.
fn names(entries: &mut Map, project: &str) {
    for section in SECTIONS {
        for (key, resource) in entries.get_mut(*section).and_then(Node::as_map_mut).into_iter().flatten() {
            let at = resource.at;
            if resource.is_null() {
                resource.value = Value::Map(Map::new());
            }
            let Some(fields) = resource.as_map_mut() else { continue };
            if fields.get("name").is_some_and(|name| !name.is_null()) {
                continue;
            }
            let external = matches!(fields.get("external").map(|node| &node.value), Some(Value::Bool(true)));
            let name = if external { key.clone() } else { format!("{project}_{key}") };
            fields.insert("name".to_owned(), Node::text(name, at));
        }
    }
}
