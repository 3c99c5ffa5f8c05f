//! Secrets in texts: compose files, commands, addresses, log lines.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What stands in the place of a secret.
pub const REDACTED: &str = "(redacted)";

/// Parts of names that say that a secret follows.
const SAYS: &str = "pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|[a-z]+[_-]key|credential|auth(?:orization)?|cookie|salt|signature|pepper|dsn";

/// Words that a part of such a name is found in and that say nothing of the kind.
const INNOCENT: [&str; 6] = ["author", "authority", "authors", "secrets", "compass", "passed"];

/// Names that say so as a whole, of several words only as one of them: `DB_PW`, `adminPin`, `masterKey`.
const WORDS: &str =
    r"\b(?:[\w.-]*[_.-])?(?:pw|pin)\d*(?:[_.-][\w.-]*)?|(?-i:\b[\w.-]*[a-z0-9](?:Key|Pw|Pin)\b)";

/// A value that is quoted, or goes on to the end of what it can be: a mark that ends a list ends it only where nothing
/// follows at once.
const VALUE: &str = r#""(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'{\[](?:[^\n,}\]"']|[,}\]'][\w!@#$%^&*+=.~-])*"#;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)(?:{SAYS})|(?:^|[_.\s-])(?:pw|pin)\d*(?:$|[_.\s-])|(?-i:[a-z0-9](?:Key|Pw|Pin)(?:$|[_.\s-]))"
    ))
});
/// `NAME: value`, `NAME=value`, `"name": "value"`, with the value to the end of what it can be.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r#"(?i)((?:[\w.-]*(?:{SAYS})[\w.-]*|{WORDS})(?: is)?["']?\s*[:=][ \t]*)({VALUE})"#))
});
/// The same on a line of its own, where what is not quoted is the value to the end of the line.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r#"(?im)^([ \t]*(?:-[ \t]+|export[ \t]+)?["']?(?:[\w.-]*(?:{SAYS})[\w.-]*|{WORDS})["']?[ \t]*(?::[ \t]|=)[ \t]*)([^\s"'][^\n]*)$"#
    ))
});
/// `--password value`, `"--password", "value"`.
static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r#"(?i)(--?(?:[\w-]*(?:{SAYS})[\w-]*|{WORDS})["']?(?:\s*,\s*|\s+(?:- )?))("[^"]*"|'[^']*'|[^\s,"'\]\-][^\s,"'\]]*)"#
    ))
});
/// A variable in capitals with its value.
static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"(\b[A-Z][A-Z0-9_]+["']?\s*(?:=|:[ \t])[ \t]*)({VALUE})"#)));
/// `scheme://user:password@host`.
static USER: LazyLock<Regex> = LazyLock::new(|| regex(r#"(\w[\w+.-]*://)([^/\s@"']+)@"#));
/// What is a secret by its form alone: signed tokens, tokens of ours and of well-known services, headers.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?|\bhearth_[0-9a-f]{16,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{8,}|\bsk-[\w-]{16,}|\bAKIA[0-9A-Z]{12,}|\b(?:Bearer|Basic)\s+[\w+/.=~-]{4,}",
    )
});
/// A key as files hold it, to its end or that of the text.
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)")
});
static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(^|\s)#[^\n]*$"));
/// Truths, numbers, spans, sizes, time zones, languages, paths, addresses without a user, words, hosts, references.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?:\d{1,6}|\d+(?:\.\d+)?(?:ms|s|m|h|d|[kmgt]i?b?)|[a-z]+(?:/[a-z_]+){1,2}|[a-z]{2}_[a-z]{2}(?:\.utf-?8)?|/[\w./-]*|(?:https?|tcp|unix)://[\w.:/-]+|[a-z][a-z-]*(?:\.[a-z-]+)*(?::\d{1,5})?|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|/\d{1,2})?|\$\{?[a-z_]+\}?|\(redacted\)|\(secret\))$",
    )
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

/// Whether a name says that what stands under it is secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    NAME.is_match(name) && !INNOCENT.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether a value cannot be a secret that anybody should worry about.
pub(super) fn is_harmless(value: &str) -> bool {
    HARMLESS.is_match(value.trim())
}

/// Values that come after a flag that says so, in a list of words.
pub(super) fn flags(items: &[Value]) -> BTreeSet<String> {
    let words: Vec<&str> = items.iter().map(|item| item.as_str().unwrap_or_default()).collect();
    let is_flag = |word: &str| word.starts_with('-') && !word.contains('=') && is_secret_name(word);
    words
        .windows(2)
        .filter(|pair| is_flag(pair[0]) && !pair[1].starts_with('-') && !pair[1].is_empty())
        .map(|pair| pair[1].to_owned())
        .collect()
}

/// The values in a text that stand under a name that says they are secret.
pub(super) fn secrets(said: &str) -> Vec<String> {
    let of = |pattern: &Regex| -> Vec<String> {
        pattern.captures_iter(said).filter_map(|found| Some(bare(found.get(2)?.as_str()))).collect()
    };
    let users = USER
        .captures_iter(said)
        .filter_map(|found| found.get(2)?.as_str().split_once(':').map(|(_, password)| password.to_owned()));
    let mut found = of(&PAIR);
    if said.contains('\n') {
        found.extend(LINE.captures_iter(said).filter(is_plain).map(|found| bare(&found[2])));
    }
    // What is told behind a value is no part of it.
    let before_comments = found.iter().filter_map(|value| Some(bare(value.split_once(" #")?.0)));
    found.extend(before_comments.collect::<Vec<_>>());
    found.extend(of(&FLAG));
    found.extend(users);
    found.extend(blocks(said).into_iter().map(|(_, text)| text));
    found.retain(|secret| !secret.is_empty() && !secret.starts_with("${") && !is_block_mark(secret));
    found
}

/// The text without what looks like a secret.
pub(super) fn without(said: &str) -> String {
    let mut clean = PEM.replace_all(said, REDACTED).into_owned();
    let is_file = clean.contains('\n');
    for (block, _) in blocks(&clean).into_iter().rev() {
        clean.replace_range(block, REDACTED);
    }
    clean = USER.replace_all(&clean, format!("${{1}}{REDACTED}@")).into_owned();
    clean = FORMS.replace_all(&clean, REDACTED).into_owned();
    if is_file {
        let line = |found: &Captures<'_>| match is_plain(found) {
            true => replaced(found, |_| true),
            false => found[0].to_owned(),
        };
        clean = LINE.replace_all(&clean, line).into_owned();
    }
    clean = PAIR.replace_all(&clean, |found: &Captures<'_>| replaced(found, |_| true)).into_owned();
    clean = FLAG.replace_all(&clean, |found: &Captures<'_>| replaced(found, |_| true)).into_owned();
    if is_file {
        let is_secret = |value: &str| !is_harmless(value);
        clean = VARIABLE.replace_all(&clean, |found: &Captures<'_>| replaced(found, is_secret)).into_owned();
        // A file's comments help nobody elsewhere, and people write down there what they must not forget.
        clean = COMMENT.replace_all(&clean, "${1}# (comment left out)").into_owned();
    }
    clean
}

/// Whether what follows a name is a plain value: after a colon a bracket begins a map or a list.
fn is_plain(found: &Captures<'_>) -> bool {
    !(found[1].trim_end().ends_with(':') && found[2].starts_with(['{', '[']))
}

fn replaced(found: &Captures<'_>, is_secret: impl Fn(&str) -> bool) -> String {
    let (name, value) = (&found[1], &found[2]);
    let shown = bare(value);
    let is_kept =
        shown.is_empty() || shown.starts_with(REDACTED) || is_block_mark(&shown) || is_reference(&shown);
    if is_kept || !is_secret(&shown) { format!("{name}{value}") } else { format!("{name}{REDACTED}") }
}

/// `${NAME}` alone, without a value of its own, as compose writes what comes from elsewhere.
fn is_reference(value: &str) -> bool {
    let name = value.strip_prefix("${").map(|rest| rest.trim_end_matches('}'));
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn is_block_mark(value: &str) -> bool {
    ["|", ">", "|-", ">-", "|+", ">+"].contains(&value)
}

fn bare(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_owned()
}

/// Texts of several lines under a name that says so, with where they stand. `content`, as compose gives files, is one.
fn blocks(said: &str) -> Vec<(Range<usize>, String)> {
    let (mut found, mut at, mut open) = (Vec::new(), 0, None::<(usize, usize)>);
    for line in said.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        if let Some((depth, begun)) = open {
            if line.trim().is_empty() || indent(line) > depth {
                continue;
            }
            found.push(begun..start);
            open = None;
        }
        if begins_block(line) {
            open = Some((indent(line), end));
        }
    }
    found.extend(open.map(|(_, begun)| begun..said.len()));
    let lines = |range: Range<usize>| {
        let text = &said[range.clone()];
        // The place of the block keeps its margin and its last line's end.
        let (lead, tail) = (text.len() - text.trim_start().len(), text.len() - text.trim_end().len());
        (range.start + lead..range.end - tail, text.trim().to_owned())
    };
    found.into_iter().filter(|range| !said[range.clone()].trim().is_empty()).map(lines).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn begins_block(line: &str) -> bool {
    let named = line.trim().trim_start_matches("- ").split_once(':');
    named.is_some_and(|(name, rest)| {
        let name = name.trim_matches(['"', '\'']);
        is_block_mark(rest.trim())
            && (is_secret_name(name)
                || name == "content"
                || name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
    })
}
