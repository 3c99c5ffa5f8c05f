//! Many kinds and namespaces watched through one stream, as a screen does it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use super::home::{APPS, Home, app, app_of};

/// One event: its id, where it has one, and what it holds.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// A stream that is being read.
pub(crate) struct Stream {
    body: Body,
    kept: String,
    ready: VecDeque<Event>,
    /// The id of the last event, as a browser would bring it back.
    pub(crate) last: String,
}

impl Stream {
    pub(crate) async fn open(client: &kube::Client, query: &str, last: &str) -> Self {
        let request = Request::get(format!("/hearth/v1/watch?{query}"));
        let request = if last.is_empty() { request } else { request.header("last-event-id", last) };
        let answer = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { body: answer.into_body(), kept: String::new(), ready: VecDeque::new(), last: last.to_owned() }
    }

    /// The next event; `None` once the server ended the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            let frame = self.body.frame().await?.ok()?.into_data().unwrap_or_default();
            self.kept.push_str(std::str::from_utf8(&frame).unwrap());
            while let Some((block, rest)) = self.kept.split_once("\n\n") {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                if let Some(data) = field("data: ") {
                    let data = serde_json::from_str(data).unwrap();
                    self.ready.push_back(Event { id: field("id: ").map(str::to_owned), data });
                }
                self.kept = rest.to_owned();
            }
        }
        let event = self.ready.pop_front()?;
        self.last = event.id.clone().unwrap_or_else(|| self.last.clone());
        Some(event)
    }

    /// `TYPE PART NAME` of each event until so many have come.
    async fn told(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        while told.len() < count {
            let next = tokio::time::timeout(Duration::from_secs(20), self.next()).await;
            assert!(next.is_ok(), "no more than {told:?}");
            let Event { data, .. } = next.unwrap().unwrap();
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let name = match data["object"]["code"].as_u64() {
                Some(code) => code.to_string(),
                None => word(&data["object"]["metadata"]["name"]),
            };
            told.push(format!("{} {} {name}", word(&data["type"]), word(&data["of"])));
        }
        told
    }
}

fn secret(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "household" }, "stringData": { "k": "v" } })
}

const SECRETS: &str = "/api/v1/namespaces/household/secrets";

#[tokio::test(flavor = "multi_thread")]
async fn one_stream_lists_and_watches_many_kinds() {
    let home = Home::start().await;
    home.app("one").await;
    let mut stream = Stream::open(&home.client, "of=apps&of=secrets/household&of=images", "").await;
    assert_eq!(
        stream.told(7).await,
        [
            "LIST apps -",
            "ADDED apps one",
            "BOOKMARK apps -",
            "LIST secrets/household -",
            "BOOKMARK secrets/household -",
            "LIST images -",
            "BOOKMARK images -",
        ]
    );
    home.post(SECRETS, &secret("mail")).await;
    assert_eq!(stream.told(1).await, ["ADDED secrets/household mail"]);
    home.merge(&format!("{APPS}/one"), &json!({ "spec": { "state": "Stopped" } })).await;
    assert_eq!(stream.told(1).await, ["MODIFIED apps one"]);
    home.send(Method::DELETE, &format!("{SECRETS}/mail"), &[], "").await;
    assert_eq!(stream.told(1).await, ["DELETED secrets/household mail"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_cut_goes_on_without_a_miss_and_without_telling_twice() {
    let home = Home::start().await;
    home.app("one").await;
    let query = "of=apps&of=secrets";
    let (mut seen, mut last) = (Vec::new(), String::new());
    let mut stream = Stream::open(&home.client, query, "").await;
    while seen.iter().filter(|data: &&Value| data["type"] == "BOOKMARK").count() < 2 {
        seen.push(stream.next().await.unwrap().data);
    }
    last.clone_from(&stream.last);
    drop(stream);
    // Cut after every number of events, while things go on.
    for round in 0..24 {
        let mut stream = Stream::open(&home.client, query, &last).await;
        let path = format!("{APPS}/one");
        home.merge(&path, &json!({ "metadata": { "annotations": { "round": round.to_string() } } })).await;
        home.post(SECRETS, &secret(&format!("s{round}"))).await;
        for _ in 0..(1 + round % 5) {
            let next = tokio::time::timeout(Duration::from_millis(800), stream.next()).await;
            let Ok(Some(event)) = next else { break };
            seen.push(event.data);
        }
        last = stream.last.clone();
    }
    let mut stream = Stream::open(&home.client, query, &last).await;
    // The beat comes once all was told.
    loop {
        let event = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.unwrap().unwrap();
        if event.data["type"] == "BEAT" {
            break;
        }
        seen.push(event.data);
    }
    let mut told = Vec::new();
    let mut lists = BTreeMap::new();
    for data in seen {
        let of = data["of"].as_str().unwrap().to_owned();
        match data["type"].as_str().unwrap() {
            "LIST" => {
                *lists.entry(of.clone()).or_insert(0) += 1;
                told.retain(|(part, _, _)| *part != of);
            }
            "BOOKMARK" => {}
            "ADDED" | "MODIFIED" => {
                let metadata = &data["object"]["metadata"];
                let name = metadata["name"].as_str().unwrap().to_owned();
                let one = (of, name, number(&metadata["resourceVersion"]));
                assert!(!told.contains(&one), "told twice: {one:?}");
                told.push(one);
            }
            other => panic!("{other}: {data}"),
        }
    }
    let secrets = told.iter().filter(|(of, ..)| of == "secrets").map(|(_, name, _)| name.clone());
    let wanted: Vec<String> = (0..24).map(|round| format!("s{round}")).collect();
    let mut secrets: Vec<String> = secrets.collect();
    secrets.sort_by_key(|name| name[1..].parse::<u32>().unwrap());
    assert_eq!(secrets, wanted, "each once");
    assert_eq!(lists, BTreeMap::from([("apps".into(), 1), ("secrets".into(), 1)]), "lists are told once");
}

fn number(version: &Value) -> u64 {
    version.as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_kept_begins_that_part_anew_and_no_other() {
    let home = Home::start().await;
    home.app("one").await;
    let version = home.store.resource_version();
    let query = format!("of=apps@{}&of=secrets@{version}", version + 1000);
    let mut stream = Stream::open(&home.client, &query, "").await;
    assert_eq!(stream.told(4).await, ["ERROR apps 410", "LIST apps -", "ADDED apps one", "BOOKMARK apps -"]);
    home.post(SECRETS, &secret("mail")).await;
    assert_eq!(stream.told(1).await, ["ADDED secrets mail"], "it went on from where it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_part_has_its_own_right_and_a_member_gets_their_namespaces_only() {
    let home = Home::start().await;
    for name in ["anna", "ben"] {
        home.namespace(name).await;
        home.post(&format!("/apis/hearth.dev/v1/namespaces/{name}/apps"), &app_of(name, "photos")).await;
    }
    let anna = home.person("anna", "Member", &["anna"]).await;
    let refused = anna.get("/hearth/v1/watch?of=apps&of=apps/ben&of=tokens").await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN, "{}", refused.text);
    let query = "of=apps/ben&of=apps/anna&of=apps/household&of=secrets/household&of=secrets/anna";
    let mut stream = Stream::open(&anna.client, query, "").await;
    let mut told = stream.told(9).await;
    told.sort();
    assert_eq!(
        told,
        [
            "ADDED apps/anna photos",
            "BOOKMARK apps/anna -",
            "BOOKMARK apps/household -",
            "BOOKMARK secrets/anna -",
            "ERROR apps/ben 403",
            "ERROR secrets/household 403",
            "LIST apps/anna -",
            "LIST apps/household -",
            "LIST secrets/anna -",
        ]
    );
    home.post("/apis/hearth.dev/v1/namespaces/ben/apps", &app_of("ben", "hidden")).await;
    home.post(SECRETS, &secret("mail")).await;
    home.post(APPS, &app("shared")).await;
    assert_eq!(stream.told(1).await, ["ADDED apps/household shared"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_the_stream() {
    let home = Home::start().await;
    home.namespace("anna").await;
    let anna = home.person("anna", "Member", &["anna"]).await;
    let mut stream = Stream::open(&anna.client, "of=apps/anna", "").await;
    stream.told(2).await;
    home.send(Method::DELETE, "/apis/hearth.dev/v1/tokens/anna", &[], "").await;
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.next()).await;
    assert!(ended.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_beats_and_says_how_far_it_is() {
    let home = Home::start().await;
    let mut stream = Stream::open(&home.client, "of=apps&of=secrets", "").await;
    stream.told(4).await;
    let before = stream.last.clone();
    // Nothing of this is in view, and the stream comes as far all the same.
    home.namespace("elsewhere").await;
    let event = tokio::time::timeout(Duration::from_secs(15), stream.next()).await.unwrap().unwrap();
    assert_eq!(event.data["type"], "BEAT", "{event:?}");
    let version = home.store.resource_version().to_string();
    assert_eq!(event.data["resourceVersions"], json!({ "apps": version, "secrets": version }));
    assert_eq!(event.id.unwrap(), format!("{version},{version}"));
    assert_ne!(stream.last, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_with_every_problem() {
    let home = Home::start().await;
    let refused = home.get("/hearth/v1/watch?of=lamps&of=images/anna").await;
    assert_eq!(refused.code, StatusCode::BAD_REQUEST, "{}", refused.text);
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("of=lamps: is none of the kinds") && message.contains("images lie in no"),
        "{message}"
    );
    let head = [("last-event-id", "1,2")];
    let refused = home.send(Method::GET, "/hearth/v1/watch?of=apps", &head, "").await;
    assert_eq!(refused.code, StatusCode::BAD_REQUEST, "{}", refused.text);
    assert!(refused.body["message"].as_str().unwrap().starts_with("Last-Event-ID"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_may_select_by_labels_and_what_leaves_them_is_told_as_gone() {
    let home = Home::start().await;
    let labelled = |name: &str, tier: &str| {
        let mut app = app(name);
        app["metadata"]["labels"] = json!({ "tier": tier });
        app
    };
    for (name, tier) in [("one", "a"), ("two", "b")] {
        home.post(APPS, &labelled(name, tier)).await;
    }
    let query = "of=apps/household:tier%3Da&of=apps:tier+in+(b,c),!other";
    let mut stream = Stream::open(&home.client, query, "").await;
    assert_eq!(
        stream.told(6).await,
        [
            "LIST apps/household:tier=a -",
            "ADDED apps/household:tier=a one",
            "BOOKMARK apps/household:tier=a -",
            "LIST apps:tier in (b,c),!other -",
            "ADDED apps:tier in (b,c),!other two",
            "BOOKMARK apps:tier in (b,c),!other -",
        ]
    );
    home.merge(&format!("{APPS}/one"), &json!({ "metadata": { "labels": { "tier": "c" } } })).await;
    let mut told = stream.told(2).await;
    told.sort();
    assert_eq!(told, ["ADDED apps:tier in (b,c),!other one", "DELETED apps/household:tier=a one"]);
    let refused = home.get("/hearth/v1/watch?of=apps:tier+in+a").await;
    assert_eq!(refused.code, StatusCode::BAD_REQUEST, "{}", refused.text);
    assert!(refused.body["message"].as_str().unwrap().contains("selects no labels"), "{}", refused.text);
}

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/household/events";

fn event(about: &str, message: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "generateName": "x-" },
        "regarding": { "kind": "App", "name": about, "namespace": "household", "uid": about },
        "reason": "Looked", "note": message, "type": "Normal", "reportingController": "somebody",
    })
}

/// `TYPE MESSAGE` of the next event that is about an event.
async fn said(stream: &mut Stream) -> String {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), stream.next()).await;
        let data = next.expect("it is told").unwrap().data;
        let message = data["object"]["message"].as_str().or(data["object"]["note"].as_str());
        if data["of"].as_str().is_some_and(|of| of.starts_with("events")) {
            return format!("{} {}", data["type"].as_str().unwrap(), message.unwrap_or("-"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_in_the_same_stream_and_go_on_after_a_cut() {
    let home = Home::start().await;
    home.app("photos").await;
    assert_eq!(home.post(EVENTS, &event("photos", "It looked")).await.code, StatusCode::CREATED);
    let query = "of=apps&of=events/household&of=events.events.k8s.io";
    let mut stream = Stream::open(&home.client, query, "").await;
    let mut heard = Vec::new();
    for _ in 0..6 {
        heard.push(said(&mut stream).await);
    }
    let one = ["LIST -", "ADDED It looked", "BOOKMARK -"];
    assert_eq!(heard, [one, one].concat());
    home.post(EVENTS, &event("photos", "It looked")).await;
    home.post(EVENTS, &event("photos", "It looked elsewhere")).await;
    let mut heard = Vec::new();
    while heard.len() < 4 {
        heard.push(said(&mut stream).await);
    }
    heard.sort();
    let (new, again) = ("ADDED It looked elsewhere", "MODIFIED It looked");
    assert_eq!(heard, [new, new, again, again]);
    let last = stream.last.clone();
    drop(stream);
    home.post(EVENTS, &event("photos", "It looked while nobody heard")).await;
    let mut stream = Stream::open(&home.client, query, &last).await;
    for _ in 0..2 {
        assert_eq!(said(&mut stream).await, "ADDED It looked while nobody heard");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_place_one_may_not_look_into_are_refused_in_their_part() {
    let home = Home::start().await;
    for name in ["anna", "ben"] {
        home.namespace(name).await;
    }
    let anna = home.person("anna", "Member", &["anna"]).await;
    let mut stream = Stream::open(&anna.client, "of=events/ben&of=events/anna&of=events", "").await;
    let mut told = stream.told(4).await;
    told.sort();
    assert_eq!(
        told,
        ["BOOKMARK events/anna -", "ERROR events 403", "ERROR events/ben 403", "LIST events/anna -"]
    );
}
