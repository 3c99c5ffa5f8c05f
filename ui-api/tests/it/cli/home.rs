//! A home for tests: a real store behind the real server, over TLS, without controllers, so that each test decides
//! what is seen.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use hearth::cli::exit::Exit;
use hearth::cli::output::{Kept, Output};
use hearth::server::{Server, ServerOptions};
use hearth_engine::store::{EventKind, EventNote};
use hearth_engine::{Key, Object, OpenOptions, Store, SystemClock, WriteOptions};
use hearth_meta::ObjectRef;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// What a command that goes on has said so far.
pub(crate) struct Followed(Kept);

impl Followed {
    /// Waits until it has said something, however busy the machine is.
    pub(crate) async fn until(&self, part: &str) {
        for _ in 0..3000 {
            if self.0.out().contains(part) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never said {part:?}: {} {}", self.0.out(), self.0.err());
    }
}

/// A running home.
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
    kubeconfig: String,
    server: Option<Server>,
}

impl Home {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions {
            data_dir: folder.path().join("data"),
            kinds: hearth_kinds::all(&hearth_kinds::Settings::default()),
            clock: Arc::new(SystemClock::start()),
        };
        let store = Store::open(options).await.unwrap();
        for name in ["household", "system"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            store.create(Object::from_value(namespace).unwrap(), &WriteOptions::default()).await.unwrap();
        }
        let server = ServerOptions::alone(store.clone(), folder.path().join("data"));
        let server = Server::start(server).await.unwrap();
        let kubeconfig = server.kubeconfig().display().to_string();
        Self { store, folder, kubeconfig, server: Some(server) }
    }

    /// The same home with nothing running.
    pub(crate) async fn stopped(mut self) -> Self {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
        self.store.close().await;
        self
    }

    /// The kubeconfig file of this home's admin.
    pub(crate) fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// A kubeconfig file for an address.
    pub(crate) fn kubeconfig_for(&self, address: &str) -> String {
        let file = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "home",
            "clusters": [{ "name": "home", "cluster": { "server": address } }],
            "users": [{ "name": "admin", "user": {} }],
            "contexts": [{ "name": "home", "context": { "cluster": "home", "user": "admin" } }],
        });
        self.file(&format!("{}.kubeconfig", address.replace(['/', ':'], "_")), &file.to_string())
    }

    /// Writes a file into the home's folder and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs a command as if into a pipe.
    pub(crate) async fn run(&self, words: &[&str]) -> Said {
        self.run_with(&self.kubeconfig, words).await
    }

    pub(crate) async fn run_with(&self, kubeconfig: &str, words: &[&str]) -> Said {
        self.run_at(None, kubeconfig, words).await
    }

    /// Runs a command as if on a terminal of this width.
    pub(crate) async fn run_wide(&self, width: usize, words: &[&str]) -> Said {
        self.run_at(Some(width), &self.kubeconfig, words).await
    }

    /// Runs a command that goes on for ever while something happens that goes by what it says, and then stops it.
    pub(crate) async fn follow(
        &self,
        words: &[&str],
        happens: impl AsyncFnOnce(&Followed),
    ) -> (String, String) {
        self.follow_with(&self.kubeconfig, words, happens).await
    }

    /// The same as somebody else.
    pub(crate) async fn follow_with(
        &self,
        kubeconfig: &str,
        words: &[&str],
        happens: impl AsyncFnOnce(&Followed),
    ) -> (String, String) {
        let (out, kept) = Output::kept(None);
        let first = ["hearth", "--kubeconfig", kubeconfig];
        let args = first.iter().chain(words).map(OsString::from);
        let said = Followed(kept);
        tokio::select! {
            ended = hearth::cli::run_kept(args, &out) => {
                panic!("it ended by itself: {ended:?} {} {}", said.0.out(), said.0.err());
            }
            () = happens(&said) => {}
        }
        (said.0.out(), said.0.err())
    }

    async fn run_at(&self, width: Option<usize>, kubeconfig: &str, words: &[&str]) -> Said {
        let (out, kept) = Output::kept(width);
        let first = ["hearth", "--kubeconfig", kubeconfig];
        let args = first.iter().chain(words).map(OsString::from);
        let exit = hearth::cli::run_kept(args, &out).await;
        let folder = format!("{}/", self.folder.path().display());
        Said { exit, out: kept.out().replace(&folder, ""), err: kept.err().replace(&folder, "") }
    }

    /// Makes an object as a controller would.
    pub(crate) async fn make(&self, object: Value) -> Value {
        let object = Object::from_value(object).unwrap();
        self.store.create(object, &WriteOptions::controller("app")).await.unwrap().to_value()
    }

    /// Makes an app in the household.
    pub(crate) async fn app(&self, name: &str) -> Value {
        self.make(json!({
            "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": name, "namespace": "household" },
            "spec": { "compose": "services: { web: { image: x } }" },
        }))
        .await
    }

    /// Writes a status as a controller would, for the newest generation.
    pub(crate) async fn see(&self, kind: &str, name: &str, mut status: Value) {
        let key = Key::new(kind, "household", name);
        let object = self.store.get(&key).unwrap();
        status["observedGeneration"] = object.metadata.generation.into();
        self.store.update_status(&key, object.uid(), status).await.unwrap();
    }

    /// Does the same a little later, while a command runs.
    pub(crate) fn see_later(&self, after: Duration, kind: &'static str, name: &'static str, status: Value) {
        let store = self.store.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let key = Key::new(kind, "household", name);
            loop {
                if let Some(object) = store.get(&key) {
                    let mut status = status;
                    status["observedGeneration"] = object.metadata.generation.into();
                    store.update_status(&key, object.uid(), status).await.unwrap();
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    }

    /// Drops an object's finalizers as its controller would once everything is taken down.
    pub(crate) fn take_down_later(&self, kind: &'static str, name: &'static str) {
        let store = self.store.clone();
        tokio::spawn(async move {
            let key = Key::new(kind, "household", name);
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let Some(object) = store.get(&key).filter(|object| object.is_going()) else { continue };
                for finalizer in object.metadata.finalizers.iter().flatten() {
                    store.drop_finalizer(&key, object.uid(), finalizer).await.unwrap();
                }
                return;
            }
        });
    }

    /// Notes an event about an app.
    pub(crate) async fn note(&self, name: &str, kind: EventKind, reason: &str, message: &str) {
        let about = ObjectRef::namespaced("App", "household", name);
        let object = self.store.get(&Key::new("App", "household", name)).unwrap();
        let note = EventNote {
            about,
            uid: object.uid().to_owned(),
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
            reporter: "controller/app".to_owned(),
        };
        self.store.note(note).await;
        // The writer works in order: once this is answered, the event is down too.
        self.store.update_status(&object.key(), object.uid(), object.status().clone()).await.unwrap();
    }
}

/// An object made by a controller for another one.
pub(crate) fn part_of(owner: &Value, kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": kind,
        "metadata": {
            "name": name, "namespace": owner["metadata"]["namespace"],
            "labels": { "hearth.dev/app": owner["metadata"]["name"] },
            "ownerReferences": [{
                "apiVersion": "hearth.dev/v1", "kind": owner["kind"],
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": true,
            }],
        },
        "spec": spec,
    })
}
