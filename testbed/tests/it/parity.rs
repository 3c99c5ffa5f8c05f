//! One noun everywhere: what exists in one room exists in the others, and what a
//! page promises exists as a test.
//!
//! Kinds are read from `resources/kinds` and from the CRDs in `schemas/`, never
//! listed here, so that a new kind is held to the rule by being written.

use std::collections::BTreeSet;

use crate::house::{File, files, judge, rust_files};

/// Kinds without a controller of their own, and who makes them true instead.
const NO_CONTROLLER: &[(&str, &str)] = &[
    ("Revision", "the App controller writes it; it never changes"),
    ("Token", "sign-in reads it; nothing of the machine follows from it"),
];

#[test]
fn every_kind_stands_in_every_room() {
    let mut findings = Vec::new();
    let (kinds, published) = (kinds_in_resources(), kinds_in_schemas());
    if published.is_empty() {
        eprintln!("schemas/ has no CRD yet: nothing to compare");
        return;
    }
    for kind in kinds.union(&published) {
        let noun = snake(kind);
        let mut miss = |what: &str| findings.push((kind.clone(), format!("has no {what}")));
        if !kinds.contains(kind) || !exists(&format!("resources/kinds/src/{noun}.rs")) {
            miss(&format!("resources/kinds/src/{noun}.rs"));
        }
        if !published.contains(kind) {
            miss("CRD in schemas/");
        }
        if !examples().any(|file| file.text.lines().any(|line| line.trim_end() == format!("kind: {kind}"))) {
            miss("example under schemas/");
        }
        let has_controller = exists(&format!("controllers/src/{noun}.rs"));
        let is_made_elsewhere = NO_CONTROLLER.iter().any(|(name, _)| name == kind);
        if has_controller == is_made_elsewhere {
            let what = if has_controller { "need of its line in NO_CONTROLLER" } else { "controller" };
            miss(what);
        }
    }
    judge("A kind has its file, schema, example and controller", findings, &[]);
}

fn kinds_in_resources() -> BTreeSet<String> {
    rust_files()
        .filter(|file| file.path.starts_with("resources/kinds/src/"))
        .flat_map(|file| file.text.lines())
        .filter_map(|line| {
            let (_, rest) = line.split_once("kind = \"")?;
            Some(rest.split('"').next()?.to_string())
        })
        .collect()
}

fn kinds_in_schemas() -> BTreeSet<String> {
    files()
        .iter()
        .filter(|file| file.path.starts_with("schemas/") && is_crd(file))
        .filter_map(|file| {
            let names = file.text.split("names:").nth(1).or_else(|| file.text.split("\"names\":").nth(1))?;
            let line = names
                .lines()
                .map(|line| line.trim().trim_start_matches('"'))
                .find_map(|line| line.strip_prefix("kind: ").or_else(|| line.strip_prefix("kind\": ")))?;
            Some(line.trim_matches(['"', ',']).to_string())
        })
        .collect()
}

fn is_crd(file: &File) -> bool {
    ["kind: CustomResourceDefinition", "\"kind\": \"CustomResourceDefinition\""]
        .iter()
        .any(|head| file.text.contains(head))
}

fn examples() -> impl Iterator<Item = &'static File> {
    files()
        .iter()
        .filter(|file| file.path.starts_with("schemas/") && file.path.contains("example") && !is_crd(file))
}

fn exists(path: &str) -> bool {
    files().iter().any(|file| file.path == path)
}

/// `MdnsName` -> `mdns_name`
fn snake(kind: &str) -> String {
    let mut noun = String::new();
    for letter in kind.chars() {
        if letter.is_uppercase() && !noun.is_empty() {
            noun.push('_');
        }
        noun.extend(letter.to_lowercase());
    }
    noun
}

/// `testbed/behaviours.md` names the test that proves each line; a test that was
/// renamed or removed takes its proof away.
#[test]
fn every_behaviour_names_a_test_that_exists() {
    let page =
        files().iter().find(|file| file.path == "testbed/behaviours.md").expect("the page of behaviours");
    let tests: BTreeSet<&str> = rust_files()
        .flat_map(|file| file.text.lines())
        .filter_map(|line| line.trim_start().split_once("fn "))
        .filter_map(|(_, rest)| rest.split(['(', '<']).next())
        .collect();
    let mut findings = Vec::new();
    for row in page.text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(id), Some(proof), 3) = (cells.first(), cells.get(2), cells.len()) else {
            findings.push((row.to_string(), "a row is `| id | behaviour | test |`".into()));
            continue;
        };
        for name in proof.split(',').map(|name| name.trim().trim_matches('`')) {
            if !tests.contains(name) {
                findings.push((id.to_string(), format!("no test is called `{name}`")));
            }
        }
    }
    judge("Every behaviour has its proof", findings, &[]);
}
