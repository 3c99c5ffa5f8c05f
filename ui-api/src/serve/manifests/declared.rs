//! From files to the objects they declare: which object each document is, and which are declared twice.

use std::collections::{BTreeMap, BTreeSet};

use hearth_charts::yaml::{Document, parse_documents};
use hearth_engine::{Key, Object, Store};
use hearth_kinds::HOUSEHOLD;
use hearth_meta::name::{check_label, check_subdomain};
use hearth_meta::problem::nearest;
use hearth_meta::{KindInfo, Problem, Scope, labels};
use serde_json::{Value, json};

use super::read::Reading;

/// Something that is wrong, and whom it concerns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// What is wrong, with its place.
    pub(super) problem: Problem,
    /// The object it concerns, where that is known.
    pub(super) about: Option<Key>,
    /// Why, in one CamelCase word.
    pub(super) reason: &'static str,
}

/// One object that a file declares.
pub(super) struct Declared {
    pub(super) key: Key,
    /// The file, by its path within the folder.
    pub(super) file: String,
    /// What is applied.
    pub(super) value: Value,
    document: Document,
}

/// Everything the files say.
#[derive(Default)]
pub(super) struct Folded {
    /// The objects that one file declares, in an order in which they can be made.
    pub(super) objects: Vec<Declared>,
    /// What is wrong.
    pub(super) found: Vec<Found>,
    /// Why it is not known what all files declare, if so.
    pub(super) blind: Option<String>,
    /// Every object that any file declares.
    keys: BTreeSet<Key>,
}

impl Folded {
    /// Whether any file declares this object.
    pub(super) fn declares(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }

    /// Whether no object is declared at all.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Declared {
    /// An object of that name that somebody made otherwise.
    pub(super) fn not_taken_over(&self, there: &Object) -> Found {
        let who = match there.annotation(labels::DECLARED_IN) {
            Some(file) => format!("says that {file:?} declares it"),
            None => "was not made from this folder".to_owned(),
        };
        let message = format!(
            "{} is there and {who}, so it is left as it is; delete it, or give it the annotation {}: {} to let this \
             file have it",
            self.key,
            labels::DECLARED_IN,
            self.file
        );
        Found { reason: "NotTakenOver", ..self.refused(Problem::new("metadata.name", message)) }
    }

    /// What is wrong with it, where it stands.
    pub(super) fn refused(&self, problem: Problem) -> Found {
        let problem = at(&self.file, &self.document, problem);
        Found { problem, about: Some(self.key.clone()), reason: "NotDeclared" }
    }
}

/// Reads all documents of all files.
pub(super) fn fold(reading: Reading, store: &Store) -> Folded {
    let mut folded = Folded::default();
    let mut unclear = BTreeSet::new();
    let mut objects: BTreeMap<Key, Vec<Declared>> = BTreeMap::new();
    let mut lost = |file: &str, problems: Vec<Problem>, found: &mut Vec<Found>| {
        unclear.insert(file.to_owned());
        found.extend(problems.into_iter().map(|problem| Found {
            problem,
            about: None,
            reason: "NotDeclared",
        }));
    };
    for (file, text) in reading.files {
        let documents = match text {
            Ok(text) => parse_documents(&file, &text),
            Err(why) => Err(vec![Problem { file: Some(file.clone()), ..Problem::new("", why) }]),
        };
        match documents {
            Err(problems) => lost(&file, problems, &mut folded.found),
            Ok(documents) => {
                for document in documents {
                    match identify(&document.value, store) {
                        Ok((key, value)) => {
                            let value = said_by(&file, value);
                            let declared = Declared { key, file: file.clone(), value, document };
                            objects.entry(declared.key.clone()).or_default().push(declared);
                        }
                        Err(problems) => {
                            let placed = problems.into_iter().map(|problem| at(&file, &document, problem));
                            lost(&file, placed.collect(), &mut folded.found);
                        }
                    }
                }
            }
        }
    }
    folded.keys = objects.keys().cloned().collect();
    for (_, mut declared) in objects {
        match declared.len() {
            1 => folded.objects.append(&mut declared),
            _ => folded.found.extend(doubled(&declared)),
        }
    }
    folded.objects.sort_by_key(|declared| match declared.key.kind.as_str() {
        // A namespace and the secrets in it must stand before what refers to them.
        "Namespace" => 0,
        "Secret" => 1,
        _ => 2,
    });
    folded.blind = (!unclear.is_empty()).then(|| {
        let files = unclear.into_iter().collect::<Vec<_>>().join(", ");
        format!("not all that it declares is known; mend {files}")
    });
    folded
}

/// Neither of two wins: which one was meant only a person knows.
fn doubled(declared: &[Declared]) -> Vec<Found> {
    let places: BTreeSet<&str> = declared.iter().map(|declared| declared.file.as_str()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(" and ");
    let told = |declared: &Declared| {
        let message = format!("{} is declared more than once, in {places}; keep one of them", declared.key);
        Found { reason: "DeclaredTwice", ..declared.refused(Problem::new("metadata.name", message)) }
    };
    declared.iter().map(told).collect()
}

fn at(file: &str, document: &Document, problem: Problem) -> Problem {
    match document.position(&problem.field) {
        Some(position) => problem.at(file, position),
        None => Problem { file: Some(file.to_owned()), ..problem },
    }
}

/// Which object a document is, and the document with its namespace. All else is for the server's own rules.
fn identify(document: &Value, store: &Store) -> Result<(Key, Value), Vec<Problem>> {
    let mut problems = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (written, metadata) = (text(&document["kind"]), &document["metadata"]);
    let kind = store.kind(&written);
    match kind {
        None => problems.push(Problem::new("kind", unknown_kind(&written, store))),
        Some(kind) if document["apiVersion"] != kind.api_version() => {
            let message = format!("must be {} for kind {written}", kind.api_version());
            problems.push(Problem::new("apiVersion", message));
        }
        Some(_) => {}
    }
    let name = text(&metadata["name"]);
    if let Err(problem) = check_subdomain(&name) {
        problems.push(Problem::new(
            "metadata.name",
            if name.is_empty() { "is required".into() } else { problem },
        ));
    }
    let mut value = document.clone();
    let mut namespace = text(&metadata["namespace"]);
    match kind.map(|kind: &KindInfo| kind.scope) {
        Some(Scope::Namespaced) if metadata["namespace"].is_null() => {
            namespace = HOUSEHOLD.to_owned();
            if metadata.is_object() {
                value["metadata"]["namespace"] = json!(namespace);
            }
        }
        Some(Scope::Namespaced) => {
            problems.extend(check_label(&namespace).err().map(|p| Problem::new("metadata.namespace", p)));
        }
        Some(Scope::Cluster) if !metadata["namespace"].is_null() => {
            let message = format!("must be left out: {written} is of the whole machine");
            problems.push(Problem::new("metadata.namespace", message));
        }
        _ => {}
    }
    if problems.is_empty() { Ok((Key::new(written, namespace, name), value)) } else { Err(problems) }
}

fn unknown_kind(written: &str, store: &Store) -> String {
    match nearest(written, store.kinds().map(|kind| kind.kind)) {
        _ if written.is_empty() => "is required".into(),
        Some(meant) => format!("there is no kind {written:?}; did you mean {meant:?}?"),
        None => format!("there is no kind {written:?}"),
    }
}

/// What the server says of an object is not the file's to say, though a file that was read from it has it; and it is
/// noted which file it was.
fn said_by(file: &str, mut value: Value) -> Value {
    if let Some(parts) = value.as_object_mut() {
        parts.remove("status");
    }
    if let Some(metadata) = value["metadata"].as_object_mut() {
        for own in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "managedFields",
            "selfLink",
        ] {
            metadata.remove(own);
        }
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if annotations.is_null() {
            *annotations = json!({});
        }
        // Of another form it is refused by its field.
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(labels::DECLARED_IN.to_owned(), json!(file));
        }
    }
    value
}
