//! What the house rules look at: the files of the repository and the crates of
//! the workspace.
//!
//! Every rule may have exceptions, each with its reason. They go through
//! [`judge`], which also fails on an exception that is no longer needed, so that
//! the lists only shrink.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

/// A file of the repository: its path from the root, with `/`, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn stem(&self) -> &str {
        self.name().split('.').next().unwrap_or_default()
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tests in files of their own; they are judged more mildly.
    pub(crate) fn is_test(&self) -> bool {
        self.name() == "tests.rs" || self.path.split('/').any(|part| part == "tests")
    }

    /// Written by a program, so no rule about style holds.
    pub(crate) fn is_generated(&self) -> bool {
        self.path.split('/').any(|part| part == "generated" || part == "v1")
    }

    /// Lines before the inline test module, and the lines of that module.
    pub(crate) fn production_and_test_lines(&self) -> (usize, usize) {
        let lines: Vec<&str> = self.text.lines().collect();
        let production = (0..lines.len())
            .find(|&at| {
                lines[at] == "#[cfg(test)]" && lines[at + 1..].iter().take(3).any(|line| line.ends_with('{'))
            })
            .unwrap_or(lines.len());
        (production, lines.len() - production)
    }

    /// Production lines that are not comments, with their numbers.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let (production, _) = self.production_and_test_lines();
        (1..).zip(self.text.lines()).take(production).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the testbed lies in the root").into()
    });
    &ROOT
}

/// Every text file that is tracked, or new and not ignored.
pub(crate) fn files() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
        paths()
            .into_iter()
            .filter_map(|path| {
                // A file that is not text, or was removed but not yet committed, has no lines to judge.
                let text = std::fs::read_to_string(root().join(&path)).ok()?;
                Some(File { path, text })
            })
            .collect()
    });
    &FILES
}

#[expect(clippy::disallowed_methods, reason = "only Git knows which files belong to the repository")]
fn paths() -> BTreeSet<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git runs");
    assert!(output.status.success(), "the house rules read a Git checkout: {output:?}");
    let listing = String::from_utf8(output.stdout).expect("paths are UTF-8");
    listing.split('\0').filter(|path| !path.is_empty()).map(String::from).collect()
}

pub(crate) fn rust_files() -> impl Iterator<Item = &'static File> {
    files().iter().filter(|file| file.is_rust() && !file.is_generated())
}

/// The workspace with all its dependencies, as Cargo resolves them from the lock file.
pub(crate) fn metadata() -> &'static Metadata {
    static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
        MetadataCommand::new()
            .manifest_path(root().join("Cargo.toml"))
            .features(CargoOpt::AllFeatures)
            .other_options(vec!["--locked".into()])
            .exec()
            .expect("cargo metadata answers")
    });
    &METADATA
}

/// The workspace of the benches, which the product's does not know, with all its dependencies.
pub(crate) fn bench_metadata() -> &'static Metadata {
    static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
        MetadataCommand::new()
            .manifest_path(root().join("testbed/benches/beside/Cargo.toml"))
            .other_options(vec!["--locked".into()])
            .exec()
            .expect("cargo answers; where its lock file is behind: cargo update --workspace in testbed/benches/beside")
    });
    &METADATA
}

/// The folder of a member, from the root.
pub(crate) fn folder(member: &Package) -> String {
    let folder = member.manifest_path.parent().expect("a manifest lies in a folder");
    let folder = folder.strip_prefix(root().to_str().expect("UTF-8")).expect("members lie in the workspace");
    folder.to_string()
}

/// Fails with every finding that no exception names, and with every exception
/// that names no finding. A finding is `(what, why it is one)`.
pub(crate) fn judge(rule: &str, findings: Vec<(String, String)>, exceptions: &[(&str, &str)]) {
    let is_excepted = |what: &str| exceptions.iter().any(|(name, _)| *name == what);
    let mut complaints: Vec<String> = findings
        .iter()
        .filter(|(what, _)| !is_excepted(what))
        .map(|(what, why)| format!("{what}: {why}"))
        .collect();
    for (name, _) in exceptions {
        if !findings.iter().any(|(what, _)| what == name) {
            complaints.push(format!("{name}: this exception is no longer needed, remove it"));
        }
    }
    assert!(complaints.is_empty(), "{rule}\n  {}\n", complaints.join("\n  "));
}
