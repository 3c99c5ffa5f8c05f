//! Puts a restored store in the place of the one that stands, so that a crash leaves the one or the other.
//!
//! All parts are first laid out and made durable under `restoring/parts`. Then one file, `restoring/ready`, says that
//! they are complete: before it, nothing of the old store was touched, and what lies there is thrown away; after it,
//! whoever opens the store next carries the replacement through, each move of which may be made again. What stands
//! is moved aside and never deleted.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hearth_meta::Timestamp;
use sqlx::Connection;

use super::copies::sync_folder;
use super::error::OpenError;
use super::lock::StoreLock;
use super::verify::{CopyFacts, verify};
use super::{disk, mark, meta, migrations};

const RESTORING: &str = "restoring";
const PARTS: &str = "parts";
const READY: &str = "ready";
/// Where what stood before is put, in a folder for each time.
const ASIDE: &str = "replaced";

/// So far a store goes on past its backup where no mark says how far it had come: nobody will have made as many
/// changes since, and so no resourceVersion is given out twice.
const LEAP: u64 = 10_000_000;

/// A store that is about to be put in the place of another. Dropped, it leaves everything as it was.
pub struct Replacement {
    data_dir: PathBuf,
    _lock: StoreLock,
}

impl Replacement {
    /// Begins in a data directory, which is made where there is none, and in which no store may be open.
    ///
    /// # Errors
    /// Where it is in use, or cannot be written.
    pub fn begin(data_dir: &Path) -> Result<Self, OpenError> {
        make_folder(data_dir).map_err(|source| failed("making", data_dir, source))?;
        let lock = StoreLock::take(data_dir)?;
        carry_through(data_dir)?;
        let restoring = data_dir.join(RESTORING);
        remove_all(&restoring).map_err(|source| failed("clearing", &restoring, source))?;
        let parts = restoring.join(PARTS);
        make_folder(&parts).map_err(|source| failed("making", &parts, source))?;
        Ok(Self { data_dir: data_dir.to_owned(), _lock: lock })
    }

    /// Where to lay out what is to be put in place, by the names it has in the data directory. `store.db` must be
    /// there; where `store.key` is not, the key that stands is kept.
    pub fn parts(&self) -> PathBuf {
        self.data_dir.join(RESTORING).join(PARTS)
    }

    /// Reads all of the store that was laid out, and with its key its secrets. One of an earlier schema is brought to
    /// this program's first, since only then can all of it be told apart from what is damaged.
    ///
    /// # Errors
    /// Where it is damaged, newer than this program, or its key is missing or another.
    pub async fn verify(&self) -> Result<CopyFacts, OpenError> {
        let own_key = self.parts().join("store.key");
        let kept_key = self.data_dir.join("store.key");
        let key = if own_key.exists() { own_key } else { kept_key };
        let store = self.parts().join("store.db");
        let facts = verify(&store, &key).await?;
        if facts.schema == migrations::newest() {
            return Ok(facts);
        }
        let mut connection = disk::connect(&store, false).await?;
        migrations::migrate(&mut connection, &store).await?;
        connection.close().await?;
        Ok(CopyFacts { schema: facts.schema, ..verify(&store, &key).await? })
    }

    /// Puts the store in place, to be looked at only until a person says go, and says where what stood before is now.
    ///
    /// # Errors
    /// Where something cannot be written: either nothing has changed, or the next start carries it through.
    pub async fn put_in_place(self, why_observe_only: &str, now: Timestamp) -> Result<PathBuf, OpenError> {
        let store = self.parts().join("store.db");
        hold_back(&store, &self.data_dir, why_observe_only)
            .await
            .map_err(|error| error.of(&self.data_dir))?;
        let restoring = self.data_dir.join(RESTORING);
        let seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let aside = self.free_aside(&seconds.to_string().replace(':', "-"));
        sync_all(&self.parts()).map_err(|source| failed("putting on the disk", &restoring, source))?;
        let ready = || -> std::io::Result<()> {
            let beside = restoring.join("ready.new");
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(aside.as_bytes())?;
            file.sync_all()?;
            sync_folder(&self.data_dir)?;
            std::fs::rename(&beside, restoring.join(READY))?;
            sync_folder(&restoring)
        };
        ready().map_err(|source| failed("writing in", &restoring, source))?;
        carry_through(&self.data_dir)?;
        Ok(self.data_dir.join(ASIDE).join(aside))
    }

    /// A name under which nothing was put aside yet.
    fn free_aside(&self, name: &str) -> String {
        let taken = |name: &str| self.data_dir.join(ASIDE).join(name).exists();
        let names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}-{n}")));
        names.into_iter().find(|name| !taken(name)).unwrap_or_else(|| name.to_owned())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        let restoring = self.data_dir.join(RESTORING);
        if !restoring.join(READY).exists() {
            // What cannot be removed now is removed by the next one.
            let _ = remove_all(&restoring);
        }
    }
}

/// The store starts held back, whatever it said before, and past every version it may have given out.
async fn hold_back(store: &Path, data_dir: &Path, why: &str) -> Result<(), OpenError> {
    let mut connection = disk::connect(store, false).await?;
    migrations::migrate(&mut connection, store).await?;
    let words = meta::load(&mut connection).await?;
    let number = |word: &str| words.get(word).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    meta::put(&mut connection, meta::OBSERVE_ONLY, why).await?;
    let reached = mark::read(&data_dir.join(mark::FILE))?;
    let has_mark = reached.is_some_and(|reached| words.get(meta::LINEAGE) == Some(&reached.lineage));
    if !has_mark {
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(rv) FROM changes").fetch_one(&mut connection).await?;
        let newest = u64::try_from(newest.unwrap_or(0)).unwrap_or(0).max(number(meta::WATCHED_FROM));
        meta::put(&mut connection, meta::WATCHED_FROM, &(newest + LEAP).to_string()).await?;
    }
    // The log goes with the last connection, so that one file is the whole store.
    connection.close().await?;
    Ok(())
}

/// Carries a replacement through that is complete and was cut short; the store must be locked. Whether there was one.
pub(super) fn carry_through(data_dir: &Path) -> Result<bool, OpenError> {
    let restoring = data_dir.join(RESTORING);
    let aside = match std::fs::read_to_string(restoring.join(READY)) {
        Ok(aside) => data_dir.join(ASIDE).join(aside.trim()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(failed("reading in", &restoring, source)),
    };
    let moves = || -> std::io::Result<()> {
        make_folder(&aside)?;
        // The log of the old store first: beside the new one it would be played back into it. Once the new one is in
        // place there is none, since nobody opens it before this is through.
        for log in ["store.db-wal", "store.db-shm"] {
            move_if_there(&data_dir.join(log), &aside.join(log))?;
        }
        for entry in std::fs::read_dir(restoring.join(PARTS))? {
            let entry = entry?;
            let place = data_dir.join(entry.file_name());
            move_if_there(&place, &aside.join(entry.file_name()))?;
            std::fs::rename(entry.path(), place)?;
        }
        sync_folder(&aside)?;
        sync_folder(data_dir)?;
        std::fs::remove_file(restoring.join(READY))?;
        sync_folder(&restoring)?;
        remove_all(&restoring)
    };
    moves().map_err(|source| failed("putting a restored store in place in", data_dir, source))?;
    Ok(true)
}

fn move_if_there(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_all(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Every file and every name below a folder, on the disk.
fn sync_all(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_folder(folder)
}

fn failed(doing: &str, path: &Path, source: std::io::Error) -> OpenError {
    OpenError::File { action: format!("{doing} {}", path.display()), source }
}

#[cfg(test)]
mod tests;
