//! Lists in pages, and the versions they stand for.

use axum::http::{Method, Request, StatusCode};
use hearth_kinds::App;
use http_body_util::BodyExt;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::home::{APPS, Answer, Home, fields};

const SECRETS: &str = "/api/v1/namespaces/household/secrets";
const TABLE: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");

async fn secret(home: &Home, name: &str, labels: Value) {
    let made = home.post(SECRETS, &json!({ "metadata": { "name": name, "labels": labels } })).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.body["items"].as_array().unwrap().iter().map(|o| o["metadata"]["name"].as_str().unwrap()).collect()
}

fn mark(answer: &Answer) -> &str {
    answer.body["metadata"]["continue"].as_str().unwrap_or_default()
}

async fn with_secrets(count: usize) -> Home {
    let home = Home::start().await;
    for n in 0..count {
        secret(&home, &format!("s{n}"), json!({ "even": (n % 2 == 0).to_string() })).await;
    }
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_belong_together_whatever_is_written_between_them() {
    let home = with_secrets(5).await;
    let first = home.get(&format!("{SECRETS}?limit=2")).await;
    assert_eq!(names(&first), ["s0", "s1"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    let version = first.body["metadata"]["resourceVersion"].clone();
    home.send(Method::DELETE, &format!("{SECRETS}/s3"), &[], "").await;
    secret(&home, "s2a", json!({})).await;
    let second = home.get(&format!("{SECRETS}?limit=2&continue={}", mark(&first))).await;
    assert_eq!((names(&second), &second.body["metadata"]["resourceVersion"]), (vec!["s2", "s3"], &version));
    assert_eq!(second.body["metadata"]["remainingItemCount"], 1);
    let last = home.get(&format!("{SECRETS}?limit=2&continue={}", mark(&second))).await;
    assert_eq!(names(&last), ["s4"]);
    assert_eq!((&last.body["metadata"]["resourceVersion"], mark(&last)), (&version, ""));
    assert!(last.body["metadata"].get("remainingItemCount").is_none());
    // A watch from the version of the list tells all that came between.
    let version = version.as_str().unwrap();
    let told = home.watch(&format!("{SECRETS}?watch=true&resourceVersion={version}&timeoutSeconds=1")).await;
    assert_eq!(super::home::told(&told), ["DELETED s3", "ADDED s2a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_what_is_selected_tells_no_count() {
    let home = with_secrets(5).await;
    let first = home.get(&format!("{SECRETS}?limit=2&labelSelector=even%3Dtrue")).await;
    assert_eq!(names(&first), ["s0", "s2"]);
    assert!(first.body["metadata"].get("remainingItemCount").is_none(), "{}", first.body);
    let next = mark(&first);
    let last = home.get(&format!("{SECRETS}?limit=2&labelSelector=even%3Dtrue&continue={next}")).await;
    assert_eq!((names(&last), mark(&last)), (vec!["s4"], ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_metadata_and_events_come_in_pages_too() {
    let home = with_secrets(3).await;
    let table = home.send(Method::GET, &format!("{SECRETS}?limit=2"), &[TABLE], "").await;
    assert_eq!(table.body["rows"].as_array().unwrap().len(), 2);
    assert_eq!(table.body["metadata"]["remainingItemCount"], 1, "{}", table.body);
    let path = format!("{SECRETS}?limit=2&continue={}", mark(&table));
    let rest = home.send(Method::GET, &path, &[TABLE], "").await;
    assert_eq!((rest.body["rows"].as_array().unwrap().len(), mark(&rest)), (1, ""));
    let raw = ("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let bare = home.send(Method::GET, &format!("{SECRETS}?limit=2"), &[raw], "").await;
    assert_eq!(names(&bare), ["s0", "s1"]);
    let event = |n: usize| json!({ "involvedObject": { "kind": "App", "name": format!("a{n}"), "namespace": "household", "uid": format!("u{n}") }, "reason": "Looked" });
    for n in 0..3 {
        home.post("/api/v1/namespaces/household/events", &event(n)).await;
    }
    secret(&home, "last", json!({})).await;
    let first = home.get("/api/v1/events?limit=2").await;
    assert_eq!((names(&first).len(), &first.body["metadata"]["remainingItemCount"]), (2, &json!(1)));
    let rest = home.get(&format!("/api/v1/events?limit=2&continue={}", mark(&first))).await;
    assert_eq!((names(&rest).len(), mark(&rest)), (1, ""), "{}", rest.body);
    assert!(!names(&first).contains(&names(&rest)[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_client_reads_page_by_page() {
    let home = Home::start().await;
    for name in ["one", "three", "two"] {
        home.app(name).await;
    }
    let apps: Api<App> = Api::all(home.client.clone());
    let mut params = ListParams::default().limit(1);
    let mut seen = Vec::new();
    loop {
        let page = apps.list(&params).await.unwrap();
        seen.extend(page.items.into_iter().filter_map(|app| app.metadata.name));
        match page.metadata.continue_.filter(|mark| !mark.is_empty()) {
            Some(mark) => params = params.continue_token(&mark),
            None => break,
        }
    }
    assert_eq!(seen, ["one", "three", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_is_none_or_of_another_place_is_refused() {
    let home = with_secrets(3).await;
    let first = home.get(&format!("{SECRETS}?limit=1")).await;
    let next = mark(&first);
    for (path, word) in [
        (format!("{SECRETS}?limit=1&continue=abc"), "metadata.continue"),
        (format!("{SECRETS}?limit=1&continue={}x", &next[..next.len() - 4]), "metadata.continue"),
        (format!("/api/v1/namespaces/system/secrets?continue={next}"), "another place"),
        (format!("{SECRETS}?limit=1&continue={next}&resourceVersion=3"), "resourceVersion"),
        (format!("/api/v1/events?continue={next}"), "another place"),
    ] {
        let refused = home.get(&path).await;
        assert_eq!(
            (refused.code, &refused.body["reason"]),
            (StatusCode::BAD_REQUEST, &json!("BadRequest")),
            "{path}"
        );
        assert!(refused.body["message"].as_str().unwrap().contains(word), "{}", refused.body);
    }
    // Of the whole machine the same place is another one: what comes after it in all namespaces.
    let all = home.get(&format!("/api/v1/secrets?continue={next}")).await;
    assert_eq!(names(&all), ["s1", "s2"]);
    let unbound = home.get(&format!("{SECRETS}?limit=0")).await;
    assert_eq!((names(&unbound).len(), mark(&unbound)), (3, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_version_is_no_longer_kept_says_where_to_go_on() {
    let home = with_secrets(4).await;
    let first = home.get(&format!("{SECRETS}?limit=2")).await;
    let key = hearth_engine::Key::new("Secret", "household", "s0");
    for n in 0..1030 {
        let change = move |old: &hearth_engine::Object| {
            let mut new = old.clone();
            new.body.insert("stringData".into(), json!({ "n": n.to_string() }));
            Ok(new)
        };
        home.store.update(&key, &hearth_engine::WriteOptions::default(), change).await.unwrap();
    }
    secret(&home, "s1a", json!({})).await;
    let late = home.get(&format!("{SECRETS}?limit=2&continue={}", mark(&first))).await;
    assert_eq!((late.code, &late.body["reason"]), (StatusCode::GONE, &json!("Expired")));
    assert_eq!(late.body["kind"], "Status");
    let rest = home.get(&format!("{SECRETS}?limit=2&continue={}", mark(&late))).await;
    assert_eq!(names(&rest), ["s1a", "s2"]);
    assert_eq!(rest.body["metadata"]["resourceVersion"], home.store.resource_version().to_string());
    assert_eq!(rest.body["metadata"]["remainingItemCount"], 1);
    let end = home.get(&format!("{SECRETS}?continue={}", mark(&rest))).await;
    assert_eq!(names(&end), ["s3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_meant_exactly_or_at_least_as_it_is_asked_for() {
    let home = with_secrets(2).await;
    let then = home.store.resource_version();
    secret(&home, "later", json!({})).await;
    let now = home.store.resource_version().to_string();
    for (query, wanted, version) in [
        (String::new(), 3, now.clone()),
        ("?resourceVersion=0".into(), 3, now.clone()),
        (format!("?resourceVersion={then}"), 3, now.clone()),
        (format!("?resourceVersion={then}&resourceVersionMatch=NotOlderThan"), 3, now.clone()),
        (format!("?resourceVersion={then}&resourceVersionMatch=NotOlderThan&limit=9"), 3, now.clone()),
        ("?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=9".into(), 3, now.clone()),
        (format!("?resourceVersion={then}&resourceVersionMatch=Exact"), 2, then.to_string()),
        (format!("?resourceVersion={then}&limit=9"), 2, then.to_string()),
        (format!("?resourceVersion={now}&resourceVersionMatch=Exact"), 3, now.clone()),
    ] {
        let answer = home.get(&format!("{SECRETS}{query}")).await;
        assert_eq!(names(&answer).len(), wanted, "{query}");
        assert_eq!(answer.body["metadata"]["resourceVersion"], version.as_str(), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_contradicts_itself_is_refused_with_the_option_that_does() {
    let home = with_secrets(2).await;
    let next = mark(&home.get(&format!("{SECRETS}?limit=1")).await).to_owned();
    for query in [
        "resourceVersionMatch=Exact".into(),
        "resourceVersionMatch=NotOlderThan".into(),
        "resourceVersion=0&resourceVersionMatch=Exact".into(),
        format!("resourceVersion=3&resourceVersionMatch=Exact&continue={next}"),
        "watch=true&resourceVersion=3&resourceVersionMatch=NotOlderThan".into(),
        "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact".into(),
    ] {
        let refused = home.get(&format!("{SECRETS}?{query}")).await;
        assert_eq!((refused.code.as_u16(), &refused.body["reason"]), (422, &json!("Invalid")), "{query}");
        assert_eq!(fields(&refused), ["resourceVersionMatch"], "{query}");
        assert_eq!(refused.body["details"]["kind"], "ListOptions");
    }
    let refused = home.get(&format!("{SECRETS}?sendInitialEvents=true")).await;
    assert_eq!(fields(&refused), ["sendInitialEvents"]);
    let refused = home.get(&format!("{SECRETS}?resourceVersion=1&resourceVersionMatch=Newest")).await;
    assert_eq!(refused.code, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_the_store_has_not_come_to_is_to_be_asked_for_again() {
    let home = Home::start().await;
    home.app("photos").await;
    for path in [
        format!("{APPS}?resourceVersion=999"),
        format!("{APPS}?resourceVersion=999&resourceVersionMatch=NotOlderThan"),
        format!("{APPS}?resourceVersion=999&resourceVersionMatch=Exact"),
        format!("{APPS}/photos?resourceVersion=999"),
        format!(
            "{APPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999"
        ),
    ] {
        // Past the client, which asks again and again.
        let wire = hearth_wire::Wire::new(
            home.store.clone(),
            std::sync::Arc::new(hearth_wire::Strangers),
            "0",
            CancellationToken::new(),
        );
        let admin = hearth_wire::Actor::of_everything("admin");
        let request = Request::get(&path).extension(admin).body(axum::body::Body::empty()).unwrap();
        let answer = hearth_wire::router(wire).oneshot(request).await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()["retry-after"]),
            (StatusCode::GATEWAY_TIMEOUT, &"1".parse().unwrap()),
            "{path}"
        );
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["reason"], "Timeout");
        let details = &body["details"];
        assert_eq!(
            (&details["retryAfterSeconds"], &details["causes"][0]["reason"]),
            (&json!(1), &json!("ResourceVersionTooLarge"))
        );
    }
}
