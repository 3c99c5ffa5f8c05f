//! Who may know whom: a room uses only what lies below it.
//!
//! The edges are those of the workspace's own crates, and of the few outside
//! crates through which one touches a machine, a disk or the network.

use cargo_metadata::{DependencyKind, Package};

use crate::house::{judge, metadata};

/// Member, what it may use, and what its tests may use besides.
const EDGES: &[(&str, &[&str], &[&str])] = &[
    ("hearth-meta", &[], &[]),
    ("hearth-kinds", &["hearth-meta"], &[]),
    ("hearth-engine", &["hearth-meta"], &[]),
    ("hearth-wire", &["hearth-meta", "hearth-engine"], &[]),
    ("hearth-charts", &["hearth-meta"], &[]),
    ("hearth-capabilities", &["hearth-meta", "hearth-kinds"], &[]),
    (
        "hearth-controllers",
        &["hearth-meta", "hearth-kinds", "hearth-engine", "hearth-charts", "hearth-capabilities"],
        // Decisions are tried on the pretend machine; they never ship with it.
        &["hearth-pretend"],
    ),
    ("hearth-docker", HANDS, &[]),
    ("hearth-caddy", HANDS, &[]),
    ("hearth-linux", HANDS, &[]),
    // What it simulates takes time, and time is the engine's clock.
    ("hearth-pretend", &["hearth-meta", "hearth-kinds", "hearth-capabilities", "hearth-engine"], &[]),
    (
        "hearth",
        &[
            "hearth-meta",
            "hearth-kinds",
            "hearth-engine",
            "hearth-wire",
            "hearth-charts",
            "hearth-capabilities",
            "hearth-controllers",
            "hearth-docker",
            "hearth-caddy",
            "hearth-linux",
            "hearth-pretend",
        ],
        &[],
    ),
];

const HANDS: &[&str] = &["hearth-meta", "hearth-kinds", "hearth-capabilities"];

/// Outside crates with a place of their own, and the members that may hold them:
/// those that touch the world, and `anyhow`, whose errors nobody can decide by.
const KEPT_IN: &[(&str, &[&str])] = &[
    ("anyhow", &["hearth"]),
    ("axum", &["hearth-wire", "hearth"]),
    ("bollard", &["hearth-docker"]),
    ("hyper", &["hearth-docker", "hearth"]),
    ("notify", &["hearth"]),
    ("reqwest", &["hearth-caddy", "hearth"]),
    ("rustix", &["hearth-linux", "hearth-engine", "hearth"]),
    ("rustls", &["hearth"]),
    ("sqlx", &["hearth-engine"]),
    ("tokio-rustls", &["hearth"]),
];

/// Nouns and packages are plain data: no runtime, no waiting.
const STILL: &[&str] = &["hearth-meta", "hearth-kinds", "hearth-charts"];
const RUNTIMES: &[&str] = &["async-trait", "futures", "tokio", "tokio-util", "tower"];

/// Crate edges that break the rule for now: `user -> used`, and why.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// The proof may use everything; every other member keeps to its line above.
#[test]
fn a_room_uses_only_what_lies_below_it() {
    let mut findings = Vec::new();
    for member in members() {
        let Some((_, normal, in_tests)) = EDGES.iter().find(|(name, ..)| *name == member.name.as_str())
        else {
            findings.push((member.name.to_string(), "a new crate needs its line in EDGES".into()));
            continue;
        };
        for dependency in &member.dependencies {
            let is_ours = metadata().workspace_packages().iter().any(|other| *other.name == dependency.name);
            let is_known = normal.contains(&dependency.name.as_str())
                || dependency.kind == DependencyKind::Development
                    && in_tests.contains(&dependency.name.as_str());
            if is_ours && !is_known {
                let edge = format!("{} -> {}", member.name, dependency.name);
                findings.push((edge, "this room may not know that one".into()));
            }
        }
    }
    judge("Crates know only the rooms below them", findings, EXCEPTIONS);
}

#[test]
fn outside_crates_stay_in_their_rooms() {
    let mut findings = Vec::new();
    for member in members() {
        for dependency in &member.dependencies {
            let edge = || format!("{} -> {}", member.name, dependency.name);
            let keeper = KEPT_IN.iter().find(|(name, _)| *name == dependency.name);
            if keeper.is_some_and(|(_, rooms)| !rooms.contains(&member.name.as_str()))
                && dependency.kind != DependencyKind::Development
            {
                findings.push((edge(), "KEPT_IN says which rooms may hold it".into()));
            }
            if STILL.contains(&member.name.as_str()) && RUNTIMES.contains(&dependency.name.as_str()) {
                findings.push((edge(), "nouns and packages are plain data: no I/O, no async".into()));
            }
        }
    }
    judge("What touches a machine, a disk or the network has its place", findings, &[]);
}

fn members() -> Vec<&'static Package> {
    metadata().workspace_packages().into_iter().filter(|member| *member.name != "hearth-testbed").collect()
}
