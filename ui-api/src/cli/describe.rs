//! `hearth describe`: everything about one object; the first line answers how it stands and why.

use clap::Args;
use hearth_meta::Timestamp;
use serde_json::Value;

use super::client::Client;
use super::complete;
use super::drift;
use super::duration;
use super::events;
use super::exit::{Exit, Outcome};
use super::family::gather;
use super::output::{Output, Tone, paint};
use super::progress::shown_progress;
use super::resource::{Target, kind_called, parse_one};
use super::table::{Table, age};
use super::wait::current_verdict;

/// How many events are shown.
const EVENTS: usize = 10;

/// Show everything about one object.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth describe app/photos")]
pub(super) struct Describe {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
}

/// Carries out `hearth describe`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn run(args: Describe, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let object = client.one(&target).await?;
    let family = gather(client, object).await?;
    let now = client.now();
    out.line(&answer(&target, &family.object, out));
    section("", facts(&family.object, now), out);
    section("Conditions", conditions(&family.object, now, out), out);
    section("Differences", differences(&family.object, now, out), out);
    section("Waits for", blocked_by(&family.object), out);
    if !family.parts.is_empty() {
        section("Parts", family.lines(out), out);
    }
    for member in family.members() {
        let lines = last_lines(member);
        let of = Target::of(member).map(|target| target.to_string()).unwrap_or_default();
        section(&format!("Last lines of {of}"), lines, out);
    }
    section("Events", events::lately(&family, EVENTS, client, out).await?, out);
    Ok(Exit::Done)
}

/// How an object stands, in one sentence.
pub(super) fn answer(target: &Target, object: &Value, out: &Output) -> String {
    let status = &object["status"];
    let name = paint(Tone::Strong, &target.to_string());
    let verdict = status["summary"].as_str().unwrap_or_default();
    let message = match status["message"].as_str() {
        Some(message) if !message.is_empty() => format!(": {message}"),
        _ => String::new(),
    };
    match (status.is_null(), current_verdict(object)) {
        (true, _) if !target.is_made_true() => {
            format!("{name} is declared")
        }
        (true, _) => format!("{name} is declared and has not been looked at yet"),
        (false, None) => {
            format!("{name} was changed and has not been looked at since; before, it was {verdict}{message}")
        }
        (false, Some(_)) => format!("{name} is {}{message}", out.verdict(verdict)),
    }
}

fn section(title: &str, lines: Vec<String>, out: &Output) {
    if lines.is_empty() {
        return;
    }
    out.line("");
    if !title.is_empty() {
        out.line(&paint(Tone::Strong, title));
    }
    lines.iter().for_each(|line| out.line(&format!("  {line}")));
}

/// The few facts that people look for, each on a line.
fn facts(object: &Value, now: Timestamp) -> Vec<String> {
    let (metadata, status, spec) = (&object["metadata"], &object["status"], &object["spec"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let ago = |value: &Value| value.as_str().map(|time| format!("{} ago", age(time, now)));
    let labels = metadata["labels"].as_object().map(|labels| {
        labels
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(" ")
    });
    let facts = [
        ("Namespace", text(&metadata["namespace"])),
        ("Address", text(&status["url"])),
        ("Wanted", text(&spec["state"]).or_else(|| text(&spec["power"]))),
        ("Revision", text(&status["revision"])),
        ("Reason", text(&status["reason"])),
        ("Progress", shown_progress(&status["progress"])),
        ("Next try", text(&status["nextTryAt"]).map(|time| until(&time, now))),
        ("Paused until", text(&metadata["annotations"][hearth_meta::labels::PAUSED_UNTIL])),
        ("Drift", (!status["drift"].is_null()).then(|| drift::told(object, now))),
        ("Deletion asked", ago(&metadata["deletionTimestamp"])),
        ("Declared", ago(&metadata["creationTimestamp"])),
        ("Generation", metadata["generation"].as_i64().map(|number| number.to_string())),
        ("Labels", labels.filter(|labels| !labels.is_empty())),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some(format!("{name:<15}{}", value?)));
    let warnings = status["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    facts.chain(warnings.map(|warning| format!("{:<15}{warning}", "Note"))).collect()
}

/// `in 48s`, or that the time has come.
pub(super) fn until(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) if then > now => format!("in {}", duration::shown(then.as_second() - now.as_second())),
        Ok(_) => "now".into(),
        Err(_) => time.to_owned(),
    }
}

fn conditions(object: &Value, now: Timestamp, out: &Output) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut table = Table::new(&["condition", "status", "reason", "since", "message"]);
    for condition in conditions {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        table.push(vec![
            text("type"),
            text("status"),
            text("reason"),
            age(&text("lastTransitionTime"), now),
            text("message"),
        ]);
    }
    if table.is_empty() { Vec::new() } else { table.inner_lines(out) }
}

/// What is seen and is not as wanted, field by field.
pub(super) fn differences(object: &Value, now: Timestamp, out: &Output) -> Vec<String> {
    let listed = object["status"]["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut table = Table::new(&["field", "wanted", "seen", "state", "since", "next try"]);
    for difference in listed {
        let text = |field: &str| difference[field].as_str().unwrap_or_default().to_owned();
        let value = |field: &str| difference[field].as_str().map_or_else(|| "(absent)".to_owned(), one_line);
        let times = [("since", age(&text("since"), now)), ("willRetryAt", until(&text("willRetryAt"), now))];
        let [since, retry] =
            times.map(|(field, shown)| if difference[field].is_null() { String::new() } else { shown });
        table.push(vec![text("field"), value("wanted"), value("seen"), text("state"), since, retry]);
    }
    if table.is_empty() { Vec::new() } else { table.inner_lines(out) }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// The last lines that a container wrote which dies again and again.
pub(super) fn last_lines(object: &Value) -> Vec<String> {
    let lines = object["status"]["crashLoop"]["logTail"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn blocked_by(object: &Value) -> Vec<String> {
    let references = object["status"]["blockedBy"].as_array().into_iter().flatten();
    references.map(shown_reference).collect()
}

/// A reference as people write it.
pub(super) fn shown_reference(reference: &Value) -> String {
    let kind = reference["kind"].as_str().unwrap_or_default();
    let singular = kind_called(kind).map_or_else(|| kind.to_lowercase(), |kind| kind.singular.to_owned());
    format!("{singular}/{}", reference["name"].as_str().unwrap_or_default())
}
