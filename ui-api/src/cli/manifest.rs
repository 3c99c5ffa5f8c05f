//! The files people write: read whole, checked whole, and only then used.
//!
//! What can be told without a server is told here, with the place in the file: YAML, kinds, names, the schema and
//! the rules of the kind. Nothing of a set with a problem is sent.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hearth_charts::yaml::{Document, parse_documents};
use hearth_meta::problem::nearest;
use hearth_meta::{Problem, Scope, schema};
use serde_json::Value;

use super::caret;
use super::consent;
use super::exit::{Exit, Failure};
use super::resource::{Target, kinds};
use super::yaml;

/// What is read from standard input is called so.
const STDIN: &str = "stdin";

/// One object a person wrote.
pub(super) struct Manifest {
    /// Which object it is.
    pub(super) target: Target,
    /// What it says, with its namespace filled in.
    pub(super) value: Value,
    file: String,
    document: Arc<Document>,
    /// Where in the document it is: nowhere else, or as an item of a list.
    within: String,
}

/// All objects of a command, and the texts they came from.
pub(super) struct Manifests {
    /// The objects, in an order in which they can be made.
    pub(super) items: Vec<Manifest>,
    texts: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads one object from a text.
    ///
    /// # Errors
    /// Every problem, each with its place in the text.
    pub(super) fn read_text(text: &str, namespace: &str) -> Result<Self, Vec<Problem>> {
        let mut documents = parse_documents(STDIN, text)?;
        match (documents.pop(), documents.is_empty()) {
            (Some(document), true) => {
                let value = document.value.clone();
                manifest(STDIN, (Arc::new(document), String::new(), value), namespace, true)
            }
            _ => Err(vec![Problem::new("", "it must be one object, no more and no less")]),
        }
    }

    /// A problem with a field of this object, with its place in the file.
    pub(super) fn locate(&self, problem: Problem) -> Problem {
        match self.document.position(&joined(&self.within, &problem.field)) {
            Some(position) => problem.at(&self.file, position),
            None => Problem { file: Some(self.file.clone()), ..problem },
        }
    }
}

impl Manifests {
    /// Reads files, folders and `-` for standard input. Without `checked`, only what is needed to know which
    /// objects are meant is looked at.
    ///
    /// # Errors
    /// Every problem of every file, each with its place.
    pub(super) fn read(paths: &[PathBuf], namespace: &str, checked: bool) -> Result<Self, Failure> {
        let mut texts = BTreeMap::new();
        for path in paths {
            read_into(&mut texts, path)?;
        }
        Self::judged(texts, namespace, checked)
    }

    fn judged(texts: BTreeMap<String, String>, namespace: &str, checked: bool) -> Result<Self, Failure> {
        let (mut items, mut problems) = (Vec::new(), Vec::new());
        for (file, text) in &texts {
            match parse_documents(file, text) {
                Ok(documents) => {
                    for object in documents.into_iter().flat_map(objects_of) {
                        match manifest(file, object, namespace, checked) {
                            Ok(manifest) => items.push(manifest),
                            Err(found) => problems.extend(found),
                        }
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
        problems.extend(doubles(&items));
        // A namespace and the secrets in it must stand before what refers to them.
        items.sort_by_key(|manifest| match manifest.target.kind.kind {
            "Namespace" => 0,
            "Secret" => 1,
            _ => 2,
        });
        let manifests = Self { items, texts };
        if !problems.is_empty() {
            return Err(manifests.rejected(problems, "nothing was changed"));
        }
        if manifests.items.is_empty() {
            return Err(Failure::new(Exit::Rejected, "these files declare no object"));
        }
        Ok(manifests)
    }

    /// One object that a verb wrote in the place of a person, as it would be printed.
    ///
    /// # Errors
    /// Every problem that can be told without a server, each with its place in that text.
    pub(super) fn of(value: &Value, name: &str, namespace: &str) -> Result<Self, Failure> {
        let texts = BTreeMap::from([(name.to_owned(), yaml::written(value))]);
        Self::judged(texts, namespace, true)
    }

    /// Whether these files also declare the namespace that an object is in.
    pub(super) fn makes_namespace_of(&self, manifest: &Manifest) -> bool {
        let namespaces = self.items.iter().filter(|item| item.target.kind.kind == "Namespace");
        namespaces.into_iter().any(|item| manifest.target.namespace.as_ref() == Some(&item.target.name))
    }

    /// A failure that shows each problem where it stands, and what came of it all.
    pub(super) fn rejected(&self, mut problems: Vec<Problem>, outcome: &str) -> Failure {
        problems.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
        let text = |problem: &Problem| {
            problem.file.as_ref().and_then(|file| self.texts.get(file)).map_or("", String::as_str)
        };
        let shown = problems.iter().flat_map(|problem| caret::show(problem, text(problem))).collect();
        Failure::new(Exit::Rejected, caret::tally(&problems, outcome)).after(shown)
    }
}

fn read_into(texts: &mut BTreeMap<String, String>, path: &Path) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| {
        let exit = if error.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Rejected };
        Failure::new(exit, format!("{} cannot be read: {error}", path.display()))
    };
    if path == Path::new("-") {
        let text = consent::input().map_err(|error| failed(&error))?;
        texts.insert(STDIN.into(), text);
        return Ok(());
    }
    let files = if path.is_dir() {
        manifests_in(path).map_err(|error| failed(&error))?
    } else {
        vec![path.to_path_buf()]
    };
    if files.is_empty() {
        return Err(Failure::new(
            Exit::Rejected,
            format!("{} holds no .yaml, .yml or .json file", path.display()),
        ));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| Failure {
            message: format!("{} cannot be read: {error}", file.display()),
            ..failed(&error)
        })?;
        texts.insert(file.display().to_string(), text);
    }
    Ok(())
}

fn manifests_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_manifest = path
            .extension()
            .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known));
        if is_manifest && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// An object as it was written: its document, where in that it is, and what it says.
type Written = (Arc<Document>, String, Value);

/// The objects of a document: itself, or the items of a list, as `kubectl get -o yaml` and `hearth export -o json` print it.
fn objects_of(document: Document) -> Vec<Written> {
    let document = Arc::new(document);
    let value = &document.value;
    let is_list = value["apiVersion"] == "v1" && value["kind"] == "List";
    match value["items"].as_array().filter(|_| is_list) {
        None => vec![(document.clone(), String::new(), value.clone())],
        Some(items) => {
            let item = |(at, item): (usize, &Value)| (document.clone(), format!("items[{at}]"), item.clone());
            items.iter().enumerate().map(item).collect()
        }
    }
}

/// A field of an object that is within another.
fn joined(within: &str, field: &str) -> String {
    match (within, field) {
        ("", field) => field.to_owned(),
        (within, "") => within.to_owned(),
        (within, field) => format!("{within}.{field}"),
    }
}

fn manifest(
    file: &str,
    (document, within, mut value): Written,
    namespace: &str,
    checked: bool,
) -> Result<Manifest, Vec<Problem>> {
    let found = if checked { judge(&mut value, namespace) } else { identify(&mut value, namespace) };
    let place = |problem: Problem| match document.position(&joined(&within, &problem.field)) {
        Some(position) => problem.at(file, position),
        None => Problem { file: Some(file.to_owned()), ..problem },
    };
    match found {
        Ok(target) => Ok(Manifest {
            target,
            value,
            file: file.to_owned(),
            document: document.clone(),
            within: within.clone(),
        }),
        Err(problems) => Err(problems.into_iter().map(place).collect()),
    }
}

/// Judges an object by all that can be told without a server; its namespace is filled in.
///
/// # Errors
/// Every problem.
pub(crate) fn judge(value: &mut Value, namespace: &str) -> Result<Target, Vec<Problem>> {
    let target = identify(value, namespace)?;
    let problems = problems_of(&target, value);
    if problems.is_empty() { Ok(target) } else { Err(problems) }
}

/// Which object a document is; its namespace is filled in.
///
/// # Errors
/// What is missing or unknown of kind, name and namespace.
pub(crate) fn identify(value: &mut Value, namespace: &str) -> Result<Target, Vec<Problem>> {
    if !value.is_object() {
        return Err(vec![Problem::new(
            "",
            "a document must be an object with apiVersion, kind and metadata",
        )]);
    }
    let mut problems = Vec::new();
    let written = value["kind"].as_str().unwrap_or_default().to_owned();
    let kind = kinds().iter().find(|kind| kind.kind == written && kind.kind != "Event");
    match kind {
        Some(kind) if value["apiVersion"] != kind.api_version() => {
            let wanted = kind.api_version();
            problems.push(Problem::new("apiVersion", format!("must be {wanted} for kind {written}")));
        }
        Some(_) => {}
        None => problems.push(Problem::new("kind", unknown_kind(&written))),
    }
    if !value["metadata"].is_object() {
        problems.push(Problem::new("metadata", "is required; it holds the name"));
    } else if !value["metadata"]["name"].is_string() {
        problems.push(Problem::new("metadata.name", "is required; it must be a text"));
    }
    let (Some(kind), true) = (kind, problems.is_empty()) else { return Err(problems) };
    let own = &value["metadata"]["namespace"];
    match (kind.scope, own.as_str()) {
        (Scope::Cluster, Some(_)) => {
            problems.push(Problem::new(
                "metadata.namespace",
                format!("must be left out: {} is of the whole machine", kind.kind),
            ));
        }
        (Scope::Namespaced, None) if own.is_null() => value["metadata"]["namespace"] = namespace.into(),
        (Scope::Namespaced, None) => problems.push(Problem::new("metadata.namespace", "must be a text")),
        _ => {}
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
    Ok(Target::new(kind.clone(), &text("namespace"), &text("name")))
}

fn unknown_kind(written: &str) -> String {
    let known: Vec<&str> = kinds().iter().map(|kind| kind.kind).filter(|kind| *kind != "Event").collect();
    match (written, nearest(written, known.iter().copied())) {
        ("", _) => format!("is required; one of {}", known.join(", ")),
        (_, Some(meant)) => format!("there is no kind {written:?}; did you mean {meant:?}?"),
        (_, None) => format!("there is no kind {written:?}; it may be {}", known.join(", ")),
    }
}

/// Everything wrong with an object that can be told without a server.
fn problems_of(target: &Target, value: &Value) -> Vec<Problem> {
    let kind = &target.kind;
    let mut problems = unknown_fields(value, "metadata", &METADATA);
    problems.extend(texts_only(value, "labels"));
    problems.extend(texts_only(value, "annotations"));
    problems.extend(unknown_fields(value, "", outer_fields(kind.kind)));
    if let Some(schema) = &kind.schema {
        let found = schema::check(&value["spec"], &schema["properties"]["spec"]);
        problems.extend(found.into_iter().map(|problem| problem.under("spec")));
    }
    if problems.is_empty() {
        // The server fills in defaults before it applies the rules of a kind, and so is it done here.
        let mut filled = value.clone();
        (kind.default)(&mut filled, None);
        problems.extend((kind.validate)(&filled, None));
    }
    problems
}

/// What a person may write into `metadata`, and what a read object carries there.
const METADATA: [&str; 14] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
];

/// What stands beside `metadata`.
fn outer_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "Secret" => &["apiVersion", "kind", "metadata", "type", "data", "stringData", "immutable"],
        _ => &["apiVersion", "kind", "metadata", "spec", "status"],
    }
}

fn unknown_fields(value: &Value, within: &str, known: &[&str]) -> Vec<Problem> {
    let fields = if within.is_empty() { value } else { &value[within] };
    let unknown =
        fields.as_object().into_iter().flatten().filter(|(name, _)| !known.contains(&name.as_str()));
    unknown
        .map(|(name, _)| {
            let hint = nearest(name, known.iter().copied()).map(|meant| format!("; did you mean {meant:?}?"));
            let problem =
                Problem::new(name.clone(), format!("unknown field {name:?}{}", hint.unwrap_or_default()));
            if within.is_empty() { problem } else { problem.under(within) }
        })
        .collect()
}

fn texts_only(value: &Value, field: &str) -> Vec<Problem> {
    match &value["metadata"][field] {
        Value::Null => Vec::new(),
        Value::Object(entries) => entries
            .iter()
            .filter(|(_, value)| !value.is_string())
            .map(|(name, _)| {
                Problem::new(format!("metadata.{field}.{name}"), "must be a text (put it in quotes)")
            })
            .collect(),
        _ => vec![Problem::new(format!("metadata.{field}"), "must be a map of names to texts")],
    }
}

fn doubles(items: &[Manifest]) -> Vec<Problem> {
    let mut seen = HashSet::new();
    items
        .iter()
        .filter(|manifest| !seen.insert(manifest.target.path()))
        .map(|manifest| {
            manifest.locate(Problem::new("metadata.name", format!("{} is declared twice", manifest.target)))
        })
        .collect()
}

#[cfg(test)]
mod tests;
