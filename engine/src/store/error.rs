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
    #[error("the key {0} does not fit the store; bring the store and its key back together, from one backup")]
    Key(String),
    /// The store's key is there and its file is not, or is empty.
    #[error(
        "{0} is missing or empty though its key is there; bring it back from a copy, or move the key away to start anew"
    )]
    Missing(String),
    /// SQLite finds the file damaged.
    #[error("the store is damaged: {0}; put a copy of it, and of its key, in its place")]
    Damaged(String),
    /// SQLite failed.
    #[error("the store cannot be read: {0}")]
    Sqlite(#[from] sqlx::Error),
}

/// SQLite's words for a file that is damaged, is no database, or is one of somebody else's.
const DAMAGE: [i64; 3] = [1, 11, 26];

impl OpenError {
    /// Whether the file itself is at fault, so that only another one helps; not a disk, a right or a program.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Sqlite(sqlx::Error::Database(error)) => {
                // The low byte is the kind of fault; what is above it says more.
                let code = error.code().and_then(|code| code.parse::<i64>().ok());
                code.is_some_and(|code| DAMAGE.contains(&(code & 0xff)))
            }
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
    /// What was asked for is wrong; every problem is listed.
    #[error("{}", listed(.0))]
    Invalid(Vec<Problem>),
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
