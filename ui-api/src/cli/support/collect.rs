//! Reading everything a bundle holds from a server, and taking the secrets out of it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use super::super::client::{Client, JSON, Reach, TABLE, Trouble};
use super::super::exit::Failure;
use super::super::kubeconfig;
use super::super::resource::{collection, encode, kinds};
use super::super::version::of_server;
use crate::server::VERSION;
use crate::support::redact::Redactor;
use crate::support::{Bundle, FORMAT, Manifest, Missing};

/// How many of the last lines of a log are taken.
pub(super) const LINES: usize = 300;
/// How long a container is made anew, at the most that is waited for.
const MADE_ANEW: Duration = Duration::from_secs(2);
/// How many questions are asked at once.
const AT_ONCE: usize = 8;
/// What the server tells of itself, by the last part of its place.
const ANSWERS: [&str; 6] = ["doctor", "controllers", "recover", "manifests", "usage", "copies"];

/// What was read so far.
#[derive(Default)]
struct Collected {
    answers: BTreeMap<String, Value>,
    logs: BTreeMap<String, Vec<String>>,
    missing: Vec<Missing>,
}

impl Collected {
    fn take(&mut self, name: String, answer: Result<Value, Trouble>) {
        match answer {
            Ok(answer) => drop(self.answers.insert(name, answer)),
            Err(trouble) => self.lacks(name, trouble),
        }
    }

    fn lacks(&mut self, what: String, trouble: Trouble) {
        self.missing.push(Missing { what, why: Failure::from(trouble).message });
    }

    fn items(&self, plural: &str) -> &[Value] {
        let listing = self.answers.get(&format!("objects/{plural}.json"));
        listing.and_then(|listing| listing["items"].as_array()).map_or(&[], Vec::as_slice)
    }
}

/// Reads everything. What cannot be read is told in the bundle; only a server that does not answer at all ends it.
///
/// # Errors
/// No server.
pub(super) async fn collect(client: &Client, reach: &Reach<'_>) -> Result<Bundle, Failure> {
    let version = client.get("/version").await?;
    let server = of_server(&version).to_owned();
    let mut collected = Collected::default();
    for kind in kinds() {
        let path = collection(kind, None);
        collected.take(format!("objects/{}.json", kind.plural), client.list(&path, JSON).await);
        collected.take(format!("tables/{}.json", kind.plural), client.list(&path, TABLE).await);
    }
    for name in ANSWERS {
        collected.take(format!("answers/{name}.json"), client.get(&format!("/hearth/v1/{name}")).await);
    }
    collected.answers.insert("answers/version.json".into(), version);
    histories(&mut collected, client).await;
    logs(&mut collected, client).await;
    let mut redactor = redactor(&collected, reach);
    let mut parts = BTreeMap::new();
    for (name, answer) in &collected.answers {
        parts.insert(name.clone(), format!("{:#}\n", redactor.value(answer)).into_bytes());
    }
    for (name, lines) in &collected.logs {
        let lines: Vec<String> = lines.iter().map(|line| redactor.text(line)).collect();
        parts.insert(name.clone(), (lines.join("\n") + "\n").into_bytes());
    }
    for missing in &mut collected.missing {
        missing.why = redactor.text(&missing.why);
    }
    let manifest = Manifest {
        format: FORMAT,
        made_at: client.now(),
        program: VERSION.to_owned(),
        server,
        namespace: client.namespace().to_owned(),
        redacted: redactor.count(),
        missing: collected.missing,
        parts: Vec::new(),
    };
    Ok(Bundle::new(manifest, parts))
}

async fn histories(collected: &mut Collected, client: &Client) {
    let mut asked = Vec::new();
    for kind in kinds().iter().filter(|kind| kind.kind != "Event") {
        for item in collected.items(kind.plural) {
            let word = |field: &str| item["metadata"][field].as_str().map(encode);
            let place: Vec<String> = [word("namespace"), word("name")].into_iter().flatten().collect();
            asked.push(format!("history/{}/{}", kind.plural, place.join("/")));
        }
    }
    let read = asked.into_iter().map(|place| async move {
        let answer = client.get(&format!("/hearth/v1/{place}")).await;
        (place, answer)
    });
    let read: Vec<_> = stream::iter(read).buffered(AT_ONCE).collect().await;
    for (place, answer) in read {
        collected.take(format!("answers/{place}.json"), answer);
    }
}

async fn logs(collected: &mut Collected, client: &Client) {
    let word = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
    let containers: Vec<(String, String)> = collected
        .items("containers")
        .iter()
        .map(|item| (word(item, "namespace"), word(item, "name")))
        .collect();
    let absent = logs_of(containers, collected, client).await;
    if absent.is_empty() {
        return;
    }
    // One that is being made anew has no log for a moment.
    tokio::time::sleep(MADE_ANEW).await;
    for (namespace, name) in logs_of(absent, collected, client).await {
        let what = format!("the log of container/{name} in {namespace}");
        collected.missing.push(Missing { what, why: "there is no container on the machine".into() });
    }
}

/// Reads logs, and returns whose there are none of.
async fn logs_of(
    containers: Vec<(String, String)>,
    collected: &mut Collected,
    client: &Client,
) -> Vec<(String, String)> {
    let mut absent = Vec::new();
    for (namespace, name) in containers {
        // One that goes on for ever, or stops in the middle, keeps nobody from the rest.
        match client.in_time(log(&namespace, &name, client)).await {
            Ok(lines) => drop(collected.logs.insert(format!("logs/{namespace}/{name}.log"), lines)),
            Err(trouble) if trouble.is_not_found() => absent.push((namespace, name)),
            Err(trouble) => collected.lacks(format!("the log of container/{name} in {namespace}"), trouble),
        }
    }
    absent
}

async fn log(namespace: &str, name: &str, client: &Client) -> Result<Vec<String>, Trouble> {
    let (namespace, name) = (encode(namespace), encode(name));
    let path =
        format!("/hearth/v1/namespaces/{namespace}/containers/{name}/logs?timestamps=true&tail={LINES}");
    let mut lines = client.lines(&path, "text/plain").await?;
    let mut log = Vec::new();
    while let Some(line) = lines.next().await? {
        log.push(line);
    }
    Ok(log)
}

/// One that knows every value of a Secret, the token that was used, and all that stands under a telling name.
fn redactor(collected: &Collected, reach: &Reach<'_>) -> Redactor {
    let mut redactor = Redactor::default();
    for secret in collected.items("secrets") {
        // Items of a list need not say their kind.
        secret.as_object().into_iter().for_each(|fields| redactor.learn_secret(fields));
    }
    let file = std::fs::read_to_string(kubeconfig::find(reach.kubeconfig)).unwrap_or_default();
    for line in file.lines() {
        if let Some(token) = line.trim().strip_prefix("token: ") {
            redactor.learn(token);
        }
    }
    collected.answers.values().for_each(|answer| redactor.study(answer));
    collected.logs.values().flatten().for_each(|line| redactor.study(&line.as_str().into()));
    redactor
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    use super::{Collected, Duration, Reach, logs};

    #[tokio::test]
    async fn what_has_no_log_is_told_as_missing_and_the_others_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hearth.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let some = tokio::spawn(async move {
            while let Ok((mut caller, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let read = caller.read(&mut asked).await.unwrap_or(0);
                let is_there = String::from_utf8_lossy(&asked[..read]).contains("/web/");
                let (status, body) = if is_there { ("200 OK", "one\n") } else { ("404 Not Found", "{}") };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                let _ = caller.write_all(answer.as_bytes()).await;
            }
        });
        let client = Reach { kubeconfig: Some(&path), ..Reach::default() }.client().await.unwrap();
        let mut collected = Collected::default();
        let of = |name: &str| json!({ "metadata": { "namespace": "household", "name": name } });
        let items = json!({ "items": [of("gone"), of("web")] });
        collected.answers.insert("objects/containers.json".into(), items);
        logs(&mut collected, &client).await;
        assert_eq!(collected.logs["logs/household/web.log"], ["one"]);
        let missing: Vec<&str> = collected.missing.iter().map(|missing| missing.what.as_str()).collect();
        assert_eq!(missing, ["the log of container/gone in household"]);
        some.abort();
    }

    #[tokio::test]
    async fn a_log_that_stops_in_the_middle_is_told_as_missing_and_keeps_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hearth.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let half = tokio::spawn(async move {
            let mut callers = Vec::new();
            while let Ok((mut caller, _)) = listener.accept().await {
                let _ = caller.read(&mut [0; 4096]).await;
                let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n";
                caller.write_all(answer.as_bytes()).await.unwrap();
                callers.push(caller);
            }
        });
        let client = Reach { kubeconfig: Some(&path), ..Reach::default() }.client().await.unwrap();
        let client = client.hurried(Duration::from_millis(200));
        let mut collected = Collected::default();
        let container = json!({ "metadata": { "namespace": "household", "name": "web" } });
        collected.answers.insert("objects/containers.json".into(), json!({ "items": [container] }));
        let read = tokio::time::timeout(Duration::from_secs(20), logs(&mut collected, &client)).await;
        assert!(read.is_ok(), "it is given up");
        let missing: Vec<&str> = collected.missing.iter().map(|missing| missing.what.as_str()).collect();
        assert_eq!(missing, ["the log of container/web in household"]);
        half.abort();
    }
}
