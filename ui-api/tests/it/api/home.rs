//! A server for tests: real TLS on a free port, a real store in a temporary folder, no controllers.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, StatusCode};
use hearth::server::{Server, ServerOptions};
use hearth_engine::clock::SystemClock;
use hearth_engine::store::OpenOptions;
use hearth_engine::{Object, Store, WriteOptions};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const APPS: &str = "/apis/hearth.dev/v1/namespaces/household/apps";

/// A running server.
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) server: Server,
    pub(crate) client: kube::Client,
    pub(crate) folder: TempDir,
}

/// An answer: its code, its head, and its body as a text and, where it is that, as JSON.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Home {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().to_owned();
        let kinds = hearth_kinds::all(&hearth_kinds::Settings::default());
        let clock = Arc::new(SystemClock::start());
        let store = Store::open(OpenOptions { data_dir: data_dir.clone(), kinds, clock }).await.unwrap();
        for name in ["household", "system"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            store.create(Object::from_value(namespace).unwrap(), &WriteOptions::default()).await.unwrap();
        }
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions {
            store: store.clone(),
            data_dir,
            listen,
            containers: None,
            engine: None,
            manifests: None,
            machine: None,
        };
        let server = Server::start(options).await.unwrap();
        let client = client(Kubeconfig::read_from(server.kubeconfig()).unwrap()).await;
        Self { store, server, client, folder }
    }

    /// The same server, asked with another token, or with none.
    pub(crate) async fn asked_with(self, token: Option<&str>) -> Self {
        let mut file = Kubeconfig::read_from(self.server.kubeconfig()).unwrap();
        file.auth_infos[0].auth_info.as_mut().unwrap().token = token.map(|token| token.to_owned().into());
        Self { client: client(file).await, ..self }
    }

    /// Sends a request as the admin.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        head: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        let answer = self.client.send(request.body(Body::from(body.into())).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { code: parts.status, headers: parts.headers, text, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, &[("content-type", "application/merge-patch+json")], body.to_string())
            .await
    }

    /// Makes an app.
    pub(crate) async fn app(&self, name: &str) -> Value {
        let made = self.post(APPS, &app(name)).await;
        assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
        made.body
    }

    /// The lines of a watch until it ends by itself.
    pub(crate) async fn watch(&self, path: &str) -> Vec<Value> {
        let read = tokio::time::timeout(Duration::from_secs(20), self.get(path));
        let answer = read.await.expect("the watch ends when its time is up");
        answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

async fn client(file: Kubeconfig) -> kube::Client {
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// An app as a person writes it.
pub(crate) fn app(name: &str) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": { "name": name, "namespace": "household" },
        "spec": { "slug": name, "compose": "services: { web: { image: \"nginx:1.27\" } }" },
    })
}

/// What the causes of a refusal name.
pub(crate) fn fields(answer: &Answer) -> Vec<String> {
    let causes = answer.body["details"]["causes"].as_array().cloned().unwrap_or_default();
    causes.iter().map(|cause| cause["field"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The `type name` of each line of a watch.
pub(crate) fn told(lines: &[Value]) -> Vec<String> {
    let name = |line: &Value| line["object"]["metadata"]["name"].as_str().unwrap_or("-").to_owned();
    lines.iter().map(|line| format!("{} {}", line["type"].as_str().unwrap_or_default(), name(line))).collect()
}
