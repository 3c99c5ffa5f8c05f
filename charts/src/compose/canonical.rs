//! Every short form written out: after this stage each field has one shape only.
//!
//! Runs on each file once it is merged onto those before it and its shape was checked, so the
//! shapes handled here are the ones the specification allows; anything else is left alone.

use super::schema::SECTIONS;
use super::{merge, ports, volume};
use crate::fault::Faults;
use crate::node::{At, Map, Node, Path, Value};
use crate::yaml::limits::MOST_PORTS;

/// Writes out the short forms of a whole file.
pub(crate) fn canonical(root: &mut Node) -> Result<(), Faults> {
    let mut stage = Stage::default();
    let Some(entries) = root.as_map_mut() else { return Ok(()) };
    if let Some(services) = entries.get_mut("services") {
        stage.each(services, "services", Stage::service);
    }
    for section in SECTIONS {
        if let Some(resources) = entries.get_mut(*section) {
            stage.each(resources, section, Stage::external);
        }
    }
    stage.faults.stop()
}

#[derive(Default)]
struct Stage {
    path: Path,
    faults: Faults,
    /// Ports unfolded so far.
    ports: usize,
}

impl Stage {
    fn each(&mut self, node: &mut Node, key: &str, act: fn(&mut Self, &mut Node)) {
        self.path.enter(key);
        match &mut node.value {
            Value::Map(entries) => {
                for (name, entry) in entries {
                    self.path.enter(name);
                    act(self, entry);
                    self.path.leave();
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.enter_item(index);
                    act(self, item);
                    self.path.leave();
                }
            }
            _ => {}
        }
        self.path.leave();
    }

    fn service(&mut self, service: &mut Node) {
        let Some(fields) = service.as_map_mut() else { return };
        for (key, field) in &mut *fields {
            match key.as_str() {
                "build" => self.build(field),
                "depends_on" => depends_on(field),
                "env_file" => env_file(field),
                "label_file" | "dns" => text_to_list(field),
                "extends" => text_to_map(field, "service"),
                "gpus" => gpus(field),
                "networks" | "models" => names_to_map(field),
                "volumes" => self.each(field, key, Self::mount),
                "devices" => self.each(field, key, Self::device),
                "secrets" | "configs" => self.each(field, key, |_, item| text_to_map(item, "source")),
                "ports" => self.ports(field),
                "ulimits" => self.each(field, key, Self::ulimit),
                "develop" => self.watch(field),
                _ => {}
            }
        }
        if let Some(Node { value: Value::List(servers), .. }) = fields.get_mut("dns") {
            servers.retain(|server| !matches!(&server.value, Value::Text(text) if text.is_empty()));
        }
    }

    fn build(&mut self, build: &mut Node) {
        text_to_map(build, "context");
        let Some(fields) = build.as_map_mut() else { return };
        self.path.enter("build");
        for (key, field) in fields {
            match key.as_str() {
                "secrets" => self.each(field, key, |_, item| text_to_map(item, "source")),
                "provenance" | "sbom" => field.value = Value::Text(merge::as_printed(field)),
                "additional_contexts" => self.pairs_to_map(key, field),
                "ssh" => self.ssh(field),
                "ulimits" => self.each(field, key, Self::ulimit),
                _ => {}
            }
        }
        self.path.leave();
    }

    fn pairs_to_map(&mut self, key: &str, field: &mut Node) {
        let Value::List(items) = &field.value else { return };
        let mut map = Map::new();
        for item in items {
            match item.as_text().and_then(|text| text.split_once('=')) {
                Some((name, value)) => {
                    map.insert(name.to_owned(), Node::text(value, item.at));
                }
                None => self.faults.add_at(item.at, self.path.of(key), "expected name=value"),
            }
        }
        field.value = Value::Map(map);
    }

    fn ssh(&mut self, field: &mut Node) {
        let Value::List(items) = &field.value else { return };
        let mut map = Map::new();
        for item in items {
            match item.as_text().map(|text| text.split_once('=').ok_or(text)) {
                Some(Ok((name, value))) => {
                    map.insert(name.to_owned(), Node::text(value, item.at));
                }
                Some(Err("default")) => {
                    map.insert("default".to_owned(), Node::null(item.at));
                }
                _ => self.faults.add_at(item.at, self.path.of("ssh"), "expected `default` or name=path"),
            }
        }
        field.value = Value::Map(map);
    }

    fn mount(&mut self, mount: &mut Node) {
        let Value::Text(text) = &mount.value else { return };
        match volume::parse(text) {
            Ok(short) => *mount = short.into_long(mount.at),
            Err(message) => self.faults.add(mount.at, &self.path, message),
        }
    }

    fn device(&mut self, device: &mut Node) {
        let Value::Text(text) = &device.value else { return };
        let parts: Vec<&str> = text.split(':').collect();
        let (source, target, permissions) = match parts.as_slice() {
            [source] => (*source, *source, "rwm"),
            [source, target] => (*source, *target, "rwm"),
            [source, target, permissions] => (*source, *target, *permissions),
            _ => {
                let message = format!("`{text}` is not a device; write it like /dev/dri:/dev/dri");
                return self.faults.add(device.at, &self.path, message);
            }
        };
        let target = if target.is_empty() { source } else { target };
        let text = |text: &str| Value::Text(text.to_owned());
        let fields = [("source", text(source)), ("target", text(target)), ("permissions", text(permissions))];
        *device = Node::map_of(fields, device.at);
    }

    fn ulimit(&mut self, limit: &mut Node) {
        if !matches!(limit.value, Value::Int(_) | Value::Map(_)) {
            self.faults.add(limit.at, &self.path, "a limit is a whole number, or a mapping of soft and hard");
        }
    }

    fn ports(&mut self, field: &mut Node) {
        let Value::List(items) = &mut field.value else { return };
        let mut out = Vec::with_capacity(items.len());
        self.path.enter("ports");
        for (index, item) in std::mem::take(items).into_iter().enumerate() {
            let parsed = match &item.value {
                Value::Int(port) => ports::parse(&port.to_string()),
                Value::Text(text) => ports::parse(text),
                Value::Map(_) => {
                    out.push(item);
                    continue;
                }
                _ => Err(format!("expected a port, this is {}", item.kind())),
            };
            match parsed {
                Ok(ports) if self.ports + ports.len() > MOST_PORTS => {
                    self.faults.add(
                        item.at,
                        &self.path,
                        "the ranges of the file unfold into more ports than there are",
                    );
                    break;
                }
                Ok(ports) => {
                    self.ports += ports.len();
                    out.extend(ports.into_iter().map(|port| long_port(port, item.at)));
                }
                Err(message) => {
                    self.path.enter_item(index);
                    self.faults.add(item.at, &self.path, message);
                    self.path.leave();
                }
            }
        }
        self.path.leave();
        field.value = Value::List(out);
    }

    fn watch(&mut self, develop: &mut Node) {
        let Some(watch) = develop.as_map_mut().and_then(|fields| fields.get_mut("watch")) else { return };
        self.each(watch, "develop.watch", |_, trigger| {
            let Some(fields) = trigger.as_map_mut() else { return };
            for key in ["ignore", "include"] {
                if let Some(field) = fields.get_mut(key) {
                    text_to_list(field);
                }
            }
        });
    }

    /// `external: {name: x}`, the old way to say `external: true` and `name: x`.
    fn external(&mut self, resource: &mut Node) {
        let at = resource.at;
        let Some(fields) = resource.as_map_mut() else { return };
        let Some(Node { value: Value::Map(external), .. }) = fields.get("external") else { return };
        let old_name = external.get("name").cloned();
        fields.insert("external".to_owned(), Node::bool(true, at));
        let Some(old_name) = old_name else { return };
        match fields.get("name") {
            Some(name) if !name.same(&old_name) => {
                self.faults.add(at, &self.path, "name and external.name differ; keep only name");
            }
            Some(_) => {}
            None => {
                fields.insert("name".to_owned(), old_name);
            }
        }
    }
}

fn long_port(port: ports::Port, at: At) -> Node {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), Node::new(value, at));
    put("mode", Value::Text("ingress".to_owned()));
    if !port.host_ip.is_empty() {
        put("host_ip", Value::Text(port.host_ip));
    }
    if port.target > 0 {
        put("target", Value::Int(i64::from(port.target)));
    }
    if !port.published.is_empty() {
        put("published", Value::Text(port.published));
    }
    put("protocol", Value::Text(port.protocol));
    Node::map(fields, at)
}

fn text_to_list(field: &mut Node) {
    if matches!(field.value, Value::Text(_)) {
        let at = field.at;
        let text = std::mem::replace(field, Node::null(at));
        *field = Node::list(vec![text], at);
    }
}

fn text_to_map(field: &mut Node, key: &str) {
    if matches!(field.value, Value::Text(_)) {
        let at = field.at;
        let text = std::mem::replace(field, Node::null(at));
        *field = Node::map(Map::from([(key.to_owned(), text)]), at);
    }
}

fn names_to_map(field: &mut Node) {
    let Value::List(items) = &field.value else { return };
    let names = items.iter().filter_map(|item| Some((item.as_text()?.to_owned(), Node::null(item.at))));
    field.value = Value::Map(names.collect());
}

fn gpus(field: &mut Node) {
    if matches!(field.value, Value::Text(_)) {
        let all = Node::map_of([("count", Value::Text("all".to_owned()))], field.at);
        field.value = Value::List(vec![all]);
    }
}

fn depends_on(field: &mut Node) {
    match &mut field.value {
        Value::List(items) => {
            let plain = |item: &Node| Some((item.as_text()?.to_owned(), merge::plain_dependency(item.at)));
            field.value = Value::Map(items.iter().filter_map(plain).collect());
        }
        Value::Map(entries) => {
            for entry in entries.values_mut() {
                let at = entry.at;
                let Some(fields) = entry.as_map_mut() else { continue };
                fields.entry("condition".to_owned()).or_insert_with(|| Node::text("service_started", at));
                fields.entry("required".to_owned()).or_insert_with(|| Node::bool(true, at));
            }
        }
        _ => {}
    }
}

fn env_file(field: &mut Node) {
    text_to_list(field);
    let Value::List(items) = &mut field.value else { return };
    for item in items {
        let at = item.at;
        text_to_map(item, "path");
        if let Some(fields) = item.as_map_mut() {
            fields.entry("required".to_owned()).or_insert_with(|| Node::bool(true, at));
        }
    }
}
