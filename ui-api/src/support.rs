//! A support bundle: what a helper elsewhere needs to see of a home, in one tar file, without its secrets.
//!
//! `manifest.json` comes first and names every part with its sum. The parts are answers of the API as they were at
//! that moment, each through [`redact`] first, so that the verbs that read a server read a bundle just the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use hearth_meta::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub mod redact;

/// The form of the file; a program refuses one it does not know.
pub const FORMAT: u32 = 1;
/// The first entry.
const MANIFEST: &str = "manifest.json";
/// More than this is no bundle that this program made, in bytes.
const LARGEST: u64 = 512 << 20;

/// What a bundle says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The form of the file.
    pub format: u32,
    /// When it was made, by the clock of whoever made it.
    pub made_at: Timestamp,
    /// The version of the program that made it.
    pub program: String,
    /// The version of the server it is of.
    pub server: String,
    /// The namespace that is meant where none is named.
    pub namespace: String,
    /// How many texts were taken out.
    pub redacted: usize,
    /// What could not be read, and why.
    pub missing: Vec<Missing>,
    /// Every other entry, in order.
    pub parts: Vec<Part>,
}

/// Something that should be in a bundle and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// Why it is not there.
    pub why: String,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
}

/// A bundle in memory.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its parts by name.
    pub parts: BTreeMap<String, Vec<u8>>,
}

/// What a bundle is called where nobody says otherwise.
pub fn file_name(at: Timestamp) -> String {
    let seconds = Timestamp::from_second(at.as_second()).unwrap_or(at);
    format!("hearth-support-{}.tar", seconds.to_string().replace(':', "-"))
}

impl Bundle {
    /// A bundle of these parts; what the manifest says of parts is made here.
    pub fn new(manifest: Manifest, parts: BTreeMap<String, Vec<u8>>) -> Self {
        let listed = parts.iter().map(|(name, content)| Part {
            name: name.clone(),
            bytes: content.len() as u64,
            sha256: sum(content),
        });
        Self { manifest: Manifest { parts: listed.collect(), ..manifest }, parts }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Where the other side cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut tar = tar::Builder::new(out);
        let manifest = serde_json::to_vec_pretty(&self.manifest).context("the manifest")?;
        let mtime = u64::try_from(self.manifest.made_at.as_second()).unwrap_or(0);
        let mut append = |name: &str, content: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(mtime);
            tar.append_data(&mut header, name, content).with_context(|| format!("writing {name}"))
        };
        append(MANIFEST, &manifest)?;
        for part in &self.manifest.parts {
            append(&part.name, self.parts.get(&part.name).map_or(&[], Vec::as_slice))?;
        }
        tar.into_inner().and_then(|out| out.flush()).context("writing its end")
    }

    /// Reads a file, and checks every part of it.
    ///
    /// # Errors
    /// Where it is no bundle, of a newer form, cut short or changed.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let size = file.metadata().context("looking at its size")?.len();
        ensure!(size <= LARGEST, "it is larger than any support bundle");
        let mut archive = tar::Archive::new(file);
        let mut entries = archive.entries().context("it is no tar file")?;
        let none = "it is no support bundle of Hearth";
        let (name, text) = content(entries.next().context(none)?.context(none)?)?;
        ensure!(name == MANIFEST, none);
        let value: serde_json::Value =
            serde_json::from_slice(&text).context("its manifest cannot be read")?;
        let format = value["format"].as_u64().context("its manifest does not say of which form it is")?;
        ensure!(
            format == u64::from(FORMAT) && value.get("madeAt").is_some() && value.get("redacted").is_some(),
            "it is of form {format}, and this program knows support bundles of form {FORMAT}"
        );
        let manifest: Manifest = serde_json::from_value(value).context("its manifest cannot be read")?;
        let mut parts = BTreeMap::new();
        for part in &manifest.parts {
            let missing = || format!("it is cut short: {} is missing", part.name);
            let (name, content) = content(entries.next().with_context(missing)?.with_context(missing)?)?;
            ensure!(name == part.name, "it was changed: {name} stands where {} should", part.name);
            ensure!(sum(&content) == part.sha256, "it was changed: {name} is not what was put into it");
            parts.insert(name, content);
        }
        ensure!(entries.next().is_none(), "it was changed: something was added to it");
        Ok(Self { manifest, parts })
    }
}

fn content<R: Read>(mut entry: tar::Entry<'_, R>) -> anyhow::Result<(String, Vec<u8>)> {
    let name = entry.path().context("a name in it cannot be read")?.to_string_lossy().into_owned();
    let mut content = Vec::new();
    let size = entry.size();
    entry.read_to_end(&mut content).with_context(|| format!("it is cut short in {name}"))?;
    ensure!(content.len() as u64 == size, "it is cut short in {name}");
    Ok((name, content))
}

fn sum(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
