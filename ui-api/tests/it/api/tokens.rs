//! Tokens: how long they last, what they leave behind, and what is never told of them.

use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use hearth_engine::Key;
use serde_json::json;

use super::home::Home;

const TOKENS: &str = "/apis/hearth.dev/v1/tokens";
const OWN: &str = "/apis/hearth.dev/v1/namespaces/anna/apps";

async fn with_anna() -> (Home, super::home::Person) {
    let home = Home::start().await;
    home.namespace("anna").await;
    let anna = home.person("anna", "Member", &["anna"]).await;
    (home, anna)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_with_the_token_it_was_opened_with() {
    let changes: [(&str, Method, serde_json::Value); 3] = [
        ("revoked", Method::DELETE, json!({})),
        ("given another role", Method::PATCH, json!({ "spec": { "role": "Viewer" } })),
        ("run out", Method::PATCH, json!({ "spec": { "expiresAt": "2020-01-01T00:00:00Z" } })),
    ];
    for (what, method, body) in changes {
        let (home, anna) = with_anna().await;
        let watching =
            tokio::spawn(async move { anna.get(&format!("{OWN}?watch=true&timeoutSeconds=600")).await });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!watching.is_finished(), "{what}");
        let began = Instant::now();
        let head = [("content-type", "application/merge-patch+json")];
        let head = if method == Method::DELETE { [("content-type", "application/json")] } else { head };
        let done = home.send(method, &format!("{TOKENS}/anna"), &head, body.to_string()).await;
        assert_eq!(done.code, StatusCode::OK, "{what}: {}", done.text);
        let ended = tokio::time::timeout(Duration::from_secs(10), watching).await;
        assert!(ended.is_ok(), "{what}: the watch went on");
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_very_next_request_after_a_revocation_is_refused() {
    let (home, anna) = with_anna().await;
    for _ in 0..20 {
        assert_eq!(anna.get(OWN).await.code, StatusCode::OK);
        home.send(Method::DELETE, &format!("{TOKENS}/anna"), &[], "").await;
        let refused = anna.get(OWN).await;
        assert_eq!(refused.code, StatusCode::UNAUTHORIZED, "{}", refused.text);
        assert!(refused.body["message"].as_str().unwrap().contains("revoked"), "{}", refused.text);
        home.person("anna", "Member", &["anna"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hash_is_taken_and_never_told() {
    let (home, _anna) = with_anna().await;
    let one = format!("{TOKENS}/anna");
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let hash =
        home.store.get(&Key::new("Token", "", "anna")).unwrap().spec()["sha256"].as_str().unwrap().to_owned();
    let read = home.get(&one).await;
    let mut told = vec![
        read.text.clone(),
        home.get(TOKENS).await.text,
        home.get(&format!("{TOKENS}?watch=true&timeoutSeconds=1")).await.text,
        home.send(Method::GET, &format!("{TOKENS}?includeObject=Object"), &table, "").await.text,
        home.merge(&one, &json!({ "metadata": { "labels": { "a": "b" } } })).await.text,
        home.get("/hearth/v1/history/tokens/anna").await.text,
    ];
    // What was read can be written back, and the token is still good.
    let mut back = home.get(&one).await.body;
    back["spec"]["namespaces"] = json!(["household"]);
    let put = home.put(&one, &back).await;
    assert_eq!(put.code, StatusCode::OK, "{}", put.text);
    told.push(put.text);
    assert_eq!(home.store.get(&Key::new("Token", "", "anna")).unwrap().spec()["sha256"], hash);
    told.push(
        home.post(
            "/hearth/v1/diff",
            &json!({
                "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": "anna" },
                "spec": { "role": "Viewer", "namespaces": ["anna"], "sha256": "0".repeat(64) },
            }),
        )
        .await
        .text,
    );
    told.push(home.send(Method::DELETE, &one, &[], "").await.text);
    for text in told {
        assert!(!text.contains(&hash) && !text.contains(&"0".repeat(64)), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_token_was_last_used_is_told_to_the_hour_and_costs_one_write() {
    let (home, anna) = with_anna().await;
    let one = format!("{TOKENS}/anna");
    assert!(home.get(&one).await.body["status"]["lastUsedAt"].is_null());
    anna.get(OWN).await;
    let mut told = json!(null);
    for _ in 0..200 {
        told = home.get(&one).await.body["status"]["lastUsedAt"].clone();
        if !told.is_null() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(told.as_str().is_some_and(|at| at.ends_with('Z')), "{told}");
    let version = home.store.resource_version();
    for _ in 0..10 {
        anna.get(OWN).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(home.store.resource_version(), version, "more uses within the hour are not written");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_lists_makes_and_ends_tokens() {
    let (home, anna) = with_anna().await;
    let new = json!({ "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": "x" },
        "spec": { "role": "Admin", "sha256": "0".repeat(64) } });
    assert_eq!(anna.post(TOKENS, &new).await.code, StatusCode::FORBIDDEN);
    assert_eq!(anna.get(TOKENS).await.code, StatusCode::FORBIDDEN);
    let own = format!("{TOKENS}/anna");
    assert_eq!(anna.get(&own).await.code, StatusCode::FORBIDDEN);
    assert_eq!(anna.merge(&own, &json!({ "spec": { "role": "Admin" } })).await.code, StatusCode::FORBIDDEN);
    assert_eq!(anna.send(Method::DELETE, &own, &[], "").await.code, StatusCode::FORBIDDEN);
    let bad = json!({ "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": "x" },
        "spec": { "role": "Member", "sha256": "secret" } });
    let refused = home.post(TOKENS, &bad).await;
    let mut fields = super::home::fields(&refused);
    fields.sort();
    assert_eq!(fields, ["spec.namespaces", "spec.sha256"], "{}", refused.body);
}
