//! Many who watch while much is written, and one who does not read: nobody misses, doubles or reorders anything.
//!
//! `HEARTH_CROWD_SECONDS` says for how long; without it, for a few seconds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::http::Request;
use hearth_engine::{Key, Object, WriteOptions};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use super::home::{APPS, Home};
use super::together::Stream;

/// How many watch plainly, and how many through a stream of several kinds.
const WATCHERS: [usize; 2] = [150, 50];
/// How many objects change in turn.
const OBJECTS: usize = 20;
/// How far apart writes are.
const APART: Duration = Duration::from_millis(20);
/// How long everybody has to hear the last of it.
const LAST_HEARD: Duration = Duration::from_secs(120);
/// More than what a connection holds on its way, and what the server keeps for a watcher.
const UNREAD: usize = 2500;
/// So much more memory at most, for all of it, with both ends of every connection in this process.
const MEMORY_KIB: u64 = 512 * 1024;

fn seconds() -> u64 {
    std::env::var("HEARTH_CROWD_SECONDS").map_or(5, |seconds| seconds.parse().unwrap())
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Lines of a watch, one at a time.
struct Lines {
    body: Body,
    kept: Vec<u8>,
}

impl Lines {
    async fn open(client: &kube::Client, path: &str) -> Self {
        let answer = client.send(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        Self { body: answer.into_body(), kept: Vec::new() }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.kept.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.kept.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            self.kept.extend(self.body.frame().await?.ok()?.into_data().unwrap_or_default());
        }
    }
}

/// Whether an object is as the last write left it.
fn is_last(object: &Value) -> bool {
    object["metadata"]["annotations"]["end"] == "end"
}

/// Every version a plain watch was told, up to the last.
async fn heard(mut lines: Lines) -> Vec<u64> {
    let mut heard = Vec::new();
    loop {
        let line = lines.next().await.expect("it goes on to the last version");
        assert_eq!(line["type"], "MODIFIED", "{line}");
        heard.push(version(&line["object"]));
        if is_last(&line["object"]) {
            return heard;
        }
    }
}

/// The newest version of each object, as a stream of several kinds told it, up to the last.
async fn followed(mut stream: Stream) -> BTreeMap<String, u64> {
    let (mut found, mut newest) = (BTreeMap::new(), 0);
    loop {
        let event = stream.next().await.expect("it goes on to the last version");
        let object = &event.data["object"];
        if !["ADDED", "MODIFIED"].contains(&event.data["type"].as_str().unwrap()) {
            continue;
        }
        let at = version(object);
        if event.data["type"] == "MODIFIED" {
            assert!(newest < at, "{at} came after {newest}");
            newest = at;
        }
        found.insert(object["metadata"]["name"].as_str().unwrap().to_owned(), at);
        if is_last(object) {
            return found;
        }
    }
}

fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What is written, one after another, at its pace: the versions, in order.
async fn write(home: &Home, seconds: u64) -> Vec<u64> {
    let ends = Instant::now() + Duration::from_secs(seconds);
    let mut pace = tokio::time::interval(APART);
    let mut versions = Vec::new();
    while Instant::now() < ends {
        pace.tick().await;
        let name = format!("app-{}", versions.len() % OBJECTS);
        let body = json!({ "metadata": { "annotations": { "written": versions.len().to_string() } } });
        versions.push(version(&home.merge(&format!("{APPS}/{name}"), &body).await.body));
    }
    versions
}

/// Changes of something only those who do not read have asked for.
async fn flood(home: &Home) {
    let key = Key::new("Secret", "household", "large");
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "large", "namespace": "household" }, "data": {} });
    home.store.create(Object::from_value(secret).unwrap(), &WriteOptions::controller("test")).await.unwrap();
    for number in 0..UNREAD {
        let text = format!("{number:016}").repeat(512);
        let change = move |old: &Object| {
            let mut new = old.clone();
            new.metadata.annotations.get_or_insert_default().insert("large".into(), text);
            Ok(new)
        };
        home.store.update(&key, &WriteOptions::controller("test"), change).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_watchers_hears_every_write_once_and_in_order_beside_one_who_does_not_read() {
    let home = Home::start().await;
    for number in 0..OBJECTS {
        home.app(&format!("app-{number}")).await;
    }
    let before = memory_kib();
    let from = home.store.resource_version();
    let mut plain = Vec::new();
    for _ in 0..WATCHERS[0] {
        let path = format!("{APPS}?watch=true&resourceVersion={from}");
        plain.push(tokio::spawn(heard(Lines::open(&home.client, &path).await)));
    }
    let mut many = Vec::new();
    for _ in 0..WATCHERS[1] {
        let stream = Stream::open(&home.client, "of=apps&of=images&of=volumes/household", "").await;
        many.push(tokio::spawn(followed(stream)));
    }
    let secrets = format!("/api/v1/namespaces/household/secrets?watch=true&resourceVersion={from}");
    let mut unread = Lines::open(&home.client, &secrets).await;
    let mut unread_with_others =
        Stream::open(&home.client, &format!("of=secrets@{from}&of=apps@{from}"), "").await;

    let (written, ()) = tokio::join!(write(&home, seconds()), flood(&home));
    let body = json!({ "metadata": { "annotations": { "end": "end" } } });
    let end = version(&home.merge(&format!("{APPS}/app-0"), &body).await.body);
    let written: Vec<u64> = written.into_iter().chain([end]).collect();

    for watcher in plain {
        let heard = tokio::time::timeout(LAST_HEARD, watcher).await.expect("it hears the last").unwrap();
        assert!(heard == written, "{} of {}", heard.len(), written.len());
    }
    let mut newest = BTreeMap::new();
    for (number, at) in written[..written.len() - 1].iter().enumerate() {
        newest.insert(format!("app-{}", number % OBJECTS), *at);
    }
    newest.insert("app-0".into(), end);
    for watcher in many {
        let found = tokio::time::timeout(LAST_HEARD, watcher).await.expect("it hears the last").unwrap();
        for (name, at) in &newest {
            assert_eq!(found.get(name), Some(at), "{name}");
        }
    }
    let grown = memory_kib().saturating_sub(before);
    assert!(grown < MEMORY_KIB, "{grown} KiB more");
    dropped(&mut unread).await;
    begun_anew(&mut unread_with_others).await;
}

/// Whoever did not read hears what was on its way, and then that the rest is lost to them.
async fn dropped(unread: &mut Lines) {
    let (mut count, mut newest) = (0, 0);
    loop {
        let read = tokio::time::timeout(LAST_HEARD, unread.next()).await.unwrap();
        let line = read.expect("it is told before it ends");
        if line["type"] == "ERROR" {
            assert_eq!(line["object"]["code"], 410, "{line}");
            break;
        }
        let at = version(&line["object"]);
        assert!(newest < at);
        (count, newest) = (count + 1, at);
    }
    assert!(count < UNREAD, "nothing was lost, so this proves nothing: {count}");
    assert!(unread.next().await.is_none(), "and it is over");
}

/// In a stream of several kinds only the part that was not read begins anew.
async fn begun_anew(stream: &mut Stream) {
    let mut words = Vec::new();
    while words.last().is_none_or(|word| word != "BOOKMARK secrets") {
        let event = tokio::time::timeout(LAST_HEARD, stream.next()).await.unwrap().unwrap();
        let word = |field: &str| event.data[field].as_str().unwrap_or_default().to_owned();
        let said = format!("{} {}", word("type"), word("of"));
        if event.data["type"] == "ERROR" {
            assert_eq!(event.data["object"]["code"], 410, "{}", event.data);
        }
        words.push(said);
    }
    let end = ["ERROR secrets", "LIST secrets", "ADDED secrets", "BOOKMARK secrets"];
    assert!(words.ends_with(&end.map(str::to_owned)), "{:?}", &words[words.len().saturating_sub(6)..]);
}
