//! Things of ours without an object: what is asked about them, and a person's answer.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::super::client::{Client, JSON};
use super::super::consent;
use super::super::exit::{Exit, Failure, Outcome};
use super::super::output::Output;
use super::super::resource::{kind_called, kind_named};
use super::PLACE;

/// What is answered for.
#[derive(Debug, Args)]
pub(super) struct Orphans {
    /// The kind they were made for.
    #[arg(value_name = "KIND")]
    kind: String,
    /// The id of the set that is meant, as `hearth recover status` shows it; another one is refused.
    #[arg(long, value_name = "ID")]
    set: Option<String>,
    /// Do not ask, whatever stands now.
    #[arg(long, conflicts_with = "set")]
    yes: bool,
}

/// Whether a question waits for a person.
pub(super) fn are_asked_about(status: &Value) -> bool {
    questions(status).any(|question| !question["asked"].is_null())
}

fn questions(status: &Value) -> impl Iterator<Item = &Value> {
    status["questions"].as_array().into_iter().flatten()
}

/// Every question with what it is about, and what is kept.
pub(super) fn lines(status: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for question in questions(status) {
        let kind = question["kind"].as_str().unwrap_or_default();
        let plural = kind_called(kind).map_or_else(|| kind.to_lowercase(), |kind| kind.plural.to_owned());
        let asked = &question["asked"];
        if !asked.is_null() {
            let (why, id) = (word(&question["why"]), word(&asked["id"]));
            lines.push(format!(
                "Of {plural}, {why}. None of these is removed before somebody answers (set {id}):"
            ));
            lines.extend(items(asked));
            lines.push(format!("  Remove them with `hearth recover remove-orphans {plural} --set {id}`,"));
            lines.push(format!("  or keep them with `hearth recover keep-orphans {plural} --set {id}`."));
        }
        let kept = &question["kept"];
        if !kept.is_null() {
            lines
                .push(format!("Of {plural}, these have no object and are kept (set {}):", word(&kept["id"])));
            lines.extend(items(kept));
        }
    }
    lines
}

fn items(set: &Value) -> Vec<String> {
    let one = |item: &Value| {
        let was = match item["object"].as_str() {
            Some(object) => format!("was made for {object}"),
            None => format!("was made for uid {}, which no history knows", word(&item["uid"])),
        };
        format!("  {}  {was}", word(&item["name"]))
    };
    set["items"].as_array().into_iter().flatten().map(one).collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Carries out `hearth recover remove-orphans` and `keep-orphans`.
///
/// # Errors
/// Another set than the one that is meant, no server.
pub(super) async fn answer(args: &Orphans, answer: &str, client: &Client, out: &Output) -> Outcome {
    let kind = kind_named(&args.kind)?;
    let status = client.get(PLACE).await?;
    let question = questions(&status).find(|question| question["kind"] == kind.kind);
    // What is asked about comes first; what is kept can be answered for anew once nothing is.
    let sets = question.into_iter().flat_map(|question| [&question["asked"], &question["kept"]]);
    let Some(now) = sets.into_iter().find(|set| !set.is_null()) else {
        out.note(&format!("nothing is asked about {}", kind.plural));
        return Ok(Exit::Done);
    };
    let id = word(&now["id"]);
    if args.set.is_none() {
        items(now).iter().for_each(|line| out.line(line));
    }
    if args.set.is_none() && !args.yes {
        let what = match answer {
            "Remove" => format!("these would be removed from the machine: {}", kind.plural),
            _ => format!("these would be kept: {}", kind.plural),
        };
        consent::ask(&what, &format!("add --set {id} once you have looked, or --yes"), out).await?;
    }
    let set = args.set.as_deref().unwrap_or(id);
    let asked = json!({ "kind": kind.kind, "answer": answer, "set": set });
    let path = format!("{PLACE}/orphans");
    let answered = client.send(Method::POST, &path, JSON, &asked).await.map_err(Failure::from)?;
    let count = answered["items"].as_array().map_or(0, Vec::len);
    match answer {
        "Remove" => out.note(&format!("{count} of {} are removed; see `hearth events -A`", kind.plural)),
        _ => out.note(&format!("{count} of {} are kept and not asked about again", kind.plural)),
    }
    Ok(Exit::Done)
}
