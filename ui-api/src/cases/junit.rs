//! How cases went, as JUnit XML, which every CI reads: a suite for each file, a case for each case and each check.

use super::run::Outcome;
use super::{CaseFile, report};

/// The whole report. `again` gives the command that repeats a case.
pub fn written(files: &[CaseFile], outcomes: &[Outcome], again: impl Fn(&Outcome) -> String) -> String {
    let all: f64 = seconds(outcomes.iter());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &format!(
        "<testsuites name=\"hearth test\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{all:.3}\">\n",
        outcomes.len(),
        failures(outcomes.iter())
    );
    for file in files {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.file == file.path).collect();
        if of.is_empty() {
            continue;
        }
        let name = escaped(&file.path.display().to_string());
        text += &format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\">\n",
            of.len(),
            failures(of.iter().copied()),
            seconds(of.iter().copied())
        );
        of.iter().for_each(|outcome| case(outcome, &name, &again(outcome), &mut text));
        text += "  </testsuite>\n";
    }
    text += "</testsuites>\n";
    text
}

fn case(outcome: &Outcome, suite: &str, again: &str, text: &mut String) {
    let name = escaped(&outcome.name);
    *text += &format!(
        "    <testcase name=\"{name}\" classname=\"{suite}\" file=\"{suite}\" time=\"{:.3}\"",
        outcome.took.as_secs_f64()
    );
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
        escaped(&told.join("\n"))
    );
    if !outcome.story.is_empty() {
        *text += &format!("      <system-out>{}</system-out>\n", escaped(&outcome.story.join("\n")));
    }
    *text += "    </testcase>\n";
}

fn failures<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> usize {
    outcomes.filter(|outcome| outcome.failure.is_some()).count()
}

fn seconds<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> f64 {
    outcomes.map(|outcome| outcome.took.as_secs_f64()).sum()
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
            '\n' | '\t' => escaped.push(letter),
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
