//! `hearth delete`: ask for removal, say what becomes of data, and wait until it is done.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use hearth_meta::labels::DECLARED_IN;
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::confirm;
use super::duration;
use super::exit::{Exit, Failure, Outcome};
use super::manifest::Manifests;
use super::output::Output;
use super::resource::{Asked, Target, parse_asked};
use super::wait::{self, Goal};

/// Delete objects; an app's data is kept by default.
///
/// The data goes too where spec.dataPolicy is Delete, or with --data.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth delete app/photos\n  hearth delete app/photos --data --yes\n  hearth delete -f photos.yaml"
)]
pub(super) struct Delete {
    /// The objects, as KIND/NAME... or KIND NAME...
    #[arg(value_name = "KIND/NAME", required_unless_present = "file")]
    what: Vec<String>,
    /// The objects that these files declare.
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with = "what")]
    file: Vec<PathBuf>,
    /// Delete an app's data too, for ever: sets spec.dataPolicy to Delete first.
    #[arg(long)]
    data: bool,
    /// What becomes of what it is made of: goes after it, goes before it, or stays without it.
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "data")]
    cascade: Option<Cascade>,
    /// Do not ask before data is deleted.
    #[arg(long)]
    yes: bool,
    /// Wait until everything is gone.
    #[arg(long, default_value_t = true, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    wait: bool,
    /// How long to wait at most.
    #[arg(long, default_value = "120s", value_parser = duration::parse)]
    timeout: Duration,
    /// What is not there is no failure.
    #[arg(long)]
    ignore_not_found: bool,
}

/// What becomes of what an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cascade {
    /// It goes once its owner is gone.
    Background,
    /// Its owner waits until it is gone.
    Foreground,
    /// It stays, and nothing stops.
    Orphan,
}

impl Cascade {
    /// The word of the protocol.
    fn policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Carries out `hearth delete`.
///
/// # Errors
/// No such object, data without consent, no server.
pub(super) async fn run(args: Delete, client: &Client, out: &Output) -> Outcome {
    let targets = targets_of(&args, client)?;
    let mut found = Vec::new();
    for target in targets {
        match client.find(&target).await? {
            Some(object) => found.push((target, object)),
            None if args.ignore_not_found || !args.file.is_empty() => {
                out.note(&format!("{target} is not there"))
            }
            None => return Err(client.missing(&target).await),
        }
    }
    if args.data {
        consent(&args, &found, out)?;
    }
    let mut asked = Vec::new();
    for (target, object) in found {
        delete(&args, &target, &object, client, out).await?;
        asked.push(target);
    }
    if args.wait && !asked.is_empty() {
        return wait::for_all(client, out, &asked, &Goal::Deleted, args.timeout).await;
    }
    asked.iter().for_each(|target| out.line(&format!("{target} deletion asked for")));
    Ok(Exit::Done)
}

fn targets_of(args: &Delete, client: &Client) -> Result<Vec<Target>, Failure> {
    if !args.file.is_empty() {
        let manifests = Manifests::read(&args.file, client.namespace(), false)?;
        // What was made last goes first: apps before the secrets and namespaces they need.
        return Ok(manifests.items.into_iter().rev().map(|manifest| manifest.target).collect());
    }
    match parse_asked(&args.what, client.namespace())? {
        Asked::Objects(targets) => Ok(targets),
        Asked::Kinds(_) => {
            Err(Failure::usage("a kind alone is not deleted; name its objects, as in app/photos"))
        }
    }
}

/// Data is only deleted when somebody said so twice.
fn consent(args: &Delete, found: &[(Target, Value)], out: &Output) -> Result<(), Failure> {
    if let Some((other, _)) = found.iter().find(|(target, _)| target.kind.kind != "App") {
        return Err(Failure::usage(format!("--data is for apps; {other} is none")));
    }
    if found.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().map(|(target, _)| target.to_string()).collect();
    let what = format!("the data of {} would be deleted for ever", names.join(", "));
    confirm::ask(&what, args.yes, "nothing was deleted", out)
}

async fn delete(
    args: &Delete,
    target: &Target,
    object: &Value,
    client: &Client,
    out: &Output,
) -> Result<(), Failure> {
    let goes_with_data = object["spec"]["dataPolicy"] == "Delete";
    if args.data && !goes_with_data {
        client.patch(target, &json!({ "spec": { "dataPolicy": "Delete" } })).await?;
        out.note(&format!("{target}: set spec.dataPolicy to Delete; its data goes with it"));
    } else if target.kind.kind == "App" {
        let fate = if args.cascade == Some(Cascade::Orphan) {
            "what it is made of stays and runs on"
        } else if goes_with_data {
            "its data goes with it (spec.dataPolicy is Delete)"
        } else {
            "its data is kept"
        };
        out.note(&format!("{target}: {fate}"));
    }
    if let Some(file) = object["metadata"]["annotations"][DECLARED_IN].as_str() {
        out.note(&format!(
            "{target}: {file} of the manifests folder declares it; while it does, {target} comes back"
        ));
    }
    // Only the object that was looked at: one made anew under the name is another.
    let mut body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": object["metadata"]["uid"] } });
    if let Some(cascade) = args.cascade {
        body["propagationPolicy"] = cascade.policy().into();
    }
    match client.send(Method::DELETE, &target.path(), JSON, &body).await {
        Err(trouble) if trouble.is_not_found() => Ok(()),
        answered => answered.map(drop).map_err(Failure::from),
    }
}
