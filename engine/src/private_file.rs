//! Files that only their owner may read, written whole or not at all.
#![expect(clippy::disallowed_methods, reason = "whoever keeps files of their own writes them here")]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file beside its place, then puts it there: a crash leaves the old one or the new one, and a link that
/// somebody laid there is replaced, never written through.
///
/// # Errors
/// Where it cannot be written; then what was there is there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    put(path, |file| file.write_all(bytes), |beside| std::fs::rename(beside, path))
}

/// Writes what `fill` gives into a file that is not there yet. A name that was taken meanwhile is not taken away again.
///
/// # Errors
/// Where it cannot be written, or is there already.
pub fn create(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    put(path, fill, |beside| {
        std::fs::hard_link(beside, path)?;
        // What is not told as made must not be there.
        std::fs::remove_file(beside).inspect_err(|_| drop(std::fs::remove_file(path)))
    })
}

fn put(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<()>,
    place: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    // A name without a folder lies in this one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    // One that a process of this number left behind is nobody's.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
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
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_written_for_its_owner_alone_and_touches_none_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("anna.kubeconfig");
        std::fs::write(folder.path().join("anna.new"), "mine").unwrap();
        std::fs::write(&file, "old").unwrap();
        super::write(&file, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(
            (left, std::fs::read_to_string(folder.path().join("anna.new")).unwrap()),
            (2, "mine".into())
        );
    }

    #[test]
    fn a_new_file_takes_no_others_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.yaml");
        super::create(&file, |file| file.write_all(b"mine")).unwrap();
        assert!(super::create(&file, |file| file.write_all(b"theirs")).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
