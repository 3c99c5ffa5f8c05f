//! The names of copies: they sort by time, people can read them, and nothing else is ever taken for one.

use std::path::{Path, PathBuf};

use hearth_meta::Timestamp;

/// How often a copy of this sort is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// One an hour, of which a day's worth is kept.
    Hour,
    /// One a day, of which two weeks' worth is kept.
    Day,
}

impl Every {
    /// The word in the name of the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hour => "hourly",
            Self::Day => "daily",
        }
    }

    /// How many are kept.
    pub fn kept(self) -> usize {
        match self {
            Self::Hour => 24,
            Self::Day => 14,
        }
    }
}

/// A copy, as its name tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFile {
    /// Where it is.
    pub path: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// Which sort it is.
    pub every: Every,
    /// How far the store had come.
    pub resource_version: u64,
    /// How large it is, in bytes.
    pub bytes: u64,
}

impl CopyFile {
    /// The copy of this name; `None` where it is no name of a copy.
    pub fn parse(path: &Path, bytes: u64) -> Option<Self> {
        let (at, rest) = path.file_name()?.to_str()?.split_once('Z')?;
        let (word, version) = rest.strip_suffix(".db")?.strip_prefix('-')?.split_once("-at-")?;
        let every = [Every::Hour, Every::Day].into_iter().find(|every| every.word() == word)?;
        let (date, time) = at.split_once('T')?;
        let at: Timestamp = format!("{date}T{}Z", time.replace('-', ":")).parse().ok()?;
        let resource_version = version.parse().ok()?;
        let copy = Self { path: path.to_owned(), at, every, resource_version, bytes };
        // Only what we would write ourselves is ours to remove.
        (path.file_name()?.to_str()? == name(at, every, resource_version)).then_some(copy)
    }
}

/// `2026-11-29T12-00-00Z-hourly-at-1234.db`: without colons, which other systems' disks do not take.
pub(super) fn name(at: Timestamp, every: Every, resource_version: u64) -> String {
    let seconds = Timestamp::from_second(at.as_second()).unwrap_or(at);
    format!("{}-{}-at-{resource_version}.db", seconds.to_string().replace(':', "-"), every.word())
}

/// The copies there are too many of, of each sort the oldest. Those from the future are of a clock that was wrong:
/// they count for nothing until their time has come.
pub(super) fn too_many(copies: &[CopyFile], now: Timestamp) -> Vec<&CopyFile> {
    let of = |every: Every| {
        let all: Vec<&CopyFile> =
            copies.iter().filter(|copy| copy.every == every && copy.at <= now).collect();
        let over = all.len().saturating_sub(every.kept());
        all.into_iter().take(over).collect::<Vec<_>>()
    };
    [of(Every::Hour), of(Every::Day)].concat()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CopyFile, Every, name, too_many};

    #[test]
    fn a_name_reads_back_and_other_names_are_no_copies() {
        let at = "2026-11-29T12:30:05Z".parse().unwrap();
        let name = name(at, Every::Hour, 1234);
        assert_eq!(name, "2026-11-29T12-30-05Z-hourly-at-1234.db");
        let copy = CopyFile::parse(&Path::new("/copies").join(&name), 7).unwrap();
        assert_eq!((copy.at, copy.every, copy.resource_version, copy.bytes), (at, Every::Hour, 1234, 7));
        for other in [
            "holiday.db",
            "2026-11-29T12-30-05Z-hourly-at-1234.db.old",
            "2026-11-29T12-30-05Z-weekly-at-1234.db",
            "2026-11-29T12-30-05Z-hourly-at-01234.db",
            "2026-11-29.db",
            "my-2026-11-29T12-30-05Z-hourly-at-1234.db",
        ] {
            assert_eq!(CopyFile::parse(Path::new(other), 0), None, "{other}");
        }
    }

    #[test]
    fn of_each_sort_the_oldest_go_and_those_from_the_future_count_for_nothing() {
        let copy = |day: u32, hour: u32, every: Every| {
            let at = format!("2026-11-{day:02}T{hour:02}:00:00Z").parse().unwrap();
            CopyFile::parse(Path::new(&name(at, every, 1)), 0).unwrap()
        };
        let mut copies: Vec<_> = (1..=20).map(|day| copy(day, 0, Every::Day)).collect();
        copies.extend((0..26).map(|n| copy(19 + n / 24, n % 24, Every::Hour)));
        copies.push(copy(30, 0, Every::Hour));
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let gone: Vec<_> =
            too_many(&copies, now).iter().map(|copy| (copy.every, copy.at.to_string())).collect();
        let hours = gone.iter().filter(|(every, _)| *every == Every::Hour).count();
        assert_eq!((hours, gone.len()), (2, 8), "{gone:?}");
        assert!(gone.iter().any(|(_, at)| at == "2026-11-06T00:00:00Z"));
        assert!(!gone.iter().any(|(_, at)| at == "2026-11-07T00:00:00Z"));
    }
}
