//! A published compose file to a package of ours.
//!
//! The author's file is kept byte for byte under `author/`; ours stands beside it, with what a home
//! server needs changed and nothing else: volumes become folders of the app's data, ports of the
//! host become a route, variables become values of the App, and what has no effect here is left
//! out. Everything changed, left out, asked or refused is in the report, by field and with the
//! reason. The result is admitted before it is given out, so what imports also installs.
//!
//! - `variables`: which variables a file uses, and what becomes of each.
//! - `template`: what Dokploy's `template.toml` says of them.
//! - `volumes`: which folder of the data takes the place of which path or volume.
//! - `given`: files a service is given: configs, secrets, and files written at install.
//! - `service`: the fields of a service.
//! - `front`: the service people open, and its port.
//! - `write`: our compose file and the App's manifest.

use std::collections::BTreeMap;

use crate::admit::{self, Value as Given};
use crate::compose::load::Loader;
use crate::compose::schema::Rule;
use crate::compose::{canonical, defaults, extends, interpolate, path, secret, shape, unique};
use crate::fault::Faults;
use crate::node::{Map, Node, Value};
use crate::yaml::build;
use crate::yaml::limits::MOST_SERVICES;

mod report;
mod variables;
mod template;
mod volumes;
mod given;
mod service;
mod front;
mod write;

pub use report::{Entry, Report, Route, SetApart, ValueKind, Wanted};

/// A file to import.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The file's name, for the places in problems.
    pub file: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The app's name; otherwise the file's own, otherwise `app`.
    pub name: Option<&'a str>,
    /// A `template.toml` beside it, as Dokploy's catalogue has.
    pub template: Option<&'a str>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was kept, changed, left out, asked and refused.
    pub report: Report,
    /// The files of the package; none when something was refused.
    pub files: Option<BTreeMap<String, String>>,
}

/// The folder of the author's own file in a package.
pub const AUTHOR: &str = "author";

/// Imports a file. Never fails: what cannot be carried is in the report, and then there is no package.
#[must_use]
pub fn import(request: &Request<'_>) -> Outcome {
    let mut report = Report::default();
    let name = request.name.unwrap_or("app");
    report.name = app_name(name);
    let mut seen = vec![request.file.to_owned()];
    let template = template::read(request.template, &mut report);
    match read(request, &template, &mut report, &mut seen) {
        Ok(root) => convert(request, &template, root, report),
        Err(faults) => {
            for problem in faults.into_problems(&seen) {
                report.refused.push(Entry::new(problem.field.clone(), problem.to_string()));
            }
            report.set_apart = Some(SetApart::Unreadable);
            Outcome { report, files: None }
        }
    }
}

/// A name an App can have; `app` for one that has nothing of it.
fn app_name(text: &str) -> String {
    let name = crate::compose::load::normalised_name(text).replace('_', "-");
    let name = name.trim_matches('-');
    if name.is_empty() { "app".to_owned() } else { name.to_owned() }
}

/// Where paths are seen from while a file is imported.
const HERE: &str = "/folder-of-the-file";

/// The file with its variables in place and its short forms written out.
fn read(
    request: &Request<'_>,
    template: &template::Template,
    report: &mut Report,
    seen: &mut Vec<String>,
) -> Result<Node, Faults> {
    let mut documents = build::parse(request.text, 0)?;
    let Some(mut document) = documents.pop() else {
        return Err(Faults::one(Default::default(), "", "the file is empty"));
    };
    if let Some(name) = document.root.get("name").and_then(Node::as_text).filter(|name| !name.contains('$'))
        && request.name.is_none()
    {
        report.name = app_name(name);
    }
    given::from_install_files(&mut document.root, report);
    service::leave_out_foreign_keys(&mut document.root, report);
    let values = variables::decide(&document.root, &report.name, &template.values);
    let lookup = |name: &str| values.text(name);
    interpolate::interpolate(&mut document.root, &lookup)?;
    report.values = values.wanted();
    service::leave_out_unknown_ports(&mut document.root, report);
    let files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let environment = BTreeMap::new();
    let mut loader = Loader {
        files: &files,
        folder: HERE.to_owned(),
        home: None,
        seen,
        environment,
        reads: 0,
        bytes: 0,
        copied: 0,
    };
    extends::apply(&mut loader, &mut document.root, request.file, HERE, &[])?;
    if document.root.get("include").is_some() {
        return Err(Faults::one(document.root.at, "include", "import the files it includes first"));
    }
    unique::enforce(&mut document.root)?;
    shape::check(&document.root)?;
    if shape::services(&document.root).count() > MOST_SERVICES {
        return Err(Faults::one(
            document.root.at,
            "services",
            format!("an app has at most {MOST_SERVICES} services"),
        ));
    }
    canonical::canonical(&mut document.root)?;
    unique::enforce(&mut document.root)?;
    defaults::resolve_paths(&mut document.root, &path::Base { folder: HERE, home: None })?;
    Ok(document.root)
}

fn convert(
    request: &Request<'_>,
    template: &template::Template,
    mut root: Node,
    mut report: Report,
) -> Outcome {
    let front = front::find(&root, request.text, template, &mut report);
    report.main_service = front.service.clone();
    report.main_port = front.port;
    let mut folders = volumes::Folders::new(&root);
    let mut given = given::Given::new(&root, &mut report);
    let services = root.as_map_mut().and_then(|root| root.remove("services"));
    let mut ours = Map::new();
    for (name, node) in services.and_then(|node| node.as_map().cloned()).into_iter().flatten() {
        if let Some(node) = service::convert(&name, node, &mut folders, &mut given, &mut report) {
            ours.insert(name, node);
        }
    }
    service::forget_missing(&mut ours, &mut report);
    service::tell_jobs(&mut ours, &mut report);
    leave_out_sections(&root, &mut report);
    let compose = write::compose(&ours, &given.sections());
    let mut files = BTreeMap::from([
        ("compose.yml".to_owned(), compose),
        (format!("{AUTHOR}/compose.yml"), request.text.to_owned()),
    ]);
    if report.refused.is_empty() {
        prove(&files, &mut report);
    }
    files.insert("app.yaml".to_owned(), write::manifest(&report));
    report.set_apart = report.set_apart.or_else(|| service::set_apart(&report));
    let importable = report.refused.is_empty();
    Outcome { report, files: importable.then_some(files) }
}

/// Sections of the file beside its services: networks, volumes, and those of other tools.
fn leave_out_sections(root: &Node, report: &mut Report) {
    use crate::compose::schema::top::FILE;
    for (key, node) in root.as_map().into_iter().flatten() {
        let why = match key.as_str() {
            "version" | "name" => continue,
            "networks" => "every app has one network of its own",
            "volumes" => "volumes became folders of the app's data",
            "configs" | "secrets" => continue,
            key if key.starts_with("x-") => "it speaks to another tool",
            _ => match FILE.find(key).map(|field| field.rule) {
                Some(Rule::Ignored(why) | Rule::Refused(why)) => why,
                _ => continue,
            },
        };
        if !node.is_null() {
            report.dropped.push(Entry::new(key, why));
        }
    }
}

/// Admits what was made, with what the report asks for granted.
fn prove(files: &BTreeMap<String, String>, report: &mut Report) {
    let bytes: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| (name.clone(), text.as_bytes().to_vec())).collect();
    let given = report.values.iter().map(|wanted| {
        let value = match wanted.kind {
            ValueKind::Secret => Given::Secret,
            ValueKind::Plain | ValueKind::Asked => Given::Plain(wanted.default.clone()),
        };
        (wanted.name.clone(), value)
    });
    let given: BTreeMap<String, Given> = given.collect();
    let package = admit::Package {
        files: &bytes,
        values: &given,
        devices: &report.devices,
        folders: &[],
        main_service: report.main_service.as_deref(),
    };
    match admit::admit(&package) {
        Ok(admitted) => report.main_service = report.main_service.take().or(admitted.main_service),
        Err(problems) => {
            let refused = problems
                .into_iter()
                .map(|problem| Entry::new(problem.field, secret::shown(&problem.message)));
            report.refused.extend(refused);
        }
    }
}

/// The text of a value that may stand in a list or mapping.
fn text_of<'a>(node: &'a Node, key: &str) -> &'a str {
    match node.get(key).map(|node| &node.value) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}
