//! What a deletion may ask for, and how.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::home::{Home, fields};

const SECRETS: &str = "/api/v1/namespaces/household/secrets";

async fn secret(home: &Home, name: &str, tier: &str) -> Value {
    let made = home.post(SECRETS, &json!({ "metadata": { "name": name, "labels": { "tier": tier } } })).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
    made.body
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_what_is_owned_is_said_in_the_body_or_in_the_query_or_in_older_words() {
    let home = Home::start().await;
    for (query, body, wanted) in [
        ("?propagationPolicy=Foreground", json!(null), json!(["foregroundDeletion"])),
        ("", json!({ "propagationPolicy": "Foreground" }), json!(["foregroundDeletion"])),
        ("", json!({ "propagationPolicy": "Orphan" }), json!(["orphan"])),
        ("?propagationPolicy=Orphan", json!({ "gracePeriodSeconds": 0 }), json!(["orphan"])),
        (
            "?propagationPolicy=Orphan",
            json!({ "propagationPolicy": "Foreground" }),
            json!(["foregroundDeletion"]),
        ),
        ("", json!({ "orphanDependents": true }), json!(["orphan"])),
        ("?orphanDependents=true", json!(null), json!(["orphan"])),
        (
            "?propagationPolicy=Background",
            json!({ "kind": "DeleteOptions", "apiVersion": "v1" }),
            json!(null),
        ),
        ("", json!({ "orphanDependents": false }), json!(null)),
        ("", json!(null), json!(null)),
    ] {
        secret(&home, "s", "a").await;
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = home.send(Method::DELETE, &format!("{SECRETS}/s{query}"), &[], text).await;
        assert_eq!(answer.code, StatusCode::OK, "{}", answer.body);
        assert_eq!(answer.body["metadata"]["finalizers"], wanted, "{query} {body}");
        // The last word counts, while it is still there.
        home.send(Method::DELETE, &format!("{SECRETS}/s?propagationPolicy=Background"), &[], "").await;
        assert_eq!(home.get(&format!("{SECRETS}/s")).await.code, StatusCode::NOT_FOUND);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_option_of_a_deletion_is_told_and_nothing_goes() {
    let home = Home::start().await;
    secret(&home, "s", "a").await;
    for (body, wanted) in [
        (json!({ "propagationPolicy": "Sideways" }), &["propagationPolicy"][..]),
        (json!({ "propagationPolicy": 3, "dryRun": ["Some"] }), &["propagationPolicy", "dryRun"]),
        (json!({ "propagationPolicy": "Orphan", "orphanDependents": true }), &["propagationPolicy"]),
        (
            json!({ "preconditions": { "uid": 3, "resourceVersion": 4 } }),
            &["preconditions.uid", "preconditions.resourceVersion"],
        ),
        (json!([]), &[""]),
        (json!({ "dryRun": "All" }), &["dryRun"]),
        (json!({ "preconditions": "a-uid" }), &["preconditions"]),
        (json!({ "orphanDependents": "true" }), &["orphanDependents"]),
    ] {
        let refused = home.send(Method::DELETE, &format!("{SECRETS}/s"), &[], body.to_string()).await;
        assert_eq!(
            (refused.code.as_u16(), fields(&refused)),
            (422, wanted.iter().map(|s| s.to_string()).collect()),
            "{body}"
        );
        assert_eq!(refused.body["details"]["kind"], "DeleteOptions");
    }
    assert_eq!(home.get(&format!("{SECRETS}/s")).await.body["metadata"]["deletionTimestamp"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_goes_by_selection_page_and_precondition() {
    let home = Home::start().await;
    for (name, tier) in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")] {
        secret(&home, name, tier).await;
    }
    let left = async || {
        let listed = home.get(SECRETS).await.body;
        let names = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["metadata"]["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    let delete = async |query: &str, body: Value| {
        home.send(Method::DELETE, &format!("{SECRETS}?{query}"), &[], body.to_string()).await
    };
    let stale = delete("", json!({ "preconditions": { "resourceVersion": "1" } })).await;
    assert_eq!((stale.code, left().await.as_str()), (StatusCode::CONFLICT, "a b c d"));
    let tried = delete("dryRun=All", json!({})).await;
    assert_eq!((tried.body["items"].as_array().unwrap().len(), left().await.as_str()), (4, "a b c d"));
    delete("fieldSelector=metadata.name%3Da", json!({})).await;
    assert_eq!(left().await, "b c d");
    let page = delete("labelSelector=tier%3Dx&limit=1", json!({})).await;
    assert_eq!(page.body["kind"], "SecretList");
    assert!(page.body["metadata"]["continue"].is_string(), "{}", page.body);
    assert_eq!(left().await, "c d");
    delete("labelSelector=tier%3Dx", json!({ "propagationPolicy": "Orphan" })).await;
    let held = home.get(&format!("{SECRETS}/d")).await.body;
    assert_eq!(held["metadata"]["finalizers"], json!(["orphan"]));
    assert_eq!(delete("fieldSelector=metadata.uid%3Dx", json!({})).await.code, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_goes_in_one_namespace_and_by_a_selector_that_says_something() {
    let home = Home::start().await;
    secret(&home, "s", "a").await;
    let everywhere = home.send(Method::DELETE, "/api/v1/secrets", &[], "").await;
    assert_eq!(everywhere.code, StatusCode::METHOD_NOT_ALLOWED, "{}", everywhere.body);
    for selector in ["!", "!%3Dkeep", "%3Dx", "%2C", "tier%3Da%2C%2Cb", "a%20b"] {
        for kind in ["labelSelector", "fieldSelector"] {
            let path = format!("{SECRETS}?{kind}={selector}");
            let refused = home.send(Method::DELETE, &path, &[], "").await;
            assert_eq!(refused.code, StatusCode::BAD_REQUEST, "{path}: {}", refused.body);
        }
    }
    assert_eq!(home.get(&format!("{SECRETS}/s")).await.body["metadata"]["deletionTimestamp"], Value::Null);
}
