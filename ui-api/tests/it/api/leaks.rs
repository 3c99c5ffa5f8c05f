//! Nothing of one person's namespace comes to another: every verb, on every kind, in every place, is answered alike
//! whether what is asked for is there or not.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use hearth_engine::{Key, Object, WriteOptions};
use serde_json::{Value, json};

use super::home::{Answer, Home, Person, app_of};

/// What is there, and what is not, of the same length.
const NAMES: [&str; 2] = ["thing", "ghost"];
/// Whose namespace is there, and whose is not.
const NAMESPACES: [&str; 2] = ["benno", "nobod"];

fn object(kind: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": kind, "metadata": { "name": NAMES[0], "namespace": NAMESPACES[0], "labels": { "mark": "x" } },
        "spec": spec,
    })
}

/// Ben with one of everything, and Anna, who has nothing of it.
async fn family() -> (Home, Person) {
    let home = Home::start().await;
    home.namespace("anna").await;
    home.namespace(NAMESPACES[0]).await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let of_ben = [
        app_of(NAMESPACES[0], NAMES[0]),
        object("Container", json!({ "image": { "ref": "x", "digest": digest } })),
        object("Network", json!({})),
        object("Volume", json!({ "instance": "x", "path": "data" })),
        object(
            "Route",
            json!({ "hosts": ["thing.local"], "mode": "Upstream", "upstream": { "container": "x", "port": 80 } }),
        ),
        object("Revision", json!({ "app": "thing", "number": 1, "composeDigest": "x" })),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": NAMES[0], "namespace": NAMESPACES[0] }, "stringData": { "k": "v" } }),
        json!({ "apiVersion": "hearth.dev/v1", "kind": "Image", "metadata": { "name": NAMES[0] }, "spec": { "reference": "x" } }),
        json!({ "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": NAMES[0] }, "spec": { "role": "Admin", "sha256": "0".repeat(64) } }),
    ];
    for value in of_ben {
        let object = Object::from_value(value).unwrap();
        let made = home.store.create(object, &WriteOptions::controller("app")).await;
        assert!(made.is_ok(), "{made:?}");
    }
    let anna = home.person("anna", "Member", &["anna"]).await;
    (home, anna)
}

/// An answer without what always differs, and with the name that was asked for taken out.
fn masked(answer: &Answer, asked: &str) -> String {
    let mut head: Vec<String> = answer
        .headers
        .iter()
        .filter(|(name, _)| name.as_str() != "date")
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    head.sort();
    format!("{}\n{}\n{}", answer.code, head.join("\n"), answer.text).replace(asked, "ASKED")
}

struct Try {
    method: Method,
    path: String,
    head: Vec<(&'static str, String)>,
    body: String,
}

const JSON: &str = "application/json";

fn one(method: Method, path: String) -> Try {
    Try { method, path, head: Vec::new(), body: String::new() }
}

fn with(method: Method, path: String, media: &str, body: &Value) -> Try {
    Try { method, path, head: vec![("content-type", media.to_owned())], body: body.to_string() }
}

/// Everything that can be asked of one object by its name, and of the collection it would be in.
fn tries(place: &str, kind: &Kind, namespace: &str, name: &str) -> Vec<Try> {
    let path = format!("{place}/{name}");
    let whole = json!({
        "apiVersion": kind.api_version, "kind": kind.kind, "metadata": { "name": name, "namespace": namespace, "resourceVersion": "1" }, "spec": {},
    });
    let apply = format!("{path}?fieldManager=anna&force=true");
    let json_patch = json!([{ "op": "test", "path": "/metadata/name", "value": name }]);
    let delete = json!({ "propagationPolicy": "Foreground", "preconditions": { "uid": "x" } });
    let mut tries = vec![
        one(Method::GET, path.clone()),
        one(Method::HEAD, path.clone()),
        one(Method::OPTIONS, path.clone()),
        one(Method::GET, format!("{path}?watch=true&timeoutSeconds=1")),
        with(Method::PUT, path.clone(), JSON, &whole),
        with(Method::PUT, format!("{path}?dryRun=All"), JSON, &whole),
        with(
            Method::PATCH,
            path.clone(),
            "application/merge-patch+json",
            &json!({ "metadata": { "labels": { "a": "b" } } }),
        ),
        with(Method::PATCH, path.clone(), "application/json-patch+json", &json_patch),
        with(Method::PATCH, apply.clone(), "application/apply-patch+yaml", &whole),
        with(Method::PATCH, format!("{apply}&dryRun=All"), "application/apply-patch+yaml", &whole),
        with(Method::PATCH, path.clone(), "text/plain", &json!("x")),
        with(Method::DELETE, path.clone(), JSON, &delete),
        one(Method::DELETE, format!("{path}?dryRun=All")),
        with(Method::POST, path.clone(), JSON, &whole),
        with(Method::POST, place.to_owned(), JSON, &whole),
        with(Method::POST, format!("{place}?dryRun=All"), JSON, &whole),
        one(Method::DELETE, place.to_owned()),
        one(Method::GET, place.to_owned()),
    ];
    for part in ["status", "scale", "log", "history", "beyond"] {
        tries.push(one(Method::GET, format!("{path}/{part}")));
        tries.push(with(Method::PUT, format!("{path}/{part}"), JSON, &whole));
        tries.push(with(
            Method::PATCH,
            format!("{path}/{part}"),
            "application/merge-patch+json",
            &json!({ "status": {} }),
        ));
    }
    for selector in [
        format!("fieldSelector=metadata.name%3D{name}"),
        format!("fieldSelector=metadata.name%3D{name},metadata.namespace%3D{namespace}"),
        format!("fieldSelector=spec.slug%3D{name}"),
        format!("labelSelector=hearth.dev/app%3D{name}"),
    ] {
        tries.push(one(Method::GET, format!("{place}?{selector}")));
        tries.push(one(Method::GET, format!("{place}?{selector}&limit=1")));
        tries.push(one(
            Method::GET,
            format!("{place}?{selector}&watch=true&timeoutSeconds=1&resourceVersion=1"),
        ));
        tries.push(one(Method::DELETE, format!("{place}?{selector}")));
        tries.push(one(Method::GET, format!("{}/{}?{selector}", kind.root, kind.plural)));
        tries.push(one(
            Method::GET,
            format!("{}/{}?{selector}&watch=true&timeoutSeconds=1", kind.root, kind.plural),
        ));
    }
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for form in [table, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"] {
        tries.push(Try { head: vec![("accept", form.to_owned())], ..one(Method::GET, path.clone()) });
    }
    // The places beside the protocol.
    let beside = if kind.namespaced { format!("{namespace}/{name}") } else { name.to_owned() };
    tries.push(one(Method::GET, format!("/hearth/v1/history/{}/{beside}", kind.plural)));
    for answer in ["PutBack", "Keep"] {
        let body = json!({ "answer": answer, "seen": "x", "dryRun": true });
        tries.push(with(Method::POST, format!("/hearth/v1/drift/{}/{beside}", kind.plural), JSON, &body));
    }
    tries.push(with(Method::POST, "/hearth/v1/diff".into(), JSON, &whole));
    tries.push(one(Method::GET, format!("/hearth/v1/namespaces/{namespace}/containers/{name}/logs?tail=1")));
    tries
}

struct Kind {
    root: String,
    api_version: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

/// Every kind the server says it has.
async fn kinds(home: &Home) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (root, version) in [
        ("/api/v1", "v1"),
        ("/apis/hearth.dev/v1", "hearth.dev/v1"),
        ("/apis/events.k8s.io/v1", "events.k8s.io/v1"),
    ] {
        let listed = home.get(root).await.body["resources"].clone();
        for resource in listed.as_array().unwrap() {
            let plural = resource["name"].as_str().unwrap();
            if !plural.contains('/') {
                kinds.push(Kind {
                    root: root.into(),
                    api_version: version.into(),
                    kind: resource["kind"].as_str().unwrap().into(),
                    plural: plural.into(),
                    namespaced: resource["namespaced"].as_bool().unwrap(),
                });
            }
        }
    }
    assert!(kinds.len() >= 12, "every kind is found");
    kinds
}

async fn ask(anna: &Person, asked: &Try) -> Answer {
    let head: Vec<(&str, &str)> = asked.head.iter().map(|(name, value)| (*name, value.as_str())).collect();
    anna.send(asked.method.clone(), &asked.path, &head, asked.body.clone()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_anothers_is_answered_as_what_is_not_there() {
    let (home, anna) = family().await;
    let mut count = 0;
    for kind in kinds(&home).await {
        let of = |namespace: &str| match kind.namespaced {
            true => format!("{}/namespaces/{namespace}/{}", kind.root, kind.plural),
            false => format!("{}/{}", kind.root, kind.plural),
        };
        // By name in Ben's namespace, then the same name in his namespace and in one that is not there.
        let by_name = NAMES.map(|name| (tries(&of(NAMESPACES[0]), &kind, NAMESPACES[0], name), name));
        let by_namespace =
            NAMESPACES.map(|namespace| (tries(&of(namespace), &kind, namespace, NAMES[0]), namespace));
        for [(there, named), (missing, unnamed)] in [by_name, by_namespace] {
            for (there, missing) in there.iter().zip(&missing) {
                let answers = (ask(&anna, there).await, ask(&anna, missing).await);
                let (seen, unseen) = (masked(&answers.0, named), masked(&answers.1, unnamed));
                assert_eq!(seen, unseen, "{} {}", there.method, there.path);
                let is_refused = answers.0.code.is_client_error();
                assert!(is_refused, "{} {} was answered: {}", there.method, there.path, answers.0.text);
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
    // And nothing of it was changed.
    let left = home.store.get(&Key::new("App", NAMESPACES[0], NAMES[0])).unwrap();
    assert_eq!((left.metadata.generation, left.is_going()), (Some(1), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_a_user_and_a_token_are_not_found_out_by_asking() {
    let (home, anna) = family().await;
    home.person(NAMESPACES[0], "Member", &[NAMESPACES[0]]).await;
    let pairs = |one: fn(&str) -> Try| NAMESPACES.map(one);
    let asked: [[Try; 2]; 7] = [
        pairs(|name| one(Method::GET, format!("/api/v1/namespaces/{name}"))),
        pairs(|name| one(Method::GET, format!("/api/v1/namespaces/{name}/status"))),
        pairs(|name| one(Method::DELETE, format!("/api/v1/namespaces/{name}"))),
        pairs(|name| one(Method::GET, format!("/api/v1/namespaces?fieldSelector=metadata.name%3D{name}"))),
        pairs(|name| {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            with(Method::POST, "/api/v1/namespaces".into(), JSON, &namespace)
        }),
        pairs(|name| Try {
            head: vec![("impersonate-user", name.to_owned())],
            ..one(Method::GET, "/apis/hearth.dev/v1/namespaces/anna/apps".into())
        }),
        pairs(|name| {
            let attributes =
                json!({ "verb": "get", "group": "hearth.dev", "resource": "apps", "namespace": name });
            let review = json!({ "spec": { "resourceAttributes": attributes } });
            with(Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".into(), JSON, &review)
        }),
    ];
    for [there, missing] in asked {
        let answers = (ask(&anna, &there).await, ask(&anna, &missing).await);
        let (seen, unseen) = (masked(&answers.0, NAMESPACES[0]), masked(&answers.1, NAMESPACES[1]));
        assert_eq!(seen, unseen, "{} {}", there.method, there.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_held_where_one_may_not_look_is_taken_and_no_more() {
    let (home, anna) = family().await;
    let own = "/apis/hearth.dev/v1/namespaces/anna/apps";
    let mut wish = app_of("anna", "mine");
    wish["spec"]["slug"] = NAMES[0].into();
    let refused = anna.post(own, &wish).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    assert_eq!(refused.body["details"]["causes"][0]["message"], "\"thing\" is taken; choose another");
    assert!(!refused.text.contains(NAMESPACES[0]), "{}", refused.text);
    // Whoever may see the holder is told who it is.
    let told = home.post(own, &wish).await;
    assert!(told.text.contains(&format!("is taken by App {}/thing", NAMESPACES[0])), "{}", told.text);
    home.app("shared").await;
    wish["spec"]["slug"] = "shared".into();
    let told = anna.post(own, &wish).await;
    assert!(told.text.contains("is taken by App household/shared"), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_in_ones_own_place_reaches_and_tells_nothing_elsewhere() {
    let (home, anna) = family().await;
    let namespace = home.store.get(&Key::new("Namespace", "", NAMESPACES[0])).unwrap();
    // An owner elsewhere, there and not there.
    let owned = |owner: &str| {
        let mut wish = app_of("anna", "mine");
        wish["metadata"]["ownerReferences"] =
            json!([{ "apiVersion": "v1", "kind": "Namespace", "name": owner, "uid": "0000" }]);
        with(Method::POST, "/apis/hearth.dev/v1/namespaces/anna/apps?dryRun=All".into(), JSON, &wish)
    };
    let (there, missing) =
        (ask(&anna, &owned(namespace.name())).await, ask(&anna, &owned(NAMESPACES[1])).await);
    assert_eq!(masked(&there, NAMESPACES[0]), masked(&missing, NAMESPACES[1]));
    // Events about what is another's.
    for place in ["/api/v1/namespaces/anna/events", "/api/v1/events", "/api/v1/namespaces/default/events"] {
        let about = json!({ "kind": "App", "namespace": NAMESPACES[0], "name": NAMES[0] });
        let event =
            json!({ "involvedObject": about, "reason": "Owned", "message": "by anna", "type": "Normal" });
        let refused = anna.post(place, &event).await;
        assert!(refused.code.is_client_error(), "{place}: {}", refused.text);
    }
    let events = home.get(&format!("/api/v1/namespaces/{}/events", NAMESPACES[0])).await;
    assert_eq!(events.body["items"], json!([]), "{}", events.text);
    // One's own thing, with the uid of another's.
    let foreign = home.store.get(&Key::new("App", NAMESPACES[0], NAMES[0])).unwrap().uid().to_owned();
    let about = json!({ "kind": "App", "namespace": "anna", "name": "mine", "uid": foreign });
    let event = json!({ "involvedObject": about, "reason": "Told", "message": "x", "type": "Normal" });
    let refused = anna.post("/api/v1/namespaces/anna/events", &event).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    // What is used, in another's place and by another spelling of a watch.
    for place in [
        format!("namespaces/{}/pods", NAMESPACES[0]),
        format!("namespaces/{}/pods/{}", NAMESPACES[0], NAMES[0]),
        "pods".to_owned(),
        "nodes".to_owned(),
        "namespaces/anna/pods?watch=True".to_owned(),
        "namespaces/anna/pods?w%61tch=t".to_owned(),
    ] {
        let refused = anna.get(&format!("/apis/metrics.k8s.io/v1beta1/{place}")).await;
        assert_eq!(refused.code, StatusCode::FORBIDDEN, "{place}: {}", refused.text);
    }
    let other_kind = anna.get("/apis/metrics.k8s.io/v1beta1/namespaces/anna/secrets").await;
    assert_eq!(other_kind.code, StatusCode::NOT_FOUND, "{}", other_kind.text);
    // A body that says another namespace than the path.
    let sent = anna.post("/apis/hearth.dev/v1/namespaces/anna/apps", &app_of(NAMESPACES[0], "x")).await;
    assert_eq!(sent.code, StatusCode::BAD_REQUEST, "{}", sent.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_and_a_warning_tell_only_of_what_one_may_look_into() {
    let (home, anna) = family().await;
    let paused =
        json!({ "metadata": { "annotations": { "hearth.dev/paused-until": "2099-01-01T00:00:00Z" } } });
    let namespace = format!("/api/v1/namespaces/{}", NAMESPACES[0]);
    assert_eq!(home.merge(&namespace, &paused).await.code, StatusCode::OK);
    assert!(home.get("/api/v1/namespaces/anna").await.headers.contains_key("warning"));
    assert!(!anna.get("/api/v1/namespaces/anna").await.headers.contains_key("warning"));
    let mut watching = Vec::new();
    for kind in kinds(&home).await.into_iter().filter(|kind| kind.namespaced) {
        let client = Person { client: anna.client.clone() };
        let path = format!(
            "{}/namespaces/anna/{}?watch=true&timeoutSeconds=3&allowWatchBookmarks=true",
            kind.root, kind.plural
        );
        watching.push(tokio::spawn(async move { client.get(&path).await }));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let one = format!("/apis/hearth.dev/v1/namespaces/{}/apps/{}", NAMESPACES[0], NAMES[0]);
    home.merge(&one, &json!({ "spec": { "state": "Stopped" } })).await;
    let about = json!({ "kind": "App", "namespace": NAMESPACES[0], "name": NAMES[0] });
    let event = json!({ "involvedObject": about, "reason": "Told", "message": "x", "type": "Normal" });
    home.post(&format!("/api/v1/namespaces/{}/events", NAMESPACES[0]), &event).await;
    for watch in watching {
        let answer = watch.await.unwrap();
        assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
        assert!(!answer.text.contains(NAMESPACES[0]) && !answer.text.contains(NAMES[0]), "{}", answer.text);
    }
}
