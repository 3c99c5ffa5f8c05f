//! How cases went, as JUnit XML, which every CI reads: a suite for each file, a case for each case and each check.

use std::path::Path;

use super::run::Outcome;
use super::{CaseFile, Unreadable, report};

/// The whole report. `again` gives the command that repeats a case.
pub fn written(files: &[CaseFile], outcomes: &[Outcome], again: impl Fn(&Outcome) -> String) -> String {
    let all: f64 = seconds(outcomes.iter());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &format!(
        "<testsuites name=\"hearth test\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{all:.3}\">\n",
        outcomes.len(),
        failures(outcomes.iter()),
        skipped(outcomes.iter())
    );
    for file in files {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.file == file.path).collect();
        if of.is_empty() {
            continue;
        }
        let name = escaped(&file.path.display().to_string());
        text += &format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\">\n",
            of.len(),
            failures(of.iter().copied()),
            skipped(of.iter().copied()),
            seconds(of.iter().copied())
        );
        of.iter().for_each(|outcome| case(outcome, &name, &again(outcome), &mut text));
        text += "  </testsuite>\n";
    }
    text += "</testsuites>\n";
    text
}

/// The report of a folder that cannot be tested: one error, so that whoever reads it sees no green.
pub fn rejected(folder: &Path, why: &Unreadable) -> String {
    let name = escaped(&folder.display().to_string());
    let (message, told) = why.in_words();
    let (message, told) = (escaped(&message), content(&told));
    let counts = "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\"";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hearth test\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts}>\n    <testcase name=\"it can be tested\" classname=\"{name}\" \
         file=\"{name}\" time=\"0.000\">\n      <error message=\"{message}\" type=\"rejected\">{told}</error>\n    \
         </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

fn case(outcome: &Outcome, suite: &str, again: &str, text: &mut String) {
    let name = escaped(&outcome.name);
    *text += &format!(
        "    <testcase name=\"{name}\" classname=\"{suite}\" file=\"{suite}\" time=\"{:.3}\"",
        outcome.took.as_secs_f64()
    );
    if let Some(why) = &outcome.skipped {
        *text += &format!("><skipped message=\"{}\"/></testcase>\n", escaped(why));
        return;
    }
    let Some(failure) = &outcome.failure else {
        *text += "/>\n";
        return;
    };
    let message = escaped(failure.said.lines().next().unwrap_or_default());
    let told: Vec<String> =
        report::lines(outcome, again).iter().map(|line| crate::cli::output::plain(line)).collect();
    *text += ">\n";
    *text += &format!(
        "      <failure message=\"{message}\" type=\"failure\">{}</failure>\n",
        content(&told.join("\n"))
    );
    if !outcome.story.is_empty() {
        *text += &format!("      <system-out>{}</system-out>\n", content(&outcome.story.join("\n")));
    }
    *text += "    </testcase>\n";
}

fn failures<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> usize {
    outcomes.filter(|outcome| outcome.failure.is_some()).count()
}

fn skipped<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> usize {
    outcomes.filter(|outcome| outcome.skipped.is_some()).count()
}

fn seconds<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> f64 {
    outcomes.map(|outcome| outcome.took.as_secs_f64()).sum()
}

/// Text between marks, where lines may stay lines.
fn content(text: &str) -> String {
    escaped(text).replace("&#10;", "\n").replace("&#9;", "\t")
}

/// Text as it may stand in XML 1.0, in an attribute too; what may not stand there at all is told by a sign.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            // As they are, a reader would make spaces of them in an attribute.
            '\n' => escaped += "&#10;",
            '\t' => escaped += "&#9;",
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::written;
    use crate::cases::CaseFile;
    use crate::cases::run::{Failure, Outcome};

    #[test]
    fn what_xml_cannot_hold_is_written_so_that_every_reader_takes_it() {
        let failure = Failure { said: "a < b & \u{1b}[31m\"c\"".into(), ..Failure::default() };
        let outcome = Outcome {
            took: Duration::from_millis(1500),
            failure: Some(failure),
            story: vec!["- apply".into()],
            ..Outcome::of(Path::new("cases/a&b.yaml"), "it's <one>")
        };
        let well = Outcome { name: "two".into(), failure: None, ..outcome.clone() };
        let files = [CaseFile { path: "cases/a&b.yaml".into(), cases: vec![] }];
        let text = written(&files, &[outcome, well], |_| "hearth test .".into());
        assert!(text.contains("<testsuite name=\"cases/a&amp;b.yaml\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"3.000\">"), "{text}");
        assert!(text.contains("name=\"it&apos;s &lt;one&gt;\""), "{text}");
        assert!(text.contains("message=\"a &lt; b &amp; \u{fffd}[31m&quot;c&quot;\""), "{text}");
        assert!(text.contains("<testcase name=\"two\" classname=\"cases/a&amp;b.yaml\" file=\"cases/a&amp;b.yaml\" time=\"1.500\"/>"), "{text}");
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
    }
}
