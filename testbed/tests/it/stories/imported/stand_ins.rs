//! Published apps of several services with a database, carried over by the importer and run with small images of our
//! own in the place of theirs: everything else is the author's, through the importer.
//!
//! What stands for what is printed, so that nobody takes a stand-in for the app: the image, the command, the test of
//! a health check and how often it is made. Ports, variables, mounts, dependencies and limits are the package's own.

use std::collections::BTreeMap;

use hearth_charts::import::{Outcome, Request, ValueKind, import};
use hearth_engine::Object;
use hearth_meta::labels;
use serde_json::{Value, json};

use super::{compose, manifests, published};
use crate::home::{Home, on_pretend, on_real};

/// How many are run.
const ENOUGH: usize = 5;
/// The most services one of them may have, so that a story takes a minute and not ten.
const MOST_SERVICES: usize = 6;

/// Files of our own in the manner of five catalogues.
pub(super) const OWN: [(&str, &str); ENOUGH] = [
    ("bookshelf", include_str!("own/bookshelf.yml")),
    ("photos", include_str!("own/photos.yml")),
    ("metrics", include_str!("own/metrics.yml")),
    ("blog", include_str!("own/blog.yml")),
    ("tasks", include_str!("own/tasks.yml")),
];

/// Images that keep other services' data, by the last part of their name.
const DATABASES: [&str; 9] =
    ["postgres", "mariadb", "mysql", "mongo", "redis", "valkey", "clickhouse", "elasticsearch", "pgvector"];

#[test]
fn pretend_published_apps_with_a_database_run_with_stand_ins_for_their_images() {
    on_pretend(with_stand_ins);
}

#[test]
fn real_published_apps_with_a_database_run_with_stand_ins_for_their_images() {
    on_real(with_stand_ins);
}

async fn with_stand_ins(home: &Home) {
    let apps = chosen();
    assert_eq!(apps.len(), ENOUGH, "{:?}", apps.keys());
    let mut services = BTreeMap::new();
    for (name, (source, outcome)) in &apps {
        let mut model = compose(outcome);
        let substituted = stand_in(home, &mut model, outcome).await;
        report(source, name, &substituted);
        services.insert(name.clone(), model["services"].clone());
        for object in manifests(name, outcome) {
            home.apply(&filled(object, outcome, &model)).await;
        }
    }
    for name in apps.keys() {
        home.until_ready(name).await;
        home.until_served(name).await;
    }
    for (name, services) in &services {
        for (service, declared) in services.as_object().unwrap() {
            is_as_the_author_wrote(home, name, service, declared).await;
        }
    }
    // What runs goes on as it is when the server comes back: nothing of it is made anew.
    let before = ids(home, &services).await;
    home.restart().await;
    for name in apps.keys() {
        home.until_ready(name).await;
    }
    home.look_again().await;
    assert_eq!(ids(home, &services).await, before);
}

/// The first of each source in turn, until there are enough: files with an `env_file` first, then by name.
fn chosen() -> BTreeMap<String, (String, Outcome)> {
    let mut by_source: BTreeMap<String, Vec<(bool, String, Outcome)>> = BTreeMap::new();
    for (source, app, text) in published() {
        let outcome = import(&Request { file: "compose.yml", text: &text, name: Some(&app), template: None });
        if outcome.files.is_some() && fits(&outcome) {
            by_source.entry(source).or_default().push((!text.contains("env_file:"), app, outcome));
        }
    }
    for apps in by_source.values_mut() {
        apps.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        apps.reverse();
    }
    let mut chosen = BTreeMap::new();
    while chosen.len() < ENOUGH && by_source.values().any(|apps| !apps.is_empty()) {
        for (source, apps) in &mut by_source {
            if let Some((_, _, outcome)) = apps.pop().filter(|_| chosen.len() < ENOUGH) {
                chosen.insert(outcome.report.name.clone(), (source.clone(), outcome));
            }
        }
    }
    chosen
}

fn fits(outcome: &Outcome) -> bool {
    let model = compose(outcome);
    let services = model["services"].as_object().unwrap();
    let has_database = services.values().any(|service| role(service) == "db");
    (2..=MOST_SERVICES).contains(&services.len())
        && has_database
        && outcome.report.devices.is_empty()
        && outcome.report.main_service.as_ref().is_some_and(|main| role(&services[main]) == "web")
        && outcome.report.main_port.is_some()
}

fn image(service: &Value) -> &str {
    service["image"].as_str().unwrap_or_default()
}

fn role(service: &Value) -> &'static str {
    let name = image(service).split(['@', ':']).next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    if DATABASES.iter().any(|database| last.starts_with(database)) { "db" } else { "web" }
}

/// Puts stand-ins in the place of every image, and says in a line each what was put for what.
async fn stand_in(home: &Home, model: &mut Value, outcome: &Outcome) -> Vec<String> {
    let awaited = awaited(model);
    let mut told = Vec::new();
    for (name, service) in model["services"].as_object_mut().unwrap() {
        let is_job = service["restart"].is_string() || awaited.contains(name);
        let is_main = outcome.report.main_service.as_ref() == Some(name);
        let role = if is_job && !is_main { "migrate" } else { role(service) };
        let mut line = format!("{name}: {} -> sample/{role}", image(service));
        service["image"] = home.world.image(&format!("{role}:1")).await.into();
        let data = writable(service);
        let fields = service.as_object_mut().unwrap();
        for field in ["command", "entrypoint"] {
            if fields.remove(field).is_some() {
                line.push_str(&format!("; {field} left out"));
            }
        }
        if let Some(check) = fields.get_mut("healthcheck").and_then(Value::as_object_mut) {
            let own = check.insert("test".into(), json!(["CMD", "check", role]));
            check.insert("interval".into(), json!("1s"));
            line.push_str(&format!(
                "; health test {} -> check {role}, every second",
                own.unwrap_or_default()
            ));
        }
        let settings = fields.entry("environment").or_insert_with(|| json!({}));
        if is_main {
            settings["PORT"] = json!(outcome.report.main_port.map(|port| port.to_string()));
        }
        if role != "web" {
            settings["DATA"] = json!(data.unwrap_or_else(|| "/tmp".to_owned()));
        }
        told.push(line);
    }
    told
}

/// Where a service keeps its data: its first folder that it may write to.
fn writable(service: &Value) -> Option<String> {
    let mounts = service["volumes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut targets = mounts.filter(|mount| !mount.ends_with(":ro")).filter_map(|m| m.split_once(':'));
    targets.next().map(|(_, target)| target.to_owned())
}

/// Services that others wait for to complete.
fn awaited(model: &Value) -> Vec<String> {
    let services = model["services"].as_object().unwrap().values();
    let waits = services.filter_map(|service| service["depends_on"].as_object()).flatten();
    waits
        .filter(|(_, wait)| wait["condition"] == "service_completed_successfully")
        .map(|(name, _)| name.clone())
        .collect()
}

/// The manifest with the stand-ins' compose file, and a made-up word wherever a person is asked.
fn filled(mut object: Value, outcome: &Outcome, model: &Value) -> Value {
    if object["kind"] != "App" {
        return object;
    }
    object["spec"]["compose"] = model.to_string().into();
    for wanted in outcome.report.values.iter().filter(|wanted| wanted.kind == ValueKind::Asked) {
        let values = object["spec"]["values"].as_array_mut().unwrap();
        let value = values.iter_mut().find(|value| value["name"] == wanted.name.as_str()).unwrap();
        value["value"] = "made-up".into();
    }
    object
}

/// What the container has of what the author wrote: mounts and their places, variables, its user.
async fn is_as_the_author_wrote(home: &Home, app: &str, service: &str, declared: &Value) {
    let name = container_name(home, app, service);
    let container = home.container(&name).await.unwrap_or_else(|| panic!("{name} is not there"));
    let mounts = declared["volumes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for mount in mounts {
        let (folder, target) = mount.trim_start_matches("./").split_once(':').unwrap();
        let target = target.trim_end_matches(":ro").trim_end_matches('/');
        let seen = container.mounts.iter().find(|seen| seen.path == target);
        let seen = seen.unwrap_or_else(|| panic!("{app}-{service} has nothing at {target}"));
        assert!(seen.host_path.ends_with(&format!("/data/{folder}")), "{mount}: {}", seen.host_path);
        assert_eq!(seen.read_only, mount.ends_with(":ro"), "{mount}");
    }
    for (name, value) in declared["environment"].as_object().into_iter().flatten() {
        let seen = container.env.get(name).unwrap_or_else(|| panic!("{app}-{service} has no {name}"));
        let text = value.as_str().unwrap_or_default();
        if !text.contains('$') {
            assert_eq!(seen, text, "{app}-{service} {name}");
        }
    }
    if let Some(user) = declared["user"].as_str() {
        assert_eq!(container.user, user);
    }
}

/// The Container of a service.
fn container_name(home: &Home, app: &str, service: &str) -> String {
    let all = home.store().all();
    let is_meant = |object: &&std::sync::Arc<Object>| {
        let has = |label: &str, value: &str| {
            let labels = object.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(label)).is_some_and(|is| is == value)
        };
        object.kind == "Container" && has(labels::APP, app) && has(labels::SERVICE, service)
    };
    let found = all.iter().find(is_meant);
    found.unwrap_or_else(|| panic!("{app} has no container for {service}")).name().to_owned()
}

async fn ids(home: &Home, services: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    for (app, services) in services {
        for service in services.as_object().unwrap().keys() {
            let name = container_name(home, app, service);
            ids.insert(name.clone(), home.id(&name).await);
        }
    }
    ids
}

#[expect(clippy::print_stdout, reason = "a stand-in must not be taken for the app")]
fn report(source: &str, app: &str, substituted: &[String]) {
    println!("{source}/{app}");
    substituted.iter().for_each(|line| println!("    {line}"));
}
