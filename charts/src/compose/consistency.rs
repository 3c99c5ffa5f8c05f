//! Do the parts of the model fit each other? And which of them does anything use?

use std::collections::BTreeSet;

use crate::fault::Faults;
use crate::node::{Map, Node, Value};

/// Takes the services out whose profile is not asked for; gives their names.
pub(crate) fn select_profiles(model: &mut Node, profiles: &[String]) -> BTreeSet<String> {
    let mut disabled = BTreeSet::new();
    let services = model.as_map_mut().and_then(|model| model.get_mut("services")).and_then(Node::as_map_mut);
    let Some(services) = services else { return disabled };
    services.retain(|name, service| {
        let wanted = service.get("profiles").and_then(Node::as_list).unwrap_or_default();
        let asked =
            |profile: &Node| profiles.iter().any(|p| p == "*" || Some(p.as_str()) == profile.as_text());
        let enabled = wanted.is_empty() || profiles.iter().any(|p| p == "*") || wanted.iter().any(asked);
        if !enabled {
            disabled.insert(name.clone());
        }
        enabled
    });
    disabled
}

/// Checks what the services say against each other and against the resources.
pub(crate) fn check(model: &mut Node, disabled: &BTreeSet<String>) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let empty = Map::new();
    let services = model.get("services").and_then(Node::as_map).unwrap_or(&empty);
    for (name, service) in services {
        let mut check = Check { model, services, disabled, name, service, faults: &mut faults };
        check.source();
        check.references();
        check.dependencies();
        check.limits();
        check.targets();
    }
    container_names(services, &mut faults);
    cycles(services, &mut faults);
    for (name, secret) in model.get("secrets").and_then(Node::as_map).into_iter().flatten() {
        let set = ["external", "file", "environment"].iter().any(|key| secret.get(key).is_some());
        if !set {
            faults.add_at(secret.at, format!("secrets.{name}"), "one of file, environment must be set");
        }
    }
    faults.stop()?;
    scale(model);
    Ok(())
}

struct Check<'a> {
    model: &'a Node,
    services: &'a Map,
    disabled: &'a BTreeSet<String>,
    name: &'a str,
    service: &'a Node,
    faults: &'a mut Faults,
}

impl Check<'_> {
    fn wrong(&mut self, node: &Node, field: &str, message: impl Into<String>) {
        self.faults.add_at(node.at, format!("services.{}.{field}", self.name), message);
    }

    fn text(&self, key: &str) -> &str {
        self.service.get(key).and_then(Node::as_text).unwrap_or_default()
    }

    fn source(&mut self) {
        let (service, build) = (self.service, self.service.get("build"));
        if build.is_none() && self.text("image").is_empty() && service.get("provider").is_none() {
            self.wrong(service, "image", "the service has neither an image nor something to build it from");
        }
        let Some(build) = build else { return };
        if build.get("dockerfile_inline").is_some() && build.get("dockerfile").is_some() {
            self.wrong(build, "build", "dockerfile and dockerfile_inline exclude each other; keep one");
        }
        for context in
            build.get("additional_contexts").and_then(Node::as_map).into_iter().flat_map(Map::values)
        {
            let Some(target) = context.as_text().and_then(|text| text.strip_prefix("service:")) else {
                continue;
            };
            if self.services.get(target).and_then(|target| target.get("build")).is_none() {
                self.wrong(
                    context,
                    "build.additional_contexts",
                    format!("`{target}` is no service that is built"),
                );
            }
        }
        let platforms = build.get("platforms").and_then(Node::as_list).unwrap_or_default();
        let platform = self.text("platform");
        if !platforms.is_empty()
            && !platform.is_empty()
            && !platforms.iter().any(|p| p.as_text() == Some(platform))
        {
            self.wrong(build, "build.platforms", "the platform of the service must be among them");
        }
    }

    fn references(&mut self) {
        let service = self.service;
        let joined = service.get("networks").and_then(Node::as_map);
        if !self.text("network_mode").is_empty() && joined.is_some_and(|joined| !joined.is_empty()) {
            self.wrong(service, "network_mode", "network_mode and networks exclude each other; keep one");
        }
        for (network, node) in joined.into_iter().flatten() {
            self.defined("networks", network, node);
        }
        for mount in items(service, "volumes") {
            let source = mount.get("source").and_then(Node::as_text).unwrap_or_default();
            if mount.get("type").and_then(Node::as_text) == Some("volume") && !source.is_empty() {
                self.defined("volumes", source, mount);
            }
        }
        for section in ["configs", "secrets"] {
            for mount in items(service, section) {
                self.defined(section, mount.get("source").and_then(Node::as_text).unwrap_or_default(), mount);
            }
        }
        for mount in service.get("build").map(|build| items(build, "secrets")).unwrap_or_default() {
            self.defined("secrets", mount.get("source").and_then(Node::as_text).unwrap_or_default(), mount);
        }
        for (model, node) in service.get("models").and_then(Node::as_map).into_iter().flatten() {
            self.defined("models", model, node);
        }
    }

    fn defined(&mut self, section: &str, name: &str, node: &Node) {
        if self.model.get(section).and_then(|resources| resources.get(name)).is_none() {
            let message = format!("`{name}` is not defined; add it under the `{section}` of the file");
            self.wrong(node, section, message);
        }
    }

    fn dependencies(&mut self) {
        for (target, dependency) in
            self.service.get("depends_on").and_then(Node::as_map).into_iter().flatten()
        {
            let required = dependency.get("required").and_then(Node::as_bool).unwrap_or(false);
            if self.services.contains_key(target) || (self.disabled.contains(target) && !required) {
                continue;
            }
            self.wrong(dependency, "depends_on", format!("there is no service `{target}`"));
        }
        let mode = self.text("network_mode").to_owned();
        if let Some(target) = mode.strip_prefix("service:")
            && !self.services.contains_key(target)
        {
            self.wrong(self.service, "network_mode", format!("there is no service `{target}`"));
        }
        let test = self.service.get("healthcheck").map(|health| items(health, "test")).unwrap_or_default();
        if let Some(first) = test.first()
            && !matches!(first.as_text(), Some("CMD" | "CMD-SHELL" | "NONE"))
        {
            self.wrong(first, "healthcheck.test", "a list begins with CMD, CMD-SHELL or NONE");
        }
    }

    fn limits(&mut self) {
        let (scale, replicas) =
            (integer(self.service, &["scale"]), integer(self.service, &["deploy", "replicas"]));
        if let (Some(scale), Some(replicas)) = (scale, replicas)
            && scale != replicas
        {
            self.wrong(self.service, "scale", "scale and deploy.replicas differ; keep one");
        }
        if scale.or(replicas).is_some_and(|copies| copies < 0) || replicas.is_some_and(|copies| copies < 0) {
            self.wrong(self.service, "scale", "must not be below zero");
        }
        if scale.or(replicas).unwrap_or(1) > 1 && !self.text("container_name").is_empty() {
            self.wrong(self.service, "container_name", "several containers cannot have one name");
        }
        const PAIRS: [(&str, &str, &str); 4] = [
            ("cpus", "limits", "cpus"),
            ("mem_limit", "limits", "memory"),
            ("mem_reservation", "reservations", "memory"),
            ("pids_limit", "limits", "pids"),
        ];
        for (field, section, limit) in PAIRS {
            let Some(own) = self.service.get(field) else { continue };
            let resources = self.service.get("deploy").and_then(|deploy| deploy.get("resources"));
            let Some(limits) = resources.and_then(|resources| resources.get(section)) else { continue };
            if limits.get(limit).is_none_or(|other| !same_amount(own, other)) {
                let message = format!("{field} and deploy.resources.{section}.{limit} differ; keep one");
                self.wrong(own, field, message);
            }
        }
    }

    /// Two mounts cannot have one target.
    fn targets(&mut self) {
        let mut seen = BTreeSet::new();
        for mount in items(self.service, "tmpfs") {
            let text = mount.as_text().unwrap_or_default();
            let target = text.split(':').next().unwrap_or_default();
            if !seen.insert(target.to_owned()) {
                self.wrong(mount, "tmpfs", format!("`{target}` is mounted twice"));
            }
        }
        for mount in items(self.service, "volumes") {
            let target = mount.get("target").and_then(Node::as_text).unwrap_or_default();
            if !seen.insert(target.to_owned()) {
                self.wrong(mount, "volumes", format!("`{target}` is mounted twice"));
            }
        }
        let watch = self.service.get("develop").map(|develop| items(develop, "watch")).unwrap_or_default();
        for trigger in watch {
            let action = trigger.get("action").and_then(Node::as_text);
            if trigger.get("target").is_none() && !matches!(action, Some("rebuild" | "restart")) {
                self.wrong(trigger, "develop.watch", "a target is needed for this action");
            }
        }
    }
}

fn items<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    node.get(key).and_then(Node::as_list).unwrap_or_default()
}

fn integer(node: &Node, path: &[&str]) -> Option<i64> {
    let found = path.iter().try_fold(node, |node, key| node.get(key))?;
    match found.value {
        Value::Int(value) => Some(value),
        _ => None,
    }
}

fn same_amount(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        _ => a.same(b),
    }
}

fn container_names(services: &Map, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (name, service) in services {
        let Some(container) = service.get("container_name") else { continue };
        let text = container.as_text().unwrap_or_default();
        if !seen.insert(text) {
            let message = format!("another service has the container_name `{text}` too");
            faults.add_at(container.at, format!("services.{name}.container_name"), message);
        }
    }
}

/// Services that wait for each other in a circle would never start.
fn cycles(services: &Map, faults: &mut Faults) {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in services.keys() {
        let mut trail: Vec<(&str, Vec<&str>)> = vec![(start, dependencies(services, start))];
        while let Some((name, left)) = trail.last_mut() {
            let name = *name;
            let Some(next) = left.pop() else {
                done.insert(name);
                trail.pop();
                continue;
            };
            if let Some(place) = trail.iter().position(|(name, _)| *name == next) {
                let circle: Vec<&str> = trail[place..].iter().map(|(name, _)| *name).chain([next]).collect();
                let message = format!("these services wait for each other: {}", circle.join(" -> "));
                return faults.add_at(services[next].at, format!("services.{next}.depends_on"), message);
            }
            if !done.contains(next) {
                trail.push((next, dependencies(services, next)));
            }
        }
    }
}

fn dependencies<'a>(services: &'a Map, name: &str) -> Vec<&'a str> {
    let depends = services.get(name).and_then(|service| service.get("depends_on")).and_then(Node::as_map);
    depends
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| services.contains_key(*name))
        .collect()
}

/// `scale` is the older word for `deploy.replicas`.
fn scale(model: &mut Node) {
    let services = model.as_map_mut().and_then(|model| model.get_mut("services")).and_then(Node::as_map_mut);
    for service in services.into_iter().flat_map(|services| services.values_mut()) {
        let Some(fields) = service.as_map_mut() else { continue };
        let Some(scale) = fields.get("scale").cloned() else { continue };
        if let Some(deploy) = fields.get_mut("deploy").and_then(Node::as_map_mut) {
            deploy.insert("replicas".to_owned(), scale);
        }
    }
}

/// Takes out what no service uses.
pub(crate) fn drop_unused(model: &mut Node) {
    let mut used: BTreeSet<(&str, String)> = BTreeSet::new();
    for service in model.get("services").and_then(Node::as_map).into_iter().flat_map(Map::values) {
        let networks = service.get("networks").and_then(Node::as_map);
        used.extend(networks.into_iter().flatten().map(|(name, _)| ("networks", name.clone())));
        let source = |node: &Node| node.get("source").and_then(Node::as_text).map(str::to_owned);
        let named = |mount: &&Node| mount.get("type").and_then(Node::as_text) == Some("volume");
        used.extend(
            items(service, "volumes").iter().filter(named).filter_map(source).map(|name| ("volumes", name)),
        );
        used.extend(items(service, "configs").iter().filter_map(source).map(|name| ("configs", name)));
        let build = service.get("build").map(|build| items(build, "secrets")).unwrap_or_default();
        let secrets = items(service, "secrets").iter().chain(build);
        used.extend(secrets.filter_map(source).map(|name| ("secrets", name)));
    }
    let Some(model) = model.as_map_mut() else { return };
    // Models are looked at, and never printed.
    model.remove("models");
    for section in super::schema::SECTIONS {
        let Some(resources) = model.get_mut(*section).and_then(Node::as_map_mut) else { continue };
        resources.retain(|name, _| used.contains(&(section, name.clone())));
        if resources.is_empty() {
            model.remove(*section);
        }
    }
}
