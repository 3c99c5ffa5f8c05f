//! Marks that hold the place of a secret inside texts, so that its value never does.
//!
//! A mark is the value's name between two Unicode noncharacters, which no file may contain. It
//! travels through merging and normalising like any text, and comes out as a reference.

const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// The mark for a secret value's name.
pub(crate) fn mark(name: &str) -> String {
    format!("{OPEN}{name}{CLOSE}")
}

/// Whether a text refers to a secret.
pub(crate) fn is_marked(text: &str) -> bool {
    text.contains([OPEN, CLOSE])
}

/// A text taken apart: plain stretches, and the names of secrets.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, left)) = after.split_once(CLOSE) else { break };
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(Part::Secret(name));
        rest = left;
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// A stretch of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Secret(&'a str),
}

/// A text fit to be shown: a secret reads as the variable it came from.
pub(crate) fn shown(text: &str) -> String {
    text.replace(OPEN, "${").replace(CLOSE, "}")
}
