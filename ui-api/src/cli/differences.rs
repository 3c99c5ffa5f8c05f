//! `hearth diff`: how what is seen differs from what is wanted now, or what files would change.

use std::path::PathBuf;

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON, Trouble};
use super::describe::{answer, differences};
use super::drift;
use super::exit::{Exit, Failure, Outcome};
use super::family::gather;
use super::get::Language;
use super::manifest::Manifests;
use super::output::{Output, Tone, paint, width_of};
use super::resource::{Target, parse_one};
use super::text_diff;
use super::wait::current_verdict;
use super::yaml;

/// Show what differs now, or what files would change.
///
/// Exits with 0 where nothing differs and with 1 where something does.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth diff app/photos\n  hearth diff -f photos.yaml\n  hearth diff -f home/ -o json"
)]
pub(super) struct Diff {
    /// The object, as KIND/NAME: what is seen of it and its parts against what is wanted.
    #[arg(value_name = "KIND/NAME", required_unless_present = "file")]
    object: Vec<String>,
    /// Files, folders or - : what applying them would change.
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with = "object")]
    file: Vec<PathBuf>,
    /// For programs: yaml or json.
    #[arg(short, long, value_enum, value_name = "FORM")]
    output: Option<Language>,
}

/// What applying one object would change.
pub(super) struct Change {
    /// The object.
    pub(super) target: Target,
    /// Whether it is there.
    pub(super) exists: bool,
    /// The fields that become different.
    pub(super) differences: Vec<Value>,
    /// What would come of it on the machine, as the controllers would plan it.
    pub(super) effects: Vec<String>,
}

/// Carries out `hearth diff`.
///
/// # Errors
/// Anything wrong with the files, no such object, no server.
pub(super) async fn run(args: Diff, client: &Client, out: &Output) -> Outcome {
    if args.file.is_empty() {
        let target = parse_one(&args.object, client.namespace())?;
        return now(&target, args.output, client, out).await;
    }
    let manifests = Manifests::read(&args.file, client.namespace(), true)?;
    let changes = preview(&manifests, client).await?;
    let exit = if changes.iter().all(|change| change.exists && change.differences.is_empty()) {
        Exit::Done
    } else {
        Exit::Differs
    };
    if let Some(language) = args.output {
        let items = changes.iter().map(|change| {
            let mut item = listed(&change.target, Some(change.exists), &change.differences);
            item["effects"] = change.effects.clone().into();
            item
        });
        show(language, items.collect(), out);
        return Ok(exit);
    }
    changes.iter().flat_map(|change| lines_of(change, out)).for_each(|line| out.line(&line));
    out.note(&tally(&changes));
    Ok(exit)
}

fn show(language: Language, items: Vec<Value>, out: &Output) {
    let shown = json!({ "items": items });
    match language {
        Language::Yaml => out.data(&yaml::written(&shown)),
        Language::Json => out.line(&format!("{shown:#}")),
    }
}

fn listed(target: &Target, exists: Option<bool>, differences: &[Value]) -> Value {
    let mut listed = json!({ "kind": target.kind.kind, "name": target.name, "differences": differences });
    if let Some(namespace) = &target.namespace {
        listed["namespace"] = namespace.as_str().into();
    }
    if let Some(exists) = exists {
        listed["exists"] = exists.into();
    }
    listed
}

/// What is seen of an object and its parts against what is wanted.
async fn now(target: &Target, language: Option<Language>, client: &Client, out: &Output) -> Outcome {
    let object = client.one(target).await?;
    if !target.is_made_true() {
        return Err(Failure::usage(format!(
            "{target} is only kept, not made true; nothing of it is compared"
        )));
    }
    let family = gather(client, object).await?;
    let (mut items, mut exit) = (Vec::new(), Exit::Done);
    for member in family.members() {
        let Some(own) = Target::of(member).filter(Target::is_made_true) else {
            continue;
        };
        let listing = member["status"]["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
        // Not looked at since it was changed: whether it differs is not known, which is not the same as in sync.
        let is_known = current_verdict(member).is_some();
        if listing.is_empty() && is_known {
            continue;
        }
        exit = Exit::Differs;
        let mut item = listed(&own, None, listing);
        if !member["status"]["drift"].is_null() {
            item["drift"] = member["status"]["drift"].clone();
        }
        items.push(item);
        if language.is_none() {
            out.line(&answer(&own, member, out));
            let now = client.now();
            differences(member, now, out).iter().for_each(|line| out.line(&format!("  {line}")));
            if !member["status"]["drift"].is_null() {
                out.note(&format!("  {}", drift::told(member, now)));
                drift::answers(&own, member).iter().for_each(|line| out.note(&format!("  {line}")));
            }
        }
    }
    match language {
        Some(language) => show(language, items, out),
        None if exit == Exit::Done => {
            out.note(&format!("{target}: no differences; what is seen is what is wanted"))
        }
        None => {}
    }
    Ok(exit)
}

/// What applying each object would change, as the server tells.
async fn preview(manifests: &Manifests, client: &Client) -> Result<Vec<Change>, Failure> {
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for manifest in &manifests.items {
        match preview_of(&manifest.target, &manifest.value, client).await {
            Ok(change) => changes.push(change),
            Err(Trouble::Refused(_)) if manifests.makes_namespace_of(manifest) => {
                let (target, exists) = (manifest.target.clone(), false);
                changes.push(Change { target, exists, differences: Vec::new(), effects: Vec::new() });
            }
            Err(Trouble::Refused(refusal)) if !refusal.problems.is_empty() => {
                problems.extend(refusal.problems.into_iter().map(|problem| manifest.locate(problem)));
            }
            Err(trouble) => return Err(trouble.into()),
        }
    }
    if problems.is_empty() { Ok(changes) } else { Err(manifests.rejected(problems, "nothing was changed")) }
}

/// What writing an object would change, as the server tells.
///
/// # Errors
/// See [`Trouble`].
pub(super) async fn preview_of(target: &Target, value: &Value, client: &Client) -> Result<Change, Trouble> {
    let answer = client.send(Method::POST, "/hearth/v1/diff", JSON, value).await?;
    let differences = answer["differences"].as_array().cloned().unwrap_or_default();
    let effects = answer["effects"].as_array().into_iter().flatten();
    let mut effects: Vec<String> = effects.filter_map(Value::as_str).map(str::to_owned).collect();
    let unknown = answer["effectsUnknown"].as_str();
    effects.extend(unknown.map(|why| format!("what would come of it cannot be told: {why}")));
    Ok(Change { target: target.clone(), exists: answer["exists"] == true, differences, effects })
}

/// A change as lines: each field, and below them what would come of it.
pub(super) fn lines_of(change: &Change, out: &Output) -> Vec<String> {
    if !change.exists {
        return vec![format!("{} {}  new", paint(Tone::Good, "+"), change.target)];
    }
    if change.differences.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{} {}", paint(Tone::Moving, "~"), change.target)];
    let field = |difference: &Value| difference["field"].as_str().unwrap_or_default().to_owned();
    let widest = change.differences.iter().map(|difference| width_of(&field(difference))).max().unwrap_or(0);
    for difference in &change.differences {
        let (seen, wanted) = (difference["seen"].as_str(), difference["wanted"].as_str());
        if seen.is_some_and(|text| text.contains('\n')) || wanted.is_some_and(|text| text.contains('\n')) {
            lines.push(format!("    {}", field(difference)));
            lines.extend(
                text_diff::lines(seen.unwrap_or_default(), wanted.unwrap_or_default())
                    .into_iter()
                    .map(|line| format!("      {line}")),
            );
            continue;
        }
        let blank = " ".repeat(widest - width_of(&field(difference)));
        let (seen, wanted) = (seen.unwrap_or("unset"), wanted.unwrap_or("unset"));
        lines.push(format!("    {}{blank}  {seen} {} {wanted}", field(difference), out.sign("→")));
    }
    let arrow = out.sign("→");
    lines.extend(change.effects.iter().map(|effect| format!("  {} {effect}", paint(Tone::Moving, arrow))));
    lines
}

fn tally(changes: &[Change]) -> String {
    let new = changes.iter().filter(|change| !change.exists).count();
    let changed = changes.iter().filter(|change| change.exists && !change.differences.is_empty()).count();
    let objects = if changes.len() == 1 { "object" } else { "objects" };
    format!("{} {objects}: {changed} to change, {new} to add. Nothing was changed.", changes.len())
}
