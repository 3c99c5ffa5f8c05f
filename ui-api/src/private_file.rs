//! Files that only their owner may read, written whole or not at all.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::Context;
use hearth_engine::private_file;

/// Makes a folder that only its owner may enter; there already is fine.
pub(crate) fn make_folder(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("making {}", path.display()))
}

/// Reads a text; `None` where there is no such file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// Writes a text, whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    private_file::write(path, text.as_bytes()).with_context(|| format!("writing {}", path.display()))
}

/// Writes a text into a file that is not there yet, whole or not at all.
pub(crate) fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    create_with(path, |file| Ok(file.write_all(text.as_bytes())?))
}

/// Writes what `fill` gives into a file that is not there yet, whole or not at all.
pub(crate) fn create_with(
    path: &Path,
    fill: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    private_file::create(path, |file| fill(file).map_err(std::io::Error::other))
        .with_context(|| format!("writing {}", path.display()))
}
