//! How cases went, for people: a line each, and for one that failed what differs, what happened, and how to see it
//! again.

use serde_json::{Value, json};

use super::run::Outcome;
use crate::cli::output::{Tone, paint};

/// A line, and more of it where it failed. `again` is the command that repeats it.
pub fn lines(outcome: &Outcome, again: &str) -> Vec<String> {
    let took = format!("{:.2} s", outcome.took.as_secs_f64());
    let remark = outcome.remark.as_ref().map(|remark| format!("{remark}, ")).unwrap_or_default();
    let beside = paint(Tone::Faint, &format!("({remark}{took})"));
    if let Some(why) = &outcome.skipped {
        let beside = paint(Tone::Faint, &format!("({why})"));
        return vec![format!("{}  {}  {beside}", paint(Tone::Moving, "skip"), outcome.name)];
    }
    let Some(failure) = &outcome.failure else {
        return vec![format!("{}    {}  {beside}", paint(Tone::Good, "ok"), outcome.name)];
    };
    let mut lines =
        vec![format!("{}  {}  {beside}", paint(Tone::Bad, "FAIL"), paint(Tone::Strong, &outcome.name))];
    if !failure.place.is_empty() {
        lines.push(format!("      at {}: {}", failure.place, failure.step));
    }
    lines.extend(failure.said.lines().map(|line| format!("      {line}")));
    for (what, mismatch) in &failure.fields {
        let field = if mismatch.field.is_empty() { String::new() } else { format!(" {}", mismatch.field) };
        lines.push(format!("        {}{field}", paint(Tone::Strong, what)));
        lines.push(format!("          wanted {}", paint(Tone::Good, &shown(&mismatch.wanted))));
        lines.push(format!("          seen   {}", paint(Tone::Bad, &shown(&mismatch.seen))));
        lines.extend(mismatch.hint.iter().map(|hint| format!("          {hint}")));
    }
    if !failure.last.is_empty() {
        lines.push("      the last of what happened:".to_owned());
        lines.extend(failure.last.iter().map(|line| paint(Tone::Faint, &format!("        {line}"))));
    }
    lines.push(match outcome.is_of_record {
        true => format!("      to take it as right: {again}"),
        false => format!("      seed {}; again: {again}", outcome.seed),
    });
    lines
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    }
}

/// The line that all ends with.
pub fn tally(outcomes: &[Outcome]) -> String {
    let [passed, failed, skipped] = counts(outcomes);
    let skipped = if skipped == 0 { String::new() } else { format!("{skipped} skipped; ") };
    format!("{skipped}{passed} passed, {failed} failed")
}

/// How many passed, failed, and were not shown at all.
pub fn counts(outcomes: &[Outcome]) -> [usize; 3] {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    let skipped = outcomes.iter().filter(|outcome| outcome.skipped.is_some()).count();
    [outcomes.len() - failed - skipped, failed, skipped]
}

/// The same for programs.
pub fn json(outcomes: &[Outcome]) -> Value {
    let [passed, failed, skipped] = counts(outcomes);
    let cases: Vec<Value> = outcomes.iter().map(case).collect();
    json!({ "cases": cases, "passed": passed, "failed": failed, "skipped": skipped })
}

fn case(outcome: &Outcome) -> Value {
    let mut case = json!({
        "name": outcome.name, "file": outcome.file, "seed": outcome.seed,
        "passed": outcome.failure.is_none() && outcome.skipped.is_none(),
        "seconds": outcome.took.as_secs_f64(),
    });
    if let Some(remark) = &outcome.remark {
        case["remark"] = remark.as_str().into();
    }
    if let Some(why) = &outcome.skipped {
        case["skipped"] = why.as_str().into();
    }
    if let Some(failure) = &outcome.failure {
        let field = |(what, mismatch): &(String, super::matching::Mismatch)| json!({ "of": what, "field": mismatch.field, "wanted": mismatch.wanted, "seen": mismatch.seen });
        case["failure"] = json!({
            "at": failure.place, "step": failure.step, "message": failure.said,
            "fields": failure.fields.iter().map(field).collect::<Vec<_>>(), "last": failure.last,
        });
    }
    case
}
