//! A whole home as programs made for Kubernetes ask for it: the log of what ran before, and the machine as a Node.

use std::time::Duration;

use axum::http::Request;
use hearth::cli::exit::Exit;
use hearth_pretend::faults::Backend;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::Kubeconfig;

use serde_json::{Value, json};

use super::super::api::home::client;
use super::whole::Whole;

const NOISY: &str = r#"
apiVersion: hearth.dev/v1
kind: App
metadata: { name: noisy }
spec:
  slug: noisy
  compose: |
    services:
      web: { image: "sample/web:1", command: [write] }
"#;

const LOG: &str = "/api/v1/namespaces/household/pods/noisy-web/log";

async fn read(client: &kube::Client, query: &str) -> (u16, String) {
    get(client, &format!("{LOG}?{query}")).await
}

/// The log once all that the container has to say is in it.
async fn of_three_lines(client: &kube::Client) -> String {
    for _ in 0..200 {
        let (_, text) = read(client, "").await;
        assert!(text.lines().count() <= 3, "{text}");
        if text.lines().count() == 3 {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never wrote three lines");
}

async fn get(client: &kube::Client, path: &str) -> (u16, String) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let answer = client.send(request).await.unwrap();
    let code = answer.status().as_u16();
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(text.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_the_last_start_is_read_whole_or_by_its_last_lines() {
    let home = Whole::start().await;
    assert_eq!(home.apply(NOISY, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let client = client(Kubeconfig::read_from(home.running.server.kubeconfig()).unwrap()).await;
    let (code, told) = read(&client, "previous=true").await;
    assert_eq!(code, 400, "{told}");
    assert!(told.contains("previous terminated container"), "{told}");
    let first = of_three_lines(&client).await;

    home.machine.exit("hearth_household_noisy-web", 1);
    home.until(&["get", "container/noisy-web", "-o", "jsonpath={.status.restarts}"], "1").await;
    home.until(&["get", "container/noisy-web", "-o", "jsonpath={.status.state}"], "running").await;
    assert_eq!(of_three_lines(&client).await, first, "only of the time since the start");
    let (code, before) = read(&client, "previous=true&timestamps=true").await;
    assert_eq!((code, before.lines().count()), (200, 3), "{before}");
    let last = before.lines().last().unwrap().split_once(' ').unwrap().1;
    for (query, wanted) in [
        ("tailLines=1", format!("{last}\n")),
        ("tailLines=0", String::new()),
        ("tailLines=4000000000", first.clone()),
        ("tailLines=2&limitBytes=2", first.lines().nth(1).unwrap()[..2].to_owned()),
    ] {
        assert_eq!(read(&client, &format!("previous=true&{query}")).await, (200, wanted), "{query}");
    }
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_is_the_engines_machine_and_a_watch_tells_when_it_stops_answering() {
    let home = Whole::start().await;
    let client = client(Kubeconfig::read_from(home.running.server.kubeconfig()).unwrap()).await;
    let watching = get(&client, "/api/v1/nodes?watch=true&timeoutSeconds=20");
    let (told, ()) = tokio::join!(watching, async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        home.machine.unreachable_backend(Backend::Engine, true);
        tokio::time::sleep(Duration::from_secs(8)).await;
        home.machine.unreachable_backend(Backend::Engine, false);
    });
    let lines: Vec<Value> = told.1.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {}", line["type"], line["object"]["status"]["conditions"][0]["status"]))
        .collect();
    assert_eq!(shown, [r#""ADDED" "True""#, r#""MODIFIED" "Unknown""#, r#""MODIFIED" "True""#], "{}", told.1);
    let since = |line: &Value| line["object"]["status"]["conditions"][0]["lastTransitionTime"].clone();
    assert_ne!(since(&lines[0]), since(&lines[1]));
    for line in &lines {
        let status = &line["object"]["status"];
        assert_eq!(
            status["capacity"],
            json!({ "cpu": "4", "memory": format!("{}Ki", 16 << 20) }),
            "{status}"
        );
        assert_eq!(status["nodeInfo"]["osImage"], "A pretend machine");
        assert_eq!(status["addresses"][0]["address"], line["object"]["metadata"]["name"]);
    }
    home.running.stop().await;
}
