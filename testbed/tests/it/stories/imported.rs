//! Published compose files, imported as they are, run as apps.
//!
//! `HEARTH_CORPUS` names a folder of published files, as `<source>/<app>/compose.yml`; without it files of our own
//! stand for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hearth_charts::import::{Outcome, Request, import};
use hearth_charts::yaml::parse_documents;
use serde_json::{Value, json};

use crate::home::{Home, on_pretend};

mod stand_ins;

/// How many of the published files are installed.
const ENOUGH: usize = 30;

const OWN: &str = "services:
  web:
    image: example/notes:2
    ports: ['8080:80']
    environment: ['PASSWORD=${PASSWORD:-change}']
    volumes: ['notes:/data']
volumes: { notes: {} }
";

#[test]
fn pretend_published_files_are_imported_as_they_are_and_run_as_apps() {
    on_pretend(imported);
}

async fn imported(home: &Home) {
    let packages = packages();
    for (name, package) in &packages {
        for object in manifests(name, package) {
            home.apply(&object).await;
        }
    }
    for name in packages.keys() {
        home.until_ready(name).await;
    }
}

/// Packages that ask nothing of a person and whose checks are quick, by the name of their app.
fn packages() -> BTreeMap<String, Outcome> {
    let mut packages = BTreeMap::new();
    for (_, name, text) in published() {
        let request = Request { file: "compose.yml", text: &text, name: Some(&name), template: None };
        let outcome = import(&request);
        let needs_nobody = outcome.report.asked.is_empty() && outcome.report.devices.is_empty();
        if outcome.files.is_some() && needs_nobody && is_quick(&outcome) && packages.len() < ENOUGH {
            packages.insert(outcome.report.name.clone(), outcome);
        }
    }
    assert!(!packages.is_empty());
    packages
}

/// Source, app and text of each.
fn published() -> Vec<(String, String, String)> {
    let Some(corpus) = std::env::var_os("HEARTH_CORPUS").map(PathBuf::from) else {
        say_that_there_are_none();
        let own = [("notes", OWN)].into_iter().chain(stand_ins::OWN);
        return own.map(|(app, text)| ("own".to_owned(), app.to_owned(), text.to_owned())).collect();
    };
    let folders = |path: PathBuf| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<BTreeSet<_>>()
    };
    let apps = folders(corpus).into_iter().flat_map(folders);
    let named = apps.filter_map(|app| {
        let text = std::fs::read_to_string(app.join("compose.yml")).ok()?;
        let mut parts = app.iter().rev().map(|part| part.to_string_lossy().into_owned());
        let (name, source) = (parts.next()?, parts.next()?);
        Some((source, name, text))
    });
    named.collect()
}

#[expect(clippy::print_stderr, reason = "a run on fewer files than it could have must say so")]
fn say_that_there_are_none() {
    eprintln!("HEARTH_CORPUS names no folder; files of our own stand for the published ones");
}

/// Whether nobody has to wait for a health check longer than a story should take.
fn is_quick(outcome: &Outcome) -> bool {
    let model = compose(outcome);
    let checks = model["services"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, service)| !service["healthcheck"].is_null());
    let seconds = |text: &str| text.strip_suffix('s').and_then(|n| n.parse::<u32>().ok());
    checks.into_iter().all(|(_, service)| {
        service["healthcheck"]["interval"].as_str().and_then(seconds).is_some_and(|s| s <= 3)
    })
}

fn text<'a>(outcome: &'a Outcome, file: &str) -> &'a str {
    outcome.files.as_ref().and_then(|files| files.get(file)).map(String::as_str).unwrap_or_default()
}

fn compose(outcome: &Outcome) -> Value {
    parse_documents("compose.yml", text(outcome, "compose.yml")).unwrap().remove(0).value
}

/// What a person would apply: the package's own manifest, its compose file in it, and the secrets it names.
fn manifests(name: &str, package: &Outcome) -> Vec<Value> {
    let mut app = parse_documents("app.yaml", text(package, "app.yaml")).unwrap().remove(0).value;
    app["metadata"]["namespace"] = json!("household");
    let spec = app["spec"].as_object_mut().unwrap();
    spec.remove("package");
    spec.insert("compose".into(), json!(text(package, "compose.yml")));
    let values = app["spec"]["values"].as_array().cloned().unwrap_or_default();
    let keys = values.iter().filter_map(|value| value["valueFrom"]["secretKeyRef"]["key"].as_str());
    let data: serde_json::Map<String, Value> = keys.map(|key| (key.to_owned(), json!("made-up"))).collect();
    if data.is_empty() {
        return vec![app];
    }
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": "household"}, "stringData": data,
    });
    vec![secret, app]
}
