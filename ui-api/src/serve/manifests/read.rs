//! The files of the folder, as they are now. What is there and cannot be read is said, never left out.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// How deep folders may lie in each other; links that go round end here.
const DEEPEST: usize = 8;

/// What the folder holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Every manifest by its path within the folder: its text, or why it cannot be had.
    pub(super) files: BTreeMap<String, Result<String, String>>,
}

/// Reads a folder and the folders in it.
///
/// # Errors
/// The folder itself cannot be read, so that nothing is known; in words for people.
pub(super) fn read(folder: &Path) -> Result<Reading, String> {
    let mut reading = Reading::default();
    walk(folder, "", 0, &mut reading).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "it is not there; make it, or bring it back".to_owned(),
        _ => format!("it cannot be read: {error}"),
    })?;
    Ok(reading)
}

fn walk(folder: &Path, within: &str, depth: usize, reading: &mut Reading) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            let shown = format!("{within}{}", entry.file_name().to_string_lossy());
            reading.files.insert(shown, Err("its name is not UTF-8; rename it".into()));
            continue;
        };
        if is_ignored(&name) {
            continue;
        }
        let shown = format!("{within}{name}");
        let failed = match fs::metadata(&path) {
            Ok(there) if there.is_dir() && depth == DEEPEST => Some("lies too deep".to_owned()),
            Ok(there) if there.is_dir() => walk(&path, &format!("{shown}/"), depth + 1, reading)
                .err()
                .map(|error| format!("cannot be read: {error}")),
            Ok(there) if is_manifest(&name) => {
                reading.files.insert(shown, text_of(&path, &there));
                continue;
            }
            Ok(_) => None,
            // A link that leads nowhere is there; what is not there at all went since the folder was listed.
            Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => None,
            Err(error) => Some(format!("cannot be read: {error}")),
        };
        reading.files.extend(failed.map(|why| (shown, Err(why))));
    }
    Ok(())
}

/// Hidden files, and what editors leave beside the file they write.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.starts_with('#') || name.ends_with('~')
}

fn is_manifest(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
}

fn text_of(path: &Path, there: &fs::Metadata) -> Result<String, String> {
    if !there.is_file() {
        return Err("is no plain file".into());
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(_) if bytes.len() as u64 > LARGEST => Err("is larger than 1 MiB; split it".into()),
        Ok(_) => String::from_utf8(bytes).map_err(|_| "is not UTF-8".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::read;

    #[test]
    fn manifests_are_read_in_every_folder_and_what_editors_leave_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        };
        for name in
            ["a.yaml", "b.yml", "c.json", "in/d.yaml", ".hidden.yaml", ".git/e.yaml", "#f.yaml", "#g.yaml#"]
        {
            put(name);
        }
        for name in ["a.yaml~", "h.yaml.swp", "i.yaml.bak", "README.md", "4913"] {
            put(name);
        }
        let reading = read(folder.path()).unwrap();
        let names: Vec<&str> = reading.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.yaml", "b.yml", "c.json", "in/d.yaml"]);
        assert_eq!(reading.files["in/d.yaml"], Ok("in/d.yaml".into()));
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_told_and_what_is_not_there_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("/nowhere/at/all", at("lost.yaml")).unwrap();
        symlink("/nowhere/at/all", at("lost-folder")).unwrap();
        symlink(".", at("round")).unwrap();
        std::fs::write(at("large.yaml"), vec![b' '; 1024 * 1024 + 1]).unwrap();
        std::fs::write(at("binary.yaml"), [0xff, 0xfe]).unwrap();
        std::fs::write(at("real.txt"), "said: yes").unwrap();
        symlink(at("real.txt"), at("linked.yaml")).unwrap();
        let reading = read(folder.path()).unwrap();
        for name in ["lost.yaml", "lost-folder", "large.yaml", "binary.yaml"] {
            assert!(reading.files[name].is_err(), "{name}");
        }
        assert_eq!(reading.files["linked.yaml"], Ok("said: yes".into()));
        assert!(reading.files.keys().any(|name| name.matches("round").count() == 9), "{reading:?}");
        assert!(read(&at("gone")).unwrap_err().contains("is not there"));
        assert!(read(&at("real.txt")).is_err());
    }
}
