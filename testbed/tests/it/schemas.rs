//! The contract in `schemas/` is what the kinds say today, and its examples do what they claim.
//!
//! `HEARTH_WRITE_SCHEMAS=1 cargo nextest run -p hearth-testbed schemas` writes what has changed; the change is then
//! seen in review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hearth_charts::admit::{Package, Value, admit};
use hearth_charts::yaml::parse_documents;
use hearth_kinds::{Settings, all, crds, json_schemas};
use hearth_meta::{KindInfo, Problem, schema};
use serde_json::json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
}

#[test]
fn crds_and_json_schemas_are_up_to_date() {
    let pretty = |value: &serde_json::Value| format!("{}\n", serde_json::to_string_pretty(value).unwrap());
    let mut wanted: BTreeMap<PathBuf, String> = BTreeMap::new();
    for crd in crds() {
        let name = crd.metadata.name.clone().unwrap();
        let mut value = serde_json::to_value(&crd).unwrap();
        value["apiVersion"] = "apiextensions.k8s.io/v1".into();
        value["kind"] = "CustomResourceDefinition".into();
        wanted.insert(folder().join("crds/v1").join(format!("{name}.json")), pretty(&value));
    }
    for (name, schema) in json_schemas() {
        wanted.insert(folder().join("json/v1").join(format!("{name}.json")), pretty(&schema));
    }
    // A case of `hearth test` is no kind of the server, and has a schema all the same.
    wanted.insert(folder().join("json/v1/case.json"), pretty(&hearth::cases::schema::published()));
    let found: BTreeSet<PathBuf> = ["crds/v1", "json/v1"]
        .iter()
        .flat_map(|sub| std::fs::read_dir(folder().join(sub)).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .collect();
    let stale: Vec<&PathBuf> = found.iter().filter(|path| !wanted.contains_key(*path)).collect();
    let differs: Vec<&PathBuf> = wanted
        .iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| path)
        .collect();
    if std::env::var_os("HEARTH_WRITE_SCHEMAS").is_some() {
        for (path, text) in &wanted {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        stale.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        return;
    }
    assert!(
        differs.is_empty() && stale.is_empty(),
        "out of date: {differs:?}; no longer wanted: {stale:?}\n\
         run HEARTH_WRITE_SCHEMAS=1 cargo nextest run -p hearth-testbed schemas"
    );
}

#[test]
fn valid_examples_are_admitted() {
    let examples = examples("valid");
    assert!(examples.len() >= crds().len(), "every kind has an example");
    for (path, text) in examples {
        let problems = problems(&path, &text);
        assert!(problems.is_empty(), "{}: {problems:#?}", path.display());
    }
}

#[test]
fn invalid_examples_report_exactly_the_problems_beside_them() {
    let examples = examples("invalid");
    assert!(examples.len() >= 8, "there are too few to speak of");
    for (path, text) in examples {
        let told: Vec<String> = problems(&path, &text)
            .iter()
            .map(|problem| format!("{}: {}", problem.field, problem.message))
            .collect();
        let told = format!("{}\n", told.join("\n"));
        let beside = path.with_extension("problems");
        if std::env::var_os("HEARTH_WRITE_SCHEMAS").is_some() {
            std::fs::write(&beside, &told).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(told, expected, "{}", path.display());
        assert!(told.trim() != "", "{} is valid", path.display());
    }
}

fn examples(which: &str) -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder().join("examples").join(which))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap())).collect()
}

/// Everything the server would say of a file, in its order: YAML, schema, rules, and an App's compose file.
fn problems(path: &Path, text: &str) -> Vec<Problem> {
    let name = path.file_name().unwrap().to_string_lossy();
    let documents = match parse_documents(&name, text) {
        Ok(documents) => documents,
        Err(problems) => return problems,
    };
    if documents.iter().any(|document| document.value["kind"] == hearth::cases::schema::KIND) {
        return match hearth::cases::Suite::read(path) {
            Ok(_) => Vec::new(),
            Err(hearth::cases::Unreadable::Problems(problems, _)) => problems,
            Err(other) => panic!("{other:?}"),
        };
    }
    let kinds = all(&Settings::default());
    documents.iter().flat_map(|document| object_problems(&document.value, &kinds)).collect()
}

fn object_problems(value: &serde_json::Value, kinds: &[KindInfo]) -> Vec<Problem> {
    let Some(kind) = kinds.iter().find(|kind| value["kind"] == kind.kind) else {
        return vec![Problem::new("kind", format!("{} is not a kind of this server", value["kind"]))];
    };
    let mut value = value.clone();
    (kind.default)(&mut value, None);
    let mut spec = json!({ "spec": value["spec"].clone() });
    if value["spec"].is_null() {
        spec = json!({});
    }
    let mut problems = kind.schema.as_ref().map(|schema| schema::check(&spec, schema)).unwrap_or_default();
    if problems.is_empty() {
        problems = (kind.validate)(&value, None);
    }
    if problems.is_empty()
        && let Some(compose) = value["spec"]["compose"].as_str()
    {
        problems = compose_problems(&value, compose);
    }
    problems
}

fn compose_problems(app: &serde_json::Value, compose: &str) -> Vec<Problem> {
    let files = BTreeMap::from([("compose.yaml".to_owned(), compose.as_bytes().to_vec())]);
    let values = app["spec"]["values"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|value| {
            let given = value["value"].as_str().map_or(Value::Secret, |text| Value::Plain(text.to_owned()));
            (value["name"].as_str().unwrap_or_default().to_owned(), given)
        })
        .collect();
    let package = Package {
        files: &files,
        values: &values,
        devices: &[],
        folders: &[],
        main_service: app["spec"]["mainService"].as_str(),
    };
    admit(&package).err().unwrap_or_default()
}
