//! Patches, as clients send them.

use axum::http::{Method, StatusCode};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::home::{APPS, Answer, Home, fields};

async fn json_patch(home: &Home, path: &str, patch: Value) -> Answer {
    home.send(Method::PATCH, path, &[("content-type", "application/json-patch+json")], patch.to_string())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_can_be_added_where_there_is_none() {
    let home = Home::start().await;
    let secrets = "/api/v1/namespaces/household/secrets";
    home.post(secrets, &json!({ "metadata": { "name": "s" } })).await;
    let one = format!("{secrets}/s");
    let patch = json!([
        { "op": "test", "path": "/metadata/finalizers", "value": null },
        { "op": "add", "path": "/metadata/finalizers", "value": ["example.com/mine"] },
    ]);
    let first = json_patch(&home, &one, patch.clone()).await;
    assert_eq!(first.body["metadata"]["finalizers"], json!(["example.com/mine"]), "{}", first.body);
    let second = json_patch(&home, &one, patch).await;
    assert_eq!(second.code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(second.body["message"].as_str().unwrap().contains("/metadata/finalizers"), "{}", second.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_cannot_make_another_object_of_it() {
    let home = Home::start().await;
    home.app("photos").await;
    let one = format!("{APPS}/photos");
    for (field, path) in [
        ("kind", "/kind"),
        ("metadata.name", "/metadata/name"),
        ("metadata.namespace", "/metadata/namespace"),
    ] {
        let answer =
            json_patch(&home, &one, json!([{ "op": "replace", "path": path, "value": "other" }])).await;
        assert_eq!(fields(&answer), [field]);
    }
    let uid =
        json_patch(&home, &one, json!([{ "op": "replace", "path": "/metadata/uid", "value": "other" }]))
            .await;
    assert_eq!(uid.body["reason"], "Conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn strategic_patches_are_refused_as_for_any_custom_kind() {
    let home = Home::start().await;
    home.app("photos").await;
    let head = [("content-type", "application/strategic-merge-patch+json")];
    let answer = home.send(Method::PATCH, &format!("{APPS}/photos"), &head, "{}").await;
    assert_eq!((answer.code.as_u16(), &answer.body["reason"]), (415, &json!("UnsupportedMediaType")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_writers_of_one_object_lose_nothing() {
    let home = Home::start().await;
    home.app("photos").await;
    let apps: Api<hearth_kinds::App> = Api::namespaced(home.client.clone(), "household");
    let writes = (0..100).map(|number| {
        let apps = apps.clone();
        let patch = json!({ "metadata": { "annotations": { format!("example.com/{number}"): "x" } } });
        async move { apps.patch("photos", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap() }
    });
    futures::future::join_all(writes).await;
    assert_eq!(apps.get("photos").await.unwrap().metadata.annotations.unwrap().len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_patch_that_would_grow_without_end_is_refused() {
    let home = Home::start().await;
    home.app("photos").await;
    let copies: Value =
        (0..40).map(|n| json!({ "op": "copy", "from": "/spec", "path": format!("/spec/a{n}") })).collect();
    let refused = json_patch(&home, &format!("{APPS}/photos"), copies).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.body);
    let many: Vec<String> = (0..6000).map(|n| format!("example.com/f{n}")).collect();
    let refused = home.merge(&format!("{APPS}/photos"), &json!({ "metadata": { "finalizers": many } })).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body["message"].as_str().unwrap().contains("at most 5000"), "{}", refused.body);
}
