//! What can be seen of a home: through its command line, its store and its hands.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;
use hearth_capabilities::containers::ContainerFacts;
use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_engine::store::{EventQuery, EventRow};
use hearth_engine::{Key, Object};
use serde_json::Value;

use super::{Home, Page};

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    /// Runs `hearth` against this home, as if into a pipe.
    pub(crate) async fn hearth(&self, words: &[&str]) -> Said {
        let (out, kept) = Output::kept(None);
        let kubeconfig = self.config.data_dir.join("admin.kubeconfig").display().to_string();
        let first = ["hearth", "--kubeconfig", &kubeconfig];
        let args = first.iter().chain(words).map(OsString::from);
        let exit = Box::pin(hearth::cli::run_kept(args, &out)).await;
        Said { exit, out: kept.out(), err: kept.err() }
    }

    /// What `hearth why` says of an object now.
    pub(crate) async fn why(&self, object: &str) -> String {
        self.hearth(&["why", object]).await.out
    }

    /// Runs `hearth`, which must do as it is told.
    pub(crate) async fn ask(&self, words: &[&str]) -> String {
        let said = self.hearth(words).await;
        assert_eq!(said.exit, Exit::Done, "{words:?}: {}{}", said.out, said.err);
        said.out
    }

    /// The key of an object: `trio` of the household, `system/caddy`, or of the machine as `/name`.
    pub(crate) fn key(kind: &str, name: &str) -> Key {
        match name.split_once('/') {
            Some((namespace, name)) => Key::new(kind, namespace, name),
            None => Key::new(kind, "household", name),
        }
    }

    /// One object, if it is there.
    pub(crate) fn find(&self, kind: &str, name: &str) -> Option<Arc<Object>> {
        self.store().get(&Self::key(kind, name))
    }

    /// One object as JSON.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).unwrap_or_else(|| panic!("there is no {kind} {name}")).to_value()
    }

    /// How an object stands by its newest spec, as people are told; empty where that is not known yet.
    pub(crate) fn verdict(&self, kind: &str, name: &str) -> String {
        let Some(object) = self.find(kind, name) else { return String::new() };
        if object.status()["observedGeneration"].as_i64() != object.metadata.generation {
            return String::new();
        }
        object.status()["summary"].as_str().unwrap_or_default().to_owned()
    }

    /// The container of an object, as it is on the machine.
    pub(crate) async fn container(&self, name: &str) -> Option<ContainerFacts> {
        self.hands.containers.inspect(&self.engine_name(name)).await.unwrap()
    }

    /// The id of a container that must be there.
    pub(crate) async fn id(&self, name: &str) -> String {
        self.container(name).await.unwrap_or_else(|| panic!("there is no container {name}")).id
    }

    /// What has happened to an object.
    pub(crate) async fn events(&self, kind: &str, name: &str) -> Vec<EventRow> {
        let key = Self::key(kind, name);
        let query = EventQuery { kind: Some(key.kind), name: Some(key.name), ..EventQuery::default() };
        let namespace = key.namespace;
        let events = self.store().events(&query).await.unwrap();
        let is_here = |row: &EventRow| row.note.about.namespace.clone().unwrap_or_default() == namespace;
        events.into_iter().filter(is_here).collect()
    }

    /// How often something has happened to an object, by its reason and a part of the message.
    pub(crate) async fn count(&self, kind: &str, name: &str, reason: &str, part: &str) -> i64 {
        let events = self.events(kind, name).await;
        let is_meant = |row: &&EventRow| row.note.reason == reason && row.note.message.contains(part);
        events.iter().filter(is_meant).map(|row| row.count).sum()
    }

    /// What a browser is answered at an app's address.
    pub(crate) async fn page(&self, slug: &str) -> Page {
        self.world.page(&format!("{slug}.local")).await
    }

    /// The folder of an app's data on the machine.
    pub(crate) fn data(&self, app: &str, path: &str) -> PathBuf {
        let uid = self.get("App", app)["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.config.data_dir.join("instances").join(uid).join("data").join(path)
    }

    /// A leaf of an app's data.
    pub(crate) fn leaf(&self, app: &str, path: &str) -> Leaf {
        let instance = self.get("App", app)["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Leaf { instance, path: path.to_owned() }
    }

    /// What is at a leaf now.
    pub(crate) async fn leaf_state(&self, leaf: &Leaf) -> LeafState {
        self.hands.volumes.inspect(leaf).await.unwrap()
    }

    /// Every object with its verdict and reason, and the latest events: for when a story fails.
    pub(super) async fn everything(&self) -> String {
        let objects = self.store().all();
        let mut lines: Vec<String> = objects
            .iter()
            .filter(|object| !object.status().is_null())
            .map(|object| {
                let word = |field: &str| object.status()[field].as_str().unwrap_or_default().to_owned();
                let going = if object.is_going() { " (going)" } else { "" };
                format!("{}{going}: {} {} {}", object.key(), word("summary"), word("reason"), word("message"))
            })
            .collect();
        let events = self.store().events(&EventQuery::default()).await.unwrap_or_default();
        lines.extend(events.iter().rev().take(60).rev().map(|row| {
            format!(
                "{} {} x{}: {} {}",
                row.last_at, row.note.about, row.count, row.note.reason, row.note.message
            )
        }));
        lines.push(format!("{:#?}", self.engine().diagnostics()));
        lines.join("\n")
    }
}
