//! How a command ends: the exit codes, the same for every verb, and the failures that carry them.

use std::process::ExitCode;

/// How a command ended. The number is what the shell sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; for `diff`, no difference.
    Done = 0,
    /// `diff`, `doctor` or `test` found something.
    Differs = 1,
    /// Used wrongly.
    Usage = 2,
    /// The file or the server's rules refuse it.
    Rejected = 3,
    /// There is no such object.
    NotFound = 4,
    /// It changed in the meantime, or exists already.
    Conflict = 5,
    /// Not signed in, or not allowed.
    NotAllowed = 6,
    /// What was waited for did not come in time.
    TimedOut = 7,
    /// What was waited for cannot come by itself: Failed, or a person is needed.
    Unwell = 8,
    /// No server answers.
    Unreachable = 9,
    /// Something that should never happen.
    Bug = 10,
    /// For `apply --detailed-exitcode`, something was changed.
    Changed = 20,
    /// Interrupted by the person; work on the server goes on.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, in the order of the numbers.
    pub const TABLE: [(Self, &'static str); 13] = [
        (Self::Done, "done; diff: no difference"),
        (Self::Differs, "diff, doctor, test: differences or problems found"),
        (Self::Usage, "the command was not understood"),
        (Self::Rejected, "refused: the file or the server's rules"),
        (Self::NotFound, "not found"),
        (Self::Conflict, "conflict: it changed meanwhile, or exists already"),
        (Self::NotAllowed, "not signed in, or not allowed"),
        (Self::TimedOut, "wait: not in time"),
        (Self::Unwell, "wait: ended Failed or NeedsYou"),
        (Self::Unreachable, "no server answers"),
        (Self::Bug, "a fault of this program"),
        (Self::Changed, "apply --detailed-exitcode: changed"),
        (Self::Interrupted, "interrupted; the work goes on"),
    ];

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The table as help prints it.
    pub fn help() -> String {
        let rows = Self::TABLE.iter().map(|(exit, meaning)| format!("  {:>3}  {meaning}", exit.code()));
        format!("Exit codes:\n{}", rows.collect::<Vec<_>>().join("\n"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not do what was asked, in words for the person who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What went wrong, where, and why.
    pub message: String,
    /// What to do next; may be empty.
    pub next: String,
    /// Already shown in full (problems with their places in a file), so only the last line is still to be said.
    pub shown: Vec<String>,
}

impl Failure {
    /// A failure without advice.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), next: String::new(), shown: Vec::new() }
    }

    /// The same failure with what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    /// The same failure, with lines that come before its message.
    #[must_use]
    pub fn after(mut self, lines: Vec<String>) -> Self {
        self.shown = lines;
        self
    }

    /// A command that was not understood.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
}

/// What a verb comes to.
pub type Outcome = Result<Exit, Failure>;

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn every_code_is_tabled_once_in_order() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(exit, _)| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 130]);
    }
}
