//! What may come in from outside: licences, sources, crates we do without, and
//! no dependency that nothing uses.

use std::collections::BTreeMap;

use cargo_metadata::{Dependency, DependencyKind, Package};

use crate::house::{bench_metadata, files, folder, judge, metadata};

/// Permissive licences, by their SPDX names.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Never in the tree, not even through another crate.
const BANNED: &[(&str, &str)] = &[
    ("async-std", "discontinued; tokio is the one runtime"),
    ("backoff", "unmaintained; the engine decides when to try again"),
    ("native-tls", "rustls is the one TLS"),
    ("openssl-sys", "a C library of the host; rustls is the one TLS"),
    ("serde_yaml", "unmaintained, and gives no positions"),
    ("serde_yml", "unsound, and gives no positions"),
];

/// Never asked for by us; others may bring them.
const NOT_BY_US: &[(&str, &str)] = &[
    ("lazy_static", "std::sync::LazyLock does it"),
    ("once_cell", "std::sync::OnceLock and LazyLock do it"),
];

/// Dependencies that no source line names: `member -> crate`, and why.
const USED_UNSEEN: &[(&str, &str)] = &[];

#[test]
fn every_crate_has_a_permissive_licence() {
    let findings = all_packages()
        .filter(|package| !package.license.as_deref().is_some_and(is_allowed))
        .map(|package| {
            let licence = package.license.as_deref().unwrap_or("none named");
            (package.name.to_string(), format!("licence {licence} is not in ALLOWED"))
        })
        .collect();
    judge("Dependencies are under permissive licences", findings, &[]);
}

/// What the product is made of, and what only its benches are.
fn all_packages() -> impl Iterator<Item = &'static Package> {
    metadata().packages.iter().chain(&bench_metadata().packages)
}

/// Any alternative of which every part is allowed. `/` is the old spelling of `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.trim().replace('/', " OR ");
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(inner) if is_balanced(inner) => is_allowed(inner),
        _ => {
            let alternatives = parts(&expression, " OR ");
            if alternatives.len() > 1 {
                return alternatives.iter().any(|part| is_allowed(part));
            }
            let together = parts(&expression, " AND ");
            if together.len() > 1 {
                return together.iter().all(|part| is_allowed(part));
            }
            ALLOWED.contains(&expression.as_str())
        }
    }
}

/// Cuts at `word` where it stands outside parentheses.
fn parts(expression: &str, word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for piece in expression.split_inclusive(word) {
        let last = parts.last_mut().expect("starts with one part");
        last.push_str(piece);
        if is_balanced(last) && last.ends_with(word) {
            last.truncate(last.len() - word.len());
            parts.push(String::new());
        }
    }
    parts
}

/// No parenthesis closes before it opened, and none stays open.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0;
    let never_below = text.chars().all(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth >= 0
    });
    never_below && depth == 0
}

#[test]
fn licence_expressions_are_read_as_written() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("MIT/Apache-2.0", true),
        ("GPL-2.0 OR MIT", true),
        ("GPL-2.0 AND MIT", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
        ("MIT AND (GPL-2.0 OR BSD-3-Clause)", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
    ] {
        assert_eq!(is_allowed(expression), expected, "{expression}");
    }
}

#[test]
fn every_crate_comes_from_here_or_from_the_public_index() {
    let findings = all_packages()
        .filter_map(|package| {
            let source = package.source.as_ref()?.to_string();
            let is_public = source == "registry+https://github.com/rust-lang/crates.io-index";
            (!is_public).then(|| (package.name.to_string(), format!("comes from {source}")))
        })
        .collect();
    judge("No Git branches, no private registries", findings, &[]);
}

#[test]
fn crates_we_do_without_stay_out() {
    let mut findings = Vec::new();
    for package in all_packages() {
        if let Some((name, why)) = BANNED.iter().find(|(name, _)| *name == package.name.as_str()) {
            findings.push((name.to_string(), why.to_string()));
        }
    }
    for member in metadata().workspace_packages() {
        for dependency in &member.dependencies {
            if let Some((name, why)) = NOT_BY_US.iter().find(|(name, _)| *name == dependency.name) {
                findings.push((format!("{} -> {name}", member.name), why.to_string()));
            }
        }
    }
    judge("Some crates stay out, each for a reason", findings, &[]);
}

#[test]
fn every_dependency_is_used() {
    let mut findings = Vec::new();
    for member in metadata().workspace_packages().into_iter().filter(|member| !is_empty(member)) {
        for dependency in member.dependencies.iter().filter(|one| !is_named(member, one)) {
            let edge = format!("{} -> {}", member.name, dependency.name);
            findings.push((edge, "no source file of that crate names it".into()));
        }
    }
    judge("Dependencies that nothing uses are removed", findings, USED_UNSEEN);
}

/// A room into which nobody has moved yet: only docs and attributes.
fn is_empty(member: &Package) -> bool {
    let source = format!("{}/src/", folder(member));
    let mut lines =
        files().iter().filter(|file| file.path.starts_with(&source)).flat_map(|file| file.text.lines());
    lines.all(|line| line.is_empty() || line.starts_with("//") || line.starts_with("#!["))
}

/// Normal dependencies have to appear in `src/`, those of tests anywhere.
fn is_named(member: &Package, dependency: &Dependency) -> bool {
    let crate_name = dependency.rename.as_ref().unwrap_or(&dependency.name).replace('-', "_");
    let places: &[&str] = match dependency.kind {
        DependencyKind::Build => &["build.rs"],
        DependencyKind::Development => &["src/", "tests/", "benches/", "examples/"],
        _ => &["src/"],
    };
    let places: Vec<String> = places.iter().map(|place| format!("{}/{place}", folder(member))).collect();
    files()
        .iter()
        .filter(|file| file.is_rust() && places.iter().any(|place| file.path.starts_with(place)))
        .flat_map(|file| file.text.lines())
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| has_word(line, &crate_name))
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// Two versions of one crate cost build time and confuse; they are shown, not refused.
#[test]
fn duplicate_crates_are_shown() {
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in &metadata().packages {
        versions.entry(&package.name).or_default().push(package.version.to_string());
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        eprintln!("duplicate: {name} {}", versions.join(", "));
    }
}
