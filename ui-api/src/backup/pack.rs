//! Putting a backup together.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use hearth_engine::store::CopyFacts;
use hearth_meta::Timestamp;
use sha2::{Digest, Sha256};

use super::{KEY, KUBECONFIG, MANIFEST, Manifest, PKI, Part, STORE, describe, is_known};

/// A backup that is ready to be written: everything is summed, and the small files are held, so that none changes
/// between its sum and its content.
pub struct Packed {
    manifest: Manifest,
    store: PathBuf,
    small: Vec<Vec<u8>>,
}

impl Packed {
    /// Takes up a copy of a store that was found sound, and what belongs to it in the data directory.
    ///
    /// # Errors
    /// Where something cannot be read, or the key is missing.
    pub fn new(copy: &Path, data_dir: &Path, facts: &CopyFacts, now: Timestamp) -> anyhow::Result<Self> {
        let (bytes, sha256) = sum_of_file(copy)?;
        let mut parts = vec![Part { name: STORE.into(), bytes, sha256 }];
        let mut small = Vec::new();
        for (name, path) in belongings(data_dir)? {
            let content = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            let sha256 = hex(&Sha256::digest(&content));
            parts.push(Part { name, bytes: content.len() as u64, sha256 });
            small.push(content);
        }
        Ok(Self { manifest: describe(facts, now, parts), store: copy.to_owned(), small })
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Where the copy cannot be read, or the other side not written.
    pub fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut tar = tar::Builder::new(out);
        let manifest = serde_json::to_vec_pretty(&self.manifest).context("the manifest")?;
        let mut append = |name: &str, bytes: u64, content: &mut dyn Read| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes);
            header.set_mode(0o600);
            header.set_mtime(u64::try_from(self.manifest.made_at.as_second()).unwrap_or(0));
            tar.append_data(&mut header, name, content).with_context(|| format!("writing {name}"))
        };
        append(MANIFEST, manifest.len() as u64, &mut &manifest[..])?;
        let (first, others) = self.manifest.parts.split_first().context("a backup has a store")?;
        let store = File::open(&self.store).with_context(|| format!("reading {}", self.store.display()))?;
        append(&first.name, first.bytes, &mut store.take(first.bytes))?;
        for (part, content) in others.iter().zip(&self.small) {
            append(&part.name, part.bytes, &mut &content[..])?;
        }
        tar.into_inner().and_then(|out| out.flush()).context("writing its end")
    }
}

/// What belongs to a store: its key, the admin's credential and the authority, by the names in the data directory.
fn belongings(data_dir: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = vec![(KEY.to_owned(), data_dir.join(KEY))];
    let kubeconfig = data_dir.join(KUBECONFIG);
    if kubeconfig.try_exists().with_context(|| format!("looking for {}", kubeconfig.display()))? {
        found.push((KUBECONFIG.to_owned(), kubeconfig));
    }
    let pki = data_dir.join(PKI);
    let entries = match std::fs::read_dir(&pki) {
        Ok(entries) => entries,
        // A store that no server has served yet has no authority.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error).with_context(|| format!("reading {}", pki.display())),
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", pki.display()))?;
        let name = format!("{PKI}/{}", entry.file_name().to_string_lossy());
        // One that is being written beside its place is not part of the authority yet.
        if is_known(&name) && entry.path().is_file() && !name.ends_with(".new") {
            found.push((name, entry.path()));
        }
    }
    found[1..].sort();
    Ok(found)
}

fn sum_of_file(path: &Path) -> anyhow::Result<(u64, String)> {
    let reading = || format!("reading {}", path.display());
    let mut file = File::open(path).with_context(reading)?;
    let (mut digest, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 64 << 10]);
    loop {
        match file.read(&mut block).with_context(reading)? {
            0 => return Ok((bytes, hex(&digest.finalize()))),
            count => {
                digest.update(&block[..count]);
                bytes += count as u64;
            }
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
