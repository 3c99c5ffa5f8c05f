//! Splits a command line the way a shell would, for `command: npm start` and its kind.
//!
//! Only quoting is understood; nothing is expanded or run. As in Docker Compose the line ends at
//! the first unquoted `;`, `&`, `|`, `<` or `>`: a person who wants those writes `sh -c "..."`.

/// The words of a command line.
///
/// # Errors
/// A sentence when a quote or bracket is never closed.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut state = State::default();
    for character in line.chars() {
        if state.take(character)? == Flow::End {
            break;
        }
    }
    if state.word_open {
        state.words.push(std::mem::take(&mut state.word));
    }
    if state.escaped || state.single || state.double || state.backtick || state.dollar {
        return Err(unclosed());
    }
    Ok(state.words)
}

fn unclosed() -> String {
    "the command has a quote or bracket that does not match; write it as a list instead".to_owned()
}

#[derive(PartialEq)]
enum Flow {
    Go,
    End,
}

#[derive(Default)]
struct State {
    words: Vec<String>,
    word: String,
    word_open: bool,
    escaped: bool,
    single: bool,
    double: bool,
    backtick: bool,
    /// Inside `$( )`.
    dollar: bool,
}

impl State {
    fn take(&mut self, character: char) -> Result<Flow, String> {
        if std::mem::take(&mut self.escaped) {
            self.push(character);
            return Ok(Flow::Go);
        }
        match character {
            '\\' if self.single => self.word.push(character),
            '\\' => self.escaped = true,
            ' ' | '\t' | '\r' | '\n' => self.space(character),
            '"' if !self.single && !self.dollar => {
                self.word_open |= self.double;
                self.double = !self.double;
            }
            '\'' if !self.double && !self.dollar => {
                self.word_open |= self.single;
                self.single = !self.single;
            }
            ';' | '&' | '|' | '<' | '>' if !self.quoted() => {
                // A digit before `>` names a stream (`2>`), not a word.
                if character == '>' && self.word.starts_with(|c: char| c.is_ascii_digit()) {
                    self.word_open = false;
                }
                return Ok(Flow::End);
            }
            _ => {
                self.bracket(character)?;
                self.push(character);
            }
        }
        Ok(Flow::Go)
    }

    fn quoted(&self) -> bool {
        self.single || self.double || self.backtick || self.dollar
    }

    fn push(&mut self, character: char) {
        self.word.push(character);
        self.word_open = true;
    }

    fn space(&mut self, character: char) {
        if self.quoted() {
            self.word.push(character);
        } else if std::mem::take(&mut self.word_open) {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    /// Keeps count of backticks and of `$( )`; a bare bracket belongs to no word.
    fn bracket(&mut self, character: char) -> Result<(), String> {
        match character {
            '`' if !self.single && !self.double && !self.dollar => self.backtick = !self.backtick,
            ')' if !self.single && !self.double && !self.backtick => self.dollar = !self.dollar,
            '(' if !self.single && !self.double && !self.backtick => {
                if self.dollar || !self.word.ends_with('$') {
                    return Err(unclosed());
                }
                self.dollar = true;
            }
            _ => {}
        }
        Ok(())
    }
}
