//! What services take from files: variables from `env_file`, labels from `label_file`.

use std::collections::BTreeMap;

use super::dotenv::{self, Variables};
use super::load::Loader;
use super::shape;
use super::template::Lookup;
use crate::fault::Faults;
use crate::node::{At, Map, Node, Value};

/// Adds the variables and labels of files to the services of the model. The files are named in
/// `written`; what a service says itself wins over its files.
pub(crate) fn resolve(
    model: &mut Node,
    written: &Node,
    loader: &mut Loader<'_>,
    environment: &BTreeMap<String, String>,
) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let services = model.as_map_mut().and_then(|model| model.get_mut("services")).and_then(Node::as_map_mut);
    let Some(services) = services else { return Ok(()) };
    for (name, source) in shape::services(written) {
        let Some(service) = services.get_mut(name).and_then(Node::as_map_mut) else { continue };
        let mut stage = Stage { name, loader, faults: &mut faults };
        if let Some(files) = source.get("env_file").and_then(Node::as_list) {
            stage.variables(service, files, environment);
        }
        if let Some(files) = source.get("label_file").and_then(Node::as_list) {
            stage.labels(service, files);
        }
    }
    faults.stop()
}

struct Stage<'a, 'b> {
    name: &'a str,
    loader: &'a mut Loader<'b>,
    faults: &'a mut Faults,
}

impl Stage<'_, '_> {
    fn variables(&mut self, service: &mut Map, files: &[Node], environment: &BTreeMap<String, String>) {
        let own = service.get("environment").and_then(Node::as_map).cloned().unwrap_or_default();
        let set = |(name, value): (&String, &Node)| Some((name.clone(), value.as_text()?.to_owned()));
        let mut variables: Variables = own.iter().filter_map(set).collect();
        let lookup = |name: &str| {
            let given = environment.get(name).cloned();
            given.or_else(|| own.get(name).and_then(Node::as_text).map(str::to_owned))
        };
        for (index, file) in files.iter().enumerate() {
            let required = !matches!(file.get("required").map(|node| &node.value), Some(Value::Bool(false)));
            let field = format!("services.{}.env_file[{index}]", self.name);
            let text = |key: &str| file.get(key).and_then(Node::as_text).unwrap_or_default();
            let format = text("format").to_owned();
            self.read(text("path"), (required, &format), &mut variables, &lookup, (file.at, &field));
        }
        let mut merged: Map =
            variables.into_iter().map(|(name, value)| (name, Node::text(value, At::default()))).collect();
        merged.extend(own);
        if !merged.is_empty() {
            service.insert("environment".to_owned(), Node::map(merged, At::default()));
        }
    }

    fn labels(&mut self, service: &mut Map, files: &[Node]) {
        let mut labels = Variables::new();
        for (index, file) in files.iter().enumerate() {
            let field = format!("services.{}.label_file[{index}]", self.name);
            let before = labels.clone();
            let lookup = |name: &str| before.get(name).cloned();
            let path = file.as_text().unwrap_or_default();
            self.read(path, (true, ""), &mut labels, &lookup, (file.at, &field));
        }
        let own = service.get("labels").and_then(Node::as_map).cloned().unwrap_or_default();
        let mut merged: Map =
            labels.into_iter().map(|(name, value)| (name, Node::text(value, At::default()))).collect();
        merged.extend(own);
        if !merged.is_empty() {
            service.insert("labels".to_owned(), Node::map(merged, At::default()));
        }
    }

    fn read(
        &mut self,
        path: &str,
        (required, format): (bool, &str),
        variables: &mut Variables,
        lookup: &Lookup<'_>,
        (at, field): (At, &str),
    ) {
        let outcome = match self.loader.read(path) {
            Ok(Some((file, text))) => match format {
                "" | ".env" => dotenv::read(&text, variables, lookup),
                "raw" => dotenv::read_raw(&text, variables, lookup),
                other => {
                    let message = format!("the format `{other}` is not known; leave it out or use raw");
                    return self.faults.add_at(at, field, message);
                }
            }
            .map_err(|wrong| (At { file, line: wrong.line, column: 1 }, wrong.message)),
            Ok(None) if !required => Ok(()),
            Ok(None) => Err((at, format!("the file {path} does not exist; add it or say required: false"))),
            Err(message) => Err((at, message)),
        };
        if let Err((at, message)) = outcome {
            self.faults.add_at(at, field, message);
        }
    }
}
