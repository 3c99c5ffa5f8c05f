//! Watches: order, beginnings, ends.

use std::time::Duration;

use serde_json::{Value, json};

use hearth_engine::{Key, Object, WriteOptions};

use super::home::{APPS, Home, app, told};

const EXPIRED: &str = "Expired";

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_from_the_version_of_a_list() {
    let home = Home::start().await;
    home.app("before").await;
    let version = home.get(APPS).await.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    home.app("one").await;
    home.merge(&format!("{APPS}/one"), &json!({ "spec": { "state": "Stopped" } })).await;
    let path = format!("{APPS}?watch=true&resourceVersion={version}&timeoutSeconds=1");
    let (lines, _) = tokio::join!(home.watch(&path), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        home.app("two").await;
        home.send(axum::http::Method::DELETE, &format!("{APPS}/two"), &[], "").await;
        home.merge(&format!("{APPS}/two"), &json!({ "metadata": { "finalizers": null } })).await
    });
    assert_eq!(told(&lines), ["ADDED one", "MODIFIED one", "ADDED two", "MODIFIED two", "DELETED two"]);
    let versions: Vec<u64> = lines
        .iter()
        .map(|line| line["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap())
        .collect();
    assert!(versions.is_sorted_by(|one, other| one < other), "{versions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_without_a_version_begins_with_what_stands() {
    let home = Home::start().await;
    home.app("one").await;
    for version in ["", "&resourceVersion=0"] {
        let lines = home.watch(&format!("/apis/hearth.dev/v1/apps?watch=1{version}&timeoutSeconds=1")).await;
        assert_eq!(told(&lines), ["ADDED one"], "{version:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn initial_events_end_with_a_mark() {
    let home = Home::start().await;
    home.app("one").await;
    home.app("two").await;
    let path = format!(
        "{APPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dtwo"
    );
    let lines = home.watch(&path).await;
    assert_eq!(told(&lines), ["ADDED two", "BOOKMARK -"]);
    assert_eq!(lines[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(lines[1]["object"]["kind"], "App");
    let refused = home.get(&format!("{APPS}?watch=true&sendInitialEvents=true")).await;
    assert_eq!((refused.code.as_u16(), &refused.body["reason"]), (422, &json!("Invalid")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_leaves_the_selection_is_told_as_gone() {
    let home = Home::start().await;
    let mut labelled = app("one");
    labelled["metadata"]["labels"] = json!({ "tier": "a" });
    home.post(APPS, &labelled).await;
    let version = home.store.resource_version();
    home.merge(&format!("{APPS}/one"), &json!({ "metadata": { "labels": { "tier": "b" } } })).await;
    home.merge(&format!("{APPS}/one"), &json!({ "spec": { "state": "Stopped" } })).await;
    home.merge(&format!("{APPS}/one"), &json!({ "metadata": { "labels": { "tier": "a" } } })).await;
    let path = format!("{APPS}?watch=true&resourceVersion={version}&labelSelector=tier%3Da&timeoutSeconds=1");
    assert_eq!(told(&home.watch(&path).await), ["DELETED one", "ADDED one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_kept_any_more_is_told_within_the_watch() {
    let home = Home::start().await;
    let lines = home.watch(&format!("{APPS}?watch=true&resourceVersion=999999&timeoutSeconds=1")).await;
    let status = &lines[0]["object"];
    assert_eq!(
        (&lines[0]["type"], &status["code"], &status["reason"]),
        (&json!("ERROR"), &json!(410), &json!(EXPIRED))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_tables_tells_the_columns_once() {
    let home = Home::start().await;
    home.app("one").await;
    home.app("two").await;
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    let answer = home
        .send(axum::http::Method::GET, &format!("{APPS}?watch=true&timeoutSeconds=1"), &[accept], "")
        .await;
    let text = answer.text;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let columns = |line: &Value| line["object"]["columnDefinitions"].as_array().unwrap().len();
    assert!(columns(&lines[0]) > 3 && columns(&lines[1]) == 0, "{text}");
    assert_eq!(lines[1]["object"]["rows"][0]["cells"][0], "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_events_reach_a_watch() {
    let home = Home::start().await;
    let event = |message: &str| {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "generateName": "x-" },
            "regarding": { "kind": "App", "name": "photos", "namespace": "household", "uid": "u" },
            "reason": "Looked", "note": message, "type": "Normal", "reportingController": "somebody",
        })
    };
    let place = "/apis/events.k8s.io/v1/namespaces/household/events";
    assert_eq!(home.post(place, &event("It looked")).await.code.as_u16(), 201);
    home.app("photos").await;
    let version =
        home.get("/api/v1/events").await.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let path =
        format!("/api/v1/namespaces/household/events?watch=true&resourceVersion={version}&timeoutSeconds=3");
    let (lines, _) = tokio::join!(home.watch(&path), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        home.post(place, &event("It looked")).await;
        home.post(place, &event("It looked elsewhere")).await;
        home.app("other").await
    });
    let mut seen: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["type"], line["object"]["message"])).collect();
    seen.sort();
    assert_eq!(seen, [r#""ADDED" "It looked elsewhere""#, r#""MODIFIED" "It looked""#]);
}

const RUNNING: &str = "/api/v1/namespaces/household/pods?watch=true&fieldSelector=status.phase%3DRunning";

/// A container, and how it stands, without anybody to make it so.
async fn container(home: &Home, name: &str, state: &str) {
    let digest = format!("sha256:{}", "0".repeat(64));
    let object = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Container",
        "metadata": { "name": name, "namespace": "household" },
        "spec": { "image": { "ref": "x", "digest": digest } },
    });
    home.store.create(Object::from_value(object).unwrap(), &WriteOptions::controller("test")).await.unwrap();
    stands(home, name, state).await;
}

async fn stands(home: &Home, name: &str, state: &str) {
    let status = json!({ "state": state, "exitCode": (state == "exited").then_some(1) });
    let key = Key::new("Container", "household", name);
    home.store.change_status(&key, &WriteOptions::controller("test"), |_| Ok(status)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_left_or_entered_the_selection_while_nobody_watched_is_told() {
    let home = Home::start().await;
    container(&home, "leaves", "running").await;
    container(&home, "enters", "exited").await;
    let version = home.store.resource_version();
    stands(&home, "leaves", "exited").await;
    stands(&home, "enters", "running").await;
    container(&home, "comes", "running").await;
    let lines = home.watch(&format!("{RUNNING}&resourceVersion={version}&timeoutSeconds=1")).await;
    assert_eq!(told(&lines), ["DELETED leaves", "ADDED enters", "ADDED comes"]);
    let lines = home.watch(&format!("{RUNNING}&timeoutSeconds=1")).await;
    assert_eq!(told(&lines), ["ADDED comes", "ADDED enters"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_left_before_a_restart_is_told_as_gone_though_nobody_knows_how_it_was() {
    let home = Home::start().await;
    container(&home, "leaves", "running").await;
    // So much happens besides that what was before the departure is no longer read back.
    for number in 0..1100 {
        let key = Key::new("Namespace", "", "household");
        let change = move |old: &Object| {
            let mut new = old.clone();
            new.metadata.annotations.get_or_insert_default().insert("n".into(), number.to_string());
            Ok(new)
        };
        home.store.update(&key, &WriteOptions::controller("test"), change).await.unwrap();
    }
    let version = home.store.resource_version();
    stands(&home, "leaves", "exited").await;
    let home = home.restart().await;
    let lines = home.watch(&format!("{RUNNING}&resourceVersion={version}&timeoutSeconds=1")).await;
    assert_eq!(told(&lines), ["DELETED leaves"]);
}
