//! A server for tests: real TLS on a free port, a real store in a temporary folder, no controllers.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, StatusCode};
use hearth::server::{Server, ServerOptions};
use hearth_engine::Clock;
use hearth_engine::clock::SystemClock;
use hearth_engine::store::OpenOptions;
use hearth_engine::{Object, Store, WriteOptions};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub(crate) const APPS: &str = "/apis/hearth.dev/v1/namespaces/household/apps";

/// A running server.
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) server: Server,
    pub(crate) admin: Person,
    pub(crate) folder: TempDir,
}

/// What is asked of a home without more words is asked by its admin.
impl Deref for Home {
    type Target = Person;

    fn deref(&self) -> &Person {
        &self.admin
    }
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
        Self::start_with(|_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn start_with(settings: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::start_as(Arc::new(SystemClock::start()), settings).await
    }

    /// The same by another clock.
    pub(crate) async fn start_by(clock: Arc<dyn Clock>) -> Self {
        Self::start_as(clock, |_| {}).await
    }

    async fn start_as(clock: Arc<dyn Clock>, settings: impl FnOnce(&mut ServerOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, clock).await;
        for name in ["household", "system"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            store.create(Object::from_value(namespace).unwrap(), &WriteOptions::default()).await.unwrap();
        }
        Self::serve(folder, store, settings).await
    }

    async fn serve(folder: TempDir, store: Store, settings: impl FnOnce(&mut ServerOptions)) -> Self {
        let mut options = ServerOptions::alone(store.clone(), folder.path().to_owned());
        settings(&mut options);
        let server = Server::start(options).await.unwrap();
        let client = client(Kubeconfig::read_from(server.kubeconfig()).unwrap()).await;
        Self { store, server, admin: Person { client }, folder }
    }

    /// Stops it, and starts another over what it kept.
    pub(crate) async fn restart(self) -> Self {
        let Self { store, server, folder, .. } = self;
        server.stop().await;
        store.close().await;
        drop(store);
        let store = open(&folder, Arc::new(SystemClock::start())).await;
        Self::serve(folder, store, |_| {}).await
    }

    /// Makes a token, and whoever has it.
    pub(crate) async fn person(&self, name: &str, role: &str, namespaces: &[&str]) -> Person {
        let token = token_of(name);
        let hash: String =
            Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let object = json!({
            "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": name },
            "spec": { "role": role, "namespaces": namespaces, "sha256": hash },
        });
        let made = self.post("/apis/hearth.dev/v1/tokens", &object).await;
        assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
        let mut file = Kubeconfig::read_from(self.server.kubeconfig()).unwrap();
        file.auth_infos[0].auth_info.as_mut().unwrap().token = Some(token.into());
        Person { client: client(file).await }
    }

    /// The admin, with a program that does not ask again by itself.
    pub(crate) async fn hasty(&self) -> Person {
        let file = Kubeconfig::read_from(self.server.kubeconfig()).unwrap();
        let mut config =
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        config.default_retry = false;
        Person { client: kube::Client::try_from(config).unwrap() }
    }

    /// Makes a namespace.
    pub(crate) async fn namespace(&self, name: &str) {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.store.create(Object::from_value(namespace).unwrap(), &WriteOptions::default()).await.unwrap();
    }

    /// The same server, asked with another token, or with none.
    pub(crate) async fn asked_with(self, token: Option<&str>) -> Self {
        let mut file = Kubeconfig::read_from(self.server.kubeconfig()).unwrap();
        file.auth_infos[0].auth_info.as_mut().unwrap().token = token.map(|token| token.to_owned().into());
        Self { admin: Person { client: client(file).await }, ..self }
    }

    /// Makes an app.
    pub(crate) async fn app(&self, name: &str) -> Value {
        let made = self.post(APPS, &app(name)).await;
        assert_eq!(made.code, StatusCode::CREATED, "{}", made.body);
        made.body
    }
}

async fn open(folder: &TempDir, clock: Arc<dyn Clock>) -> Store {
    let kinds = hearth_kinds::all(&hearth_kinds::Settings::default());
    Store::open(OpenOptions { data_dir: folder.path().to_owned(), kinds, clock }).await.unwrap()
}

/// Somebody who has a token of their own.
pub(crate) struct Person {
    pub(crate) client: kube::Client,
}

impl Person {
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

    /// The lines of a watch until it ends by itself.
    pub(crate) async fn watch(&self, path: &str) -> Vec<Value> {
        let read = tokio::time::timeout(Duration::from_secs(20), self.get(path));
        let answer = read.await.expect("the watch ends when its time is up");
        answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The token of somebody who was made here.
pub(crate) fn token_of(name: &str) -> String {
    format!("hearth_{name}_0123456789abcdef")
}

pub(crate) async fn client(file: Kubeconfig) -> kube::Client {
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// An app as a person writes it.
pub(crate) fn app(name: &str) -> Value {
    app_of("household", name)
}

/// The same in a namespace.
pub(crate) fn app_of(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": { "name": name, "namespace": namespace },
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
