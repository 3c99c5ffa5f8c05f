//! Every state of a Container, in the words of a Pod.

use hearth_engine::Object;
use serde_json::{Value, json};

use super::{cells, show};

fn container(spec: Value, status: Value) -> Object {
    let mut object = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Container",
        "metadata": {
            "name": "photos-web", "namespace": "household", "uid": "u1", "resourceVersion": "7",
            "labels": { "hearth.dev/service": "web" }, "finalizers": ["hearth.dev/container"],
        },
        "spec": { "image": { "ref": "photos", "digest": "sha256:12" } },
        "status": status,
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    Object::from_value(object).unwrap()
}

/// The phase, what the table says, and whether it is ready.
fn check(spec: Value, status: Value, wanted: (&str, &str, &str)) {
    let pod = show(&container(spec, status.clone())).to_value();
    let told = cells(&pod);
    let seen =
        (pod["status"]["phase"].as_str().unwrap(), told[0].as_str().unwrap(), told[1].as_str().unwrap());
    assert_eq!(seen, wanted, "{status}");
}

#[test]
fn how_it_stands_is_told_in_the_words_of_a_pod() {
    let service = || json!({});
    let job = || json!({ "type": "Job", "restart": "Never" });
    check(
        service(),
        json!({ "state": "running", "summary": "Ready", "reason": "InSync" }),
        ("Running", "1/1", "Running"),
    );
    let starting =
        json!({ "state": "running", "health": "starting", "summary": "Progressing", "reason": "Starting" });
    check(service(), starting, ("Running", "0/1", "Running"));
    check(service(), json!({ "summary": "Progressing", "reason": "Pulling" }), ("Pending", "0/1", "Pulling"));
    check(service(), json!({}), ("Pending", "0/1", "ContainerCreating"));
    check(
        service(),
        json!({ "summary": "NeedsYou", "reason": "SecretMissing" }),
        ("Pending", "0/1", "SecretMissing"),
    );
    check(
        service(),
        json!({ "state": "exited", "exitCode": 3, "summary": "Failed" }),
        ("Failed", "0/1", "Error"),
    );
    let looping =
        json!({ "state": "exited", "exitCode": 3, "restarts": 8, "crashLoop": {}, "summary": "Failed" });
    check(service(), looping, ("Running", "0/1", "CrashLoopBackOff"));
    check(json!({ "power": "Stopped" }), json!({ "summary": "Ready" }), ("Succeeded", "0/1", "Stopped"));
    check(
        job(),
        json!({ "state": "exited", "exitCode": 0, "summary": "Ready" }),
        ("Succeeded", "0/1", "Completed"),
    );
    check(
        job(),
        json!({ "completedAt": "2030-01-01T00:00:00Z", "summary": "Ready" }),
        ("Succeeded", "0/1", "Completed"),
    );
    check(
        job(),
        json!({ "state": "exited", "exitCode": 2, "summary": "Failed" }),
        ("Failed", "0/1", "Error"),
    );
}

#[test]
fn it_is_the_same_object_to_selectors_and_events_and_secrets_stay_names() {
    let env = json!([
        { "name": "TITLE", "value": "one" },
        { "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } },
        { "name": "URL", "valueFrom": { "parts": [{ "text": "a" }, { "secretKeyRef": { "name": "door", "key": "word" } }] } },
    ]);
    let spec = json!({ "env": env, "command": ["run"], "resources": { "memoryLimit": "1Gi" } });
    let status = json!({ "state": "running", "containerId": "12ab", "addresses": [{ "network": "photos", "ip": "10.0.0.2" }], "restarts": 2 });
    let pod = show(&container(spec, status)).to_value();
    for (field, wanted) in [
        ("/metadata/uid", json!("u1")),
        ("/metadata/resourceVersion", json!("7")),
        ("/metadata/finalizers", Value::Null),
        ("/spec/containers/0/name", json!("web")),
        ("/spec/containers/0/args", json!(["run"])),
        ("/spec/containers/0/env/0/value", json!("one")),
        ("/spec/containers/0/env/1/valueFrom/secretKeyRef", json!({ "name": "door", "key": "word" })),
        ("/spec/containers/0/env/2", json!({ "name": "URL" })),
        ("/spec/containers/0/resources/limits/memory", json!("1Gi")),
        ("/status/containerStatuses/0/containerID", json!("docker://12ab")),
        ("/status/containerStatuses/0/restartCount", json!(2)),
        ("/status/podIP", json!("10.0.0.2")),
    ] {
        assert_eq!(*pod.pointer(field).unwrap_or(&Value::Null), wanted, "{field} in {pod:#}");
    }
}

#[test]
fn one_that_is_not_understood_is_shown_as_unknown() {
    let strange = container(json!({ "type": "Oracle" }), json!({}));
    assert_eq!(show(&strange).to_value()["status"]["phase"], "Unknown");
}

#[test]
fn an_end_of_which_nothing_is_known_is_no_good_one() {
    let last = |status: Value| {
        let pod = show(&container(json!({}), status)).to_value();
        let one = &pod["status"]["containerStatuses"][0];
        (one["lastState"]["terminated"].clone(), one["state"]["terminated"].clone())
    };
    let again =
        json!({ "state": "running", "exitCode": 0, "restarts": 1, "recentDeaths": ["2030-01-01T00:00:00Z"] });
    let (before, now) = last(again);
    assert_eq!((&before["exitCode"], &before["reason"]), (&json!(137), &json!("ContainerStatusUnknown")));
    assert!(now.is_null());
    let (_, now) = last(json!({ "state": "exited" }));
    assert_eq!((&now["exitCode"], &now["reason"]), (&json!(137), &json!("ContainerStatusUnknown")));
    let (_, now) = last(json!({ "state": "exited", "exitCode": 0 }));
    assert_eq!((&now["exitCode"], &now["reason"]), (&json!(0), &json!("Completed")));
}
