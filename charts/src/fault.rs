//! Problems on their way out: a place in a file by number, until the boundary gives it a name.

use hearth_meta::{Position, Problem};

use crate::node::{At, Path};

/// One thing that is wrong, before the names of the files are known.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub at: At,
    pub path: String,
    pub message: String,
}

/// Everything found wrong so far. A stage reports all it can see and only then stops the next one.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub list: Vec<Fault>,
}

/// More problems than this help nobody, and a hostile file could ask for millions.
const MOST_FAULTS: usize = 200;

impl Faults {
    pub(crate) fn add(&mut self, at: At, path: &Path, message: impl Into<String>) {
        self.add_at(at, path.to_string(), message);
    }

    pub(crate) fn add_at(&mut self, at: At, path: impl Into<String>, message: impl Into<String>) {
        if self.list.len() < MOST_FAULTS {
            self.list.push(Fault { at, path: path.into(), message: message.into() });
        }
    }

    /// Whether no more problems are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MOST_FAULTS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Fails with everything gathered, if anything was.
    pub(crate) fn stop(self) -> Result<(), Faults> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Takes over what another stage found.
    pub(crate) fn absorb(&mut self, found: Result<(), Faults>) {
        if let Err(faults) = found {
            let room = MOST_FAULTS.saturating_sub(self.list.len());
            self.list.extend(faults.list.into_iter().take(room));
        }
    }

    /// One problem on its own.
    pub(crate) fn one(at: At, path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add_at(at, path, message);
        faults
    }

    /// Gives the places the names of their files, sorts by place and drops doubles.
    pub(crate) fn into_problems(self, files: &[String]) -> Vec<Problem> {
        let mut list = self.list;
        list.sort_by(|a, b| {
            (a.at.file, a.at.line, a.at.column, &a.path).cmp(&(b.at.file, b.at.line, b.at.column, &b.path))
        });
        list.dedup_by(|a, b| a.at == b.at && a.path == b.path && a.message == b.message);
        list.into_iter().map(|fault| fault.into_problem(files)).collect()
    }
}

impl Fault {
    fn into_problem(self, files: &[String]) -> Problem {
        let problem = Problem::new(self.path, self.message);
        match files.get(usize::from(self.at.file)) {
            Some(file) if self.at.line > 0 => {
                problem.at(file, Position { line: self.at.line as usize, column: self.at.column as usize })
            }
            _ => problem,
        }
    }
}
