//! `hearth explain`: what a kind and its fields mean, from the schema this program carries.

use clap::Args;
use hearth_meta::problem::nearest;
use hearth_meta::reason::{Class, Reason};
use serde_json::Value;

use super::exit::{Exit, Failure, Outcome};
use super::output::{Output, Tone, paint, width_of};
use super::resource::kind_named;

/// Say what a kind, a field of it, or a reason means.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth explain app\n  hearth explain app.spec\n  hearth explain app.spec.values\n  hearth explain MarkerMissing    (why something stands as it does)"
)]
pub(super) struct Explain {
    /// KIND, KIND.FIELD.FIELD, or a REASON as a status has it
    #[arg(value_name = "KIND[.FIELD]|REASON")]
    path: String,
}

/// Carries out `hearth explain`.
///
/// # Errors
/// An unknown kind or field.
pub(super) fn run(args: &Explain, out: &Output) -> Outcome {
    if let Some(reason) = Reason::ALL.iter().find(|reason| reason.as_str().eq_ignore_ascii_case(&args.path)) {
        reason_lines(*reason).iter().for_each(|line| out.line(line));
        return Ok(Exit::Done);
    }
    let mut parts = args.path.split('.');
    let kind = kind_named(parts.next().unwrap_or_default())?;
    let Some(schema) = &kind.schema else {
        let message =
            format!("{} is a kind of Kubernetes itself; this program carries no text for it", kind.kind);
        return Err(Failure::new(Exit::NotFound, message));
    };
    let (mut schema, mut path) = (schema, kind.singular.to_owned());
    for part in parts {
        let fields = inner(schema)["properties"].as_object();
        let Some(found) = fields.and_then(|fields| fields.get(part)) else {
            let known = fields.into_iter().flatten().map(|(name, _)| name.as_str());
            let hint =
                nearest(part, known).map(|meant| format!("did you mean {meant:?}?")).unwrap_or_default();
            return Err(Failure::usage(format!("{path} has no field {part:?}")).next(hint));
        };
        (schema, path) = (found, format!("{path}.{part}"));
    }
    out.line(&format!("{}  {}", paint(Tone::Strong, &path), type_of(schema)));
    described(schema).iter().for_each(|line| out.line(&format!("  {line}")));
    let fields = inner(schema)["properties"].as_object();
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return Ok(Exit::Done) };
    out.line(&format!("\n{}", paint(Tone::Strong, "Fields")));
    let required = inner(schema)["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let widest = fields.keys().map(|name| width_of(name)).max().unwrap_or(0);
    for (name, field) in fields {
        let must = if required.iter().any(|required| required == name) { ", required" } else { "" };
        out.line(&format!("  {name:widest$}  {}{must}", type_of(field)));
        described(field).iter().for_each(|line| out.line(&format!("  {:widest$}  {line}", "")));
    }
    Ok(Exit::Done)
}

fn reason_lines(reason: Reason) -> Vec<String> {
    let class = match reason.class() {
        Class::Fine => "Nothing is wrong.",
        Class::Waiting => "Another thing must happen first; it will be noticed.",
        Class::Retrying => "It is tried again by itself.",
        Class::NeedsInput => "A person must decide or supply something.",
        Class::Permanent => "Only a change of the spec helps.",
    };
    let mut lines = vec![
        format!("{}  reason", paint(Tone::Strong, reason.as_str())),
        format!("  {}", reason.meaning()),
        format!("  {class}"),
    ];
    if !reason.fix().is_empty() {
        lines.push(format!("  {}.", reason.fix()));
    }
    lines
}

/// What the fields of a list stand in is its items.
fn inner(schema: &Value) -> &Value {
    if schema["type"] == "array" { &schema["items"] } else { schema }
}

fn type_of(schema: &Value) -> String {
    let word = |schema: &Value| match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => "time",
        Some("string") => "text",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("boolean") => "true or false",
        Some("object") => "map",
        Some("array") => "list",
        _ => "any value",
    };
    if schema["type"] == "array" {
        format!("list of {}", word(&schema["items"]))
    } else {
        word(schema).to_owned()
    }
}

fn described(schema: &Value) -> Vec<String> {
    let text = schema["description"].as_str().unwrap_or_default();
    let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if let Some(allowed) = schema["enum"].as_array() {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        lines.push(format!("One of {}", allowed.join(", ")));
    }
    // Schemas carry bounds as numbers with a fraction; those of whole numbers have none.
    let bound = |name: &str| schema[name].as_f64().map(|bound| bound.to_string());
    match (bound("minimum"), bound("maximum")) {
        (None, None) => {}
        (Some(least), None) => lines.push(format!("At least {least}")),
        (None, Some(most)) => lines.push(format!("At most {most}")),
        (Some(least), Some(most)) => lines.push(format!("From {least} to {most}")),
    }
    if !schema["default"].is_null() {
        lines.push(format!("Default: {}", schema["default"]));
    }
    lines
}
