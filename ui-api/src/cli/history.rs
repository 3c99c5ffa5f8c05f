//! `hearth history`: every change of an object's spec, who made it, and what it changed.

use clap::Args;
use hearth_meta::Timestamp;
use serde_json::{Value, json};

use super::client::Client;
use super::complete;
use super::exit::{Exit, Failure, Outcome};
use super::output::{Output, Tone, paint};
use super::resource::{Target, encode, parse_one};
use super::table::age;
use super::text_diff;

/// How many differences of one change are shown without `--full`.
const DIFFERENCES: usize = 5;

/// Show who changed what of an object, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth history app/photos\n  hearth history app/photos --full")]
pub(super) struct History {
    /// The object, as KIND/NAME; also one that is gone.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// Every field of every change.
    #[arg(long)]
    full: bool,
    /// Print as JSON, with the whole spec of each generation.
    #[arg(long = "output", short, value_name = "json", value_parser = is_json, num_args = 1)]
    output: Option<bool>,
}

fn is_json(text: &str) -> Result<bool, String> {
    if text == "json" { Ok(true) } else { Err("write json".into()) }
}

/// Carries out `hearth history`.
///
/// # Errors
/// No such object ever, no server.
pub(super) async fn run(args: History, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let rows = rows(&target, client).await?;
    let now = client.now();
    if args.output == Some(true) {
        out.line(&format!("{:#}", json!({ "items": rows })));
        return Ok(Exit::Done);
    }
    for row in rows.iter().rev() {
        heading(row, now, out);
        let is_first = row["verb"] == "create";
        let differences = row["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
        let most = if args.full { differences.len() } else { DIFFERENCES };
        differences
            .iter()
            .take(most)
            .flat_map(|d| change(d, is_first, args.full, out))
            .for_each(|line| out.line(&format!("    {line}")));
        if differences.len() > most {
            out.line(&format!("    and {} more; see them with --full", differences.len() - most));
        }
    }
    Ok(Exit::Done)
}

/// Every write of an object's spec, oldest first; also of one that is gone.
///
/// # Errors
/// No such object ever, with the name that may have been meant; no server.
pub(super) async fn rows(target: &Target, client: &Client) -> Result<Vec<Value>, Failure> {
    let namespace =
        target.namespace.as_deref().map(|namespace| format!("{}/", encode(namespace))).unwrap_or_default();
    let path = format!("/hearth/v1/history/{}/{namespace}{}", target.kind.plural, encode(&target.name));
    match client.get(&path).await {
        Ok(history) => Ok(history["items"].as_array().cloned().unwrap_or_default()),
        Err(trouble) if trouble.is_not_found() => Err(client.missing(target).await),
        Err(trouble) => Err(trouble.into()),
    }
}

fn heading(row: &Value, now: Timestamp, out: &Output) {
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let generation = paint(Tone::Strong, &format!("generation {}", row["generation"]));
    let verb = match text("verb") {
        "create" => "created",
        "update" => "changed",
        "delete" => "deletion asked for",
        other => other,
    };
    let at = text("at").split('.').next().unwrap_or_default().trim_end_matches('Z');
    out.line(&format!(
        "{generation}  {verb} by {} ({}), {} ago at {at}Z",
        text("actor"),
        text("source"),
        age(text("at"), now)
    ));
}

/// One difference; what the first change set was nothing before.
fn change(difference: &Value, is_first: bool, full: bool, out: &Output) -> Vec<String> {
    let field = difference["field"].as_str().unwrap_or_default();
    let (seen, wanted) = (difference["seen"].as_str(), difference["wanted"].as_str());
    let has_lines = [seen, wanted].iter().flatten().any(|text| text.contains('\n'));
    match (has_lines, seen, wanted) {
        (true, None, Some(wanted)) if !full => vec![format!("{field}  {} lines", wanted.lines().count())],
        (true, ..) => {
            let lines = text_diff::lines(seen.unwrap_or_default(), wanted.unwrap_or_default());
            std::iter::once(field.to_owned())
                .chain(lines.into_iter().map(|line| format!("  {line}")))
                .collect()
        }
        (false, None, Some(wanted)) if is_first => vec![format!("{field}  {wanted}")],
        _ => vec![format!(
            "{field}  {} {} {}",
            seen.unwrap_or("unset"),
            out.sign("→"),
            wanted.unwrap_or("unset")
        )],
    }
}
