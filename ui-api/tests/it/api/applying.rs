//! Server-side apply, as kubectl and controllers use it.

use axum::http::{Method, StatusCode};
use hearth_kinds::App;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

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
