//! Lines that YAML 1.2 wants further to the right, and that everybody else reads.
//!
//! Inside brackets and quotes the YAML specification asks every line to be indented more than the
//! key before it; the parser here insists, Docker Compose's never did, and people close a bracket
//! under its key. The white space means nothing there, so such a line is moved to the right, and
//! its columns are counted from where it stood.

use std::collections::BTreeSet;

use saphyr_parser::ScanError;

use super::limits::MOST_BYTES;

/// How far a line is moved: further than any nesting that is read.
const MOVE: usize = 128;

/// How many lines are moved in one file. Published files need one or two.
const MOST_MOVED: usize = 5_000;

/// A text that may have been moved in places.
pub(crate) struct Repaired {
    pub text: String,
    /// The lines that were moved, counted from 1.
    moved: BTreeSet<usize>,
    /// Bytes read again for repairs so far; bounded, so that no file can ask for many readings.
    spent: usize,
}

impl Repaired {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), moved: BTreeSet::new(), spent: 0 }
    }

    /// The column, counted from 1, where something stood before its line was moved.
    pub(crate) fn column(&self, line: usize, column: usize) -> usize {
        if self.moved.contains(&line) { column.saturating_sub(MOVE).max(1) } else { column }
    }

    /// Moves what an error complains of; false when it complains of something else.
    pub(crate) fn mend(&mut self, error: &ScanError) -> bool {
        self.spent += self.text.len();
        if self.spent > 4 * MOST_BYTES {
            return false;
        }
        let line = error.marker().line();
        match error.info() {
            "invalid indentation" | "invalid indentation in flow construct" => self.shift(&[line]),
            "invalid indentation in quoted scalar" => {
                let lines = self.lines_of_quote(error.marker().index(), line);
                self.shift(&lines)
            }
            _ => false,
        }
    }

    fn shift(&mut self, lines: &[usize]) -> bool {
        let new: Vec<usize> = lines.iter().copied().filter(|line| !self.moved.contains(line)).collect();
        if new.is_empty() || self.moved.len() + new.len() > MOST_MOVED {
            return false;
        }
        let pad = " ".repeat(MOVE);
        let mut out = String::with_capacity(self.text.len() + new.len() * MOVE);
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            if new.binary_search(&(index + 1)).is_ok() {
                out.push_str(&pad);
            }
            out.push_str(line);
        }
        self.text = out;
        self.moved.extend(new);
        true
    }

    /// The lines a quoted text goes on over, without the one it begins on and without empty ones.
    fn lines_of_quote(&self, start: usize, first: usize) -> Vec<usize> {
        let mut characters = self.text.chars().skip(start).peekable();
        let Some(quote) = characters.next() else { return Vec::new() };
        let (mut line, mut lines, mut blank) = (first, Vec::new(), false);
        let mut escaped = false;
        while let Some(character) = characters.next() {
            if blank && !matches!(character, ' ' | '\t' | '\r' | '\n') {
                lines.push(line);
                blank = false;
            }
            match character {
                '\n' => {
                    line += 1;
                    blank = true;
                    escaped = false;
                }
                _ if escaped => escaped = false,
                '\\' if quote == '"' => escaped = true,
                '\'' if quote == '\'' && characters.peek() == Some(&'\'') => {
                    characters.next();
                }
                _ if character == quote => break,
                _ => {}
            }
        }
        lines
    }
}
