//! The forms a body may have, and what is said in one twice.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::home::{APPS, Home};

const SECRETS: &str = "/api/v1/namespaces/household/secrets";
const YAML: (&str, &str) = ("content-type", "application/yaml");
const JSON: (&str, &str) = ("content-type", "application/json");
const PHOTOS: &str = "apiVersion: hearth.dev/v1
kind: App
metadata: { name: photos }
spec:
  slug: photos
  compose: |
    services: { web: { image: 'nginx:1.27' } }
";

#[tokio::test(flavor = "multi_thread")]
async fn bodies_may_be_yaml_wherever_an_object_is_taken() {
    let home = Home::start().await;
    let made = home.send(Method::POST, APPS, &[YAML], PHOTOS).await;
    assert_eq!(
        (made.code, &made.body["spec"]["slug"]),
        (StatusCode::CREATED, &json!("photos")),
        "{}",
        made.body
    );
    let version = made.body["metadata"]["resourceVersion"].as_str().unwrap();
    let text = PHOTOS.replace("name: photos }", &format!("name: photos, resourceVersion: '{version}' }}"));
    let stopped = format!("{text}  state: Stopped\n");
    let put = home.send(Method::PUT, &format!("{APPS}/photos"), &[YAML], stopped).await;
    assert_eq!(put.body["spec"]["state"], "Stopped", "{}", put.body);
    let apply = ("content-type", "application/apply-patch+yaml");
    let path = format!("{APPS}/photos?fieldManager=me&force=true");
    let applied = home.send(Method::PATCH, &path, &[apply], format!("{PHOTOS}  state: Running\n")).await;
    assert_eq!(applied.body["spec"]["state"], "Running", "{}", applied.body);
    let gone = home
        .send(Method::DELETE, &format!("{APPS}/photos?dryRun=All"), &[YAML], "propagationPolicy: Orphan\n")
        .await;
    assert!(
        gone.body["metadata"]["finalizers"].as_array().unwrap().contains(&json!("orphan")),
        "{}",
        gone.body
    );
    for (text, word) in [
        ("a: [", "YAML"),
        ("a: 1\na: 2\n", "already set"),
        ("a: 1\n---\nb: 1\n", "several documents"),
        ("# nothing\n", "says nothing"),
    ] {
        let refused = home.send(Method::POST, APPS, &[YAML], text).await;
        assert_eq!(refused.code, StatusCode::BAD_REQUEST, "{text}");
        assert!(refused.body["message"].as_str().unwrap().contains(word), "{}", refused.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_said_twice_is_refused_warned_of_or_left_as_the_client_asks() {
    let home = Home::start().await;
    let text =
        r#"{"metadata": {"name": "s", "labels": {"a": "b", "a": "c"}}, "type": "x", "type": "Opaque"}"#;
    let send =
        async |method: Method, path: String, head, text: &str| home.send(method, &path, &[head], text).await;
    for query in ["", "&fieldValidation=Strict"] {
        let refused = send(Method::POST, format!("{SECRETS}?dryRun=All{query}"), JSON, text).await;
        assert_eq!(refused.code, StatusCode::BAD_REQUEST);
        assert_eq!(
            refused.body["message"],
            r#"strict decoding error: duplicate field "metadata.labels.a", duplicate field "type""#
        );
    }
    let warned = send(Method::POST, format!("{SECRETS}?fieldValidation=Warn"), JSON, text).await;
    let told: Vec<&str> = warned.headers.get_all("warning").iter().map(|one| one.to_str().unwrap()).collect();
    assert_eq!(
        told,
        [r#"299 - "duplicate field \"metadata.labels.a\"""#, r#"299 - "duplicate field \"type\"""#]
    );
    assert_eq!(warned.body["metadata"]["labels"]["a"], "c", "the last word counts");
    let merge = ("content-type", "application/merge-patch+json");
    let patch = r#"{"metadata": {"labels": {"z": "1", "z": "2"}}}"#;
    let one = format!("{SECRETS}/s");
    assert_eq!(send(Method::PATCH, one.clone(), merge, patch).await.code, StatusCode::BAD_REQUEST);
    let ignored = send(Method::PATCH, format!("{one}?fieldValidation=Ignore"), merge, patch).await;
    assert_eq!((ignored.code, ignored.headers.get("warning")), (StatusCode::OK, None));
    assert_eq!(ignored.body["metadata"]["labels"]["z"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_the_core_group_take_the_patch_that_clients_send_for_them() {
    let home = Home::start().await;
    home.post(
        SECRETS,
        &json!({ "metadata": { "name": "s", "finalizers": ["me.dev/a"] }, "stringData": { "a": "b" } }),
    )
    .await;
    let strategic = ("content-type", "application/strategic-merge-patch+json");
    let patch = json!({ "metadata": { "labels": { "x": "y" }, "finalizers": ["me.dev/b"] }, "data": { "a": null, "c": "ZA==" } });
    let patched = home.send(Method::PATCH, &format!("{SECRETS}/s"), &[strategic], patch.to_string()).await;
    assert_eq!(patched.code, StatusCode::OK, "{}", patched.body);
    assert_eq!(patched.body["data"], json!({ "c": "ZA==" }));
    assert_eq!(patched.body["metadata"]["finalizers"], json!(["me.dev/a", "me.dev/b"]));
    home.app("photos").await;
    let refused = home.send(Method::PATCH, &format!("{APPS}/photos"), &[strategic], "{}").await;
    assert_eq!(refused.code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_the_core_group_are_described_too() {
    let home = Home::start().await;
    let document = home.get("/openapi/v3/api/v1").await.body;
    let schemas = &document["components"]["schemas"];
    assert!(schemas["io.k8s.api.core.v1.Secret"]["properties"]["stringData"]["description"].is_string());
    assert!(schemas["io.k8s.api.core.v1.Event"]["properties"]["involvedObject"]["description"].is_string());
    let one = &document["paths"]["/api/v1/namespaces/{namespace}/events/{name}"];
    assert!(one["get"].is_object() && one["patch"] == Value::Null, "events are not changed");
    let newer = home.get("/openapi/v3/apis/events.k8s.io/v1").await.body;
    assert!(newer["components"]["schemas"]["io.k8s.api.events.v1.Event"]["properties"]["note"].is_object());
}
