//! `hearth recover`: the way out when the store and what stands on the machine do not belong together.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hearth_engine::{Clock, SystemClock};
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON, Reach};
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use crate::config::Config;
use crate::recover::condition::condition;
use crate::recover::rebuild::{Rebuilt, rebuild};
use crate::serve::ServeOptions;
use crate::serve::wiring;

mod orphans;
mod folder;
mod screen;

use orphans::Orphans;

/// The place of the question, and of the answer.
const PLACE: &str = "/hearth/v1/recover";
/// Where what stands is taken over.
const ADOPT: &str = "/hearth/v1/recover/adopt";
/// How long that may take: each thing is looked at on the machine.
const ADOPTION: Duration = Duration::from_secs(300);

/// See what does not belong together after a loss, and the way out of it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth recover status\n  hearth recover status --data-dir /var/lib/hearth\n  hearth recover accept\n  hearth recover keep-orphans containers\n  hearth recover adopt app/photos\n  hearth recover rebuild --data-dir /var/lib/hearth"
)]
pub(super) struct Recover {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say what is held back and what does not belong together, with the next command for each.
    Status(Status),
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
    /// Take over what stands on this machine and is not this store's.
    Adopt(Adopt),
    /// Make a store anew from what stands on this machine, where it is lost; while no server runs.
    Rebuild(Box<Rebuild>),
}

#[derive(Debug, Args)]
struct Status {
    /// Look at the store in this folder, which no server has open.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print as JSON.
    #[arg(short, long, value_name = "json")]
    output: Option<Form>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Json,
}

#[derive(Debug, Args)]
struct Adopt {
    /// What: app/NAME, app/NAMESPACE/NAME, an instance's uid, volume/NAME, or system for Hearth's own parts.
    #[arg(value_name = "WHAT", required_unless_present = "all")]
    what: Vec<String>,
    /// Everything that stands here and was not deleted.
    #[arg(long, conflicts_with = "what")]
    all: bool,
}

#[derive(Debug, Args)]
struct Rebuild {
    #[command(flatten)]
    settings: ServeOptions,
    /// Whose things are yours, where those of several homes stand here.
    #[arg(long, value_name = "ID")]
    lineage: Option<String>,
    /// Do it; without this it is only said what would be done.
    #[arg(long)]
    yes: bool,
}

/// Where no server answers, the store can still be looked at.
fn or_look_at_the_store(failure: Failure) -> Failure {
    failure.next("where no server can start: hearth recover status --data-dir DIR")
}

async fn reached(reach: &Reach<'_>) -> Result<Client, Failure> {
    reach.client().await.map_err(or_look_at_the_store)
}

/// Carries out `hearth recover`.
///
/// # Errors
/// No server, one that could not write, or a store that cannot be rebuilt.
pub(super) async fn run(args: Recover, reach: &Reach<'_>, out: &Output) -> Outcome {
    match args.what {
        What::Status(Status { data_dir: Some(dir), output }) => offline(&dir, output, out).await,
        What::Status(Status { output, .. }) => {
            let client = reached(reach).await?;
            let status = client.get(PLACE).await.map_err(|trouble| or_look_at_the_store(trouble.into()))?;
            let folder = folder::ask(&client).await?;
            match output {
                Some(Form::Json) => out.data(&format!("{status:#}\n")),
                None => {
                    screen::online(&status).iter().for_each(|line| out.line(line));
                    folder::tell(&folder, out);
                }
            }
            let is_asked = orphans::are_asked_about(&status) || folder::asks(&folder);
            let is_well = status["observeOnly"].is_null() && status["disk"].is_null() && !is_asked;
            Ok(if is_well { Exit::Done } else { Exit::Unwell })
        }
        What::Accept => {
            let client = reached(reach).await?;
            let before = client.get(PLACE).await?;
            if before["observeOnly"].is_null() {
                out.note("nothing is held back; there is nothing to accept");
                return Ok(Exit::Done);
            }
            client.send(Method::POST, PLACE, JSON, &json!({})).await?;
            let tokens = before["tokens"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let tokens = tokens.collect::<Vec<_>>().join(", ");
            if !tokens.is_empty() {
                out.note(&format!(
                    "these tokens let in again: {tokens}; one that was revoked since goes with `hearth token revoke NAME`"
                ));
            }
            out.note("accepted: the machine is made what the store says; see `hearth get all -A`");
            Ok(Exit::Done)
        }
        What::RemoveOrphans(args) => orphans::answer(&args, "Remove", &reached(reach).await?, out).await,
        What::KeepOrphans(args) => orphans::answer(&args, "Keep", &reached(reach).await?, out).await,
        What::RemoveUndeclared => folder::answer(true, &reached(reach).await?, out).await,
        What::KeepUndeclared => folder::answer(false, &reached(reach).await?, out).await,
        What::Adopt(args) => {
            let client = reached(reach).await?;
            let answer = client
                .patient(ADOPTION)
                .send(Method::POST, ADOPT, JSON, &json!({ "items": args.what }))
                .await?;
            Ok(adopted(&answer, out))
        }
        What::Rebuild(args) => rebuild_store(*args, out).await,
    }
}

async fn offline(dir: &Path, output: Option<Form>, out: &Output) -> Outcome {
    let found = condition(dir).await;
    match output {
        Some(Form::Json) => out.data(&format!("{:#}\n", found.to_value())),
        None => screen::offline(&found).iter().for_each(|line| out.line(line)),
    }
    Ok(if found.state == "Ready" { Exit::Done } else { Exit::Unwell })
}

fn adopted(answer: &Value, out: &Output) -> Exit {
    let texts = |field: &str| answer[field].as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
    for item in texts("adopted") {
        out.line(&format!("{} is this home's", item.as_str().unwrap_or_default()));
    }
    for lacking in texts("missing") {
        out.line(&format!("  lacking: {}", lacking.as_str().unwrap_or_default()));
    }
    let refused = texts("refused");
    for item in &refused {
        let word = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        out.say(&format!("{}: {}", word("item"), word("why")));
    }
    if refused.is_empty() && texts("adopted").is_empty() {
        out.note("nothing stands here that could be taken over");
    }
    if refused.is_empty() { Exit::Done } else { Exit::Conflict }
}

async fn rebuild_store(args: Rebuild, out: &Output) -> Outcome {
    let config = Config::settle(args.settings).map_err(|problems| Failure::usage(problems.join("; ")))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let failed = |error: anyhow::Error| {
        let next = format!("hearth recover status --data-dir {}", config.data_dir.display());
        Failure::new(Exit::Rejected, format!("{error:#}")).next(next)
    };
    let hands = wiring::machine(&config, &clock).map_err(failed)?;
    let done = Box::pin(rebuild(&config, &hands, clock, args.lineage.as_deref(), args.yes)).await;
    let rebuilt = done.map_err(failed)?;
    tell(&rebuilt, args.yes, &config, out);
    Ok(Exit::Done)
}

fn tell(rebuilt: &Rebuilt, is_done: bool, config: &Config, out: &Output) {
    let (word, dir) = (if is_done { "Back" } else { "Would be back" }, config.data_dir.display());
    out.line(&format!("Store {}, from {} instances", rebuilt.lineage, rebuilt.apps.len()));
    rebuilt.apps.iter().for_each(|app| out.line(&format!("  {word}: App {app} with its parts")));
    rebuilt.missing.iter().for_each(|what| out.line(&format!("  Not back: {what}")));
    if let Some(aside) = &rebuilt.aside {
        out.line(&format!("The old files are in {}", aside.display()));
    }
    out.line("Next");
    if is_done {
        out.line(&format!("  hearth serve --data-dir {dir}   it only looks, and changes nothing"));
        out.line("  hearth recover status");
        out.line("  hearth recover accept");
    } else {
        out.line(&format!("  hearth recover rebuild --data-dir {dir} --yes"));
    }
}
