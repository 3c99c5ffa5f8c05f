//! Server-side apply, as kubectl and controllers use it.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use hearth::serve::manifests::Folder;
use hearth_kinds::App;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::home::{APPS, Answer, Home, app, fields};

async fn apply(home: &Home, manager: &str, force: bool, config: &Value) -> Answer {
    let name = config["metadata"]["name"].as_str().unwrap();
    let path = format!("{APPS}/{name}?fieldManager={manager}&force={force}&fieldValidation=Strict");
    let head = [("content-type", "application/apply-patch+yaml")];
    home.send(Method::PATCH, &path, &head, config.to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_applied_is_made_and_then_kept_as_said() {
    let home = Home::start().await;
    let mut wish = app("photos");
    wish["metadata"]["labels"] = json!({ "tier": "a" });
    wish["status"] = json!({ "summary": "Ready" });
    let made = apply(&home, "me", false, &wish).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
    assert!(made.body.get("status").is_none() && made.body["spec"]["slug"] == "photos", "{}", made.body);
    let entry = &made.body["metadata"]["managedFields"][0];
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("me"), &json!("Apply")));
    let version = home.store.resource_version();
    let again = apply(&home, "me", false, &wish).await;
    assert_eq!((again.code, &again.body), (StatusCode::OK, &made.body));
    assert_eq!(home.store.resource_version(), version, "nothing was written");
    wish["metadata"].as_object_mut().unwrap().remove("labels");
    let less = apply(&home, "me", false, &wish).await;
    assert!(less.body["metadata"].get("labels").is_none_or(|labels| labels == &json!({})), "{}", less.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_set_is_a_conflict_that_names_both() {
    let home = Home::start().await;
    home.app("photos").await;
    home.merge(&format!("{APPS}/photos?fieldManager=editor"), &json!({ "spec": { "state": "Stopped" } }))
        .await;
    let mut wish = app("photos");
    wish["spec"]["state"] = "Running".into();
    let refused = apply(&home, "me", false, &wish).await;
    assert_eq!((refused.code, &refused.body["reason"]), (StatusCode::CONFLICT, &json!("Conflict")));
    assert_eq!(fields(&refused), [".spec.state"]);
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(
        (&cause["reason"], &cause["message"]),
        (&json!("FieldManagerConflict"), &json!("conflict with \"editor\" using hearth.dev/v1"))
    );
    let taken = apply(&home, "me", true, &wish).await;
    assert_eq!(taken.body["spec"]["state"], "Running", "{}", taken.body);
    let again = apply(&home, "me", false, &wish).await;
    assert_eq!(again.code, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_of_what_is_applied_are_told_as_in_any_write() {
    let home = Home::start().await;
    let mut wish = app("photos");
    wish["spec"]["state"] = "Runing".into();
    wish["metadata"]["lables"] = json!({});
    let mut named = fields(&apply(&home, "me", false, &wish).await);
    named.sort();
    assert_eq!(named, ["metadata.lables", "spec.state"]);
    let nobody = home
        .send(
            Method::PATCH,
            &format!("{APPS}/photos"),
            &[("content-type", "application/apply-patch+yaml")],
            app("photos").to_string(),
        )
        .await;
    assert_eq!(fields(&nobody), ["fieldManager"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_applies_objects_and_status() {
    let home = Home::start().await;
    let apps: Api<App> = Api::namespaced(home.client.clone(), "household");
    let params = PatchParams::apply("controller").force();
    apps.patch("photos", &params, &Patch::Apply(app("photos"))).await.unwrap();
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "Fine", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z" });
    let status = |conditions: Value| json!({ "apiVersion": "hearth.dev/v1", "kind": "App", "status": { "conditions": conditions } });
    apps.patch_status("photos", &params, &Patch::Apply(status(json!([condition("Ready", "False")]))))
        .await
        .unwrap();
    let written = apps
        .patch_status(
            "photos",
            &params,
            &Patch::Apply(status(json!([condition("Ready", "True"), condition("Pulled", "True")]))),
        )
        .await
        .unwrap();
    let conditions = written.status.unwrap().common.conditions;
    let shown: Vec<String> = conditions.iter().map(|one| format!("{} {}", one.type_, one.status)).collect();
    assert_eq!(shown, ["Ready True", "Pulled True"]);
    assert_eq!(written.metadata.generation, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_version_in_what_is_applied_is_a_conflict() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    home.merge(&format!("{APPS}/photos"), &json!({ "spec": { "state": "Stopped" } })).await;
    let mut wish = app("photos");
    wish["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    assert_eq!(apply(&home, "me", true, &wish).await.body["reason"], "Conflict");
}

/// An entry that says a manager has applied the spec.
fn entry(manager: &str) -> Value {
    json!({
        "manager": manager, "operation": "Apply", "apiVersion": "hearth.dev/v1", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:spec": { "f:slug": {} } },
    })
}

fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.iter().map(|entry| entry["manager"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_folder_says_that_the_folder_put_something_there() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    let path = format!("{APPS}/photos");
    let as_folder = apply(&home, "manifests", true, &app("photos")).await;
    assert_eq!(as_folder.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", as_folder.text);
    assert_eq!(fields(&as_folder), ["fieldManager"]);
    assert!(as_folder.text.contains("say another name"), "{}", as_folder.text);
    let new = home.post(&format!("{APPS}?fieldManager=manifests"), &app("music")).await;
    assert_eq!(fields(&new), ["fieldManager"], "{}", new.text);
    let mut forged = made.clone();
    forged["metadata"]["managedFields"] = json!([entry("me"), entry("manifests")]);
    let metadata = json!({ "metadata": { "managedFields": [entry("me"), entry("manifests")] } });
    let operations =
        json!([{ "op": "add", "path": "/metadata/managedFields/-", "value": entry("manifests") }]);
    let json_patch = [("content-type", "application/json-patch+json")];
    for refused in [
        home.put(&path, &forged).await,
        home.merge(&path, &metadata).await,
        home.send(Method::PATCH, &path, &json_patch, operations.to_string()).await,
    ] {
        assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
        assert_eq!(fields(&refused), ["metadata.managedFields[1].manager"], "{}", refused.text);
    }
    let named_so = [("content-type", "application/merge-patch+json"), ("user-agent", "manifests/1.0")];
    let change = json!({ "metadata": { "labels": { "tier": "a" } } }).to_string();
    let changed = home.send(Method::PATCH, &path, &named_so, change).await;
    assert_eq!(changed.code, StatusCode::OK, "{}", changed.text);
    let others = home.merge(&path, &json!({ "metadata": { "managedFields": [entry("me")] } })).await;
    assert_eq!(others.code, StatusCode::OK, "{}", others.text);
    let stands = home.get(&path).await.body;
    assert!(!managers(&stands).contains(&"manifests".to_owned()), "{stands}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_folder_put_there_stays_its_own_whatever_clients_write_of_it() {
    let home = Home::start().await;
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("photos.yaml"), app("photos").to_string()).unwrap();
    let stop = CancellationToken::new();
    let folder = Folder::new(files.path().to_owned());
    let keeping = tokio::spawn(folder.keep(home.store.clone(), stop.clone()));
    let path = format!("{APPS}/photos");
    let mut read = home.get(&path).await;
    for _ in 0..200 {
        if read.code == StatusCode::OK {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        read = home.get(&path).await;
    }
    stop.cancel();
    keeping.await.unwrap();
    assert_eq!(managers(&read.body), ["manifests"], "{}", read.text);
    let mut labelled = read.body.clone();
    labelled["metadata"]["labels"] = json!({ "tier": "a" });
    let put = home.put(&path, &labelled).await;
    assert_eq!(put.code, StatusCode::OK, "what was read may be brought back: {}", put.text);
    let cleared = home.merge(&path, &json!({ "metadata": { "managedFields": [] } })).await;
    assert_eq!(cleared.code, StatusCode::OK, "{}", cleared.text);
    assert!(managers(&cleared.body).contains(&"manifests".to_owned()), "{}", cleared.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_not_said_stays_and_one_of_another_object_is_refused() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    let one = format!("{APPS}/photos/status");
    home.merge(&one, &json!({ "status": { "summary": "Ready", "observedGeneration": 1 } })).await;
    let head = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{one}?fieldManager=me");
    for said in [json!({}), json!({ "status": null }), json!({ "status": { "summary": null } })] {
        let mut config = json!({ "metadata": { "name": "photos", "uid": made["metadata"]["uid"] } });
        config.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        let written = home.send(Method::PATCH, &path, &head, config.to_string()).await;
        assert_eq!(
            (&written.body["status"]["summary"], &written.body["status"]["observedGeneration"]),
            (&json!("Ready"), &json!(1)),
            "{said}: {}",
            written.body
        );
    }
    let mut stranger = home.get(&format!("{APPS}/photos")).await.body;
    stranger["metadata"]["uid"] = "another".into();
    stranger["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    stranger["metadata"].as_object_mut().unwrap().remove("managedFields");
    stranger["status"] = json!({ "summary": "Failed" });
    let applied = home.send(Method::PATCH, &path, &head, stranger.to_string()).await;
    for refused in [home.put(&one, &stranger).await, home.merge(&one, &stranger).await, applied] {
        assert_eq!(refused.code, StatusCode::CONFLICT, "{}", refused.body);
    }
    assert_eq!(home.get(&format!("{APPS}/photos")).await.body["status"]["summary"], "Ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_twice_is_refused_though_it_could_be_laid_over_itself() {
    let home = Home::start().await;
    home.app("photos").await;
    let mut wish = app("photos");
    wish["spec"]["values"] = json!([{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }]);
    let refused = apply(&home, "me", true, &wish).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.body);
    assert!(fields(&refused)[0].starts_with("spec.values[name"), "{}", refused.body);
    wish["spec"].as_object_mut().unwrap().remove("values");
    let owner = json!({ "apiVersion": "hearth.dev/v1", "kind": "App", "name": "x", "uid": "u" });
    wish["metadata"]["ownerReferences"] = json!([owner, owner]);
    for refused in [apply(&home, "me", true, &wish).await, home.post(APPS, &wish).await] {
        assert!(fields(&refused)[0].starts_with("metadata.ownerReferences[uid"), "{}", refused.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_program_left_in_a_status_keeps_nobody_from_applying_theirs_again() {
    let home = Home::start().await;
    home.app("photos").await;
    let key = hearth_engine::Key::new("App", "household", "photos");
    let left = json!({ "observedGeneration": 1, "summary": "Rejected", "gone": "field" });
    home.store
        .change_status(&key, &hearth_engine::WriteOptions::controller("test"), |_| Ok(left))
        .await
        .unwrap();
    let path = format!("{APPS}/photos/status?fieldManager=me&force=true");
    let head = [("content-type", "application/apply-patch+yaml")];
    for message in ["first", "second"] {
        let config = json!({ "status": { "message": message } });
        let written = home.send(Method::PATCH, &path, &head, config.to_string()).await;
        let status = &written.body["status"];
        assert_eq!((written.code, &status["message"]), (StatusCode::OK, &json!(message)), "{}", written.text);
        assert_eq!((&status["summary"], &status["gone"]), (&json!("Rejected"), &json!("field")));
    }
    let config = json!({ "status": { "summary": "Refused", "gone": "away" } });
    let refused = home.send(Method::PATCH, &path, &head, config.to_string()).await;
    let mut named = fields(&refused);
    named.sort();
    assert_eq!(named, ["status.gone", "status.summary"], "{}", refused.text);
    let config = json!({ "status": { "cards": 3 } });
    let refused = home.send(Method::PATCH, &path, &head, config.to_string()).await;
    assert_eq!(fields(&refused), ["status.cards"]);
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("conditions") && message.contains("annotation"),
        "it says what to do: {message}"
    );
}
