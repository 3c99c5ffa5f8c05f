//! What an instance's folder says of the app it belongs to: everything a store that lost it needs to take the app up
//! again with nothing made anew. The app; the lineage of its store; each of its parts with the uid that labels and
//! markers on the machine bear; and what was seen once and cannot be seen again (that a job completed, that a folder
//! was made).
//!
//! Secrets are named, never held: a store that is lost has to be told them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_engine::Object;
use hearth_kinds::container::{EnvVar, GivenFile};
use hearth_kinds::{App, Container, ContainerSpec};
use hearth_meta::{OwnerReference, labels};
use serde_json::{Map, Value, json};

use super::observe::Files;

/// The record's place among an instance's files.
pub const RECORD: &str = ".hearth/app.json";

/// The kinds of parts that are recorded, in the order they are brought back. A Revision only follows from them.
const PARTS: [&str; 5] = ["Image", "Network", "Volume", "Container", "Route"];

/// What a status says that can never be seen again, by kind.
const LASTING: [(&str, &[&str]); 2] =
    [("Volume", &["madeAt"]), ("Container", &["completedAt", "completedFor"])];

/// Where the parts are in the record.
const PARTS_FIELD: &str = "parts";
/// Where the lineage is.
const LINEAGE_FIELD: &str = "lineage";
/// Set once the app's deletion was asked for: it is history, and comes back only if a person asks for it by name.
const RETIRED_FIELD: &str = "retired";

/// An app as its instance's folder remembers it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The app, with its uid.
    pub app: Object,
    /// The lineage of the store it was in; absent in records of older programs.
    pub lineage: Option<String>,
    /// Whether it was deleted, and only its data stayed.
    pub is_retired: bool,
    /// Its parts, each with its uid and its owner, in the order they may be brought back.
    pub parts: Vec<Object>,
}

impl Record {
    /// Reads a record; one of an older program has no parts.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))?;
        let fields = value.as_object_mut().ok_or("is not a JSON object")?;
        let lineage = fields.remove(LINEAGE_FIELD).and_then(|lineage| lineage.as_str().map(str::to_owned));
        let is_retired = fields.remove(RETIRED_FIELD).is_some_and(|retired| retired == true);
        let parts = fields.remove(PARTS_FIELD);
        let app = Object::from_value(value).map_err(|error| format!("holds no app: {error}"))?;
        if app.kind != "App" || app.uid().is_empty() || app.name().is_empty() {
            return Err("holds no app with a name and a uid".to_owned());
        }
        let parts = parts.as_ref().and_then(Value::as_array).into_iter().flatten();
        let mut parts = parts.map(|part| read_part(part, &app)).collect::<Result<Vec<_>, _>>()?;
        parts.sort_by_key(|part| PARTS.iter().position(|kind| *kind == part.kind));
        Ok(Self { app, lineage, is_retired, parts })
    }

    /// The secrets its containers use, by name and key.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let containers = self.parts.iter().filter(|part| part.kind == "Container");
        let specs = containers.filter_map(|part| Some(part.typed::<Container>().ok()?.spec));
        let named = |spec: ContainerSpec| -> Vec<(String, String)> {
            let of_env = spec.env.iter().flat_map(EnvVar::secrets);
            let of_files = spec.files.iter().flat_map(GivenFile::secrets);
            of_env.chain(of_files).map(|secret| (secret.name.clone(), secret.key.clone())).collect()
        };
        let of_parts = specs.flat_map(named);
        let app = self.app.typed::<App>().ok();
        let values = app.into_iter().flat_map(|app| app.spec.values);
        let of_app = values.filter_map(|value| Some(value.value_from?.secret_key_ref));
        let mut secrets: Vec<_> = of_parts.chain(of_app.map(|secret| (secret.name, secret.key))).collect();
        secrets.sort();
        secrets.dedup();
        secrets
    }
}

fn read_part(part: &Value, app: &Object) -> Result<Object, String> {
    let mut part =
        Object::from_value(part.clone()).map_err(|error| format!("holds a part that is {error}"))?;
    if part.uid().is_empty() || part.name().is_empty() {
        return Err(format!("holds a {} without a name or a uid", part.kind));
    }
    // A cluster-scoped object cannot be owned from within a namespace; its label stands for it.
    if part.kind != "Image" {
        part.metadata.namespace = app.metadata.namespace.clone();
        part.metadata.owner_references = Some(vec![owner(app.name(), app.uid())]);
    }
    Ok(part)
}

/// An app as the owner of a part.
pub(super) fn owner(name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: labels::API_VERSION.to_owned(),
        kind: "App".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The record of an app as it is declared now, with its parts as they stand.
pub(super) fn record(app: &App, lineage: &str, children: &[Arc<Object>]) -> Vec<u8> {
    let metadata = &app.metadata;
    let mut record = json!({
        "apiVersion": labels::API_VERSION, "kind": "App",
        "metadata": {
            "name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid,
            "labels": metadata.labels, "generation": metadata.generation,
            "creationTimestamp": metadata.creation_timestamp,
        },
        "spec": app.spec,
        LINEAGE_FIELD: lineage,
        PARTS_FIELD: parts(children),
    });
    let annotations = app.metadata.annotations.iter().flatten();
    // Besides what tells a copy from a newer one, whose file it was, so that the file has it again.
    let kept =
        annotations.filter(|(name, _)| [labels::POKED_AT, labels::DECLARED_IN].contains(&name.as_str()));
    let kept: BTreeMap<_, _> = kept.collect();
    if !kept.is_empty() {
        record["metadata"]["annotations"] = json!(kept);
    }
    record.to_string().into_bytes()
}

/// The same of an app that goes: what is left of it is data that somebody keeps.
pub(super) fn retired(app: &App, lineage: &str, children: &[Arc<Object>]) -> Vec<u8> {
    let mut record: Value = serde_json::from_slice(&record(app, lineage, children)).unwrap_or_default();
    record[RETIRED_FIELD] = json!(true);
    record.to_string().into_bytes()
}

fn parts(children: &[Arc<Object>]) -> Vec<Value> {
    let recorded = |child: &&Arc<Object>| PARTS.contains(&child.kind.as_str()) && !child.is_going();
    let mut parts: Vec<&Arc<Object>> = children.iter().filter(recorded).collect();
    parts.sort_by_key(|part| part.key());
    parts.into_iter().map(|part| self::part(part)).collect()
}

fn part(child: &Object) -> Value {
    let metadata = &child.metadata;
    let mut part = json!({
        "apiVersion": child.api_version, "kind": child.kind,
        "metadata": { "name": metadata.name, "uid": metadata.uid, "labels": metadata.labels },
        "spec": child.spec(),
    });
    let lasting = LASTING.iter().find(|(kind, _)| *kind == child.kind).map_or(&[][..], |(_, fields)| *fields);
    let kept: Map<String, Value> = lasting
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), child.status().get(field)?.clone())))
        .collect();
    if !kept.is_empty() {
        part["status"] = Value::Object(kept);
    }
    part
}

pub(super) fn poke(app: &App) -> Option<&String> {
    app.metadata.annotations.as_ref()?.get(labels::POKED_AT)
}

/// The app as it was when these files were kept.
pub(super) fn recorded(files: &Files) -> Option<App> {
    serde_json::from_slice(files.get(RECORD)?).ok()
}

/// Whether these files say of an app that it is there.
pub(super) fn is_live(files: &Files) -> bool {
    files.get(RECORD).and_then(|bytes| Record::parse(bytes).ok()).is_some_and(|record| !record.is_retired)
}

/// Whether what an app is made of is kept: its own files and its own wish, whatever is recorded of its parts.
pub(super) fn keeps_wish(saved: &Files, wanted: &Files) -> bool {
    let own = |files: &Files| {
        let mut files = files.clone();
        let record = files.remove(RECORD).and_then(|record| serde_json::from_slice::<Value>(&record).ok());
        let wish = record.map(|record| [record["metadata"].clone(), record["spec"].clone()]);
        (files, wish)
    };
    saved == wanted || own(saved) == own(wanted)
}
