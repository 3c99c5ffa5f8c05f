//! Two texts line by line: what goes, what comes, and a line around it to know the place by.

use super::output::{Tone, paint};

/// Longer texts are not compared line by line: the table below grows with both lengths.
const MOST_LINES: usize = 2_000;
/// How many unchanged lines are shown around a change.
const AROUND: usize = 1;

enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The lines that differ, with `-` and `+` before them.
pub(super) fn lines(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() > MOST_LINES || new.len() > MOST_LINES {
        return vec![format!("{} lines become {} other lines", old.len(), new.len())];
    }
    let lines = compare(&old, &new);
    let is_change = |line: &Line| !matches!(line, Line::Same(_));
    let mut shown = Vec::new();
    let mut last = None;
    for (number, line) in lines.iter().enumerate() {
        let near = number.saturating_sub(AROUND)..(number + AROUND + 1).min(lines.len());
        if !lines[near].iter().any(is_change) {
            continue;
        }
        if last.is_some_and(|last: usize| last + 1 < number) {
            shown.push(paint(Tone::Faint, "..."));
        }
        last = Some(number);
        shown.push(match line {
            Line::Same(text) => format!("  {text}").trim_end().to_owned(),
            Line::Gone(text) => paint(Tone::Bad, &format!("- {text}")),
            Line::New(text) => paint(Tone::Good, &format!("+ {text}")),
        });
    }
    shown
}

/// The longest common subsequence, and what is left of both sides.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let mut common = vec![vec![0u16; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::with_capacity(old.len().max(new.len())));
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::output::plain;
    use super::lines;

    #[test]
    fn only_what_differs_is_shown_with_a_line_around_it() {
        let old = "services:\n  web:\n    image: a:1\n    user: x\n  db:\n    image: b\n  z: {}\n";
        let new = "services:\n  web:\n    image: a:2\n    user: x\n  db:\n    image: b\n  z: {}\n  y: {}\n";
        let shown: Vec<String> = lines(old, new).iter().map(|line| plain(line)).collect();
        assert_eq!(
            shown,
            [
                "    web:",
                "-     image: a:1",
                "+     image: a:2",
                "      user: x",
                "...",
                "    z: {}",
                "+   y: {}"
            ]
        );
        assert!(lines(old, old).is_empty());
    }
}
