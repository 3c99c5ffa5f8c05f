//! The house is kept: sizes, first lines, rooms and their pages, lint settings,
//! and nothing that points out of the repository.

use std::collections::BTreeSet;

use crate::house::{File, files, folder, judge, metadata, root, rust_files};

/// What lies at the top, besides files whose name starts with a dot.
const TOP: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "agent",
    "charts",
    "controllers",
    "engine",
    "resources",
    "schemas",
    "testbed",
    "ui-api",
];

const MAX_PRODUCTION_LINES: usize = 600;
const MAX_INLINE_TEST_LINES: usize = 150;
const MAX_TEST_FILE_LINES: usize = 1000;
const MAX_MAIN_LINES: usize = 80;
const MAX_README_LINES: usize = 150;
const MAX_COMPONENT_LINES: usize = 400;

/// Longer than its kind may be: file, and why.
const LONG_FILES: &[(&str, &str)] = &[];

#[test]
fn no_file_outgrows_its_reader() {
    let findings = files()
        .iter()
        .filter(|file| !file.is_generated())
        .flat_map(outgrown)
        .collect::<Vec<(String, String)>>();
    judge("A file that outgrows these sizes is two files", findings, LONG_FILES);
}

fn outgrown(file: &File) -> Option<(String, String)> {
    let all = file.text.lines().count();
    let (production, inline_tests) = file.production_and_test_lines();
    let measures: &[(usize, usize, &str)] = if file.name() == "README.md" {
        &[(all, MAX_README_LINES, "lines in a README")]
    } else if file.path.ends_with(".tsx") && !file.path.contains(".test.") {
        &[(all, MAX_COMPONENT_LINES, "lines in a component")]
    } else if !file.is_rust() {
        &[]
    } else if file.is_test() {
        &[(all, MAX_TEST_FILE_LINES, "lines in a test file")]
    } else if file.name() == "main.rs" {
        &[(production, MAX_MAIN_LINES, "lines in a main.rs")]
    } else {
        &[
            (production, MAX_PRODUCTION_LINES, "production lines"),
            (inline_tests, MAX_INLINE_TEST_LINES, "lines of inline tests; they want a tests.rs"),
        ]
    };
    let (lines, most, what) = measures.iter().find(|(lines, most, _)| lines > most)?;
    Some((file.path.clone(), format!("{lines} {what}, at most {most}")))
}

#[test]
fn every_longer_file_opens_with_what_it_is_for() {
    let findings = rust_files()
        .filter(|file| file.text.lines().count() > 60)
        .filter(|file| {
            let first = file.text.lines().find(|line| !line.is_empty() && !line.starts_with("#!["));
            !first.is_some_and(|line| line.starts_with("//!"))
        })
        .map(|file| (file.path.clone(), "no module doc (//!) at its head".into()))
        .collect();
    judge("A newcomer can say what a file is for from its first lines", findings, &[]);
}

/// What differs, what to do and what to say are pure, so that a dry run, a diff
/// and a test are all the same call.
#[test]
fn plans_and_statuses_neither_wait_nor_look_at_the_clock() {
    const IMPURE: &[&str] = &[
        "async ",
        ".await",
        "tokio::",
        "tracing::",
        "std::fs",
        "SystemTime::now",
        "Instant::now",
        "std::env",
    ];
    let mut findings = Vec::new();
    let beats = ["plan.rs", "status.rs", "diff.rs"];
    let is_beat = |file: &&File| file.path.starts_with("controllers/") && beats.contains(&file.name());
    for file in rust_files().filter(is_beat) {
        for (number, line) in file.code() {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                findings.push((format!("{}:{number}", file.path), format!("`{}` is not pure", word.trim())));
            }
        }
    }
    judge("plan, diff and status are pure", findings, &[]);
}

#[test]
fn the_top_level_is_the_map() {
    let found: BTreeSet<&str> = files().iter().filter_map(|file| file.path.split('/').next()).collect();
    let mut findings: Vec<(String, String)> = found
        .iter()
        .filter(|name| !name.starts_with('.') && !TOP.contains(name))
        .map(|name| (name.to_string(), "nothing else lies at the top".into()))
        .collect();
    for name in TOP.iter().filter(|name| !found.contains(**name)) {
        findings.push((name.to_string(), "missing at the top".into()));
    }
    judge("The top level shows the rooms and nothing else", findings, &[]);
}

#[test]
fn every_room_says_what_lives_in_it() {
    let findings = TOP
        .iter()
        .filter(|room| root().join(room).is_dir() && !root().join(room).join("README.md").is_file())
        .map(|room| (room.to_string(), "no README.md".into()))
        .collect();
    judge("Every room has a page", findings, &[]);
}

/// Clippy takes the nearest settings file instead of the root's, so a room with
/// one of its own has to repeat what holds everywhere.
#[test]
fn rooms_with_lint_settings_repeat_the_house_rules() {
    let everywhere = lint_settings(".clippy.toml");
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.name() == ".clippy.toml" && file.path != ".clippy.toml") {
        let here = lint_settings(&file.path);
        for (key, value) in &everywhere {
            let is_repeated = match (value.as_array(), here.get(key).and_then(|own| own.as_array())) {
                (Some(bans), Some(own)) => bans.iter().all(|ban| own.contains(ban)),
                (Some(_), None) => false,
                (None, _) => here.get(key) == Some(value),
            };
            if !is_repeated {
                findings.push((file.path.clone(), format!("does not repeat `{key}` of the root")));
            }
        }
    }
    judge("Lint settings of a room add to those of the house", findings, &[]);
}

fn lint_settings(path: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join(path)).expect("the file is there");
    text.parse().expect("it is TOML")
}

/// Crates that everybody builds on; every public item of theirs is documented.
const TOLD_IN_FULL: &[&str] = &["hearth-capabilities", "hearth-engine", "hearth-meta"];

#[test]
fn every_crate_keeps_the_lints_of_the_house() {
    let mut findings = Vec::new();
    for member in metadata().workspace_packages() {
        let manifest: toml::Table = std::fs::read_to_string(&member.manifest_path).unwrap().parse().unwrap();
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")) == Some(&true.into());
        if !inherits {
            findings.push((folder(member), "its Cargo.toml lacks `[lints] workspace = true`".into()));
        }
        let explains_itself = TOLD_IN_FULL.contains(&member.name.as_str());
        for head in ["src/lib.rs", "src/main.rs"].map(|head| format!("{}/{head}", folder(member))) {
            let Some(file) = files().iter().find(|file| file.path == head) else { continue };
            if *member.name != "hearth-linux" && !file.text.contains("#![forbid(unsafe_code)]") {
                findings.push((head.clone(), "does not forbid unsafe code".into()));
            }
            if explains_itself && !file.text.contains("#![warn(missing_docs)]") {
                findings.push((head, "does not warn of missing docs".into()));
            }
        }
    }
    judge("Crates inherit the lints and forbid unsafe code", findings, &[]);
}

/// Built from pieces, so that this file does not find itself.
#[test]
fn nothing_points_out_of_the_repository() {
    let work = ["/wo", "rk/"].concat();
    let shared = ["../sha", "red"].concat();
    let settings = ["index", "-url"].concat();
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| !file.is_generated() && file.name() != "Cargo.lock") {
        for (number, line) in (1..).zip(file.text.lines()) {
            // The one place that may say what lies beside the checkout.
            let is_said_in_its_place = file.path == ".ci/run" && line.contains(&shared);
            let points_out = [&work, &shared, &settings].iter().any(|word| line.contains(word.as_str()));
            if points_out && !is_said_in_its_place {
                findings.push((format!("{}:{number}", file.path), line.trim().to_string()));
            }
        }
    }
    judge("The repository stands alone: no path or package host of one machine", findings, &[]);
}

/// A debt says what kind it is, so that it can be found and ended.
#[test]
fn debts_are_tagged() {
    let debt = ["TO", "DO"].concat();
    let kinds = ["correctness", "cleanup", "security"].map(|kind| format!("{debt}({kind})"));
    let never = [["FIX", "ME"].concat(), ["XX", "X"].concat()];
    let mut findings = Vec::new();
    for file in rust_files() {
        for (number, line) in (1..).zip(file.text.lines()) {
            let is_comment = line.trim_start().starts_with("//");
            let is_untagged = line.contains(&debt) && !kinds.iter().any(|kind| line.contains(kind));
            if is_comment && (is_untagged || never.iter().any(|word| line.contains(word))) {
                let why = format!("write {} with the reason", kinds.join(", "));
                findings.push((format!("{}:{number}", file.path), why));
            }
        }
    }
    judge("Debts are tagged", findings, &[]);
}
