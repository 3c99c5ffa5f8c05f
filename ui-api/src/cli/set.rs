//! `hearth set`: single fields of an object, each of the type its kind says, as one write.

use clap::Args;
use hearth_meta::labels::DECLARED_IN;
use hearth_meta::{FieldDiff, Verdict};
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::differences::{Change, lines_of, preview_of};
use super::edit::shown;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::resource::{Target, parse_one};
use super::rollback::{not_its_own, undo};
use super::wait::{self, Goal};
use super::yaml;
use crate::written;

mod path;
mod assign;

use assign::assigned;
use path::Assignment;

/// How often a write is tried again when only something else has changed in between.
const TRIES: usize = 10;

/// Set fields of an object.
///
/// A PATH is written as `hearth explain` and `hearth diff` write it; `spec.` may be left out. PATH= or PATH- takes a field
/// away. What changes is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth set app/photos state=Stopped\n  hearth set app/photos 'values[TZ].value=Europe/Paris' mainPort-\n  hearth set app/photos permissions.folders=films,music --dry-run\n  hearth set app/photos 'metadata.labels[example.com/room]=attic' --show"
)]
pub(super) struct Set {
    /// The object, as KIND/NAME, then the fields.
    #[arg(required = true, num_args = 1.., value_name = "KIND/NAME PATH=VALUE", add = complete::objects())]
    words: Vec<String>,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Print the object as it is written.
    #[arg(long)]
    show: bool,
    /// Wait until it is Ready; 2 minutes at most, or --timeout.
    #[arg(long)]
    wait: bool,
}

/// Carries out `hearth set`.
///
/// # Errors
/// No such object or field, a value that will not do, somebody else's change of the same field, no server.
pub(super) async fn run(args: Set, client: &Client, out: &Output) -> Outcome {
    let first = args.words.iter().position(|word| Assignment::is_one(word)).unwrap_or(args.words.len());
    let (object, fields) = args.words.split_at(first);
    let assignments = read(fields)?;
    let target = parse_one(object, client.namespace())?;
    if target.kind.is_secret {
        let message = format!(
            "what {target} holds is not written on a command line, which others on the machine can read"
        );
        return Err(Failure::usage(message).next("write it with `hearth apply -f -`"));
    }
    let before = client.one(&target).await?;
    let wanted = with(&target, &before, &assignments)?;
    if let Some(why) = not_its_own(&target, &before).filter(|_| before["spec"] != wanted["spec"]) {
        return Err(why.next(format!("set it there, or look at `hearth tree {target}`")));
    }
    let change = previewed(&target, &before, &wanted, client).await?;
    if args.show {
        out.data(&yaml::written(&shown(&wanted)));
    }
    // With the object on standard output, the rest is said beside it.
    let out = &if args.show { out.beside() } else { out.clone() };
    if change.differences.is_empty() {
        out.note(&format!("{target}: nothing changes"));
        return waited(&args, target, client, out).await;
    }
    lines_of(&change, out).iter().for_each(|line| out.line(line));
    if let Some(file) = before["metadata"]["annotations"][DECLARED_IN].as_str() {
        out.note(&format!("{file} of the manifests folder declares {target}; what it says is put back, so change it there as well"));
    }
    if args.dry_run {
        out.note("nothing was changed");
        return Ok(Exit::Done);
    }
    match write(&target, before, wanted, &assignments, client).await? {
        Some(Written { before, after }) => {
            let generation = after["metadata"]["generation"].as_i64().unwrap_or(1);
            out.line(&format!("{target} changed (generation {generation})"));
            if let Some(undo) = undo(&target, client, &before, &after) {
                out.note(&undo);
            }
        }
        None => out.note(&format!("{target}: nothing changes; somebody else has just set the same")),
    }
    waited(&args, target, client, out).await
}

/// An object as it was read before it was written, and as it was written.
struct Written {
    before: Value,
    after: Value,
}

/// What stands is waited for where nothing changed too: it may be on its way still, or have failed.
async fn waited(args: &Set, target: Target, client: &Client, out: &Output) -> Outcome {
    if !args.wait || args.dry_run || !target.is_made_true() {
        return Ok(Exit::Done);
    }
    let ready = Goal::Verdict(Verdict::Ready);
    wait::for_all(client, out, &[target], &ready, client.waits(wait::USUAL)).await
}

fn read(fields: &[String]) -> Result<Vec<Assignment>, Failure> {
    if fields.is_empty() {
        return Err(Failure::usage("name a field and its value, as in state=Stopped")
            .next("which fields there are: hearth explain KIND.spec"));
    }
    let (mut assignments, mut wrong) = (Vec::new(), Vec::new());
    for word in fields {
        match Assignment::parse(word) {
            Ok(assignment) => assignments.push(assignment),
            Err(why) => wrong.push(why),
        }
    }
    match wrong.pop() {
        None => Ok(assignments),
        Some(last) => Err(Failure::usage(last).after(wrong)),
    }
}

fn with(target: &Target, object: &Value, assignments: &[Assignment]) -> Result<Value, Failure> {
    assigned(&target.kind, object, assignments).map_err(|faults| {
        let is_misread = faults.iter().any(|fault| fault.exit == Exit::Usage);
        let exit = if is_misread { Exit::Usage } else { Exit::Rejected };
        let mut lines: Vec<String> = faults.iter().map(|fault| fault.problem.to_string()).collect();
        let last = lines.pop().unwrap_or_default();
        Failure::new(exit, last)
            .after(lines)
            .next(format!("which fields there are: hearth explain {}", target.kind.singular))
    })
}

/// What the write would change, as the server tries it, and what would come of it.
async fn previewed(
    target: &Target,
    before: &Value,
    wanted: &Value,
    client: &Client,
) -> Result<Change, Failure> {
    let tried = match put(target, wanted, "&dryRun=All", client).await {
        Ok(tried) => tried,
        // Only its status changed since it was read; the write itself is tried again when that happens.
        Err(Trouble::Refused(refusal)) if refusal.code == 409 => wanted.clone(),
        Err(trouble) => return Err(trouble.into()),
    };
    let differences = written::differences(before, &tried, &target.kind);
    let effects = match before["spec"] == tried["spec"] {
        true => Vec::new(),
        false => preview_of(target, &shown(wanted), client).await?.effects,
    };
    let differences = differences.iter().map(|difference| json!(difference)).collect();
    Ok(Change { target: target.clone(), exists: true, differences, effects })
}

async fn put(target: &Target, wanted: &Value, more: &str, client: &Client) -> Result<Value, Trouble> {
    let path = format!("{}?fieldManager=hearth-set&fieldValidation=Strict{more}", target.path());
    client.send(Method::PUT, &path, JSON, wanted).await
}

/// Writes it, joined with what else has changed meanwhile; a field that is set here and was changed by somebody else is
/// a conflict. `None` where somebody else has set the very same.
async fn write(
    target: &Target,
    mut before: Value,
    mut wanted: Value,
    assignments: &[Assignment],
    client: &Client,
) -> Result<Option<Written>, Failure> {
    let meant = written::differences(&before, &wanted, &target.kind);
    for _ in 0..TRIES {
        match put(target, &wanted, "", client).await {
            Err(Trouble::Refused(refusal)) if refusal.code == 409 => {}
            written => return Ok(Some(Written { before, after: written? })),
        }
        before = client.one(target).await?;
        wanted = with(target, &before, assignments)?;
        let left = written::differences(&before, &wanted, &target.kind);
        if left.is_empty() {
            return Ok(None);
        }
        if left != meant {
            return Err(conflict(target, &meant));
        }
    }
    Err(Failure::new(Exit::Conflict, format!("{target} changes all the time")))
}

fn conflict(target: &Target, meant: &[FieldDiff]) -> Failure {
    let fields: Vec<&str> = meant.iter().map(|difference| difference.field.as_str()).collect();
    let message =
        format!("{} of {target} was changed by somebody else at the same moment", fields.join(", "));
    Failure::new(Exit::Conflict, message).next("look at it, then set it again; nothing was changed")
}
