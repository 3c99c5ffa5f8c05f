//! Taking a backup apart: only known names, each as large as it was said to be, each with its sum.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use super::pack::hex;
use super::{FORMAT, KEY, MANIFEST, Manifest, STORE, is_known};

/// A manifest is a page; more than this is no manifest.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// Unpacks a backup into an empty folder, every part with its sum checked, readable by the owner alone.
///
/// # Errors
/// Where it is no backup, of a newer form, cut short or changed, or cannot be written.
pub fn unpack(backup: &Path, into: &Path) -> anyhow::Result<Manifest> {
    let mut archive = open(backup)?;
    let mut entries = archive.entries().context("it is no tar file")?;
    let manifest = first(&mut entries)?;
    for part in &manifest.parts {
        let missing = || format!("it is cut short: {} is missing", part.name);
        let mut entry = entries.next().with_context(missing)?.with_context(missing)?;
        let name = name_of(&entry)?;
        ensure!(name == part.name, "it was changed: {name} stands where {} should", part.name);
        ensure!(entry.size() == part.bytes, "it was changed: {name} is not as large as it was");
        let path = into.join(&part.name);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.with_context(|| format!("making {}", path.display()))?;
        let sum = copy_summed(&mut entry, &mut file, part.bytes, &part.name)?;
        ensure!(sum == part.sha256, "it was changed: {name} is not what was put into it");
        file.sync_all().with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(more) = entries.next() {
        bail!("it was changed: {} does not belong to it", name_of(&more.context("after its last part")?)?);
    }
    Ok(manifest)
}

/// Only what a backup says of itself; nothing of it is checked.
pub(super) fn read_manifest(backup: &Path) -> anyhow::Result<Manifest> {
    first(&mut open(backup)?.entries().context("it is no tar file")?)
}

fn open(backup: &Path) -> anyhow::Result<tar::Archive<File>> {
    let file = File::open(backup).with_context(|| format!("opening {}", backup.display()))?;
    Ok(tar::Archive::new(file))
}

fn first<R: Read>(entries: &mut tar::Entries<'_, R>) -> anyhow::Result<Manifest> {
    let none = "it is no backup of Hearth";
    let entry = entries.next().context(none)?.context(none)?;
    ensure!(name_of(&entry)? == MANIFEST && entry.size() <= LARGEST_MANIFEST, none);
    let mut text = Vec::new();
    entry.take(LARGEST_MANIFEST).read_to_end(&mut text).context("its manifest is cut short")?;
    let value: serde_json::Value = serde_json::from_slice(&text).context("its manifest cannot be read")?;
    // The form first: another one need not look like ours.
    let format = value["format"].as_u64().context("its manifest does not say of which form it is")?;
    ensure!(
        format == u64::from(FORMAT),
        "it is of form {format}, and this program knows form {FORMAT}; use the program that made it"
    );
    let manifest: Manifest = serde_json::from_value(value).context("its manifest cannot be read")?;
    let names: Vec<&str> = manifest.parts.iter().map(|part| part.name.as_str()).collect();
    for (index, name) in names.iter().enumerate() {
        ensure!(is_known(name), "its manifest names {name:?}, which is no part of a backup");
        ensure!(!names[..index].contains(name), "its manifest names {name} twice");
    }
    for needed in [STORE, KEY] {
        ensure!(names.contains(&needed), "its manifest names no {needed}");
    }
    Ok(manifest)
}

fn name_of<R: Read>(entry: &tar::Entry<'_, R>) -> anyhow::Result<String> {
    Ok(entry.path().context("a name in it cannot be read")?.to_string_lossy().into_owned())
}

fn copy_summed(from: &mut dyn Read, to: &mut dyn Write, bytes: u64, name: &str) -> anyhow::Result<String> {
    let (mut digest, mut left, mut block) = (Sha256::new(), bytes, vec![0; 64 << 10]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        let count = from.read(&mut block[..most]).with_context(|| format!("it is cut short in {name}"))?;
        ensure!(count > 0, "it is cut short in {name}");
        digest.update(&block[..count]);
        to.write_all(&block[..count]).with_context(|| format!("writing {name}"))?;
        left -= count as u64;
    }
    Ok(hex(&digest.finalize()))
}
