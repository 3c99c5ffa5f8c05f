//! Shows a problem where it stands: the file, the line, and a caret under the word.

use hearth_meta::{Position, Problem};

use super::output::{Tone, paint};

/// A problem with the line it stands on, as several lines of text.
pub(super) fn show(problem: &Problem, text: &str) -> Vec<String> {
    let (file, Some(Position { line, column })) =
        (problem.file.as_deref().unwrap_or("the file"), problem.position)
    else {
        let place = problem.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
        return vec![format!("{}: {place}{}", paint(Tone::Bad, "error"), said(problem))];
    };
    let margin = " ".repeat(line.to_string().len());
    let written = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().replace('\t', " ");
    let under =
        format!("{}{}", " ".repeat(column.saturating_sub(1)), "^".repeat(word_length(&written, column)));
    let rule = paint(Tone::Faint, "|");
    vec![
        format!("{}: {}", paint(Tone::Bad, "error"), paint(Tone::Strong, &said(problem))),
        format!("{margin}{} {file}:{line}:{column}", paint(Tone::Faint, "-->")),
        format!("{margin} {rule}"),
        format!("{} {rule} {written}", paint(Tone::Faint, &line.to_string())),
        format!("{margin} {rule} {}", paint(Tone::Bad, &under)),
    ]
}

fn said(problem: &Problem) -> String {
    if problem.field.is_empty() {
        problem.message.clone()
    } else {
        format!("{}: {}", problem.field, problem.message)
    }
}

/// How long the word is that begins at a column: a key up to its colon, or a value to the end of the line.
fn word_length(line: &str, column: usize) -> usize {
    let rest: String = line.chars().skip(column.saturating_sub(1)).collect();
    let end = rest.find(": ").or_else(|| rest.strip_suffix(':').map(str::len));
    let word = end.map_or(rest.as_str(), |end| &rest[..end]);
    let word = word.split(" #").next().unwrap_or_default().trim_end();
    word.chars().count().max(1)
}

/// How many problems there are, and that nothing came of them.
pub(super) fn tally(problems: &[Problem], outcome: &str) -> String {
    let mut files: Vec<&str> = problems.iter().filter_map(|problem| problem.file.as_deref()).collect();
    files.dedup();
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    };
    match files.as_slice() {
        [] => format!("{count}; {outcome}"),
        [file] => format!("{count} in {file}; {outcome}"),
        files => format!("{count} in {} files; {outcome}", files.len()),
    }
}

#[cfg(test)]
mod tests {
    use hearth_meta::{Position, Problem};

    use super::super::output::plain;
    use super::show;

    #[test]
    fn the_caret_stands_under_the_word() {
        let text = "kind: App\nspec:\n  stte: Running\n";
        let problem = Problem::new("spec.stte", "unknown field \"stte\"; did you mean \"state\"?")
            .at("photos.yaml", Position { line: 3, column: 3 });
        let shown: Vec<String> = show(&problem, text).iter().map(|line| plain(line)).collect();
        assert_eq!(
            shown,
            [
                "error: spec.stte: unknown field \"stte\"; did you mean \"state\"?",
                " --> photos.yaml:3:3",
                "  |",
                "3 |   stte: Running",
                "  |   ^^^^",
            ]
        );
    }
}
