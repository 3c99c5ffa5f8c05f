//! `extends`: a service that begins as a copy of another, of the same file or of one beside it.

use super::load::Loader;
use super::{canonical, defaults, merge, path, unique};
use crate::fault::Faults;
use crate::node::{At, Map, Node, Value};
use crate::yaml::limits::MOST_WEIGHT;

/// How long a chain of services may be.
const MOST_STEPS: usize = 50;

/// Replaces every service of a file that extends another by the merged one.
pub(crate) fn apply(
    loader: &mut Loader<'_>,
    root: &mut Node,
    file: &str,
    folder: &str,
    resets: &[Vec<String>],
) -> Result<(), Faults> {
    let Some(services) = root.as_map_mut().and_then(|entries| entries.get_mut("services")) else {
        return Ok(());
    };
    let Some(services) = services.as_map_mut() else { return Ok(()) };
    if !services.values().any(|service| service.get("extends").is_some()) {
        return Ok(());
    }
    let names: Vec<String> = services.keys().cloned().collect();
    for name in names {
        let mut chain = Chain { loader, folder, steps: Vec::new() };
        let merged = chain.service(&name, services, file, resets)?;
        services.insert(name, merged);
    }
    Ok(())
}

struct Chain<'a, 'b> {
    loader: &'a mut Loader<'b>,
    folder: &'a str,
    /// The services on the way, by file and name, to see a circle.
    steps: Vec<(String, String)>,
}

impl Chain<'_, '_> {
    fn service(
        &mut self,
        name: &str,
        services: &mut Map,
        file: &str,
        resets: &[Vec<String>],
    ) -> Result<Node, Faults> {
        let service = services.get(name).cloned().unwrap_or_else(|| Node::null(At::default()));
        let Some(extends) = service.get("extends") else { return Ok(service) };
        let at = extends.at;
        let wrong = |message: String| Faults::one(at, format!("services.{name}.extends"), message);
        let target = match &extends.value {
            Value::Text(target) => Some(target.clone()),
            _ => extends.get("service").and_then(Node::as_text).map(str::to_owned),
        };
        let target = target.ok_or_else(|| wrong("the service to extend is missing".to_owned()))?;
        let other_file =
            extends.get("file").and_then(Node::as_text).map(|file| path::join(self.folder, file));
        let there = other_file.clone().unwrap_or_else(|| file.to_owned());
        let step = (there.clone(), name.to_owned());
        if self.steps.contains(&step) || self.steps.len() >= MOST_STEPS {
            return Err(wrong("the services extend each other in a circle".to_owned()));
        }
        self.steps.push(step);
        let base = match &other_file {
            Some(other) => {
                let (mut others, other_resets) = self.open(other, at)?;
                self.base(&target, &mut others, other, &other_resets, &wrong)?
            }
            None => self.base(&target, services, file, resets, &wrong)?,
        };
        if base.is_null() {
            return Ok(service);
        }
        self.loader.copied += base.weight();
        if self.loader.copied > MOST_WEIGHT {
            return Err(wrong("the services copy more from each other than is read".to_owned()));
        }
        let base = reset_service(base, name, resets);
        let mut merged = merge::service(base, service)?;
        if let Some(fields) = merged.as_map_mut() {
            fields.remove("extends");
        }
        services.insert(name.to_owned(), merged.clone());
        Ok(merged)
    }

    fn base(
        &mut self,
        target: &str,
        services: &mut Map,
        file: &str,
        resets: &[Vec<String>],
        wrong: &dyn Fn(String) -> Faults,
    ) -> Result<Node, Faults> {
        if !services.contains_key(target) {
            return Err(wrong(format!("there is no service `{target}` in {file}")));
        }
        self.service(target, services, file, resets)
    }

    /// The services of another file, written out, their paths seen from where it stands.
    fn open(&mut self, file: &str, at: At) -> Result<(Map, Vec<Vec<String>>), Faults> {
        let mut root = Node::map(Map::new(), at);
        let mut resets = Vec::new();
        for document in self.loader.parse(file, at)? {
            let mut over = document.root;
            self.loader.interpolate(&mut over)?;
            reset(&mut root, &document.resets);
            root = merge::files(root, over)?;
            unique::enforce(&mut root)?;
            canonical::canonical(&mut root)?;
            resets = document.resets;
        }
        let folder = path::parent(file);
        defaults::resolve_paths(&mut root, &path::Base { folder: &folder, home: self.loader.home })?;
        match root.as_map_mut().and_then(|entries| entries.remove("services")).map(|services| services.value)
        {
            Some(Value::Map(services)) => Ok((services, resets)),
            _ => Err(Faults::one(at, "", format!("the file {file} has no services"))),
        }
    }
}

fn reset_service(base: Node, name: &str, resets: &[Vec<String>]) -> Node {
    if resets.is_empty() {
        return base;
    }
    let at = base.at;
    let services = Node::map(Map::from([(name.to_owned(), base)]), at);
    let mut root = Node::map(Map::from([("services".to_owned(), services)]), at);
    reset(&mut root, resets);
    let services = root.as_map_mut().and_then(|root| root.remove("services"));
    let base = services.and_then(|mut services| services.as_map_mut()?.remove(name));
    base.unwrap_or_else(|| Node::map(Map::new(), at))
}

/// Drops what the tags `!reset` and `!override` of a later file point at.
pub(crate) fn reset(root: &mut Node, paths: &[Vec<String>]) {
    for path in paths {
        let Some((last, parents)) = path.split_last() else { continue };
        let mut node = Some(&mut *root);
        for part in parents {
            node = node.and_then(Node::as_map_mut).and_then(|entries| entries.get_mut(part));
        }
        if let Some(entries) = node.and_then(Node::as_map_mut) {
            entries.remove(last);
        }
    }
}
