//! What becomes of an app that is there: it is stopped, its wish is refused, its parts are taken away.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_engine::Object;
use hearth_engine::controller::{Outcome, Plan, Report, Seen, Wanted};
use hearth_kinds::app::PackageSource;
use hearth_kinds::{App, AppSpec, Power};
use hearth_meta::{ConditionStatus, Problem, Reason, Time, Timestamp, Verdict};
use serde_json::json;

use super::super::act::{as_declared, may_change};
use super::super::children::{is_as_wanted, pins};
use super::super::observe::{AppSeen, Files, inline, is_copy_for, settle};
use super::super::plan::{AppStep, plan, seen as differences, target};
use super::super::record::{RECORD, record};
use super::super::refusals;
use super::super::status::report;
use super::{COMPOSE, converge, plan_steps, ready, seen, wanted, without_images};

fn object(kind: &str, name: &str, spec: serde_json::Value) -> Object {
    let value = json!({
        "apiVersion": "hearth.dev/v1", "kind": kind,
        "metadata": {"name": name, "uid": format!("uid-{kind}-{name}"), "generation": 1}, "spec": spec,
    });
    Object::from_value(value).unwrap()
}

fn set_status(children: &mut [Object], kind: &str, name: &str, status: serde_json::Value) {
    let child = children.iter_mut().find(|child| child.kind == kind && child.name() == name).unwrap();
    let before = child.status().clone();
    let mut after = json!({"observedGeneration": 1});
    for (field, value) in [before, status].iter().flat_map(|fields| fields.as_object().unwrap()) {
        after[field] = value.clone();
    }
    child.body.insert("status".into(), after);
}

fn is_going(mut child: Object) -> Object {
    child.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    child
}

/// What people are told where this is what comes of a plan without a step.
fn told(wanted: &Wanted<App>, facts: &AppSeen) -> Report<App> {
    let plan = plan(wanted, facts);
    assert_eq!(plan.steps, []);
    let outcome = match (plan.stuck, plan.wait) {
        (Some(stuck), _) => Outcome::Stuck(stuck),
        (None, Some(wait)) => Outcome::Waiting(wait),
        (None, None) => Outcome::Steady,
    };
    report(wanted, Ok(facts), &outcome)
}

#[test]
fn stopping_needs_neither_an_image_nor_a_source_that_is_allowed() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let stopped = wanted(|spec| {
        spec.state = Power::Stopped;
        spec.compose = Some(COMPOSE.replace("web:1", "web:2"));
    });
    let refused = || AppSeen {
        source: None,
        problems: vec![Problem::new("services.web.privileged", "is not allowed")],
        ..seen(&stopped, children.clone())
    };
    let steps = plan(&stopped, &refused()).steps;
    let changed: Vec<_> = steps
        .iter()
        .flat_map(|step| if let AppStep::Apply(children) = step { children } else { panic!("{step:?}") })
        .collect();
    assert_eq!((changed[0].kind.as_str(), &changed[0].spec()["splash"]), ("Route", &json!("Stopped")));
    assert_eq!(changed.len(), 3);
    assert!(changed[1..].iter().all(|c| c.kind == "Container" && c.spec()["power"] == "Stopped"));

    let (children, _, plan) = converge(&stopped, children, without_images);
    let containers = children.iter().filter(|child| child.kind == "Container");
    assert!(containers.clone().count() == 2 && containers.clone().all(|c| c.spec()["power"] == "Stopped"));
    assert_eq!(plan.wait.unwrap().reason, Reason::Pulling);
}

#[test]
fn a_package_is_read_again_only_when_another_is_named_or_a_person_asks() {
    let packaged = |path: &str, poke: Option<&str>, change: fn(&mut AppSpec)| {
        let mut app = App::clone(&wanted(change).object);
        app.spec.compose = None;
        app.spec.package = Some(PackageSource { path: path.into() });
        app.metadata.annotations =
            poke.map(|at| BTreeMap::from([(hearth_meta::labels::POKED_AT.to_owned(), at.to_owned())]));
        app
    };
    let saved = |app: &App| Files::from([(RECORD.to_owned(), record(app, "home", &[]))]);
    let kept = saved(&packaged("/p", None, |_| {}));
    let stop: fn(&mut AppSpec) = |spec| spec.state = Power::Stopped;
    assert!(is_copy_for(&packaged("/p", None, stop), &kept));
    assert!(!is_copy_for(&packaged("/q", None, |_| {}), &kept));
    assert!(!is_copy_for(&packaged("/p", Some("now"), |_| {}), &kept));
    assert!(is_copy_for(&packaged("/p", Some("now"), stop), &saved(&packaged("/p", Some("now"), |_| {}))));
    assert!(!is_copy_for(&packaged("/p", None, |_| {}), &Files::new()));
}

#[test]
fn an_app_that_runs_keeps_its_page_whatever_else_is_said_of_it() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let cases = [
        (json!("Waiting"), "running", "Upstream"),
        (json!("NeedsYou"), "running", "Upstream"),
        (json!("Progressing"), "running", "Upstream"),
        (json!(null), "running", "Upstream"),
        (json!("Failed"), "running", "Splash"),
        (json!("Waiting"), "exited", "Splash"),
        (json!("NeedsYou"), "exited", "Splash"),
    ];
    for (summary, state, mode) in cases {
        let mut children = children.clone();
        let status = json!({"summary": summary, "state": state});
        set_status(&mut children, "Container", "photos-web", status.clone());
        let (children, ..) = converge(&wanted(|_| {}), children, ready);
        let route = children.iter().find(|child| child.kind == "Route").unwrap();
        assert_eq!(route.spec()["mode"], mode, "{status}");
    }
}

/// The app as it was admitted, and the same with another compose file; the files that are kept are the first one's.
fn updated(compose: &str, change: impl FnOnce(&mut AppSpec)) -> (Wanted<App>, Files) {
    let before = wanted(|_| {});
    let mut kept = inline(COMPOSE);
    kept.insert(RECORD.to_owned(), record(&before.object, "home", &[]));
    let after = wanted(|spec| {
        spec.compose = Some(compose.to_owned());
        change(spec);
    });
    (after, kept)
}

#[test]
fn a_wish_that_is_refused_leaves_the_app_as_it_was_admitted_last() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let (refused, kept) = updated("services: { web: { image: 'web:2', privileged: true } }", |_| {});
    let look = |children: &[Object]| {
        let children = children.iter().cloned().map(Arc::new).collect();
        settle(
            &refused,
            Ok(inline(refused.object.spec.compose.as_deref().unwrap())),
            Some(kept.clone()),
            children,
        )
    };
    let told_now = told(&refused, &look(&children));
    let common = &told_now.status.common;
    assert_eq!((common.summary, common.reason), (Some(Verdict::Degraded), Some(Reason::Refused)));
    assert!(common.message.as_ref().unwrap().contains("privileged"), "{common:?}");
    let admitted = told_now.conditions.iter().find(|condition| condition.kind == "Admitted").unwrap();
    assert!(
        admitted.status == ConditionStatus::False && admitted.message.contains("privileged"),
        "{admitted:?}"
    );
    assert_eq!(told_now.status.services.len(), 2);
    assert!(told_now.status.revision.is_some());
    let differing = differences(&refused, &look(&children));
    assert!(matches!(differing, Seen::Ours(differences) if differences.len() == 1));

    let missing: Vec<_> = children.iter().filter(|child| child.name() != "photos-db").cloned().collect();
    let steps = plan(&refused, &look(&missing)).steps;
    assert!(steps.iter().any(|step| matches!(step, AppStep::Apply(children) if children.iter().any(|child| child.name() == "photos-db"))));

    let (stopped, kept) = updated("nonsense", |spec| spec.state = Power::Stopped);
    let children = children.into_iter().map(Arc::new).collect();
    let facts = settle(&stopped, Ok(inline("nonsense")), Some(kept), children);
    assert_eq!(facts.source.unwrap().wanted.object.spec.state, Power::Stopped);
}

#[test]
fn an_app_that_was_never_admitted_says_why() {
    let (refused, _) = updated("services: { web: { image: 'web:2', privileged: true } }", |_| {});
    let facts =
        settle(&refused, Ok(inline(refused.object.spec.compose.as_deref().unwrap())), None, Vec::new());
    let told = told(&refused, &facts);
    assert_eq!(told.status.common.summary, Some(Verdict::Failed));
    assert_eq!(told.status.common.reason, Some(Reason::Refused));
}

#[test]
fn a_part_on_its_way_out_that_is_wanted_is_waited_for() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let with_going = |kind: &str, name: &str| {
        let going = |child: Object| {
            if child.kind == kind && child.name().starts_with(name) { is_going(child) } else { child }
        };
        let children: Vec<_> = children.iter().cloned().map(going).collect();
        let facts = seen(&wanted(|_| {}), children);
        (plan(&wanted(|_| {}), &facts), told(&wanted(|_| {}), &facts).status.common)
    };
    for (kind, name) in
        [("Container", "photos-db"), ("Network", "photos"), ("Volume", "photos"), ("Route", "photos")]
    {
        let (plan, told) = with_going(kind, name);
        assert_eq!(plan.wait.unwrap().reason, Reason::Removing, "{kind}");
        assert_eq!(
            (told.summary, told.reason),
            (Some(Verdict::Progressing), Some(Reason::Removing)),
            "{kind}"
        );
        assert!(told.message.unwrap().ends_with("is being removed"), "{kind}");
    }
    assert_eq!(with_going("Revision", "photos").0, Plan::nothing());
    assert_eq!(with_going("Image", "household").0, Plan::nothing());
    let mut others = children.clone();
    others.push(is_going(object("Container", "photos-old", json!({}))));
    let plan = plan(&wanted(|_| {}), &seen(&wanted(|_| {}), others));
    assert!(
        plan.steps.is_empty() && plan.wait.is_none(),
        "what is no longer wanted is not waited for: {plan:?}"
    );
}

#[test]
fn what_was_rendered_belongs_to_what_is_aimed_at() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let of = |wanted: &Wanted<App>, children: &[Object]| target(wanted, &seen(wanted, children.to_vec()));
    let now = of(&wanted(|_| {}), &children);
    assert_eq!(now, of(&wanted(|_| {}), &children));
    let images: Vec<_> = children.iter().filter(|child| child.kind == "Image").cloned().collect();
    assert_eq!(now, of(&wanted(|_| {}), &images), "a part that is missing was not aimed at differently");
    // The same spec that is rendered to something else, as by a newer program.
    let mut otherwise = seen(&wanted(|_| {}), children.clone());
    otherwise.source.as_mut().unwrap().admitted.services[0].init = Some(true);
    assert_ne!(now, target(&wanted(|_| {}), &otherwise));
    assert_ne!(now, of(&wanted(|spec| spec.state = Power::Stopped), &children));
}

#[test]
fn a_container_keeps_its_image_though_the_tag_moves_and_takes_the_new_one_only_when_its_own_is_lost() {
    let (mut children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let image =
        children.iter().find(|c| c.kind == "Image" && c.name().contains("web")).unwrap().name().to_owned();
    let pin = |children: &[Object]| {
        let facts = seen(&wanted(|_| {}), children.to_vec());
        pins(&facts.rendering().unwrap(), &facts).unwrap()["web"].clone()
    };
    let before = pin(&children);
    set_status(&mut children, "Image", &image, json!({"digest": "sha256:moved"}));
    assert_eq!(pin(&children), before);
    let (children, done, _) = converge(&wanted(|_| {}), children, ready);
    assert!(done.is_empty(), "{done:?}");

    let mut lost = children.clone();
    let blocked = json!({"summary": "Waiting", "blockedBy": [{"kind": "Image", "name": image}]});
    set_status(&mut lost, "Container", "photos-web", blocked);
    assert_eq!(pin(&lost), "sha256:moved");
    set_status(&mut lost, "Image", &image, json!({"summary": "Progressing"}));
    assert_eq!(pin(&lost), before, "one that is still being pulled may be the one");

    let newer = wanted(|spec| spec.compose = Some(COMPOSE.replace("web:1", "web:2")));
    let (children, ..) = converge(&newer, children, ready);
    assert_ne!(pin_of(&children, "photos-web"), before, "another reference is another image");
}

fn pin_of(children: &[Object], container: &str) -> String {
    let container = children.iter().find(|child| child.name() == container).unwrap();
    container.spec()["image"]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_child_that_lost_its_owner_or_its_labels_gets_them_back() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    for lose in [
        |child: &mut Object| child.metadata.owner_references = None,
        |child: &mut Object| child.metadata.labels = None,
    ] {
        let mut children = children.clone();
        let web = children.iter_mut().find(|child| child.name() == "photos-web").unwrap();
        lose(web);
        let (children, done, _) = converge(&wanted(|_| {}), children, ready);
        assert_eq!(done, ["+Container photos-web"]);
        let web = children.iter().find(|child| child.name() == "photos-web").unwrap();
        assert_eq!(web.owners().collect::<Vec<_>>(), ["uid-app"]);
    }
}

#[test]
fn what_has_its_name_is_changed_only_where_it_is_a_child_that_stays() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let web = children.iter().find(|child| child.name() == "photos-web").unwrap();
    let without = |owner: bool, label: bool| {
        let mut child = web.clone();
        child.metadata.owner_references = child.metadata.owner_references.filter(|_| owner);
        child.metadata.labels = child.metadata.labels.filter(|_| label);
        child
    };
    for child in [without(true, true), without(true, false), without(false, true)] {
        assert_eq!(may_change(&child, "uid-app"), Ok(()));
        assert!(is_as_wanted(web, &as_declared(&child, web)));
    }
    let refused = |child: &Object| may_change(child, "uid-app").unwrap_err().reason;
    assert_eq!(refused(&without(false, false)), Reason::Taken);
    assert_eq!(refused(&is_going(without(false, false))), Reason::Removing);
    assert_eq!(refused(&is_going(web.clone())), Reason::Removing);

    let facts = seen(&wanted(|_| {}), children.clone());
    let outcome = Outcome::Failed {
        step: AppStep::Apply(vec![web.clone()]),
        error: may_change(&is_going(web.clone()), "uid-app").unwrap_err(),
        attempts: 1,
        next_try: Timestamp::UNIX_EPOCH,
    };
    let told = report(&wanted(|_| {}), Ok(&facts), &outcome).status.common;
    assert_eq!((told.summary, told.reason), (Some(Verdict::Progressing), Some(Reason::Removing)));
}

#[test]
fn a_page_that_is_no_longer_declared_goes() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let headless = wanted(|spec| spec.compose = Some(COMPOSE.replace("expose: ['8080'], ", "")));
    let (children, done, plan) = converge(&headless, children, ready);
    assert!(done.contains(&"-Route photos".to_owned()), "{done:?}");
    assert!(children.iter().all(|child| child.kind != "Route"));
    assert_eq!(plan, Plan::nothing());
}

#[test]
fn what_would_not_be_carried_out_is_refused_by_its_field() {
    let cases = [
        ("volumes: ['/srv/photos:/photos']", "services.web.volumes"),
        ("devices: ['/dev/dri:/dev/card']", "services.web.devices"),
        ("devices: ['/dev/dri:/dev/dri:r']", "services.web.devices"),
    ];
    let granted = |service: &str| {
        let mut app = App::clone(&wanted(|_| {}).object);
        app.spec.permissions.folders = vec!["/srv/photos".into()];
        app.spec.permissions.devices = vec!["/dev/dri".into()];
        app.spec.compose = Some(format!("services:\n  web:\n    image: web:1\n    {service}\n"));
        refusals(&app)
    };
    for (service, field) in cases {
        let problems = granted(service);
        assert!(problems.len() == 1 && problems[0].to_string().contains(field), "{service}: {problems:?}");
    }
    assert_eq!(granted("devices: ['/dev/dri', '/dev/dri:/dev/dri:rwm']"), []);
}

#[test]
fn what_a_part_has_nothing_to_say_of_is_said_in_words() {
    let (mut children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let cases = [
        (json!({"summary": "Waiting", "reason": "InSync"}), "Container photos-db is not ready yet"),
        (json!({"summary": null, "message": "of an older spec"}), "Container photos-db is not ready yet"),
        (json!({"summary": "Failed", "message": "It exited"}), "Container photos-db: It exited"),
    ];
    for (status, message) in cases {
        set_status(&mut children, "Container", "photos-db", status);
        let told = told(&wanted(|_| {}), &seen(&wanted(|_| {}), children.clone()));
        assert_eq!(told.status.common.message.as_deref(), Some(message));
    }
}

#[test]
fn deletion_stops_a_service_before_what_it_depends_on_and_rings_at_once() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let gone = Wanted { gone: true, ..wanted(|_| {}) };
    let names = |children: Vec<Object>| -> Vec<String> {
        let steps = plan_steps(&gone, children).into_iter();
        steps.map(|step| if let AppStep::Delete { name, .. } = step { name } else { panic!() }).collect()
    };
    assert_eq!(names(children.clone()), ["photos", "photos-web"], "the page, and what nothing depends on");
    let going =
        |name: &'static str| move |child: Object| if child.name() == name { is_going(child) } else { child };
    let containers = || children.iter().filter(|child| child.kind == "Container").cloned();
    assert!(names(containers().map(going("photos-web")).collect()).is_empty(), "the database runs on for it");
    assert_eq!(names(containers().filter(|c| c.name() == "photos-db").collect()), ["photos-db"]);
    let ring = ["a", "b"].map(|name| {
        let other = if name == "a" { "b" } else { "a" };
        object("Container", name, json!({"dependsOn": [{"container": other}]}))
    });
    assert_eq!(names(ring.into()), ["a", "b"]);
}

#[test]
fn a_folder_with_another_name_is_no_reason_to_start_on_an_empty_one() {
    let (children, ..) = converge(&wanted(|_| {}), Vec::new(), ready);
    let renamed = wanted(|spec| spec.compose = Some(COMPOSE.replace("./pg:/data", "./other:/data")));
    let without = wanted(|spec| spec.compose = Some(COMPOSE.replace(", volumes: ['./pg:/data']", "")));
    // Before it ever ran there is nothing to lose.
    let (fresh, _, plan_of_fresh) = converge(&renamed, children.clone(), ready);
    assert!(fresh.iter().any(|child| child.name() == "photos-other") && plan_of_fresh == Plan::nothing());

    let mut children = children;
    set_status(&mut children, "Container", "photos-db", json!({"startedAt": "2026-01-01T00:00:00Z"}));
    let facts = seen(&renamed, children.clone());
    let plan = plan(&renamed, &facts);
    assert_eq!(plan.steps, [], "nothing is changed, nothing is made");
    let stuck = plan.stuck.unwrap();
    assert_eq!(stuck.reason, Reason::Refused);
    assert!(
        stuck.message.contains("services.db.volumes") && stuck.message.contains("pg"),
        "{}",
        stuck.message
    );
    assert!(told(&renamed, &facts).status.common.message.unwrap_or_default().contains("take the mount out"));

    // Put back, all is well; and taken out and put in again, it is what somebody wants.
    assert_eq!(converge(&wanted(|_| {}), children.clone(), ready).2, Plan::nothing());
    let (children, ..) = converge(&without, children, ready);
    let (children, ..) = converge(&renamed, children, ready);
    assert!(children.iter().any(|child| child.kind == "Volume" && child.name() == "photos-other"));
    assert!(
        children.iter().any(|child| child.kind == "Volume" && child.name() == "photos-pg"),
        "its data stays"
    );
}
