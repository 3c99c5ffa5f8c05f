//! Rolling copies of the store, made while it runs: one an hour and one a day.
//!
//! A copy is made beside, read back whole and put on the disk before it gets its name, so that what bears the name
//! of a copy is one. It is read from a connection of its own at one moment, and writes go on meanwhile. Nothing is
//! copied when nothing was written since, and a copy that fails costs only itself: it is told, and tried again.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own copies")]

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_meta::{SignedDuration, Timestamp};
use sqlx::{Connection, SqliteConnection};
use tokio_util::sync::CancellationToken;

use super::cipher::Cipher;
use super::error::{OpenError, WriteError};
use super::events::{EventKind, EventNote};
use super::lock::StoreLock;
use super::verify::CopyFacts;
use super::{Store, disk, open, replace, verify};

mod name;

pub use name::{CopyFile, Every};

/// The folder of the copies, in the data directory.
const FOLDER: &str = "copies";
/// What is not whole yet.
const HALF: &str = "half";
/// How often it is looked whether a copy is due. The wall clock may jump, so no longer sleep would be right.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// How the copies stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiesReport {
    /// When the newest was made; absent where there is none.
    pub newest: Option<Timestamp>,
    /// Why the last try failed, if it did.
    pub failing: Option<String>,
}

/// What is remembered from one copy to the next.
#[derive(Default)]
pub(super) struct Copies {
    state: Mutex<Remembered>,
}

#[derive(Default)]
struct Remembered {
    report: CopiesReport,
    /// How many batches were down at the last copy; absent before the first of this process.
    commits: Option<u64>,
}

impl Copies {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The copies in a data directory, oldest first. Files of other names are passed over.
///
/// # Errors
/// Where the folder cannot be read.
pub fn list(data_dir: &Path) -> Result<Vec<CopyFile>, OpenError> {
    let folder = data_dir.join(FOLDER);
    let failed = |source| OpenError::File { action: format!("reading {}", folder.display()), source };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut copies = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let bytes = entry.metadata().map(|found| found.len()).unwrap_or(0);
        copies.extend(CopyFile::parse(&entry.path(), bytes));
    }
    copies.sort_by(|a, b| (a.at, &a.path).cmp(&(b.at, &b.path)));
    Ok(copies)
}

impl Store {
    /// Copies everything that is down into a file of its own, as it stands at one moment, while the store goes on.
    /// The copy was read back whole and is on the disk. Secrets in it can be read only with the store's key, which is
    /// not part of it.
    ///
    /// # Errors
    /// A storage error, also where the file exists already, and where what was copied is damaged.
    pub async fn copy_to(&self, file: &Path) -> Result<CopyFacts, WriteError> {
        let connection = disk::connect(&self.inner.file, true).await;
        let key = self.inner.file.with_extension("key");
        let copied = match connection {
            Ok(connection) => copy(connection, &self.inner.cipher, &key, file).await,
            Err(error) => Err(error.into()),
        };
        copied
            .map_err(|error| WriteError::Storage(format!("copying the store to {}: {error}", file.display())))
    }

    /// The rolling copies there are, oldest first.
    ///
    /// # Errors
    /// Where their folder cannot be read.
    pub fn copies(&self) -> Result<Vec<CopyFile>, OpenError> {
        list(self.data_dir())
    }

    /// How the copies stand.
    pub fn copies_report(&self) -> CopiesReport {
        self.inner.copies.lock().report.clone()
    }

    /// Makes the copies that are due, until cancelled.
    pub async fn keep_copies(&self, stop: CancellationToken) {
        let clock = self.clock().clone();
        while !stop.is_cancelled() && !self.is_closed() {
            self.copy_if_due().await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = clock.sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Makes a copy if one is due now, and drops those there are too many of.
    pub async fn copy_if_due(&self) {
        let result = self.try_copy().await;
        let failing = result.as_ref().err().map(ToString::to_string);
        let before = {
            let mut state = self.inner.copies.lock();
            std::mem::replace(&mut state.report.failing, failing.clone())
        };
        let (kind, reason, message) = match (before, failing) {
            // The same again is told once.
            (None, Some(why)) => (EventKind::Warning, "CopyFailed", format!("No copy could be made: {why}")),
            (Some(_), None) => (EventKind::Normal, "CopyMade", "A copy could be made again".to_owned()),
            _ => return,
        };
        tracing::warn!(reason, message, "copies of the store");
        self.note(EventNote::of_store(self.lineage(), kind, reason, &message)).await;
    }

    async fn try_copy(&self) -> Result<(), WriteError> {
        let failed = |error: &dyn std::fmt::Display| WriteError::Storage(error.to_string());
        let folder = self.data_dir().join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| failed(&error))?;
        clear_halves(&folder).map_err(|error| failed(&error))?;
        let now = self.clock().now();
        let copies = list(self.data_dir()).map_err(|error| failed(&error))?;
        let past: Vec<&CopyFile> = copies.iter().filter(|copy| copy.at <= now).collect();
        self.inner.copies.lock().report.newest = past.last().map(|copy| copy.at);
        let Some(every) = due(&past, now) else { return Ok(()) };
        // Counted before, so that what is written meanwhile is copied next time.
        let commits = self.inner.commits.load(Ordering::Relaxed);
        let same_as_last = match self.inner.copies.lock().commits {
            Some(at_last) => at_last == commits,
            None => {
                commits == 0
                    && past.last().is_some_and(|copy| copy.resource_version == self.resource_version())
            }
        };
        if same_as_last {
            return Ok(());
        }
        let room = self.room();
        let needed = std::fs::metadata(&self.inner.file).map(|found| found.len()).unwrap_or(0);
        if room.space.is_some_and(|space| space.free_bytes < space.floor_bytes() + needed) {
            return Err(WriteError::Storage("there is too little room on the disk for another copy".into()));
        }
        let half = folder.join(format!("{now}.{HALF}").replace(':', "-"));
        let facts = self.copy_to(&half).await?;
        let copy = folder.join(name::name(now, every, facts.resource_version));
        std::fs::rename(&half, &copy).map_err(|error| failed(&error))?;
        sync_folder(&folder).map_err(|error| failed(&error))?;
        {
            let mut state = self.inner.copies.lock();
            state.commits = Some(commits);
            state.report.newest = Timestamp::from_second(now.as_second()).ok();
        }
        let copies = list(self.data_dir()).map_err(|error| failed(&error))?;
        for old in name::too_many(&copies, now) {
            std::fs::remove_file(&old.path).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// The folder the store lies in.
    pub fn data_dir(&self) -> &Path {
        self.inner.file.parent().unwrap_or(Path::new("."))
    }
}

/// Copies a store that no process has open; see [`Store::copy_to`].
///
/// # Errors
/// Where it is open, cannot be read, or is damaged.
pub async fn copy_closed(data_dir: &Path, to: &Path) -> Result<CopyFacts, OpenError> {
    let _lock = StoreLock::take(data_dir)?;
    replace::carry_through(data_dir)?;
    let (file, key) = (data_dir.join("store.db"), data_dir.join("store.key"));
    open::check_file(&file)?;
    let cipher = Cipher::load(&key, false)?;
    let copied = async {
        // Not read-only: what a process that was killed left in the log belongs to it.
        let connection = disk::connect(&file, false).await?;
        copy(connection, &cipher, &key, to).await
    };
    copied.await.map_err(|error| error.of(data_dir))
}

/// Copies what a connection reads, reads the copy back, and puts it on the disk.
async fn copy(
    mut connection: SqliteConnection,
    cipher: &Cipher,
    key: &Path,
    to: &Path,
) -> Result<CopyFacts, OpenError> {
    let failed =
        |action: &str, source| OpenError::File { action: format!("{action} {}", to.display()), source };
    // Made by us first, since SQLite would let others read it.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    made.map_err(|source| failed("making", source))?;
    let copied = async {
        sqlx::query("VACUUM INTO ?").bind(to.display().to_string()).execute(&mut connection).await?;
        connection.close().await?;
        let facts = verify::verify_with(to, cipher, key).await?;
        let on_disk = File::open(to).and_then(|copy| copy.sync_all());
        on_disk.map_err(|source| failed("putting on the disk", source))?;
        Ok(facts)
    };
    let copied = copied.await;
    if copied.is_err() {
        // Half a copy is of no use to anybody.
        let _ = std::fs::remove_file(to);
    }
    copied
}

/// Which copy is due, by those that are not from the future: a clock that was ahead for a while must not keep copies
/// from being made until its time has come.
fn due(past: &[&CopyFile], now: Timestamp) -> Option<Every> {
    let is_older_than = |at: Option<Timestamp>, hours: i64| {
        at.is_none_or(|at| now.duration_since(at) >= SignedDuration::from_hours(hours))
    };
    let newest_daily = past.iter().rev().find(|copy| copy.every == Every::Day).map(|copy| copy.at);
    if is_older_than(newest_daily, 24) {
        return Some(Every::Day);
    }
    is_older_than(past.last().map(|copy| copy.at), 1).then_some(Every::Hour)
}

/// Removes what a crash left half-made.
fn clear_halves(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.extension() == Some(OsStr::new(HALF)) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Puts the names in a folder on the disk.
pub(super) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}
