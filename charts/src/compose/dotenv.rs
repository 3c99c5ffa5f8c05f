//! Files of variables: `.env`, and what `env_file` and `label_file` name.

use super::template::{self, Lookup};
use crate::yaml::limits::MOST_PROJECT_BYTES;
use std::collections::BTreeMap;

/// Variables read so far.
pub(crate) type Variables = BTreeMap<String, String>;

/// A problem in a file of variables: its line, counted from 1, and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub line: u32,
    pub message: String,
}

/// Reads a file into `variables`. A value may use variables: `lookup` is asked first, then what was
/// read so far. Single quotes keep a value as it is; double quotes and none do not.
///
/// # Errors
/// The first line that is not a variable.
pub(crate) fn read(text: &str, variables: &mut Variables, lookup: &Lookup<'_>) -> Result<(), Wrong> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut produced = 0;
    while reader.next_statement() {
        let line = reader.line;
        let at_line = |message: String| Wrong { line, message };
        match reader.key().map_err(at_line)? {
            Key::Inherited(name) => {
                if let Some(value) = lookup(&name) {
                    variables.insert(name, value);
                }
            }
            Key::Set(name) => {
                let value = reader.value().map_err(at_line)?;
                let value = match value {
                    Quoted::Literal(value) => value,
                    Quoted::Template(value) => {
                        let both = |name: &str| lookup(name).or_else(|| variables.get(name).cloned());
                        template::substitute(&value, &both).map_err(at_line)?
                    }
                };
                produced += value.len();
                if produced > MOST_PROJECT_BYTES {
                    return Err(at_line("the variables unfold into more text than is read".to_owned()));
                }
                variables.insert(name, value);
            }
        }
    }
    Ok(())
}

/// Reads a file whose values are taken as they stand, to the end of their line.
pub(crate) fn read_raw(text: &str, variables: &mut Variables, lookup: &Lookup<'_>) -> Result<(), Wrong> {
    for (index, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name = line.split('=').next().unwrap_or_default();
        if name.is_empty() || name.contains(char::is_whitespace) {
            let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
            return Err(Wrong { line, message: format!("`{name}` is not the name of a variable") });
        }
        let value = line.split_once('=').map(|(_, value)| value.to_owned()).or_else(|| lookup(name));
        if let Some(value) = value {
            variables.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

enum Key {
    Set(String),
    /// A name alone on its line takes its value from outside.
    Inherited(String),
}

enum Quoted {
    Literal(String),
    Template(String),
}

struct Reader<'a> {
    rest: &'a str,
    line: u32,
}

/// A space that does not end a line.
fn is_blank(character: char) -> bool {
    matches!(character, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}')
}

impl<'a> Reader<'a> {
    /// Goes to the next statement, over blank lines and comments.
    fn next_statement(&mut self) -> bool {
        loop {
            let trimmed = self.rest.trim_start();
            self.count(self.rest.len() - trimmed.len());
            if !self.rest.starts_with('#') {
                return !self.rest.is_empty();
            }
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
    }

    /// Steps over so many bytes and counts their lines.
    fn count(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += u32::try_from(passed.matches('\n').count()).unwrap_or(0);
        self.rest = rest;
    }

    fn key(&mut self) -> Result<Key, String> {
        if let Some(after) = self.rest.strip_prefix("export")
            && after.starts_with(['\t', '\n', '\u{c}', '\r', ' '])
        {
            self.rest = after.trim_start_matches(is_blank);
        }
        let mut end = None;
        for (index, character) in self.rest.char_indices() {
            match character {
                '=' | ':' | '\n' => {
                    end = Some((index, character));
                    break;
                }
                '_' | '.' | '-' | '[' | ']' => {}
                c if is_blank(c) || c.is_alphabetic() || c.is_numeric() => {}
                other => {
                    let line = self.rest.lines().next().unwrap_or_default();
                    return Err(format!("`{other}` cannot stand in the name of a variable: {line}"));
                }
            }
        }
        // A name that ends the file names nothing: what is left is read as a value of no name.
        let (name, separator, left) = match end {
            Some((index, separator)) => (&self.rest[..index], separator, &self.rest[index + 1..]),
            None => ("", '=', self.rest),
        };
        let name = name.trim_end().to_owned();
        if name.contains(' ') {
            return Err(format!("the name `{name}` contains a space"));
        }
        self.rest = left.trim_start_matches(is_blank);
        if separator == '\n' {
            self.line += 1;
            return Ok(Key::Inherited(name));
        }
        Ok(Key::Set(name))
    }

    fn value(&mut self) -> Result<Quoted, String> {
        match self.rest.chars().next() {
            Some('"') => self.quoted('"').map(|value| Quoted::Template(unescape(&value))),
            Some('\'') => self.quoted('\'').map(Quoted::Literal),
            _ => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                let value = &self.rest[..end];
                let value = value.split_once(" #").map_or(value, |(value, _)| value).trim_end();
                self.count((end + 1).min(self.rest.len()));
                Ok(Quoted::Template(value.to_owned()))
            }
        }
    }

    /// The text up to the closing quote; only that quote can be escaped.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut out = String::new();
        let mut escaped = false;
        for (index, character) in self.rest.char_indices().skip(1) {
            if character == quote && !escaped {
                self.count(index + 1);
                return Ok(out);
            }
            if character == '\\' && !escaped {
                escaped = true;
                continue;
            }
            if std::mem::take(&mut escaped) && character != quote {
                out.push('\\');
            }
            out.push(character);
        }
        let line = self.rest.lines().next().unwrap_or_default();
        Err(format!("the quote is never closed: {line}"))
    }
}

/// The escapes of double quotes. `\$` gives `$$`, which later becomes a dollar.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let known = match after.chars().next() {
            Some('$') => Some("$$"),
            Some('a') => Some("\u{7}"),
            Some('b') => Some("\u{8}"),
            Some('f') => Some("\u{c}"),
            Some('n') => Some("\n"),
            Some('r') => Some("\r"),
            Some('t') => Some("\t"),
            Some('v') => Some("\u{b}"),
            Some('"') => Some("\""),
            Some('\\') => Some("\\"),
            _ => None,
        };
        rest = match (known, octal(after)) {
            (Some(known), _) => {
                out.push_str(known);
                &after[1..]
            }
            (None, Some((character, left))) => {
                out.push(character);
                left
            }
            (None, None) => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// `0123`: a character by its number in three octal digits.
fn octal(text: &str) -> Option<(char, &str)> {
    let digits = text.strip_prefix('0')?;
    let length = digits.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    if length != 3 {
        return None;
    }
    let code = u32::from_str_radix(&digits[..3], 8).ok().filter(|code| *code < 256)?;
    Some((char::from_u32(code)?, &digits[3..]))
}
