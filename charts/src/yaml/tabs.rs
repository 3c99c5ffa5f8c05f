//! Tabs at the beginning of a line, which indent nothing.
//!
//! Outside brackets and texts Docker Compose's parser refuses a tab before the first character of a
//! line, and behind a dash; ours would take it for white space. A tab there is a mistake either way:
//! nobody can see what it indents.

/// The text of a file that has tabs; without tabs there is nothing to look for.
pub(crate) struct Tabs {
    characters: Vec<char>,
    /// Where the last value or bracket ended; nothing is looked at after a block of text, which
    /// owns the blank lines behind it.
    after: Option<usize>,
}

impl Tabs {
    pub(crate) fn new(text: &str) -> Option<Self> {
        text.contains('\t').then(|| Self { characters: text.chars().collect(), after: Some(0) })
    }

    /// Whether a tab indents something between the last value and one that begins at `start`.
    pub(crate) fn indent_before(&self, start: usize) -> bool {
        let Some(after) = self.after else { return false };
        let between = self.characters.get(after..start).unwrap_or_default();
        let mut leading = after == 0;
        for &character in between {
            match character {
                '\n' => leading = true,
                '\t' if leading => return true,
                ' ' | '\t' | '-' | '?' => {}
                _ => leading = false,
            }
        }
        false
    }

    /// Notes where a value ended.
    pub(crate) fn ended(&mut self, end: usize, block: bool) {
        self.after = (!block).then_some(end);
    }

    /// Whether a bracket stands at a place.
    pub(crate) fn is_bracket(&self, start: usize) -> bool {
        matches!(self.characters.get(start), Some('[' | '{'))
    }
}
