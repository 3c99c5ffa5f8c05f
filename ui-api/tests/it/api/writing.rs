//! Creating, replacing, deleting, and every way in which that is refused.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::home::{APPS, Home, app, fields};

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_is_told_at_once_with_its_field() {
    let home = Home::start().await;
    let mut bad = app("photos");
    bad["metadata"]["lables"] = json!({});
    bad["metadata"]["labels"] = json!({ "a": 1 });
    bad["spec"] = json!({ "slg": "x", "state": "Runing", "compose": 3 });
    let answer = home.post(APPS, &bad).await;
    assert_eq!((answer.code.as_u16(), &answer.body["reason"]), (422, &json!("Invalid")));
    assert_eq!(fields(&answer), ["metadata.lables", "metadata.labels[a]"], "{}", answer.body);
    bad["metadata"]["labels"] = json!({});
    let answer = home.post(APPS, &bad).await;
    let mut named = fields(&answer);
    named.sort();
    assert_eq!(named, ["metadata.lables", "spec.compose", "spec.slg", "spec.state"]);
    assert!(answer.body["message"].as_str().unwrap().contains("did you mean \"labels\""), "{}", answer.body);
    home.app("photos").await;
    let patch = json!({ "metadata": { "lables": {} }, "spec": { "state": "Runing" } });
    let mut named = fields(&home.merge(&format!("{APPS}/photos"), &patch).await);
    named.sort();
    assert_eq!(named, ["metadata.lables", "spec.state"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn path_and_body_must_agree() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    let with = |path: &[&str], value: &str| {
        let mut object = made.clone();
        let mut place = &mut object;
        for part in path {
            place = &mut place[*part];
        }
        *place = value.into();
        object
    };
    let one = format!("{APPS}/photos");
    for (path, value, word) in [
        (&["kind"][..], "Route", "kind"),
        (&["apiVersion"], "hearth.dev/v9", "apiVersion"),
        (&["metadata", "namespace"], "system", "namespace"),
        (&["metadata", "name"], "other", "name"),
    ] {
        let answer = home.put(&one, &with(path, value)).await;
        assert_eq!(answer.code, StatusCode::BAD_REQUEST, "{word}");
        assert!(answer.body["message"].as_str().unwrap().contains(word), "{}", answer.body);
    }
    let again = home.post(APPS, &made).await;
    assert_eq!(again.code, StatusCode::BAD_REQUEST, "a resourceVersion has no place in something new");
    assert_eq!(home.post(APPS, &app("photos")).await.body["reason"], "AlreadyExists");
    assert_eq!(home.post("/apis/hearth.dev/v1/apps", &app("other")).await.code, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_an_older_version_is_a_conflict() {
    let home = Home::start().await;
    let old = home.app("photos").await;
    let one = format!("{APPS}/photos");
    home.merge(&one, &json!({ "spec": { "state": "Stopped" } })).await;
    assert_eq!(home.put(&one, &old).await.body["reason"], "Conflict");
    let mut blind = old.clone();
    blind["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    assert_eq!(fields(&home.put(&one, &blind).await), ["metadata.resourceVersion"]);
    let stale = json!({ "metadata": { "resourceVersion": old["metadata"]["resourceVersion"] }, "spec": { "state": "Running" } });
    assert_eq!(home.merge(&one, &stale).await.body["reason"], "Conflict");
    let mut new = home.get(&one).await.body;
    new["spec"]["state"] = "Running".into();
    assert_eq!(home.put(&one, &new).await.body["metadata"]["generation"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_what_stands_is_no_write() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    let version = home.store.resource_version();
    assert_eq!(home.put(&format!("{APPS}/photos"), &made).await.body, made);
    assert_eq!(home.merge(&format!("{APPS}/photos"), &json!({})).await.body, made);
    assert_eq!(home.store.resource_version(), version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_answers_as_if_and_changes_nothing() {
    let home = Home::start().await;
    let version = home.store.resource_version();
    let tried = home.post(&format!("{APPS}?dryRun=All"), &app("photos")).await;
    assert_eq!((tried.code, &tried.body["metadata"]["generation"]), (StatusCode::CREATED, &json!(1)));
    assert_eq!(home.get(&format!("{APPS}/photos")).await.code, StatusCode::NOT_FOUND);
    home.app("photos").await;
    let one = format!("{APPS}/photos");
    let stopped = home.merge(&format!("{one}?dryRun=All"), &json!({ "spec": { "state": "Stopped" } })).await;
    assert_eq!(stopped.body["spec"]["state"], "Stopped");
    home.send(Method::DELETE, &format!("{one}?dryRun=All"), &[], "").await;
    let status =
        home.merge(&format!("{one}/status?dryRun=All"), &json!({ "status": { "summary": "Ready" } })).await;
    assert_eq!(status.body["status"]["summary"], "Ready");
    let after = home.get(&one).await.body;
    assert_eq!(
        (&after["spec"]["state"], &after["metadata"]["deletionTimestamp"], &after["status"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(home.store.resource_version(), version + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_the_rest_are_written_apart() {
    let home = Home::start().await;
    let mut made = home.app("photos").await;
    let one = format!("{APPS}/photos");
    made["status"] = json!({ "summary": "Ready" });
    made["spec"]["state"] = "Stopped".into();
    let written = home.put(&format!("{one}/status"), &made).await.body;
    assert_eq!((&written["status"]["summary"], &written["spec"]["state"]), (&json!("Ready"), &Value::Null));
    assert_eq!(written["metadata"]["generation"], 1);
    let patched = home
        .merge(&one, &json!({ "status": { "summary": "Failed" }, "spec": { "state": "Stopped" } }))
        .await
        .body;
    assert_eq!(
        (&patched["status"]["summary"], &patched["metadata"]["generation"]),
        (&json!("Ready"), &json!(2))
    );
    let bad = home.merge(&format!("{one}/status"), &json!({ "status": { "summary": "Splendid" } })).await;
    assert_eq!(fields(&bad), ["status.summary"]);
    assert_eq!(home.get("/api/v1/namespaces/household/status").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_waits_for_finalizers_and_heeds_its_preconditions() {
    let home = Home::start().await;
    let made = home.app("photos").await;
    let one = format!("{APPS}/photos");
    let delete = async |options: Value| home.send(Method::DELETE, &one, &[], options.to_string()).await;
    assert_eq!(delete(json!({ "preconditions": { "uid": "other" } })).await.body["reason"], "Conflict");
    assert_eq!(
        delete(json!({ "preconditions": { "resourceVersion": "1" } })).await.body["reason"],
        "Conflict"
    );
    let options =
        json!({ "propagationPolicy": "Foreground", "preconditions": { "uid": made["metadata"]["uid"] } });
    let marked = delete(options).await.body;
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    home.merge(&one, &json!({ "metadata": { "finalizers": [] } })).await;
    assert_eq!(home.get(&one).await.code, StatusCode::NOT_FOUND);
    home.post(
        "/api/v1/namespaces/household/secrets",
        &json!({ "metadata": { "name": "s" }, "stringData": { "a": "b" } }),
    )
    .await;
    let gone = home.send(Method::DELETE, "/api/v1/namespaces/household/secrets/s", &[], "").await.body;
    assert_eq!((&gone["status"], &gone["details"]["kind"]), (&json!("Success"), &json!("secrets")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_is_deleted_by_its_labels() {
    let home = Home::start().await;
    let secrets = "/api/v1/namespaces/household/secrets";
    for (name, tier) in [("one", "a"), ("two", "a"), ("three", "b")] {
        home.post(secrets, &json!({ "metadata": { "name": name, "labels": { "tier": tier } } })).await;
    }
    let answer = home.send(Method::DELETE, &format!("{secrets}?labelSelector=tier%3Da"), &[], "").await;
    assert_eq!(answer.body["items"].as_array().unwrap().len(), 2, "{}", answer.body);
    let left = home.get(secrets).await.body;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_are_refused_and_nothing_is_kept() {
    let home = Home::start().await;
    let version = home.store.resource_version();
    let json = ("content-type", "application/json");
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(4 << 20));
    for (head, body, code) in [
        (&[json][..], deep, 400),
        (&[json], large, 413),
        (&[json], "not json".into(), 400),
        (&[json], "[]".into(), 400),
        (&[json], "null".into(), 400),
        (&[json], "{\"metadata\":3}".into(), 422),
        (&[json], "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}".into(), 422),
        (&[json], "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":3},\"spec\":{}}".into(), 400),
        (&[json], "{\"metadata\":{\"name\":\"../x\"},\"spec\":{\"compose\":\"\"}}".into(), 422),
        (&[("content-type", "text/plain")], "{}".into(), 415),
    ] {
        let answer = home.send(Method::POST, APPS, head, body.clone()).await;
        assert_eq!(answer.code.as_u16(), code, "{} {}", &body[..body.len().min(80)], answer.body);
        assert_eq!(answer.body["kind"], "Status");
    }
    assert_eq!(home.store.resource_version(), version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_a_type_is_json_and_names_can_be_made() {
    let home = Home::start().await;
    let mut unnamed = app("");
    unnamed["metadata"] = json!({ "generateName": "photos-" });
    unnamed["spec"]["slug"] = "photos".into();
    let made = home.send(Method::POST, APPS, &[], unnamed.to_string()).await.body;
    assert!(made["metadata"]["name"].as_str().unwrap().starts_with("photos-"), "{made}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_dropped_where_a_client_asks_for_it() {
    let home = Home::start().await;
    let mut loose = app("photos");
    loose["spec"]["slg"] = "x".into();
    assert_eq!(fields(&home.post(&format!("{APPS}?fieldValidation=Strict"), &loose).await), ["spec.slg"]);
    let warned = home.post(&format!("{APPS}?fieldValidation=Warn"), &loose).await;
    assert_eq!(warned.code, StatusCode::CREATED, "{}", warned.body);
    assert_eq!(warned.headers["warning"], r#"299 - "unknown field \"spec.slg\"""#);
    assert!(warned.body["spec"].get("slg").is_none());
    let patch = json!({ "spec": { "slg": "x" } });
    let ignored = home.merge(&format!("{APPS}/photos?fieldValidation=Ignore"), &patch).await;
    assert_eq!((ignored.code, ignored.headers.get("warning")), (StatusCode::OK, None));
}
