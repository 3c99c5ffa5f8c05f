//! What is seen of an app: its source, admitted or refused; its files; its children.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_charts::admit::{Admitted, Package, Value, admit};
use hearth_engine::controller::{Blind, Wanted};
use hearth_engine::{Object, Query, Store};
use hearth_kinds::App;
use hearth_meta::{Problem, labels};
use serde_json::json;

use super::AppController;
use crate::fault::blind;

/// The compose file's name in an instance, where it was given inline.
const COMPOSE: &str = "compose.yaml";
/// What an instance's folder says of the app it belongs to, so that a lost store can adopt it again.
const RECORD: &str = ".hearth/app.json";

/// Files by path.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Everything a decision about one app needs.
#[derive(Debug)]
pub struct AppSeen {
    /// What its source may do, or every problem with it.
    pub(super) admitted: Result<Admitted, Vec<Problem>>,
    /// The files its instance should hold.
    pub(super) files: Files,
    /// Whether it holds them.
    pub(super) files_saved: bool,
    /// Whether the instance holds files at all.
    pub(super) has_files: bool,
    /// Its children, as the store has them, those on their way out included.
    pub(super) children: Vec<Arc<Object>>,
}

impl AppSeen {
    /// The children of one kind.
    pub(super) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.children.iter().filter(move |child| child.kind == kind)
    }

    /// One child.
    pub(super) fn child(&self, kind: &str, name: &str) -> Option<&Arc<Object>> {
        self.children.iter().find(|child| child.kind == kind && child.name() == name)
    }
}

impl AppController {
    pub(super) async fn look(&self, wanted: &Wanted<App>) -> Result<AppSeen, Blind> {
        let saved = self.volumes.load_files(wanted.uid()).await.map_err(blind)?;
        let children = children(&self.store, wanted.uid());
        let (files, admitted) = if wanted.gone {
            (Files::new(), Err(Vec::new()))
        } else {
            match self.source(wanted, saved.as_ref()).await? {
                Ok(files) => {
                    let admitted = admit_app(&wanted.object, &files);
                    (files, admitted)
                }
                Err(problem) => (saved.clone().unwrap_or_default(), Err(vec![problem])),
            }
        };
        let files_saved = saved.as_ref() == Some(&files);
        Ok(AppSeen {
            admitted,
            files,
            files_saved,
            has_files: saved.is_some_and(|saved| !saved.is_empty()),
            children,
        })
    }

    /// The author's files byte for byte, and the record of whose they are. A package is read when the app is
    /// declared or changed; from then on the copy in the instance counts.
    async fn source(
        &self,
        wanted: &Wanted<App>,
        saved: Option<&Files>,
    ) -> Result<Result<Files, Problem>, Blind> {
        let app = &wanted.object;
        let record = record(app);
        let mut files = match (&app.spec.compose, &app.spec.package) {
            (Some(compose), _) => inline(compose),
            (None, Some(_)) if saved.is_some_and(|saved| saved.get(RECORD) == Some(&record)) => {
                return Ok(Ok(saved.cloned().unwrap_or_default()));
            }
            (None, Some(package)) => match self.volumes.read_package(&package.path).await {
                Ok(files) => files,
                Err(hearth_capabilities::Fault::Blind(message)) => return Err(Blind(message)),
                Err(fault) => return Ok(Err(Problem::new("spec.package.path", fault.to_string()))),
            },
            (None, None) => Files::new(),
        };
        files.insert(RECORD.to_owned(), record);
        Ok(Ok(files))
    }
}

/// The files of an app whose compose file is given inline.
pub(super) fn inline(compose: &str) -> Files {
    Files::from([(COMPOSE.to_owned(), compose.as_bytes().to_vec())])
}

/// Everything needed to declare the app again. Secrets are named, never held.
fn record(app: &App) -> Vec<u8> {
    let metadata = &app.metadata;
    let record = json!({
        "apiVersion": labels::API_VERSION, "kind": "App",
        "metadata": {
            "name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid,
            "labels": metadata.labels, "generation": metadata.generation,
        },
        "spec": app.spec,
    });
    record.to_string().into_bytes()
}

pub(super) fn admit_app(app: &App, files: &Files) -> Result<Admitted, Vec<Problem>> {
    let values = values(app);
    let package = Package {
        files,
        values: &values,
        devices: &app.spec.permissions.devices,
        folders: &app.spec.permissions.folders,
        main_service: app.spec.main_service.as_deref(),
    };
    let named =
        |problem: Problem| if problem.field == "mainService" { problem.under("spec") } else { problem };
    let admitted = admit(&package).map_err(|problems| problems.into_iter().map(named).collect::<Vec<_>>())?;
    if admitted.main_service.is_none() {
        let names: Vec<&str> = admitted.services.iter().map(|service| service.name.as_str()).collect();
        let message = format!("is required, since there are several services: {}", names.join(", "));
        return Err(vec![Problem::new("spec.mainService", message)]);
    }
    Ok(admitted)
}

/// What the compose file's variables become: the person's values, and what Hearth tells every app (AL-37).
fn values(app: &App) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    values
        .insert("HEARTH_INSTANCE_ID".to_owned(), Value::Plain(app.metadata.uid.clone().unwrap_or_default()));
    if let Some(url) = super::render::url(app) {
        values.insert("HEARTH_APP_URL".to_owned(), Value::Plain(url));
    }
    for value in &app.spec.values {
        let given = match &value.value {
            Some(text) => Value::Plain(text.clone()),
            None => Value::Secret,
        };
        values.insert(value.name.clone(), given);
    }
    values
}

/// The children: what names the app as its owner, and its Images, which belong to the whole machine and carry the
/// owner as a label.
pub(super) fn children(store: &Store, uid: &str) -> Vec<Arc<Object>> {
    let mut children = store.owned_by(uid);
    children.extend(store.list(&Query::of("Image").labelled(labels::OWNER_UID, uid)).items);
    children
}
