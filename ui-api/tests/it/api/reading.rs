//! Discovery, getting, listing, and the forms an answer can have.

use axum::http::{Method, StatusCode};
use hearth_kinds::App;
use hearth_meta::ObjectRef;
use kube::Api;
use kube::api::ListParams;
use kube::discovery::{Discovery, verbs};
use serde_json::{Value, json};

use super::home::{APPS, Home};

const TABLE: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");

#[tokio::test(flavor = "multi_thread")]
async fn discovery_tells_every_kind_in_both_forms() {
    let home = Home::start().await;
    let old = Discovery::new(home.client.clone()).run().await.unwrap();
    let new = Discovery::new(home.client.clone()).run_aggregated().await.unwrap();
    for found in [old, new] {
        let group = found.get("hearth.dev").expect("the group is there");
        let (app, able) = group.recommended_kind("App").expect("the kind is there");
        assert_eq!((app.plural.as_str(), able.supports_operation(verbs::WATCH)), ("apps", true));
        assert!(able.subresources.iter().any(|(part, _)| part.plural.contains("status")), "{able:?}");
        assert!(found.has_group("events.k8s.io") && found.has_group(""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_a_document_is_only_told_so() {
    let home = Home::start().await;
    for path in ["/apis", "/openapi/v3", "/openapi/v3/apis/hearth.dev/v1"] {
        let first = home.get(path).await;
        let tag = first.headers["etag"].to_str().unwrap().to_owned();
        let again = home.send(Method::GET, path, &[("if-none-match", &tag)], "").await;
        assert_eq!(again.code, StatusCode::NOT_MODIFIED, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schemas_say_that_fields_are_checked_here() {
    let home = Home::start().await;
    let document = home.get("/openapi/v3/apis/hearth.dev/v1?hash=any").await.body;
    let patch = &document["paths"]["/apis/hearth.dev/v1/namespaces/{namespace}/apps/{name}"]["patch"];
    let names: Vec<&Value> = patch["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("fieldValidation")), "{names:?}");
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "App");
    let schema = &document["components"]["schemas"]["dev.hearth.v1.App"];
    assert!(schema["properties"]["spec"]["properties"]["slug"]["description"].is_string());
    assert_eq!(home.get("/openapi/v3/apis/nobody.dev/v1").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_choose_what_is_listed() {
    let home = Home::start().await;
    for (name, tier) in [("one", "a"), ("two", "b"), ("three", "c")] {
        home.app(name).await;
        home.merge(&format!("{APPS}/{name}"), &json!({ "metadata": { "labels": { "tier": tier } } })).await;
    }
    let apps: Api<App> = Api::namespaced(home.client.clone(), "household");
    for (labels, fields, wanted) in [
        ("", "", "one three two"),
        ("tier=a", "", "one"),
        ("tier!=a", "", "three two"),
        ("tier in (a,b)", "", "one two"),
        ("!tier", "", ""),
        ("", "metadata.name=two", "two"),
        ("tier=a", "metadata.name=two", ""),
    ] {
        let list = apps.list(&ListParams::default().labels(labels).fields(fields)).await.unwrap();
        let names: Vec<&str> = list.items.iter().map(|app| app.metadata.name.as_deref().unwrap()).collect();
        assert_eq!(names.join(" "), wanted, "{labels:?} {fields:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_have_the_kinds_columns() {
    let home = Home::start().await;
    home.app("photos").await;
    let table = home.send(Method::GET, &format!("{APPS}?limit=500"), &[TABLE], "").await.body;
    assert_eq!(table["kind"], "Table");
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns[..3], ["Name", "Status", "Version"]);
    assert_eq!(table["rows"][0]["cells"][0], "photos");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let bare = home.send(Method::GET, &format!("{APPS}?includeObject=None"), &[TABLE], "").await.body;
    assert!(bare["rows"][0].get("object").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_alone_is_shown_where_asked_for() {
    let home = Home::start().await;
    home.app("photos").await;
    let apps: Api<App> = Api::namespaced(home.client.clone(), "household");
    let list = apps.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].metadata.name.as_deref(), Some("photos"));
    let raw = ("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let body = home.send(Method::GET, APPS, &[raw], "").await.body;
    assert!(body["items"][0].get("spec").is_none(), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_so_by_name() {
    let home = Home::start().await;
    let answer = home.get(&format!("{APPS}/nobody")).await;
    assert_eq!(answer.code, StatusCode::NOT_FOUND);
    assert_eq!(answer.body["message"], "apps.hearth.dev \"nobody\" not found");
    assert_eq!(answer.body["details"]["kind"], "apps");
    for nowhere in [
        "/apis/hearth.dev/v1/nothings",
        "/apis/hearth.dev/v2/apps",
        "/api/v1/apps",
        "/apis/hearth.dev/v1/apps/x",
        "/nowhere",
        "/apis/nobody.dev",
    ] {
        let answer = home.get(nowhere).await;
        assert_eq!(
            (answer.code, &answer.body["reason"]),
            (StatusCode::NOT_FOUND, &json!("NotFound")),
            "{nowhere}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_shown_in_both_groups_and_by_what_they_are_about() {
    use hearth_engine::store::{EventKind, EventNote};
    let home = Home::start().await;
    let uid = home.app("photos").await["metadata"]["uid"].as_str().unwrap().to_owned();
    let note = |about: ObjectRef, uid: &str, message: &str| EventNote {
        about,
        uid: uid.to_owned(),
        kind: EventKind::Warning,
        reason: "Restarted".into(),
        message: message.into(),
        reporter: "controller/container".into(),
    };
    home.store
        .note(note(ObjectRef::namespaced("App", "household", "photos"), &uid, "It was restarted"))
        .await;
    let image = ObjectRef { kind: "Image".into(), namespace: None, name: "nginx".into() };
    home.store.note(note(image, "u2", "It was pulled")).await;
    // Events are written with the next batch, and a write waits for its batch.
    home.app("other").await;
    let selector = format!(
        "involvedObject.name%3Dphotos%2CinvolvedObject.namespace%3Dhousehold%2CinvolvedObject.kind%3DApp%2CinvolvedObject.uid%3D{uid}"
    );
    let core = home.get(&format!("/api/v1/namespaces/household/events?fieldSelector={selector}")).await.body;
    assert_eq!(core["items"].as_array().unwrap().len(), 1, "{core}");
    let event = &core["items"][0];
    assert_eq!(
        (&event["message"], &event["count"], &event["type"]),
        (&json!("It was restarted"), &json!(1), &json!("Warning"))
    );
    assert_eq!(event["involvedObject"]["apiVersion"], "hearth.dev/v1");
    let newer = home.get("/apis/events.k8s.io/v1/events?fieldSelector=regarding.kind%3DImage").await.body;
    assert_eq!(newer["items"][0]["note"], "It was pulled", "{newer}");
    let typed: Api<k8s_openapi::api::core::v1::Event> = Api::all(home.client.clone());
    assert_eq!(typed.list(&ListParams::default()).await.unwrap().items.len(), 2);
    let name = event["metadata"]["name"].as_str().unwrap();
    assert_eq!(home.get(&format!("/api/v1/namespaces/household/events/{name}")).await.code, StatusCode::OK);
}
