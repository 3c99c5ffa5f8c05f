//! The high-water mark: how far the store had come, kept beside it.
//!
//! A copy that was put in the store's place is behind it. Such a store would run old images on newer data and give
//! out resourceVersions twice, so it is only looked at until a person says go (DESIGN section 4).
//!
//! The mark is written after each commit and not forced to the disk: after a power cut it may be older than the
//! store, which proves nothing and does no harm, and never newer.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::error::OpenError;

/// Digits of each number, so that every mark is as long as the one before and overwrites it whole.
const DIGITS: usize = 20;

/// The file of the high-water mark, in the data directory.
pub(super) const FILE: &str = "high-water";

/// The file of the mark, open for writing.
pub(super) struct Mark {
    file: File,
    lineage: String,
}

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) lineage: String,
    pub(super) resource_version: u64,
    /// How often intents were put down; they give out no resourceVersion.
    pub(super) intents: u64,
}

impl Mark {
    /// Opens the mark for a store of this lineage.
    pub(super) fn open(path: &Path, lineage: &str) -> Result<Self, OpenError> {
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let file =
            open.map_err(|source| OpenError::File { action: format!("opening {}", path.display()), source })?;
        Ok(Self { file, lineage: lineage.to_owned() })
    }

    /// Moves the mark. A failure costs only the chance to notice an older copy, and is logged.
    pub(super) fn move_to(&self, resource_version: u64, intents: u64) {
        let line = format!("{} {resource_version:0DIGITS$} {intents:0DIGITS$}\n", self.lineage);
        if let Err(error) = self.file.write_all_at(line.as_bytes(), 0) {
            tracing::warn!(error = %error, "the store's high-water mark could not be moved");
        }
    }
}

/// What the mark in a file says; `None` where there is none, or one that a power cut left half-written.
pub(super) fn read(path: &Path) -> Result<Option<Reached>, OpenError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(None),
        Err(source) => Err(OpenError::File { action: format!("reading {}", path.display()), source }),
    }
}

fn parse(text: &str) -> Option<Reached> {
    let (lineage, rest) = text.split_once(' ')?;
    let numbers = rest.strip_suffix('\n')?.split(' ').map(|digits| match digits.len() {
        DIGITS => digits.parse().ok(),
        _ => None,
    });
    // The second is missing in a mark from before intents were counted.
    let (resource_version, intents) = match numbers.collect::<Option<Vec<u64>>>()?[..] {
        [resource_version] => (resource_version, 0),
        [resource_version, intents] => (resource_version, intents),
        _ => return None,
    };
    Some(Reached { lineage: lineage.to_owned(), resource_version, intents })
}

/// Why a store is only looked at, if the mark says more than `store` has come to.
pub(super) fn why_observe_only(reached: &Reached, store: &Reached) -> Option<String> {
    if reached.lineage != store.lineage {
        return Some("This store belongs to another home than the one that was here before".to_owned());
    }
    match reached.resource_version.saturating_sub(store.resource_version) {
        0 if reached.intents > store.intents => {
            Some("This store is an older copy: what was last being done is not in it".to_owned())
        }
        0 => None,
        behind => {
            Some(format!("This store is an older copy: {behind} changes that were made since are not in it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Reached, parse, read, why_observe_only};

    fn reached(lineage: &str, resource_version: u64, intents: u64) -> Reached {
        Reached { lineage: lineage.into(), resource_version, intents }
    }

    #[test]
    fn a_mark_reads_back_and_a_torn_one_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("high-water");
        assert_eq!(read(&path).unwrap(), None);
        let mark = Mark::open(&path, "home").unwrap();
        mark.move_to(123, 4);
        mark.move_to(7, 5);
        assert_eq!(read(&path).unwrap(), Some(reached("home", 7, 5)));
        std::fs::write(&path, "home 000").unwrap();
        assert_eq!(read(&path).unwrap(), None);
        assert_eq!(parse("home 00000000000000000009\n"), Some(reached("home", 9, 0)), "an earlier form");
    }

    #[test]
    fn a_store_behind_its_mark_is_only_looked_at() {
        let mark = reached("home", 7, 5);
        let why = |store| why_observe_only(&mark, &store);
        assert_eq!(why(reached("home", 7, 5)), None);
        assert_eq!(why(reached("home", 8, 6)), None, "a power cut kept the mark from the disk");
        assert!(why(reached("home", 5, 9)).unwrap().contains("2 changes"));
        assert!(why(reached("home", 7, 4)).unwrap().contains("last being done"));
        assert!(why(reached("other", 9, 9)).unwrap().contains("another home"));
    }
}
