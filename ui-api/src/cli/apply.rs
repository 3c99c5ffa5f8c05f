//! `hearth apply`: make what the files declare so, all of it or nothing.
//!
//! Every object is checked here, then tried on the server without being kept, and only when all of them pass is
//! anything written. An object that exists gets the spec of the file, and its labels and annotations beside those
//! that others have set. Nothing that somebody else wrote in between is overwritten.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hearth_meta::Problem;
use http::Method;
use serde_json::Value;

use super::client::{Client, JSON, Refusal, Trouble};
use super::exit::{Exit, Failure, Outcome};
use super::manifest::{Manifest, Manifests};
use super::output::{Output, Tone, paint};
use super::resource::{Target, collection};
use super::rollback::undo;
use super::wait::{self, Goal};

/// How long is waited for all of it where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often a write is tried again when only the status has changed in between.
const TRIES: usize = 10;

/// Make what files declare so.
///
/// Creates what is missing and changes what differs; all of it, or nothing where any part would be refused.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth apply -f photos.yaml --wait\n  hearth apply -f home/ --dry-run\n  cat app.yaml | hearth apply -f -"
)]
pub(super) struct Apply {
    /// A file, a folder of .yaml and .json files, or - for standard input; may be given several times.
    #[arg(short, long = "filename", required = true, value_name = "FILE")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
}

/// How it is carried out.
#[derive(Debug, Args)]
pub(super) struct How {
    /// Wait until everything is Ready, or something Failed or needs you; 5 minutes at most, or --timeout.
    #[arg(long)]
    wait: bool,
    /// Check everything, on the server too, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Exit with 20 where something was changed, or would be.
    #[arg(long)]
    detailed_exitcode: bool,
}

/// Which objects are meant, by how they stand before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// Whatever stands there, or nothing.
    Anything,
    /// Nothing is there yet.
    New,
    /// What stands there is of this generation.
    At(i64),
}

/// What became of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was not there.
    Created,
    /// It was there and differed.
    Changed,
    /// It was there just so.
    Unchanged,
}

/// Carries out `hearth apply`.
///
/// # Errors
/// Anything wrong with the files, on the spot or by the server's rules; a conflict; no server.
pub(super) async fn run(args: Apply, client: &Client, out: &Output) -> Outcome {
    let manifests = Manifests::read(&args.file, client.namespace(), true)?;
    carry_out(&manifests, &args.how, Meant::Anything, client, out).await
}

/// Makes so what was declared, as it was asked for.
///
/// # Errors
/// Anything the server's rules refuse; a conflict; no server.
pub(super) async fn carry_out(
    manifests: &Manifests,
    how: &How,
    meant: Meant,
    client: &Client,
    out: &Output,
) -> Outcome {
    let tried = rehearse(manifests, client).await?;
    if how.dry_run {
        let exit = how.ended(tried.iter().any(|effect| *effect != Effect::Unchanged));
        let reports =
            manifests.items.iter().zip(tried).map(|(manifest, effect)| report(manifest, effect, true));
        reports.for_each(|line| out.line(&line));
        return Ok(exit);
    }
    let (mut applied, mut is_changed) = (Vec::new(), false);
    for manifest in &manifests.items {
        match put(manifest, meant, client).await {
            Ok((effect, before, object)) => {
                out.line(&report(manifest, effect, false));
                is_changed |= effect != Effect::Unchanged;
                warn(&object, out);
                let can_be_undone = effect == Effect::Changed && !manifest.target.kind.is_secret;
                if let Some(undo) = before
                    .filter(|_| can_be_undone)
                    .and_then(|it| undo(&manifest.target, client, &it, &object))
                {
                    out.note(&format!("  {undo}"));
                }
                applied.push(manifest.target.clone());
            }
            Err(failure) => {
                if !applied.is_empty() {
                    let names: Vec<String> = applied.iter().map(Target::to_string).collect();
                    out.say(&format!("stopped here; applied before: {}", names.join(", ")));
                }
                return Err(failure);
            }
        }
    }
    applied.retain(Target::is_made_true);
    match how.waited(&applied, client, out).await? {
        Exit::Done => Ok(how.ended(is_changed)),
        exit => Ok(exit),
    }
}

impl How {
    /// Waits for what stands now, where that was asked for.
    ///
    /// # Errors
    /// No server.
    pub(super) async fn waited(&self, targets: &[Target], client: &Client, out: &Output) -> Outcome {
        if !self.wait || self.dry_run {
            return Ok(Exit::Done);
        }
        let ready = Goal::Verdict(hearth_meta::Verdict::Ready);
        wait::for_all(client, out, targets, &ready, client.waits(PATIENCE)).await
    }

    /// Whether nothing is to be kept of it.
    pub(super) fn is_dry(&self) -> bool {
        self.dry_run
    }

    fn ended(&self, is_changed: bool) -> Exit {
        if self.detailed_exitcode && is_changed { Exit::Changed } else { Exit::Done }
    }
}

/// Tries every object on the server without keeping it, so that nothing is applied of a set with a bad one.
async fn rehearse(manifests: &Manifests, client: &Client) -> Result<Vec<Effect>, Failure> {
    let (mut effects, mut problems) = (Vec::new(), Vec::new());
    for manifest in &manifests.items {
        let before = client.find(&manifest.target).await?;
        if before.as_ref().is_some_and(|object| !object["metadata"]["deletionTimestamp"].is_null()) {
            let target = &manifest.target;
            let next = format!("wait with `hearth wait {target} --for=deleted`, then apply again");
            return Err(Failure::new(Exit::Conflict, format!("{target} is being removed")).next(next));
        }
        match write(manifest, before, client, true).await {
            Ok((effect, _)) => effects.push(effect),
            // Its namespace is made by this very set, a moment before it.
            Err(Trouble::Refused(_)) if manifests.makes_namespace_of(manifest) => {
                effects.push(Effect::Created)
            }
            Err(Trouble::Refused(refusal)) if !refusal.problems.is_empty() => {
                problems.extend(refusal.problems.into_iter().map(|problem| manifest.locate(problem)));
            }
            Err(Trouble::Refused(refusal)) if refusal.code == 400 || refusal.code == 422 => {
                problems.push(manifest.locate(Problem::new("metadata.name", refusal.message)));
            }
            // Its status changed between reading and trying; the write itself is tried again when that happens.
            Err(Trouble::Refused(refusal)) if refusal.code == 409 => effects.push(Effect::Changed),
            Err(trouble) => return Err(trouble.into()),
        }
    }
    if problems.is_empty() { Ok(effects) } else { Err(manifests.rejected(problems, "nothing was changed")) }
}

/// Writes one object, trying again where only something else than its spec has changed in between. What became of it,
/// as it was read before, if it was there, and as it was written.
async fn put(
    manifest: &Manifest,
    meant: Meant,
    client: &Client,
) -> Result<(Effect, Option<Value>, Value), Failure> {
    let mut generation = match meant {
        Meant::Anything => None,
        Meant::New => Some(None),
        Meant::At(generation) => Some(Some(Value::from(generation))),
    };
    for _ in 0..TRIES {
        let before = client.find(&manifest.target).await?;
        let now = before.as_ref().map(|object| object["metadata"]["generation"].clone());
        if *generation.get_or_insert_with(|| now.clone()) != now {
            break;
        }
        match write(manifest, before.clone(), client, false).await {
            Err(Trouble::Refused(Refusal { code: 409, .. })) => {}
            written => {
                let (effect, object) = written?;
                return Ok((effect, before, object));
            }
        }
    }
    let message = format!("{} was changed by somebody else at the same moment", manifest.target);
    Err(Failure::new(Exit::Conflict, message).next("look at it with `hearth diff -f`, then apply again"))
}

async fn write(
    manifest: &Manifest,
    before: Option<Value>,
    client: &Client,
    dry_run: bool,
) -> Result<(Effect, Value), Trouble> {
    let target = &manifest.target;
    let query = if dry_run {
        "?fieldManager=hearth&fieldValidation=Strict&dryRun=All"
    } else {
        "?fieldManager=hearth&fieldValidation=Strict"
    };
    let Some(before) = before else {
        let path = format!("{}{query}", collection(&target.kind, target.namespace.as_deref()));
        let made = client.send(Method::POST, &path, JSON, &manifest.value).await?;
        return Ok((Effect::Created, made));
    };
    let wanted = merged(&before, &manifest.value);
    let after = client.send(Method::PUT, &format!("{}{query}", target.path()), JSON, &wanted).await?;
    let effect = if same(&before, &after) { Effect::Unchanged } else { Effect::Changed };
    Ok((effect, after))
}

/// The object as it stands, with everything but metadata and status as the file says, and its labels and
/// annotations added.
fn merged(before: &Value, file: &Value) -> Value {
    let mut wanted = before.clone();
    let (Some(into), Some(from)) = (wanted.as_object_mut(), file.as_object()) else { return file.clone() };
    into.retain(|field, _| ["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()));
    for (field, value) in from.iter().filter(|(field, _)| !["metadata", "status"].contains(&field.as_str())) {
        into.insert(field.clone(), value.clone());
    }
    for field in ["labels", "annotations"] {
        for (name, value) in file["metadata"][field].as_object().into_iter().flatten() {
            wanted["metadata"][field][name] = value.clone();
        }
    }
    wanted
}

/// Whether nothing was changed. A write that changes nothing leaves the resourceVersion; one that is only tried
/// does not raise it either, so the contents are compared too.
fn same(before: &Value, after: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|field, _| {
                !["resourceVersion", "generation", "managedFields"].contains(&field.as_str())
            });
        }
        object
    };
    before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
        && stripped(before) == stripped(after)
}

fn report(manifest: &Manifest, effect: Effect, dry_run: bool) -> String {
    let (tone, word) = match effect {
        Effect::Created => (Tone::Good, "created"),
        Effect::Changed => (Tone::Moving, "changed"),
        Effect::Unchanged => (Tone::Faint, "unchanged"),
    };
    let note = if dry_run { " (tried only; nothing was changed)" } else { "" };
    format!("{} {}{note}", manifest.target, paint(tone, word))
}

/// What the server says of an object it took.
fn warn(object: &Value, out: &Output) {
    for warning in object["status"]["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.note(&format!("  note: {warning}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{merged, same};

    #[test]
    fn the_file_decides_the_spec_and_adds_to_labels() {
        let before = json!({
            "apiVersion": "hearth.dev/v1", "kind": "App",
            "metadata": { "name": "a", "resourceVersion": "7", "labels": { "x": "1", "y": "1" }, "finalizers": ["f"] },
            "spec": { "slug": "a", "state": "Stopped" }, "status": { "summary": "Ready" },
        });
        let file = json!({
            "apiVersion": "hearth.dev/v1", "kind": "App",
            "metadata": { "name": "a", "labels": { "y": "2" }, "annotations": { "n": "m" } },
            "spec": { "slug": "a" }, "status": { "summary": "Failed" },
        });
        let wanted = merged(&before, &file);
        assert_eq!(wanted["spec"], json!({ "slug": "a" }));
        assert_eq!(wanted["status"], before["status"]);
        assert_eq!(wanted["metadata"]["labels"], json!({ "x": "1", "y": "2" }));
        assert_eq!(wanted["metadata"]["annotations"], json!({ "n": "m" }));
        assert_eq!(
            (&wanted["metadata"]["resourceVersion"], &wanted["metadata"]["finalizers"]),
            (&json!("7"), &json!(["f"]))
        );
    }

    #[test]
    fn a_change_of_status_alone_is_no_change() {
        let at = |summary: &str| json!({ "metadata": { "resourceVersion": "7" }, "spec": {}, "status": { "summary": summary } });
        assert!(same(&at("Ready"), &at("Failed")));
    }
}
