//! Each form of an assignment, and what is told of one that cannot be.

use serde_json::{Value, json};

use super::super::super::exit::Exit;
use super::super::super::resource::kind_called;
use super::super::path::Assignment;
use super::{Fault, assigned};

fn set(kind: &str, spec: Value, words: &[&str]) -> Result<Value, Vec<Fault>> {
    let object = json!({ "metadata": { "name": "x", "labels": { "mine": "1" } }, "spec": spec });
    let assignments: Vec<Assignment> = words.iter().map(|word| Assignment::parse(word).unwrap()).collect();
    assigned(&kind_called(kind).unwrap(), &object, &assignments)
}

fn app(spec: Value, words: &[&str]) -> Value {
    set("App", spec, words).unwrap()["spec"].take()
}

fn told(kind: &str, spec: Value, word: &str) -> (Exit, String) {
    let fault = set(kind, spec, &[word]).unwrap_err().remove(0);
    (fault.exit, fault.problem.to_string())
}

#[test]
fn values_have_the_type_that_the_schema_says() {
    assert_eq!(
        app(json!({}), &["slug=10", "spec.mainPort=10", "permissions.internet=false", "state=Stopped"]),
        json!({ "slug": "10", "mainPort": 10, "permissions": { "internet": false }, "state": "Stopped" })
    );
    assert_eq!(
        app(
            json!({}),
            &["preferredSlugs=a, b", "permissions.folders=[films]", "permissions.folders[1]=music"]
        ),
        json!({ "preferredSlugs": ["a", "b"], "permissions": { "folders": ["films", "music"] } })
    );
    assert_eq!(
        app(json!({}), &["permissions={internet: false, folders: [films]}"]),
        json!({ "permissions": { "internet": false, "folders": ["films"] } })
    );
}

#[test]
fn items_are_chosen_by_what_they_are_known_by_and_made_where_there_is_none() {
    let values = json!({ "values": [{ "name": "A", "value": "1" }, { "name": "TZ", "value": "UTC" }] });
    assert_eq!(
        app(values.clone(), &["values[TZ].value=Europe/Paris", "values[name=NEW].value=no"])["values"],
        json!([
            { "name": "A", "value": "1" },
            { "name": "TZ", "value": "Europe/Paris" },
            { "name": "NEW", "value": "no" },
        ])
    );
    assert_eq!(
        app(values.clone(), &["values[A]={valueFrom: {secretKeyRef: {name: s, key: k}}}", "values[TZ]-"])["values"],
        json!([{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } }])
    );
    assert_eq!(
        app(values.clone(), &["values[B]-", "values[B].value=", "slug-"]),
        values,
        "what is not there"
    );
    assert_eq!(app(values, &["values-"]), json!({}));
}

#[test]
fn labels_and_annotations_are_set_and_nothing_else_beside_the_spec() {
    let object = set("Namespace", json!({}), &["metadata.labels[a.b/c]=x", "metadata.labels.mine-"]).unwrap();
    assert_eq!(object["metadata"]["labels"], json!({ "a.b/c": "x" }));
    for (word, part) in [
        ("metadata.name=y", "metadata has no field \"name\"; it has annotations, labels"),
        ("status.summary=Ready", "a status is only seen"),
        ("labels.x=y", "did you mean \"metadata.labels\"?"),
    ] {
        let (exit, text) = told("App", json!({}), word);
        assert!(exit == Exit::Usage && text.contains(part), "{word}: {text}");
    }
}

#[test]
fn a_field_that_is_not_there_is_told_the_nearest_and_a_value_what_it_must_be() {
    let values = json!({ "values": [{ "name": "A", "value": "1" }] });
    for (word, exit, part) in [
        ("stat=Stopped", Exit::Usage, "spec has no field \"stat\"; did you mean \"state\"?"),
        ("values[A].valeu=x", Exit::Usage, "spec.values[A] has no field \"valeu\"; did you mean \"value\"?"),
        ("values.A=x", Exit::Usage, "choose one of it, as in spec.values[NAME]"),
        ("values[key=A].value=x", Exit::Usage, "is known by name, not by key"),
        ("slug.x=y", Exit::Usage, "is one value, without fields"),
        ("preferredSlugs[x]=y", Exit::Usage, "by their place"),
        ("preferredSlugs[2]=y", Exit::Usage, "has 0 items; [0] would add one"),
        ("state=Stoped", Exit::Rejected, "did you mean Stopped?"),
        ("mainPort=http", Exit::Rejected, "spec.mainPort: must be a whole number, not \"http\""),
        ("mainPort=70000", Exit::Rejected, "at most 65535"),
        ("permissions.internet=yes", Exit::Rejected, "must be true or false"),
        ("permissions=no", Exit::Rejected, "spec.permissions: must be a map"),
        ("permissions={intenet: true}", Exit::Rejected, "did you mean \"internet\"?"),
    ] {
        let (seen, text) = told("App", values.clone(), word);
        assert!(seen == exit && text.contains(part), "{word}: {seen:?} {text}");
    }
    let faults = set("App", json!({}), &["stat=x", "mainPort=y"]).unwrap_err();
    assert_eq!(faults.len(), 2, "every problem at once");
}
