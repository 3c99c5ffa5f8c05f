//! What goes wrong in a world, with what happened before it.

use std::fmt;

/// How many of the last happenings are told with a trouble.
const TOLD: usize = 60;

/// What went wrong.
#[derive(Debug)]
pub struct Trouble {
    /// Which kind of thing went wrong.
    pub kind: TroubleKind,
    /// What it is, in one or more lines.
    pub said: String,
    /// The last happenings before it, oldest first.
    pub last: String,
}

/// Which kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The world could not be had: a folder, a store, a runtime.
    World,
    /// It does not come to rest.
    Unrest,
    /// What must always hold does not.
    Broken,
    /// What was asked for was refused.
    Refused,
}

impl Trouble {
    /// A world that could not be had.
    pub(crate) fn world(error: impl fmt::Display) -> Self {
        Self { kind: TroubleKind::World, said: error.to_string(), last: String::new() }
    }

    /// The same, told of something in particular.
    #[must_use]
    pub fn of(mut self, what: &str) -> Self {
        self.said = format!("{what}: {}", self.said);
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.said)?;
        if self.last.is_empty() { Ok(()) } else { write!(f, "\nthe last of what happened:\n{}", self.last) }
    }
}

impl std::error::Error for Trouble {}

impl super::World {
    /// Something went wrong here and now.
    pub fn trouble(&self, kind: TroubleKind, said: impl Into<String>) -> Trouble {
        Trouble { kind, said: said.into(), last: self.happened.tail(TOLD) }
    }
}
