//! `$NAME`, `${NAME:-default}` and the other forms, put in place inside one text.
//!
//! The grammar is the one Docker Compose applies, corners included, since admission judges what
//! comes out of it:
//!
//! - `$$` is a dollar; a dollar that begins nothing (`$5`, `$ `) stays as it is.
//! - A braced form with an operator reaches no further than the last `}` on its line, and ends at
//!   the brace that balances it, where every `{` counts, not only `${`.
//! - Defaults and messages are templates themselves.
//! - `${` that is none of the forms is an error, never text.

#[cfg(test)]
mod tests;

/// Looks a variable up; none means it is not set.
pub(crate) type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Defaults inside defaults. Nobody writes more than three; each level reads its text again.
const MOST_NESTED: usize = 40;

/// Longest text a template may become, so that values cannot multiply without end.
const MOST_BYTES: usize = 4 << 20;

/// Replaces every variable of a text.
///
/// # Errors
/// A sentence: a form that is not one, or a variable that the file requires and nobody gave.
pub(crate) fn substitute(text: &str, lookup: &Lookup<'_>) -> Result<String, String> {
    if text.contains('$') { nested(text, lookup, 0) } else { Ok(text.to_owned()) }
}

fn nested(text: &str, lookup: &Lookup<'_>, depth: usize) -> Result<String, String> {
    if depth > MOST_NESTED {
        return Err(format!("variables are nested deeper than {MOST_NESTED} levels"));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut line = Line::default();
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        rest = match after.as_bytes().first() {
            Some(b'$') => {
                out.push('$');
                &after[1..]
            }
            Some(b'{') => {
                let (form, left) = braced(text, &after[1..], &mut line).ok_or_else(|| invalid(text))?;
                out.push_str(&form.value(lookup, depth)?);
                left
            }
            _ => {
                let name = &after[..name_length(after)];
                if name.is_empty() {
                    out.push('$');
                } else {
                    out.push_str(&lookup(name).unwrap_or_default());
                }
                &after[name.len()..]
            }
        };
        if out.len() > MOST_BYTES {
            return Err("the variables unfold into more text than is read".to_owned());
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn invalid(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    format!("`{shown}` has a `${{` that is not a variable; write `$${{` if you mean the characters")
}

/// Letters, digits and `_`, not beginning with a digit. The two letters that become `s` and `k`
/// when their case is ignored count as well, as they do for Docker Compose.
fn name_length(text: &str) -> usize {
    let letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '\u{17f}' | '\u{212a}');
    let mut end = 0;
    for (index, character) in text.char_indices() {
        if !(letter(character) || (index > 0 && character.is_ascii_digit())) {
            break;
        }
        end = index + character.len_utf8();
    }
    end
}

/// A braced variable taken apart.
struct Form<'a> {
    name: &'a str,
    operator: Option<Operator>,
    /// The default, replacement or message.
    word: &'a str,
}

#[derive(Clone, Copy)]
struct Operator {
    kind: u8,
    /// With a colon: an empty value counts as none.
    empty_too: bool,
}

/// The line that is read: where it ends, and its last closing brace. Looked for once for each line,
/// since a line can hold any number of variables.
#[derive(Default)]
struct Line {
    end: usize,
    last_brace: Option<usize>,
}

impl Line {
    /// The last closing brace of the line that `at` stands in, if it is not before `at`.
    fn last_brace_from(&mut self, whole: &str, at: usize) -> Option<usize> {
        if at >= self.end {
            self.end = whole[at..].find('\n').map_or(whole.len(), |end| at + end).max(at + 1);
            self.last_brace = whole.get(at..self.end.min(whole.len()))?.rfind('}').map(|brace| at + brace);
        }
        self.last_brace.filter(|brace| *brace >= at)
    }
}

/// Reads what follows `${`, the end of `whole`; gives the form and the text behind its closing brace.
fn braced<'a>(whole: &str, text: &'a str, line: &mut Line) -> Option<(Form<'a>, &'a str)> {
    let name = &text[..name_length(text)];
    if name.is_empty() {
        return None;
    }
    let after = &text[name.len()..];
    if let Some(left) = after.strip_prefix('}') {
        return Some((Form { name, operator: None, word: "" }, left));
    }
    let (empty_too, operator) = after.strip_prefix(':').map_or((false, after), |rest| (true, rest));
    let kind = *operator.as_bytes().first().filter(|kind| b"-?+".contains(kind))?;
    let word_start = text.len() - operator.len() + 1;
    let before = whole.len() - text.len();
    let last_brace = line.last_brace_from(whole, before + word_start)? - before;
    let close = balanced(&text.as_bytes()[..=last_brace]).unwrap_or(last_brace);
    if close < word_start {
        return None;
    }
    let form = Form { name, operator: Some(Operator { kind, empty_too }), word: &text[word_start..close] };
    Some((form, &text[close + 1..]))
}

/// The brace that closes the one before `text`. Every `{` opens, and hides the byte behind it.
fn balanced(text: &[u8]) -> Option<usize> {
    let mut open = 1;
    let mut index = 1;
    while index < text.len() {
        match text[index] {
            b'}' => {
                open -= 1;
                if open == 0 {
                    return Some(index);
                }
            }
            b'{' => {
                open += 1;
                index += 1;
            }
            _ => {}
        }
        index += 1;
    }
    None
}

impl Form<'_> {
    fn value(&self, lookup: &Lookup<'_>, depth: usize) -> Result<String, String> {
        let Some(operator) = self.operator else { return Ok(lookup(self.name).unwrap_or_default()) };
        let word = nested(self.word, lookup, depth + 1)?;
        let value = lookup(self.name);
        let counts = value.as_ref().is_some_and(|value| !(operator.empty_too && value.is_empty()));
        match (operator.kind, counts) {
            (b'+', true) | (b'-', false) => Ok(word),
            (b'?', false) if word.is_empty() => Err(format!("the value {} is required", self.name)),
            (b'?', false) => Err(format!("the value {} is required: {word}", self.name)),
            _ => Ok(value.unwrap_or_default()),
        }
    }
}

/// One use of a variable in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub name: String,
    /// Whether the text says what to take when there is no value.
    pub has_default: bool,
}

/// The variables a text uses, in their order, those inside defaults too.
pub(crate) fn uses(text: &str) -> Vec<Use> {
    let mut out = Vec::new();
    collect(text, 0, &mut out);
    out
}

fn collect(text: &str, depth: usize, out: &mut Vec<Use>) {
    let mut rest = text;
    let mut line = Line::default();
    while let Some(dollar) = rest.find('$').filter(|_| depth <= MOST_NESTED) {
        let after = &rest[dollar + 1..];
        rest = match after.as_bytes().first() {
            Some(b'$') => &after[1..],
            Some(b'{') => match braced(text, &after[1..], &mut line) {
                Some((form, left)) => {
                    let has_default = form.operator.is_some_and(|operator| operator.kind != b'?');
                    out.push(Use { name: form.name.to_owned(), has_default });
                    collect(form.word, depth + 1, out);
                    left
                }
                None => return,
            },
            _ => {
                let name = &after[..name_length(after)];
                if !name.is_empty() {
                    out.push(Use { name: name.to_owned(), has_default: false });
                }
                &after[name.len()..]
            }
        };
    }
}
