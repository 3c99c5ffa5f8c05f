//! Why a store could not be opened, or a write not be made.

use hearth_meta::Problem;

use crate::object::Key;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("the store in {0} is open in another process; stop that one first")]
    InUse(String),
    /// A newer program wrote it.
    #[error(
        "the store is of schema version {found}, and this program knows up to {known}; run the newer program again"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// Its file or its key cannot be read or written.
    #[error("{action}: {source}")]
    File {
        /// What was being done.
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The key beside it is not the one it was written with, or is damaged.
    #[error(
        "the key {key} does not fit the store; bring both back together from one backup: \
         `hearth restore BACKUP --data-dir {folder}`"
    )]
    Key {
        /// The key's file.
        key: String,
        /// The folder of the store.
        folder: String,
    },
    /// The store's key is there and its file is not, or is empty.
    #[error(
        "{file} is missing or empty though its key is there; {}; or move the key away to start anew",
        way_back(folder)
    )]
    Missing {
        /// The store's file.
        file: String,
        /// The folder it should lie in.
        folder: String,
    },
    /// The file is damaged, or mixed from two.
    #[error("the store in {folder} is damaged: {what}; {}", way_back(folder))]
    Damaged {
        /// The folder it lies in.
        folder: String,
        /// What was found.
        what: String,
    },
    /// SQLite failed.
    #[error("the store in {folder} cannot be read: {source}")]
    Sqlite {
        /// The folder it lies in.
        folder: String,
        /// What SQLite said.
        source: sqlx::Error,
    },
}

/// What a person does about a store that is lost or damaged.
fn way_back(folder: &str) -> String {
    format!(
        "`hearth backup list --data-dir {folder}` shows its copies, \
         `hearth restore FILE --data-dir {folder}` puts one of them, or a backup, in its place"
    )
}

/// SQLite's codes for a page that is not what it should be, and for a file that is no database.
const DAMAGE: [i32; 2] = [11, 26];

/// The primary code of what SQLite said, without its finer distinctions.
pub(super) fn code_of(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

impl From<sqlx::Error> for OpenError {
    fn from(source: sqlx::Error) -> Self {
        match (&source, code_of(&source)) {
            (_, Some(code)) if DAMAGE.contains(&code) => Self::damaged(source.to_string()),
            // A column that is not of the type it was written as.
            (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_), _) => {
                Self::damaged(source.to_string())
            }
            _ => Self::Sqlite { folder: String::new(), source },
        }
    }
}

impl OpenError {
    /// Damage that was found where the folder is not known; [`OpenError::of`] adds it.
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { folder: String::new(), what: what.into() }
    }

    /// The same of the store in this folder.
    pub(super) fn of(self, data_dir: &std::path::Path) -> Self {
        let folder = data_dir.display().to_string();
        match self {
            Self::Damaged { what, .. } => Self::Damaged { folder, what },
            Self::Sqlite { source, .. } => Self::Sqlite { folder, source },
            Self::Missing { file, .. } => Self::Missing { file, folder },
            Self::Key { key, .. } => Self::Key { key, folder },
            other => other,
        }
    }
}

/// SQLite's code for a table that is not there: a file of somebody else's.
const OF_ANOTHER: i32 = 1;

impl OpenError {
    /// Whether the file itself is at fault, so that only another one helps; not a disk, a right or a program.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Sqlite { source, .. } => code_of(source) == Some(OF_ANOTHER),
            _ => false,
        }
    }
}

/// Why a write was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// There is no such object.
    #[error("{0} not found")]
    NotFound(Key),
    /// There is one already.
    #[error("{0} exists already")]
    AlreadyExists(Key),
    /// It changed in the meantime, or is not the one that was meant.
    #[error("{0}")]
    Conflict(String),
    /// Whoever asks may not; it names the right that is missing.
    #[error("{0}")]
    Forbidden(String),
    /// What was asked for is wrong; every problem is listed.
    #[error("{}", listed(.0))]
    Invalid(Vec<Problem>),
    /// The disk is full, or nearly; nothing of it was kept. It says how much is free and what to do.
    #[error("{0}")]
    NoRoom(String),
    /// The disk or SQLite failed; nothing of it was kept.
    #[error("the store could not write: {0}")]
    Storage(String),
    /// The store is closing.
    #[error("the store is closing")]
    Closed,
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
