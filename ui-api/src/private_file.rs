//! Files that only their owner may read, written whole or not at all.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context;

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

/// Writes a text beside the file, then puts it in its place: a crash leaves the old one or the new one.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let moved = |beside: &Path| std::fs::rename(beside, path);
    put(path, |file| file.write_all(text.as_bytes()), moved)
        .with_context(|| format!("writing {}", path.display()))
}

/// Writes a text into a file that is not there yet, whole or not at all.
pub(crate) fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    create_with(path, |file| Ok(file.write_all(text.as_bytes())?))
}

/// Writes what `fill` gives into a file that is not there yet, whole or not at all. A name that was taken meanwhile is
/// not taken away again.
pub(crate) fn create_with(
    path: &Path,
    fill: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let named = |beside: &Path| {
        std::fs::hard_link(beside, path)?;
        std::fs::remove_file(beside)
    };
    let fill = |file: &mut File| fill(file).map_err(std::io::Error::other);
    put(path, fill, named).with_context(|| format!("writing {}", path.display()))
}

fn put(
    path: &Path,
    fill: impl FnOnce(&mut File) -> std::io::Result<()>,
    place: impl FnOnce(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // A name without a folder lies in this one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = folder.join(format!(
        ".{}.{}",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    // One that a process of this number left behind is nobody's.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = fill(&mut file).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| place(&beside)) {
        // What could not be written tells more than what could not be removed.
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    // The name is in the folder, which has to reach the disk as well.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_file_takes_no_others_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.yaml");
        super::create(&file, "mine").unwrap();
        assert!(super::create(&file, "theirs").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_is_written_for_its_owner_alone_and_touches_none_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("anna.kubeconfig");
        std::fs::write(folder.path().join("anna.new"), "mine").unwrap();
        std::fs::write(&file, "old").unwrap();
        super::write(&file, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(
            (left, std::fs::read_to_string(folder.path().join("anna.new")).unwrap()),
            (2, "mine".into())
        );
    }
}
