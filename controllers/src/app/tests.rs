//! The pure beats: which children there should be, and in which order they come and go.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_charts::admit::{Package, Value, admit};
use hearth_engine::Object;
use hearth_engine::controller::{Plan, Wanted};
use hearth_kinds::{App, AppSpec, DataPolicy, Power};
use hearth_meta::{Reason, Timestamp};
use serde_json::json;

use super::observe::{AppSeen, Files, Source};
use super::plan::{AppStep, plan};

mod changes;
mod record;
mod revisions;

const COMPOSE: &str = "services:
  web: { image: 'web:1', expose: ['8080'], environment: { URL: 'pg://u:${PW}@db' }, depends_on: { db: { condition: service_started } } }
  db: { image: 'db:1', volumes: ['./pg:/data'] }
";

fn wanted(change: impl FnOnce(&mut AppSpec)) -> Wanted<App> {
    let values = json!([{"name": "PW", "valueFrom": {"secretKeyRef": {"name": "photos", "key": "pw"}}}]);
    let spec = json!({"compose": COMPOSE, "mainService": "web", "slug": "photos", "values": values});
    let mut spec: AppSpec = serde_json::from_value(spec).unwrap();
    change(&mut spec);
    let mut app = App::new("photos", spec);
    app.metadata.namespace = Some("household".into());
    app.metadata.uid = Some("uid-app".into());
    app.metadata.generation = Some(1);
    Wanted { object: Arc::new(app), gone: false, now: Timestamp::UNIX_EPOCH }
}

fn seen(wanted: &Wanted<App>, children: Vec<Object>) -> AppSeen {
    let compose = wanted.object.spec.compose.clone().unwrap_or_default();
    let files = Files::from([("compose.yaml".to_owned(), compose.into_bytes())]);
    let values = BTreeMap::from([("PW".to_owned(), Value::Secret)]);
    let package =
        Package { files: &files, values: &values, devices: &[], folders: &[], main_service: Some("web") };
    let admitted = admit(&package);
    let source =
        admitted.map(|admitted| Source { wanted: wanted.clone(), admitted, hashes: BTreeMap::new() });
    AppSeen {
        problems: source.as_ref().err().cloned().unwrap_or_default(),
        source: source.ok(),
        files,
        files_saved: true,
        record_saved: true,
        is_recorded: false,
        has_files: true,
        children: children.into_iter().map(Arc::new).collect(),
    }
}

/// Carries plans out on a list of children, as the store would, until there is no step; `stand` gives each new child
/// its status. Returns the children and the order in which things were done.
fn converge(
    wanted: &Wanted<App>,
    mut children: Vec<Object>,
    stand: impl Fn(&mut Object),
) -> (Vec<Object>, Vec<String>, Plan<AppStep>) {
    let mut done = Vec::new();
    for _ in 0..100 {
        let plan = plan(wanted, &seen(wanted, children.clone()));
        let Some(step) = plan.steps.first().cloned() else { return (children, done, plan) };
        match step {
            AppStep::Apply(applied) => {
                for mut child in applied {
                    done.push(format!("+{} {}", child.kind, child.name()));
                    child.metadata.uid = Some(format!("uid-{}-{}", child.kind, child.name()));
                    child.metadata.generation = Some(1);
                    stand(&mut child);
                    children.retain(|old| old.key() != child.key());
                    children.push(child);
                }
            }
            AppStep::Delete { kind, name, .. } => {
                done.push(format!("-{kind} {name}"));
                children.retain(|old| old.kind != kind || old.name() != name);
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it goes in circles: {done:?}");
}

fn ready(child: &mut Object) {
    let mut status = json!({"summary": "Ready", "observedGeneration": 1, "state": "running"});
    if child.kind == "Image" {
        status["digest"] = json!(format!("sha256:{}", child.name()));
    }
    child.body.insert("status".into(), status);
}

fn without_images(child: &mut Object) {
    if child.kind == "Image" {
        child.body.insert("status".into(), json!({"summary": "Progressing", "observedGeneration": 1}));
    } else {
        ready(child);
    }
}

fn position(done: &[String], what: &str) -> usize {
    done.iter().position(|step| step.starts_with(what)).unwrap_or_else(|| panic!("{what} in {done:?}"))
}

#[test]
fn an_app_comes_up_page_first_then_images_then_containers_and_ends_with_its_own_page() {
    let wanted = wanted(|_| {});
    let (children, done, plan) = converge(&wanted, Vec::new(), ready);
    assert!(position(&done, "+Route") < position(&done, "+Image"));
    assert!(position(&done, "+Image") < position(&done, "+Container"));
    assert!(position(&done, "+Volume") < position(&done, "+Container"));
    let route = children.iter().find(|child| child.kind == "Route").unwrap();
    assert_eq!(route.spec()["mode"], "Upstream");
    assert_eq!(route.spec()["hosts"], json!(["photos.local"]));
    assert_eq!(plan, Plan::nothing());
}

#[test]
fn no_container_is_made_before_every_image_is_here() {
    let (children, _, plan) = converge(&wanted(|_| {}), Vec::new(), without_images);
    assert!(children.iter().all(|child| child.kind != "Container"));
    let wait = plan.wait.unwrap();
    assert_eq!((wait.reason, wait.on.len()), (Reason::Pulling, 2));
}

#[test]
fn a_secret_value_stays_a_reference() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let web = children.iter().find(|child| child.name() == "photos-web").unwrap();
    let parts =
        json!([{"text": "pg://u:"}, {"secretKeyRef": {"name": "photos", "key": "pw"}}, {"text": "@db"}]);
    assert_eq!(web.spec()["env"][0]["valueFrom"]["parts"], parts);
}

#[test]
fn changing_an_image_lets_the_old_one_go_only_once_nothing_uses_it() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let newer = wanted(|spec| spec.compose = Some(COMPOSE.replace("web:1", "web:2")));
    let (waiting, done, _) = converge(&newer, children.clone(), without_images);
    assert!(!done.iter().any(|step| step.starts_with('-')), "{done:?}");
    assert_eq!(waiting.iter().filter(|child| child.kind == "Image").count(), 3);
    let (_, done, _) = converge(&newer, children, ready);
    assert!(position(&done, "+Container photos-web") < position(&done, "-Image"));
    assert!(!done.contains(&"+Container photos-db".to_owned()), "only what differs is changed: {done:?}");
}

#[test]
fn an_image_nobody_waits_for_any_more_goes_at_once() {
    let (hung, ..) = converge(&wanted(|_| {}), Vec::new(), without_images);
    let newer = wanted(|spec| spec.compose = Some(COMPOSE.replace("web:1", "web:2")));
    let (_, done, _) = converge(&newer, hung, without_images);
    assert!(done[0].starts_with("-Image"), "{done:?}");
}

#[test]
fn a_removed_service_leaves_its_data() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let alone =
        wanted(|spec| spec.compose = Some("services: { web: { image: 'web:1', expose: ['8080'] } }".into()));
    let (children, done, _) = converge(&alone, children, ready);
    assert!(done.contains(&"-Container photos-db".to_owned()));
    assert!(children.iter().any(|child| child.kind == "Volume"));
}

#[test]
fn a_stopped_app_keeps_its_page_and_stops_its_containers() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let (children, ..) = converge(&wanted(|spec| spec.state = Power::Stopped), children, ready);
    let of = |kind: &str| children.iter().filter(|child| child.kind == kind).collect::<Vec<_>>();
    assert_eq!(of("Route")[0].spec()["splash"], "Stopped");
    assert!(of("Container").iter().all(|child| child.spec()["power"] == "Stopped"));
    assert_eq!(of("Revision").len(), 1, "stopping is no new revision");
}

#[test]
fn deletion_takes_what_people_see_first_and_data_only_when_asked() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let kept = Wanted { gone: true, ..wanted(|_| {}) };
    let (_, done, plan) = converge(&kept, children.clone(), ready);
    assert!(position(&done, "-Container") < position(&done, "-Network"));
    assert!(!done.iter().any(|step| step.starts_with('+')) && plan == Plan::nothing(), "{done:?}");
    let deleted = Wanted { gone: true, ..wanted(|spec| spec.data_policy = DataPolicy::Delete) };
    let steps = plan_steps(&deleted, children.into_iter().filter(|child| child.kind == "Volume").collect());
    let AppStep::Apply(volumes) = &steps[0] else { panic!("{steps:?}") };
    assert_eq!(volumes[0].spec()["dataPolicy"], "Delete");
}

fn plan_steps(wanted: &Wanted<App>, children: Vec<Object>) -> Vec<AppStep> {
    plan(wanted, &seen(wanted, children)).steps
}
