//! `mutations.toml` still fits the code: each mutation can be made, and there are enough of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::root;

/// Fewer would show too little.
const LEAST: usize = 20;

#[test]
fn every_mutation_can_be_made() {
    let list = std::fs::read_to_string(root().join("testbed/mutations.toml")).unwrap();
    let list: toml::Table = list.parse().unwrap();
    let mutations = list["mutation"].as_array().unwrap();
    let mut names = BTreeSet::new();
    // As the edits before have left it, since two of them may be made in one place.
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for mutation in mutations {
        let name = mutation["name"].as_str().unwrap();
        assert!(names.insert(name), "two mutations are called {name}");
        let edits = mutation["edits"].as_array().unwrap();
        let is_switched = edits.iter().any(|edit| edit["to"].as_str().unwrap().contains('@'));
        assert!(is_switched, "{name} cannot be switched on: no text of it has an @");
        for edit in edits {
            let said = |field: &str| edit[field].as_str().unwrap().to_owned();
            let (file, from, to) = (said("file"), said("from"), said("to"));
            let text = texts
                .entry(file.clone())
                .or_insert_with(|| std::fs::read_to_string(root().join(&file)).unwrap_or_default());
            match text.matches(&from).count() {
                1 => *text = text.replace(&from, &to.replace('@', &format!("mutant({name:?})"))),
                count => findings.push(format!("{name}: stands {count} times in {file}:\n{from}")),
            }
        }
    }
    assert!(
        findings.is_empty(),
        "the code has moved on: mend testbed/mutations.toml\n{}",
        findings.join("\n")
    );
    assert!(names.len() >= LEAST, "only {} mutations are left", names.len());
}
