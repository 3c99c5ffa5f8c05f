//! Names say what a thing is: plain nouns, no word that fits everything.

use crate::house::{files, judge, rust_files};

/// File names that say nothing about what is inside.
const EMPTY_STEMS: &[&str] = &[
    "base",
    "common",
    "core",
    "handler",
    "handlers",
    "helper",
    "helpers",
    "impl",
    "manager",
    "misc",
    "mod",
    "processor",
    "shared",
    "stuff",
    "util",
    "utils",
];

/// Endings of type names that say nothing. `Service` is not among them: in an
/// app of several services it is the plain noun.
const EMPTY_ENDINGS: &[&str] =
    &["Common", "Handler", "Helper", "Helpers", "Impl", "Manager", "Processor", "Util", "Utils"];

/// Verbs that say nothing, as the first word of a function's name.
const EMPTY_VERBS: &[&str] = &["do_", "handle_", "perform_", "process_"];

/// Files that keep such a name, and why.
const FILES: &[(&str, &str)] = &[
    ("resources/kinds/src/core.rs", "Kubernetes calls the group of Namespace, Event and Secret `core`"),
    ("resources/kinds/src/shared.rs", "parts that several specs are made of; wants the name of the concept"),
];

/// Types and functions that keep such a name, and why.
const DECLARATIONS: &[(&str, &str)] =
    &[("resources/meta/src/status.rs HasCommon", "has a `CommonStatus`; wants that name in full")];

#[test]
fn files_are_named_after_what_is_in_them() {
    let findings = files()
        .iter()
        .filter(|file| EMPTY_STEMS.contains(&file.stem().to_lowercase().as_str()))
        .map(|file| (file.path.clone(), "the name fits every file; name the concept".into()))
        .collect();
    judge("File names are plain nouns", findings, FILES);
}

#[test]
fn types_and_functions_are_named_after_what_they_are_and_do() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for (number, line) in file.code() {
            let place = |name: &str| format!("{} {name}", file.path);
            if let Some(name) = word_after(line, &["struct ", "enum ", "trait ", "type ", "union "])
                && EMPTY_ENDINGS.iter().any(|ending| name.ends_with(ending))
            {
                findings.push((place(name), format!("line {number}: the ending says nothing")));
            }
            if let Some(name) = word_after(line, &["fn "])
                && EMPTY_VERBS.iter().any(|verb| name.starts_with(verb))
            {
                findings.push((place(name), format!("line {number}: the verb says nothing")));
            }
        }
    }
    judge("Type and function names say something", findings, DECLARATIONS);
}

/// The name that a declaration on this line gives, if it is one.
fn word_after<'line>(line: &'line str, keywords: &[&str]) -> Option<&'line str> {
    let start = keywords.iter().find_map(|keyword| {
        let at = line.find(keyword)?;
        let before = line[..at].trim_start();
        let is_declaration = before
            .split_whitespace()
            .all(|word| word.starts_with("pub") || ["async", "const", "unsafe"].contains(&word));
        is_declaration.then_some(at + keyword.len())
    })?;
    let rest = &line[start..];
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[test]
fn declarations_are_told_from_other_lines() {
    assert_eq!(word_after("pub(crate) struct RouteManager<T> {", &["struct "]), Some("RouteManager"));
    assert_eq!(word_after("    pub async fn handle_it() {", &["fn "]), Some("handle_it"));
    assert_eq!(word_after("let text = \"a struct Manager\";", &["struct "]), None);
}
