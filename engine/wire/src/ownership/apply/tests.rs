//! Server-side apply on small objects: what holds of any manager, and the cases that are easily got wrong.

use hearth_meta::Timestamp;
use serde_json::{Value, json};

use super::super::Author;
use super::super::after_update;
use super::super::structure::Structure;
use super::{Applied, Conflict, apply};

fn schema() -> Value {
    json!({ "properties": { "spec": { "properties": {
        "env": {
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "properties": { "name": {}, "value": {} } },
        },
        "tags": { "x-kubernetes-list-type": "set" },
        "args": {},
        "whole": { "x-kubernetes-map-type": "atomic" },
    } } } })
}

fn manager(name: &str) -> Author {
    Author { name: name.into(), api_version: "v1".into(), now: Timestamp::UNIX_EPOCH }
}

fn empty() -> Value {
    json!({ "metadata": { "name": "x" } })
}

fn say(live: &Value, name: &str, spec: Value, force: bool) -> Result<Value, Vec<Conflict>> {
    let schema = schema();
    let config = json!({ "metadata": { "name": "x" }, "spec": spec });
    let applied = Applied { config: &config, manager: &manager(name), force };
    apply(live, &applied, &Structure::new(Some(&schema), true))
}

fn set(live: &Value, name: &str, change: impl Fn(&mut Value)) -> Value {
    let schema = schema();
    let mut new = live.clone();
    change(&mut new);
    after_update(live, &mut new, &Structure::new(Some(&schema), true), &manager(name));
    new
}

fn fields(conflicts: &[Conflict]) -> Vec<String> {
    conflicts.iter().map(|conflict| format!("{} {}", conflict.manager, conflict.field)).collect()
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let spec = json!({ "a": 1, "env": [{ "name": "TZ", "value": "x" }], "tags": ["t"], "whole": { "x": 1 }, "empty": {} });
    let once = say(&empty(), "me", spec.clone(), false).unwrap();
    assert_eq!(say(&once, "me", spec, false).unwrap(), once);
}

#[test]
fn managers_of_different_fields_do_not_meet() {
    let mine = json!({ "a": 1, "env": [{ "name": "A", "value": "1" }], "tags": ["a"] });
    let yours = json!({ "b": 2, "env": [{ "name": "B", "value": "2" }], "tags": ["b"] });
    let one = say(&say(&empty(), "me", mine.clone(), false).unwrap(), "you", yours.clone(), false).unwrap();
    let other = say(&say(&empty(), "you", yours, false).unwrap(), "me", mine, false).unwrap();
    assert_eq!((&one["spec"]["a"], &one["spec"]["b"]), (&other["spec"]["a"], &other["spec"]["b"]));
    assert_eq!(one["spec"]["env"].as_array().unwrap().len(), 2);
    assert_eq!(other["spec"]["env"].as_array().unwrap().len(), 2);
}

#[test]
fn what_another_set_otherwise_is_a_conflict_and_force_takes_it() {
    let live =
        say(&empty(), "you", json!({ "a": 1, "env": [{ "name": "TZ", "value": "x" }], "args": [1] }), false)
            .unwrap();
    let wish = json!({ "a": 2, "env": [{ "name": "TZ", "value": "y" }], "args": [2] });
    let conflicts = say(&live, "me", wish.clone(), false).unwrap_err();
    assert_eq!(fields(&conflicts), ["you .spec.a", "you .spec.args", "you .spec.env[name=\"TZ\"].value"]);
    let forced = say(&live, "me", wish, true).unwrap();
    assert_eq!((&forced["spec"]["a"], &forced["spec"]["args"]), (&json!(2), &json!([2])));
    let back = say(&forced, "you", json!({ "a": 1 }), false).unwrap_err();
    assert_eq!(fields(&back), ["me .spec.a"]);
}

#[test]
fn saying_what_another_said_too_is_shared() {
    let live = say(&empty(), "you", json!({ "a": 1 }), false).unwrap();
    let shared = say(&live, "me", json!({ "a": 1 }), false).unwrap();
    let left = say(&shared, "you", json!({}), false).unwrap();
    assert_eq!(left["spec"]["a"], 1, "I say it still");
    let gone = say(&left, "me", json!({}), false).unwrap();
    assert!(gone["spec"].get("a").is_none(), "nobody says it");
}

#[test]
fn what_is_no_longer_said_goes_with_its_item_and_empty_maps() {
    let live = say(&empty(), "me", json!({ "deep": { "er": { "x": 1 } }, "env": [{ "name": "A", "value": "1" }, { "name": "B" }], "tags": ["a", "b"] }), false).unwrap();
    let less = say(&live, "me", json!({ "env": [{ "name": "B" }], "tags": ["b"] }), false).unwrap();
    assert_eq!(less["spec"], json!({ "env": [{ "name": "B" }], "tags": ["b"] }));
}

#[test]
fn an_item_another_says_something_of_stays() {
    let live = say(&empty(), "me", json!({ "env": [{ "name": "A", "value": "1" }] }), false).unwrap();
    let both = say(&live, "you", json!({ "env": [{ "name": "A", "note": "n" }] }), false).unwrap();
    let left = say(&both, "me", json!({}), false).unwrap();
    assert_eq!(left["spec"]["env"], json!([{ "name": "A", "note": "n" }]));
    let edited = set(&live, "editor", |object| object["spec"]["env"][0]["value"] = "2".into());
    let left = say(&edited, "me", json!({}), false).unwrap();
    assert_eq!(left["spec"]["env"], json!([{ "name": "A", "value": "2" }]), "an item keeps its key");
}

#[test]
fn an_update_takes_what_it_changes_without_asking() {
    let live = say(&empty(), "you", json!({ "a": 1, "b": 1 }), false).unwrap();
    let updated = set(&live, "editor", |object| object["spec"]["a"] = 2.into());
    assert_eq!(
        fields(&say(&updated, "you", json!({ "a": 1, "b": 1 }), false).unwrap_err()),
        ["editor .spec.a"]
    );
    assert!(say(&updated, "you", json!({ "a": 2, "b": 3 }), false).is_ok(), "b is still theirs");
}

#[test]
fn an_update_that_changes_nothing_owns_nothing() {
    let live = say(&empty(), "you", json!({ "a": 1 }), false).unwrap();
    assert_eq!(set(&live, "editor", |_| {}), live);
}

#[test]
fn a_field_that_was_removed_is_nobodys() {
    let live = say(&empty(), "you", json!({ "a": 1, "b": 1 }), false).unwrap();
    let updated = set(&live, "editor", |object| drop(object["spec"].as_object_mut().unwrap().remove("a")));
    let mine = say(&updated, "me", json!({ "a": 5 }), false).unwrap();
    assert_eq!(mine["spec"]["a"], 5);
}

#[test]
fn fields_pass_to_another_manager_when_a_client_writes_who_owns_them() {
    let live = set(&empty(), "old", |object| object["spec"] = json!({ "a": 1 }));
    let passed = set(&live, "anybody", |object| {
        object["metadata"]["managedFields"][0]["manager"] = "new".into();
        object["metadata"]["managedFields"][0]["operation"] = "Apply".into();
    });
    assert!(say(&passed, "new", json!({ "a": 2 }), false).is_ok());
    assert_eq!(fields(&say(&live, "new", json!({ "a": 2 }), false).unwrap_err()), ["old .spec.a"]);
}

#[test]
fn status_and_identity_are_nobodys() {
    let live = set(&empty(), "me", |object| {
        object["status"] = json!({ "x": 1 });
        object["metadata"]["generation"] = 4.into();
    });
    assert!(live["metadata"].get("managedFields").is_none_or(Value::is_null), "{live}");
}

#[test]
fn a_value_that_becomes_a_map_takes_what_lay_within_and_nothing_else() {
    let live = say(&empty(), "you", json!({ "a": { "b": 1 }, "c": 1 }), false).unwrap();
    assert_eq!(fields(&say(&live, "me", json!({ "a": 3 }), false).unwrap_err()), ["you .spec.a"]);
    let forced = say(&live, "me", json!({ "a": 3 }), true).unwrap();
    assert_eq!(forced["spec"], json!({ "a": 3, "c": 1 }));
    let again = say(&forced, "you", json!({ "c": 1 }), false).unwrap();
    assert_eq!(again["spec"], json!({ "a": 3, "c": 1 }), "what was taken is no longer theirs to drop");
}

/// Over many small wishes of three managers: saying it again changes nothing, what was just said holds, and what
/// nobody says any more is gone.
#[test]
fn holds_over_many_wishes() {
    let wishes: Vec<Value> = (0..48u32)
        .map(|seed| {
            let mut spec = json!({});
            for (bit, (name, value)) in
                [("a", json!(seed / 16)), ("m", json!({ "x": seed % 3 })), ("args", json!([seed % 2]))]
                    .into_iter()
                    .enumerate()
            {
                if seed >> bit & 1 == 1 {
                    spec[name] = value;
                }
            }
            if seed % 5 > 1 {
                spec["env"] = json!([{ "name": format!("E{}", seed % 4), "value": "v" }]);
            }
            spec
        })
        .collect();
    let mut live = empty();
    for (turn, wish) in wishes.iter().enumerate() {
        let name = ["one", "two", "three"][turn % 3];
        live = say(&live, name, wish.clone(), true).unwrap();
        assert_eq!(say(&live, name, wish.clone(), false).unwrap(), live, "turn {turn}");
        let spec = json!({ "spec": wish });
        let schema = schema();
        for path in Structure::new(Some(&schema), true).fields_of(&spec).iter() {
            let said = path.find(&spec).unwrap();
            let stands = path.find(&live);
            assert!(stands == Some(said) || said.is_object(), "turn {turn}: {path} is {stands:?}");
        }
    }
    for name in ["one", "two", "three"] {
        live = say(&live, name, json!({}), true).unwrap();
    }
    assert_eq!(live["spec"], json!({}));
}

/// Each list is walked once, not once for each of its items.
#[test]
#[expect(clippy::disallowed_methods, reason = "how long it really takes is what is tested")]
fn who_set_what_is_told_as_quickly_of_thousands_of_items() {
    let began = std::time::Instant::now();
    let env: Vec<Value> = (0..4000).map(|n| json!({ "name": format!("N{n}"), "value": "x" })).collect();
    let live = say(&empty(), "me", json!({ "env": env }), false).unwrap();
    let edited = set(&live, "editor", |object| {
        object["metadata"]["finalizers"] = (0..4000).map(|n| Value::from(format!("f{n}"))).collect();
        object["spec"]["env"][7]["value"] = "y".into();
    });
    let env: Vec<Value> = (0..4000).map(|n| json!({ "name": format!("N{n}"), "value": "z" })).collect();
    let refused = say(&edited, "me", json!({ "env": env }), false).unwrap_err();
    assert_eq!(fields(&refused), ["editor .spec.env[name=\"N7\"].value"]);
    let less = say(&edited, "me", json!({}), false).unwrap();
    assert_eq!(less["spec"]["env"].as_array().unwrap().len(), 1);
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}
