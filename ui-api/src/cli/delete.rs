//! `hearth delete`: ask for removal, say what becomes of data, and wait until it is done.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use hearth_meta::labels::{APP, DECLARED_IN};
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::complete;
use super::consent;
use super::exit::{Exit, Failure, Outcome};
use super::manifest::Manifests;
use super::output::Output;
use super::resource::{Asked, Target, collection, encode, kind_called, parse_asked};
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
    #[arg(value_name = "KIND/NAME", required_unless_present = "file", add = complete::objects())]
    what: Vec<String>,
    /// The objects that these files declare.
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with = "what")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    fate: Fate,
    /// What becomes of what it is made of: goes after it, goes before it, or stays without it.
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "data")]
    cascade: Option<Cascade>,
    /// What is not there is no failure.
    #[arg(long)]
    ignore_not_found: bool,
}

/// What becomes of the data of apps, and whether the end is waited for.
#[derive(Debug, Args)]
pub(super) struct Fate {
    /// Delete an app's data too, for ever: sets spec.dataPolicy to Delete first.
    #[arg(long)]
    data: bool,
    /// Do not ask before data is deleted.
    #[arg(long)]
    yes: bool,
    /// Wait until everything is gone; 2 minutes at most, or --timeout.
    #[arg(long, default_value_t = true, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    wait: bool,
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
    remove(found, &args.fate, args.cascade, client, out).await
}

/// Deletes apps by their names.
///
/// # Errors
/// No such app, data without consent, no server.
pub(super) async fn apps(targets: &[Target], fate: &Fate, client: &Client, out: &Output) -> Outcome {
    let mut found = Vec::new();
    for target in targets {
        found.push((target.clone(), client.one(target).await?));
    }
    remove(found, fate, None, client, out).await
}

async fn remove(
    found: Vec<(Target, Value)>,
    fate: &Fate,
    cascade: Option<Cascade>,
    client: &Client,
    out: &Output,
) -> Outcome {
    if fate.data {
        may_go(fate, &found, client, out).await?;
    }
    let mut asked = Vec::new();
    for (target, object) in found {
        delete(fate, cascade, &target, &object, client, out).await?;
        asked.push(target);
    }
    if fate.wait && !asked.is_empty() {
        return wait::for_all(client, out, &asked, &Goal::Deleted, client.waits(wait::USUAL)).await;
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
async fn may_go(
    fate: &Fate,
    found: &[(Target, Value)],
    client: &Client,
    out: &Output,
) -> Result<(), Failure> {
    if let Some((other, _)) = found.iter().find(|(target, _)| target.kind.kind != "App") {
        return Err(Failure::usage(format!("--data is for apps; {other} is none")));
    }
    if found.is_empty() || fate.yes {
        return Ok(());
    }
    let mut names = Vec::new();
    for (target, _) in found {
        names.push(format!("{target}{}", of_volumes(target, client).await));
    }
    let what = format!("the data of {} would be deleted for ever", names.join(", "));
    consent::ask(&what, "add --yes if that is meant", out).await
}

async fn delete(
    fate: &Fate,
    cascade: Option<Cascade>,
    target: &Target,
    object: &Value,
    client: &Client,
    out: &Output,
) -> Result<(), Failure> {
    let goes_with_data = object["spec"]["dataPolicy"] == "Delete";
    if fate.data && !goes_with_data {
        client.patch(target, &json!({ "spec": { "dataPolicy": "Delete" } })).await?;
        out.note(&format!("{target}: set spec.dataPolicy to Delete; its data goes with it"));
    } else if target.kind.kind == "App" {
        let fate = if cascade == Some(Cascade::Orphan) {
            "what it is made of stays and runs on"
        } else if goes_with_data {
            "its data goes with it (spec.dataPolicy is Delete)"
        } else {
            "its data is kept"
        };
        out.note(&format!("{target}: {fate}{}", of_volumes(target, client).await));
    }
    if let Some(file) = object["metadata"]["annotations"][DECLARED_IN].as_str() {
        out.note(&format!(
            "{target}: {file} of the manifests folder declares it; while it does, {target} comes back"
        ));
    }
    // Only the object that was looked at: one made anew under the name is another.
    let mut body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": object["metadata"]["uid"] } });
    if let Some(cascade) = cascade {
        body["propagationPolicy"] = cascade.policy().into();
    }
    match client.send(Method::DELETE, &target.path(), JSON, &body).await {
        Err(trouble) if trouble.is_not_found() => Ok(()),
        answered => answered.map(drop).map_err(Failure::from),
    }
}

/// Where an app's data lies, in brackets; nothing where it has none, or one may not see it.
async fn of_volumes(target: &Target, client: &Client) -> String {
    let Some(kind) = kind_called("Volume") else { return String::new() };
    let selector = encode(&format!("{APP}={}", target.name));
    let path = format!("{}?labelSelector={selector}", collection(&kind, target.namespace.as_deref()));
    let listing = client.list(&path, JSON).await.unwrap_or_default();
    let places = listing["items"].as_array().into_iter().flatten().map(|volume| {
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        match volume["status"]["hostPath"].as_str() {
            Some(path) => format!("volume/{name} at {path}"),
            None => format!("volume/{name}"),
        }
    });
    let places: Vec<String> = places.collect();
    if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) }
}
