//! The places beside the protocol.

use axum::http::StatusCode;
use serde_json::json;

use super::home::{APPS, Home, app};

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_is_told_without_changing_it() {
    let home = Home::start().await;
    let new = home.post("/hearth/v1/diff", &app("photos")).await.body;
    assert_eq!(
        (&new["exists"], &new["differences"][0]["field"]),
        (&json!(false), &json!("spec.compose")),
        "{new}"
    );
    home.app("photos").await;
    let version = home.store.resource_version();
    let mut wanted = app("photos");
    assert_eq!(home.post("/hearth/v1/diff", &wanted).await.body["differences"], json!([]));
    wanted["spec"]["state"] = "Stopped".into();
    let changed = home.post("/hearth/v1/diff", &wanted).await.body;
    assert_eq!(
        (&changed["exists"], &changed["differences"][0]["field"]),
        (&json!(true), &json!("spec.state"))
    );
    wanted["spec"]["state"] = "Stoped".into();
    let wrong = home.post("/hearth/v1/diff", &wanted).await;
    assert_eq!(
        (wrong.code.as_u16(), &wrong.body["details"]["causes"][0]["field"]),
        (422, &json!("spec.state"))
    );
    assert_eq!(home.store.resource_version(), version);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_an_object_outlives_it() {
    let home = Home::start().await;
    home.app("photos").await;
    let one = format!("{APPS}/photos");
    home.merge(&one, &json!({ "spec": { "state": "Stopped" } })).await;
    home.send(axum::http::Method::DELETE, &one, &[], "").await;
    home.merge(&one, &json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(home.get(&one).await.code, StatusCode::NOT_FOUND);
    let history = home.get("/hearth/v1/history/apps/household/photos").await.body;
    let rows = history["items"].as_array().unwrap();
    let verbs: Vec<_> = rows.iter().map(|row| row["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["create", "update", "delete"]);
    assert_eq!(
        (&rows[1]["actor"], &rows[1]["differences"][0]["field"]),
        (&json!("admin"), &json!("spec.state"))
    );
    assert_eq!(home.get("/hearth/v1/history/apps/household/nobody").await.code, StatusCode::NOT_FOUND);
    assert_eq!(home.get("/hearth/v1/history/namespaces/household").await.code, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_objects() {
    let home = Home::start().await;
    home.app("photos").await;
    let text = home.get("/metrics").await.text;
    assert!(text.contains("hearth_objects{kind=\"App\"} 1\n"), "{text}");
    assert!(text.contains("hearth_store_resource_version 3\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_what_was_never_made_say_so() {
    let home = Home::start().await;
    let logs = home.get("/hearth/v1/namespaces/household/containers/web/logs").await;
    assert_eq!((logs.code, &logs.body["reason"]), (StatusCode::NOT_FOUND, &json!("NotFound")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_refuses_is_told_alike_whoever_asked_for_it() {
    let home = Home::start().await;
    home.app("photos").await;
    let admin = home.hasty().await;
    home.store.close().await;
    let tried = [
        admin.post("/hearth/v1/diff", &app("photos")).await,
        admin.post("/hearth/v1/diff", &app("new")).await,
        admin.post(APPS, &app("new")).await,
    ];
    for refused in tried {
        let (code, reason) = (refused.code, &refused.body["reason"]);
        assert_eq!((code, reason), (StatusCode::SERVICE_UNAVAILABLE, &json!("ServiceUnavailable")));
    }
}
