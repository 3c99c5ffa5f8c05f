//! Every form a route can take, and what each is read as.

use hearth_capabilities::proxy::{Answer, ProxyRoute, SeenRoute};
use serde_json::{Value, json};

use super::{facts, seen_route};
use crate::render::{self, Listen};

fn listen() -> Listen {
    Listen { http: ":80".into(), admin: "unix//run/hearth/admin.sock".into() }
}

fn examples() -> Vec<ProxyRoute> {
    vec![
        ProxyRoute {
            id: "photos".into(),
            hosts: vec!["photos.local".into(), "pictures.local".into()],
            answer: Answer::Forward { address: "photos-web:8080".into() },
        },
        ProxyRoute {
            id: "notes".into(),
            hosts: vec!["notes.local".into()],
            answer: Answer::Page { status: 503, html: r"<style>a{b:c}</style> {env.HOME} \{x\} \\".into() },
        },
    ]
}

type Edit = fn(&mut Value);

fn problem(edit: impl FnOnce(&mut Value)) -> Option<String> {
    let mut config = render::config(&listen(), &examples());
    edit(&mut config);
    facts(&config, &listen(), "tag".into()).base_problem
}

#[test]
fn what_was_written_is_read_back() {
    let seen = facts(&render::config(&listen(), &examples()), &listen(), "tag".into());
    let mut wanted: Vec<SeenRoute> = examples().into_iter().map(SeenRoute::Ours).collect();
    wanted.push(SeenRoute::CatchAll);
    assert_eq!((seen.base_problem, seen.routes, seen.tag), (None, wanted, "tag".to_owned()));
}

/// One change at a time, anywhere in a route, and it is no longer ours.
#[test]
fn a_route_that_was_edited_anywhere_is_not_ours() {
    for route in examples() {
        let whole = render::route(&route);
        let mut edits: Vec<Value> = Vec::new();
        for (pointer, value) in [
            ("/match/0/path", json!(["/admin"])),
            ("/match/1", json!({ "host": ["evil.local"] })),
            ("/handle/1", json!({ "handler": "static_response" })),
            ("/handle/0/extra", json!(true)),
            ("/group", json!("g")),
            ("/terminal", json!(false)),
        ] {
            let mut edited = whole.clone();
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match edited.pointer_mut(parent).unwrap() {
                Value::Object(object) => drop(object.insert(key.into(), value)),
                Value::Array(array) => array.push(value),
                other => panic!("{other} cannot be edited"),
            }
            edits.push(edited);
        }
        for edited in edits {
            let seen = seen_route(&edited);
            assert!(
                matches!(&seen, SeenRoute::Other { id: Some(id), .. } if *id == route.id),
                "{edited}: {seen:?}"
            );
        }
    }
}

#[test]
fn an_edited_catch_all_is_not_the_catch_all() {
    let mut edited = render::catch_all();
    edited["handle"][0]["status_code"] = json!(200);
    assert!(matches!(seen_route(&edited), SeenRoute::Other { .. }));
}

#[test]
fn nonsense_is_told_apart_and_described() {
    for (value, words) in [
        (json!(null), "a route for any host to nothing"),
        (
            json!({ "match": [{ "host": ["a.local"] }], "handle": [{ "handler": "file_server" }] }),
            "a.local to file_server",
        ),
        (json!({ "match": "x", "handle": 3, "@id": 7 }), "any host"),
    ] {
        match seen_route(&value) {
            SeenRoute::Other { id: None, description } => {
                assert!(description.contains(words), "{description}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_wrong_outside_the_routes_is_named() {
    assert_eq!(problem(|_| ()), None);
    let cases: [(&str, Edit); 5] = [
        ("no configuration", |config| *config = Value::Null),
        ("admin.enforce_origin", |config| config["admin"]["enforce_origin"] = json!(false)),
        ("servers.other is set", |config| config["apps"]["http"]["servers"]["other"] = json!({})),
        ("listen", |config| config["apps"]["http"]["servers"]["hearth"]["listen"] = json!([":8080"])),
        ("no server", |config| config["apps"]["http"]["servers"]["hearth"]["routes"] = Value::Null),
    ];
    for (words, edit) in cases {
        let problem = problem(edit).unwrap_or_default();
        assert!(problem.contains(words), "{words:?} is not in {problem:?}");
    }
}
