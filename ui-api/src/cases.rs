//! Cases: files that say, in order, what is asked for, what happens, and what must come of it; carried out on the whole
//! product over a pretend machine, with no Docker, no server and no root.
//!
//! - [`read`]: a folder of cases and objects, judged before anything runs; [`case`] is what comes of it.
//! - [`schema`]: the shape of a case file, as it is published.
//! - [`mod@run`]: one case, step by step, and what it is held to besides (`checks`, by what was `asked` for).
//! - [`matching`]: whether something is as a case says, in the fields that it names.
//! - [`report`], [`junit`]: how it went, for people and for programs.
//! - `breaks`, `disturb`, `others`: what happens to the world; `seen`, `machine`, `answers`: what is seen of it; `story`.

pub mod case;
pub mod schema;
pub mod read;
mod parse;
mod written;
mod objects;
pub mod run;
pub mod matching;
mod home;
mod breaks;
mod disturb;
mod others;
mod machine;
mod answers;
mod seen;
mod story;
mod asked;
mod checks;
pub mod report;
pub mod junit;

pub use case::{Case, CaseFile};
pub use read::{Suite, Unreadable};
pub use run::{Check, Outcome, run};

/// The namespace of objects that name none.
const HOUSEHOLD: &str = hearth_kinds::HOUSEHOLD;
