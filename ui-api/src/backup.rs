//! A backup: a home's store, its key, and the authority and credentials by which its people and programs reach it,
//! in one tar file. Whoever has it can read every secret of the home.
//!
//! The data of apps is not in it; it lies in `instances/` and is copied like any folder.
//!
//! `manifest.json` comes first and tells every part with its sum; a part that is missing, changed or unknown makes the
//! whole file invalid.

use std::path::{Path, PathBuf};

use anyhow::Context;
use hearth_engine::store::{CopyFacts, Every, list_copies};
use hearth_meta::Timestamp;
use serde::{Deserialize, Serialize};

mod pack;
mod unpack;

pub use pack::Packed;
pub use unpack::unpack;

/// The form of the file; a program refuses one it does not know.
pub const FORMAT: u32 = 1;

/// The first entry.
const MANIFEST: &str = "manifest.json";
/// The store's copy, by the name it has in a data directory.
const STORE: &str = "store.db";
/// Its key.
const KEY: &str = "store.key";
/// The admin's credential.
const KUBECONFIG: &str = "admin.kubeconfig";
/// The folder of the authority.
const PKI: &str = "pki";

/// What a backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The form of the file.
    pub format: u32,
    /// When it was made.
    pub made_at: Timestamp,
    /// Which store it is of.
    pub lineage: String,
    /// How far that had come.
    pub resource_version: u64,
    /// The version of the program that made it.
    pub program: String,
    /// The version of the store's schema.
    pub schema: i64,
    /// Every other entry, in order.
    pub parts: Vec<Part>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Where it lies in a data directory.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
}

/// What a backup is called where nobody says otherwise.
pub fn file_name(at: Timestamp) -> String {
    let seconds = Timestamp::from_second(at.as_second()).unwrap_or(at);
    format!("hearth-backup-{}.tar", seconds.to_string().replace(':', "-"))
}

/// Whether a name may be that of a part: a backup is only ever unpacked to places we know.
fn is_known(name: &str) -> bool {
    let is_plain = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    match name.split_once('/') {
        None => [STORE, KEY, KUBECONFIG].contains(&name),
        Some((folder, file)) => folder == PKI && is_plain(file),
    }
}

/// A file from which a store can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// `hourly`, `daily` or `backup`.
    pub sort: &'static str,
    /// How far the store had come.
    pub resource_version: u64,
    /// How large it is, in bytes.
    pub bytes: u64,
}

/// The rolling copies of a data directory, oldest first.
///
/// # Errors
/// Where the folder cannot be read.
pub fn copies_in(data_dir: &Path) -> anyhow::Result<Vec<Source>> {
    let shown = |every: Every| every.word();
    let copies = list_copies(data_dir)?.into_iter().map(|copy| Source {
        sort: shown(copy.every),
        path: copy.path,
        at: copy.at,
        resource_version: copy.resource_version,
        bytes: copy.bytes,
    });
    Ok(copies.collect())
}

/// The backups in a folder, oldest first, by what their manifests say; other files are passed over.
///
/// # Errors
/// Where the folder cannot be read.
pub fn backups_in(folder: &Path) -> anyhow::Result<Vec<Source>> {
    let reading = || format!("reading {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        let is_tar = path.extension().is_some_and(|extension| extension == "tar");
        let Some(manifest) = is_tar.then(|| unpack::read_manifest(&path).ok()).flatten() else { continue };
        let bytes = path.metadata().map(|found| found.len()).unwrap_or(0);
        let (at, resource_version) = (manifest.made_at, manifest.resource_version);
        found.push(Source { path, at, sort: "backup", resource_version, bytes });
    }
    found.sort_by(|a, b| (a.at, &a.path).cmp(&(b.at, &b.path)));
    Ok(found)
}

fn describe(facts: &CopyFacts, made_at: Timestamp, parts: Vec<Part>) -> Manifest {
    Manifest {
        format: FORMAT,
        made_at: Timestamp::from_second(made_at.as_second()).unwrap_or(made_at),
        lineage: facts.lineage.clone(),
        resource_version: facts.resource_version,
        program: crate::server::VERSION.to_owned(),
        schema: facts.schema,
        parts,
    }
}

#[cfg(test)]
mod tests;
