//! What each role may do, and how it is told what it may not.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::home::{APPS, Answer, Home, Person, app, app_of};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

fn apps_of(namespace: &str) -> String {
    format!("/apis/hearth.dev/v1/namespaces/{namespace}/apps")
}

/// A home with Anna and Ben, each with a namespace of their own and an app in it.
async fn family() -> (Home, Person) {
    let home = Home::start().await;
    for name in ["anna", "ben"] {
        home.namespace(name).await;
        let made = home.post(&apps_of(name), &app_of(name, &format!("{name}-photos"))).await;
        assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
    }
    let anna = home.person("anna", "Member", &["anna"]).await;
    (home, anna)
}

fn said(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_has_their_own_namespace_and_reads_what_everybody_shares() {
    let (home, anna) = family().await;
    home.app("shared").await;
    assert_eq!(anna.get(&apps_of("anna")).await.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(anna.get(&format!("{APPS}/shared")).await.code, StatusCode::OK);
    let made = anna.post(&apps_of("anna"), &app_of("anna", "music")).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
    let one = format!("{}/music", apps_of("anna"));
    assert_eq!(anna.merge(&one, &json!({ "spec": { "state": "Stopped" } })).await.code, StatusCode::OK);
    assert_eq!(anna.send(Method::DELETE, &one, &[], "").await.code, StatusCode::OK);
    let refused = anna.post(APPS, &app("mine")).await;
    assert_eq!((refused.code, &refused.body["reason"]), (StatusCode::FORBIDDEN, &"Forbidden".into()));
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": { "k": "v" } });
    assert_eq!(anna.post("/api/v1/namespaces/anna/secrets", &secret).await.code, StatusCode::CREATED);
    assert_eq!(anna.get("/api/v1/namespaces/household/secrets").await.code, StatusCode::FORBIDDEN);
    assert_eq!(anna.get("/api/v1/namespaces/anna").await.code, StatusCode::OK);
    assert_eq!(anna.get("/api/v1/namespaces/household").await.code, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_missing_right() {
    let (_home, anna) = family().await;
    let listed = anna.get(&apps_of("ben")).await;
    assert_eq!(listed.code, StatusCode::FORBIDDEN);
    assert_eq!(
        said(&listed),
        "apps.hearth.dev is forbidden: User \"anna\" cannot list resource \"apps\" in API group \"hearth.dev\" in the namespace \"ben\""
    );
    let everywhere = anna.get("/apis/hearth.dev/v1/apps").await;
    assert!(said(&everywhere).ends_with("at the cluster scope"), "{}", everywhere.body);
    // Watching asks for the same right in the same place, and is refused before anything is told.
    let watched = anna.get("/apis/hearth.dev/v1/apps?watch=true&timeoutSeconds=5").await;
    assert_eq!((everywhere.code, watched.code), (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN));
    assert_eq!(said(&watched), said(&everywhere).replace("list", "watch"));
    let metrics = anna.get("/metrics").await;
    assert_eq!(
        (metrics.code, said(&metrics)),
        (StatusCode::FORBIDDEN, "forbidden: User \"anna\" cannot get path \"/metrics\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leads_out_of_an_app_is_granted_by_an_admin_only() {
    let (home, anna) = family().await;
    let one = format!("{}/anna-photos", apps_of("anna"));
    for permissions in [json!({ "devices": ["/dev/sda"] }), json!({ "folders": ["/home/ben"] })] {
        let wish = json!({ "spec": { "permissions": permissions } });
        let refused = anna.merge(&one, &wish).await;
        assert_eq!(refused.code, StatusCode::FORBIDDEN, "{}", refused.body);
        assert!(said(&refused).contains("User \"anna\" cannot grant resource \"apps\""), "{}", refused.body);
    }
    let mut package = app_of("anna", "package");
    package["spec"] = json!({ "package": { "path": "/home/ben/secret" } });
    let refused = anna.post(&apps_of("anna"), &package).await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN, "{}", refused.body);
    assert!(said(&refused).ends_with("spec.package"), "{}", refused.body);
    // What an admin granted stays through a member's changes, and may be given up in part.
    let wish = json!({ "spec": { "permissions": { "folders": ["/srv/a", "/srv/b"] } } });
    assert_eq!(home.merge(&one, &wish).await.code, StatusCode::OK);
    assert_eq!(anna.merge(&one, &json!({ "spec": { "state": "Stopped" } })).await.code, StatusCode::OK);
    let fewer = json!({ "spec": { "permissions": { "folders": ["/srv/b"] } } });
    assert_eq!(anna.merge(&one, &fewer).await.code, StatusCode::OK);
    let again = json!({ "spec": { "permissions": { "folders": ["/srv/b", "/srv/a"] } } });
    assert_eq!(anna.merge(&one, &again).await.code, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_changes_nothing_and_sees_no_secret() {
    let (home, _) = family().await;
    let viewer = home.person("guest", "Viewer", &["anna"]).await;
    let one = format!("{}/anna-photos", apps_of("anna"));
    assert_eq!(viewer.get(&one).await.code, StatusCode::OK);
    for (method, path) in [
        (Method::DELETE, one.as_str()),
        (Method::DELETE, &apps_of("anna")),
        (Method::PUT, &one),
        (Method::PATCH, &one),
        (Method::POST, &apps_of("anna")),
        (Method::PUT, &format!("{one}/status")),
        (Method::GET, "/api/v1/namespaces/anna/secrets"),
        (Method::POST, "/api/v1/namespaces/anna/events"),
        (Method::POST, "/hearth/v1/drift/apps/anna/anna-photos"),
        (Method::GET, APPS),
    ] {
        let head = [("content-type", "application/json")];
        let body = json!({ "answer": "Keep", "seen": "x" }).to_string();
        let answer = viewer.send(method.clone(), path, &head, body).await;
        assert_eq!(answer.code, StatusCode::FORBIDDEN, "{method} {path}: {}", answer.text);
    }
    assert_eq!(viewer.post("/hearth/v1/diff", &app_of("anna", "x")).await.code, StatusCode::FORBIDDEN);
}

async fn may(asker: &Person, verb: &str, resource: &str, namespace: &str) -> Value {
    let attributes =
        json!({ "verb": verb, "group": "hearth.dev", "resource": resource, "namespace": namespace });
    let review = json!({ "spec": { "resourceAttributes": attributes } });
    asker.post(&format!("{REVIEWS}/selfsubjectaccessreviews"), &review).await.body["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_answer_by_the_rules_that_decide() {
    let (home, anna) = family().await;
    assert_eq!(may(&anna, "list", "apps", "anna").await, json!({ "allowed": true }));
    let no = may(&anna, "list", "apps", "ben").await;
    assert_eq!(no["allowed"], false);
    assert!(no["reason"].as_str().unwrap().starts_with("User \"anna\" cannot list"), "{no}");
    assert_eq!(may(&anna, "list", "apps", "").await["allowed"], false);
    let rules = json!({ "spec": { "namespace": "anna" } });
    let rules = anna.post(&format!("{REVIEWS}/selfsubjectrulesreviews"), &rules).await.body["status"].clone();
    let writes = json!(["create", "update", "patch", "delete", "deletecollection"]);
    let found = rules["resourceRules"].as_array().unwrap().iter().any(|rule| {
        rule["verbs"] == writes
            && rule["resources"] == json!(["apps"])
            && rule["apiGroups"] == json!(["hearth.dev"])
    });
    assert!(found, "{rules}");
    let me = anna.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).await;
    let me = &me.body["status"]["userInfo"];
    assert_eq!(me["username"], "anna");
    assert_eq!(me["extra"]["hearth.dev/role"], json!(["Member"]));
    assert_eq!(me["extra"]["hearth.dev/namespaces"], json!(["anna", "household"]));
    // About somebody else only the admin may ask.
    let about = |user: &str, namespace: &str| {
        let attributes =
            json!({ "verb": "get", "group": "hearth.dev", "resource": "apps", "namespace": namespace });
        json!({ "spec": { "user": user, "resourceAttributes": attributes } })
    };
    let place = format!("{REVIEWS}/subjectaccessreviews");
    assert_eq!(anna.post(&place, &about("ben", "ben")).await.code, StatusCode::FORBIDDEN);
    assert_eq!(home.post(&place, &about("anna", "anna")).await.body["status"]["allowed"], true);
    assert_eq!(home.post(&place, &about("anna", "ben")).await.body["status"]["allowed"], false);
    assert_eq!(home.post(&place, &about("nobody", "anna")).await.body["status"]["allowed"], false);
    let local = format!("{REVIEWS}/namespaces/anna/localsubjectaccessreviews");
    assert_eq!(home.post(&local, &about("anna", "")).await.body["status"]["allowed"], true);
    assert_eq!(anna.post(&local, &about("anna", "")).await.code, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_acts_as_another_and_then_has_only_their_rights() {
    let (home, anna) = family().await;
    let as_anna = [("impersonate-user", "anna")];
    assert_eq!(home.send(Method::GET, &apps_of("anna"), &as_anna, "").await.code, StatusCode::OK);
    assert_eq!(home.send(Method::GET, &apps_of("ben"), &as_anna, "").await.code, StatusCode::FORBIDDEN);
    let head = [("impersonate-user", "anna"), ("content-type", "application/json")];
    let made = home.send(Method::POST, &apps_of("anna"), &head, app_of("anna", "music").to_string()).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
    let history = home.get("/hearth/v1/history/apps/anna/music").await.body;
    assert_eq!(history["items"][0]["actor"], "anna (by admin)");
    let refused = anna.send(Method::GET, &apps_of("ben"), &[("impersonate-user", "ben")], "").await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
    assert_eq!(
        said(&refused),
        "users \"ben\" is forbidden: User \"anna\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
    );
    for head in
        [("impersonate-group", "system:masters"), ("impersonate-uid", "x"), ("impersonate-extra-a", "x")]
    {
        let refused = anna.send(Method::GET, &apps_of("anna"), &[head], "").await;
        assert_eq!(refused.code, StatusCode::FORBIDDEN, "{head:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_tells_who_wrote_and_through_what() {
    let (home, anna) = family().await;
    let one = format!("{}/anna-photos", apps_of("anna"));
    let head =
        [("content-type", "application/merge-patch+json"), ("user-agent", "kubectl/v1.37.1 (linux/amd64)")];
    let patch = json!({ "spec": { "state": "Stopped" } }).to_string();
    assert_eq!(anna.send(Method::PATCH, &one, &head, patch).await.code, StatusCode::OK);
    let rows = anna.get("/hearth/v1/history/apps/anna/anna-photos").await.body;
    let row = &rows["items"][1];
    assert_eq!(
        (&row["actor"], &row["source"], &row["verb"]),
        (&json!("anna"), &json!("api/kubectl"), &json!("update"))
    );
    assert_eq!(row["differences"][0]["field"], "spec.state");
    // Not only wishes: whatever a person writes.
    let marks =
        json!({ "metadata": { "labels": { "room": "den" }, "annotations": { "example.com/note": "x" } } });
    assert_eq!(anna.merge(&one, &marks).await.code, StatusCode::OK);
    let rows = anna.get("/hearth/v1/history/apps/anna/anna-photos").await.body;
    let fields: Vec<&str> = rows["items"][2]["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["metadata.labels[room]", "metadata.annotations[example.com/note]"]);
    let made = home.get("/hearth/v1/history/tokens/anna").await;
    assert_eq!(made.body["items"][0]["actor"], "admin", "{}", made.body);
    assert!(!made.text.contains("sha256"), "{}", made.text);
}
