//! `hearth recover`: what a person is told, and asked, when the store may not be trusted.

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::exit::{Exit, Outcome};
use super::output::Output;

mod orphans;
mod folder;

use orphans::Orphans;

/// The place of the question, and of the answer.
const PLACE: &str = "/hearth/v1/recover";

/// Look at a store that may not be trusted, and say go; answer for what has no object.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth recover status\n  hearth get apps -A\n  hearth recover accept\n  hearth recover keep-orphans containers"
)]
pub(super) struct Recover {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say whether anything is held back, and why.
    Status,
    /// Say go: from now on the machine is made what the store says.
    Accept,
    /// Remove things of a kind that have no object, just as `status` shows them.
    RemoveOrphans(Orphans),
    /// Keep them: they are not asked about again, and never removed by themselves.
    KeepOrphans(Orphans),
    /// Delete what no file of the manifests folder declares any more, just as `status` shows it.
    RemoveUndeclared,
    /// Keep it: it is not asked about again until the list changes.
    KeepUndeclared,
}

/// Carries out `hearth recover`.
///
/// # Errors
/// No server, or one that could not write.
pub(super) async fn run(args: Recover, client: &Client, out: &Output) -> Outcome {
    match args.what {
        What::Status => {
            let status = client.get(PLACE).await?;
            tell(&status, out);
            let folder = folder::ask(client).await?;
            folder::tell(&folder, out);
            let is_asked = orphans::are_asked_about(&status) || folder::asks(&folder);
            let is_well = status["observeOnly"].is_null() && !is_asked;
            Ok(if is_well { Exit::Done } else { Exit::Unwell })
        }
        What::Accept => {
            let before = client.get(PLACE).await?;
            if before["observeOnly"].is_null() {
                out.note("nothing is held back; there is nothing to accept");
                return Ok(Exit::Done);
            }
            client.send(Method::POST, PLACE, JSON, &json!({})).await?;
            out.note("accepted: the machine is made what the store says; see `hearth get all -A`");
            Ok(Exit::Done)
        }
        What::RemoveOrphans(args) => orphans::answer(&args, "Remove", client, out).await,
        What::KeepOrphans(args) => orphans::answer(&args, "Keep", client, out).await,
        What::RemoveUndeclared => folder::answer(true, client, out).await,
        What::KeepUndeclared => folder::answer(false, client, out).await,
    }
}

fn tell(status: &Value, out: &Output) {
    let word = |field: &str| status[field].as_str().unwrap_or_default();
    match status["observeOnly"].as_str() {
        Some(why) => {
            out.line(&format!("Nothing is changed on this machine: {why}."));
            out.line("Look at what differs with `hearth get all -A` and `hearth diff KIND/NAME`.");
            out.line(
                "Then put a newer copy of the store in its place, or say go with `hearth recover accept`.",
            );
        }
        None => out.line("Nothing is held back."),
    }
    out.line(&format!("Store {} at version {}", word("lineage"), word("resourceVersion")));
    for paused in status["paused"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.line(&format!("Paused: {paused}"));
    }
    orphans::tell(status, out);
    for found in status["orphans"].as_array().into_iter().flatten() {
        let (kind, count) = (found["kind"].as_str().unwrap_or_default(), &found["orphans"]);
        let kept = found["breaker"].as_str().map(|why| format!("; they are kept: {why}")).unwrap_or_default();
        out.line(&format!("{count} without an object, of kind {kind}{kept}"));
    }
}
