//! `hearth export`: what people declared, as files that declare it again.
//!
//! What is in them is what people wrote: no status, nothing the server put into metadata, no part that an app made, and no
//! default that nobody wrote, where the server's account of fields tells. Applied to the home they came from, they change
//! nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use hearth_kinds::{HOUSEHOLD, SYSTEM};
use hearth_meta::labels::{DECLARED_IN, is_order};
use hearth_meta::{KindInfo, Scope};
use serde_json::{Map, Value, json};

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::edit::shown;
use super::exit::{Exit, Failure, Outcome};
use super::get::{Language, named};
use super::output::Output;
use super::resource::{Asked, Target, collection, kinds, parse_asked};
use super::yaml;
use crate::private_file;
use crate::support::redact::LAST_APPLIED;

/// Print what people declared, as files that declare it again.
///
/// Without status, defaults, and the parts that apps make by themselves. `hearth apply -f` takes it back.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth export app/photos > photos.yaml\n  hearth export -A --to home/\n  hearth export apps,secrets --with-secrets --to home/ --force\n  hearth export app/photos -o json"
)]
pub(super) struct Export {
    /// KIND, KIND,KIND, KIND NAME..., or KIND/NAME... [default: everything]
    #[arg(value_name = "WHAT", add = complete::kinds_and_objects())]
    what: Vec<String>,
    /// Of every namespace.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Secrets too, with their values for everybody to read.
    #[arg(long)]
    with_secrets: bool,
    /// yaml or json.
    #[arg(short, long, value_enum, default_value = "yaml", value_name = "FORM")]
    output: Language,
    /// Write a file for each object into this folder, readable only by you.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long, requires = "to")]
    force: bool,
}

/// What was found, and what was left out that a person may miss.
#[derive(Default)]
struct Found {
    objects: Vec<(Target, Value)>,
    left_out: Vec<String>,
}

/// Carries out `hearth export`.
///
/// # Errors
/// No such object, one that cannot be declared again, a file that is there already, no server.
pub(super) async fn run(args: Export, client: &Client, out: &Output) -> Outcome {
    let asked = match args.what.is_empty() {
        true => None,
        false => Some(parse_asked(&args.what, client.namespace())?),
    };
    let found = match asked {
        Some(Asked::Objects(targets)) => these(&args, targets, client).await?,
        Some(Asked::Kinds(kinds)) => {
            let kinds: Vec<&KindInfo> = kinds.iter().map(AsRef::as_ref).collect();
            if let Some(why) = kinds.iter().find_map(|kind| cannot(kind, args.with_secrets)) {
                return Err(why);
            }
            all_of(&args, &kinds, false, client).await?
        }
        None => all_of(&args, &everything(&args), true, client).await?,
    };
    found.left_out.iter().for_each(|line| out.note(line));
    if found.objects.is_empty() {
        out.note("nothing of what was asked for was declared by people");
        return Ok(Exit::Done);
    }
    match &args.to {
        Some(folder) => write(&args, folder, &found.objects, out),
        None => {
            let objects: Vec<Value> = found.objects.into_iter().map(|(_, object)| object).collect();
            out.data(&text(&objects, args.output));
            Ok(Exit::Done)
        }
    }
}

/// Every kind that people declare.
fn everything(args: &Export) -> Vec<&'static KindInfo> {
    let declared = |kind: &&KindInfo| !["Event", "Revision"].contains(&kind.kind) && kind.hidden.is_empty();
    let all = kinds().iter().map(AsRef::as_ref).filter(declared);
    // What the others need comes first, as it is applied.
    let mut all: Vec<&KindInfo> = all.filter(|kind| args.with_secrets || !kind.is_secret).collect();
    all.sort_by_key(|kind| match kind.kind {
        "Namespace" => 0,
        "Secret" => 1,
        _ => 2,
    });
    all
}

/// Why a kind is not exported.
fn cannot(kind: &KindInfo, with_secrets: bool) -> Option<Failure> {
    if kind.is_secret && !with_secrets {
        let failure = Failure::usage("the values of secrets would be there for everybody to read");
        return Some(failure.next("add --with-secrets if that is meant"));
    }
    let why = match kind.kind {
        "Event" => "events are told, not declared",
        "Revision" => "revisions are made by their apps; export the apps",
        _ if !kind.hidden.is_empty() => {
            "what lets people in is never told; make it anew with `hearth token create`"
        }
        _ => return None,
    };
    Some(Failure::new(Exit::Rejected, format!("{} cannot be declared again: {why}", kind.plural)))
}

async fn these(args: &Export, targets: Vec<Target>, client: &Client) -> Result<Found, Failure> {
    let mut found = Found::default();
    for target in targets {
        if let Some(why) = cannot(&target.kind, args.with_secrets) {
            return Err(why);
        }
        let object = client.one(&target).await?;
        if let Some(owner) = owner_of(&object) {
            let message = format!("{target} is made by {owner}, and declared by nobody");
            return Err(Failure::new(Exit::Rejected, message).next(format!("hearth export {owner}")));
        }
        found.take(target, &object);
    }
    Ok(found)
}

async fn all_of(args: &Export, kinds: &[&KindInfo], whole: bool, client: &Client) -> Result<Found, Failure> {
    let mut found = Found::default();
    if whole && !args.with_secrets {
        found.left_out.push("secrets are left out; add --with-secrets for their values".into());
    }
    for kind in kinds {
        let listings = match args.all_namespaces {
            true => client.everywhere(kind, "", JSON).await,
            false => {
                client.list(&collection(kind, Some(client.namespace())), JSON).await.map(|list| vec![list])
            }
        };
        let listings = match listings {
            // What one may not see is told, since a file that lacks it looks whole.
            Err(Trouble::Refused(refusal)) if refusal.code == 403 && whole => {
                found.left_out.push(format!("{} are left out: {}", kind.plural, refusal.message));
                continue;
            }
            other => other?,
        };
        for item in listings.iter().flat_map(|list| list["items"].as_array().into_iter().flatten()) {
            let item = named(item, kind);
            let Some(target) = Target::of(&item) else { continue };
            if is_declared(&target, &item, client.namespace()) {
                found.take(target, &item);
            }
        }
    }
    Ok(found)
}

impl Found {
    fn take(&mut self, target: Target, object: &Value) {
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return self.left_out.push(format!("{target} is left out: it is being removed"));
        }
        let clean = cleaned(&target.kind, object);
        self.objects.push((target, clean));
    }
}

fn owner_of(object: &Value) -> Option<String> {
    let owner = object["metadata"]["ownerReferences"].as_array()?.first()?;
    let word = |field: &str| owner[field].as_str().unwrap_or_default();
    Some(format!("{}/{}", word("kind").to_lowercase(), word("name")))
}

/// Whether a person declared it: no app made it, and it is none of the server's own parts.
fn is_declared(target: &Target, object: &Value, namespace: &str) -> bool {
    if owner_of(object).is_some() {
        return false;
    }
    let is_written = object["metadata"]["managedFields"].as_array().is_some_and(|all| !all.is_empty());
    match target.kind.kind {
        // Every home has these two.
        "Namespace" => is_written && ![HOUSEHOLD, SYSTEM].contains(&target.name.as_str()),
        // A store that was rebuilt has them without an account of who wrote what.
        "App" | "Secret" => true,
        _ if target.namespace.as_deref() == Some(SYSTEM) => is_written && namespace == SYSTEM,
        _ => is_written,
    }
}

/// Takes out the orders of a moment, and what other programs noted for themselves.
pub(super) fn without_orders(metadata: &mut Value) {
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name != DECLARED_IN && name != LAST_APPLIED && !is_order(name));
    }
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
    }
}

/// What of an object people wrote.
fn cleaned(kind: &KindInfo, object: &Value) -> Value {
    let mut clean = shown(object);
    let metadata = &mut clean["metadata"];
    without_orders(metadata);
    if kind.scope == Scope::Cluster
        && let Some(fields) = metadata.as_object_mut()
    {
        fields.remove("namespace");
    }
    let fields: Vec<&Value> = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["subresource"].is_null())
        .map(|entry| &entry["fieldsV1"]["f:spec"])
        .filter(|fields| !fields.is_null())
        .collect();
    if fields.is_empty() || kind.is_secret {
        return clean;
    }
    let mut written = clean.clone();
    keep_written(&mut written["spec"], &fields);
    // Only where what is left means the very same is it enough.
    let mut filled = written.clone();
    (kind.default)(&mut filled, Some(object));
    if filled["spec"] == object["spec"] { written } else { clean }
}

/// Keeps the fields of a map that somebody set.
fn keep_written(value: &mut Value, owned: &[&Value]) {
    let Some(fields) = value.as_object_mut() else { return };
    fields.retain(|name, value| {
        let within: Vec<&Value> =
            owned.iter().map(|owned| &owned[format!("f:{name}")]).filter(|owned| !owned.is_null()).collect();
        // A map that was set as one value has no account within.
        let is_whole = within.iter().any(|owned| owned.as_object().is_some_and(Map::is_empty));
        if !is_whole {
            keep_written(value, &within);
        }
        !within.is_empty()
    });
}

fn text(objects: &[Value], form: Language) -> String {
    match (form, objects) {
        (Language::Yaml, objects) => objects.iter().map(yaml::written).collect::<Vec<_>>().join("---\n"),
        (Language::Json, [one]) => format!("{one:#}\n"),
        (Language::Json, many) => {
            format!("{:#}\n", json!({ "apiVersion": "v1", "kind": "List", "items": many }))
        }
    }
}

/// Each object into a file of its own; none is written where one is in the way.
fn write(args: &Export, folder: &Path, objects: &[(Target, Value)], out: &Output) -> Outcome {
    let cannot = |error: anyhow::Error| Failure::new(Exit::Rejected, format!("{error:#}"));
    private_file::make_folder(folder).map_err(cannot)?;
    let files: Vec<PathBuf> =
        objects.iter().map(|(target, _)| folder.join(file_name(target, args.output))).collect();
    let taken: Vec<String> = files
        .iter()
        .filter(|file| !args.force && file.symlink_metadata().is_ok())
        .map(|file| format!("{} exists already", file.display()))
        .collect();
    if !taken.is_empty() {
        return Err(Failure::new(Exit::Conflict, "nothing was written")
            .after(taken)
            .next("name another folder, or add --force to replace them"));
    }
    for (done, ((_, object), file)) in objects.iter().zip(&files).enumerate() {
        let text = text(std::slice::from_ref(object), args.output);
        let written = match args.force {
            true => private_file::write(file, &text),
            false => private_file::create(file, &text),
        };
        written.map_err(|error| stopped(&files[..done], args.force, cannot(error)))?;
    }
    files.iter().for_each(|file| out.line(&file.display().to_string()));
    Ok(Exit::Done)
}

/// Takes back the files of a set that cannot be written whole. What was replaced is gone, so those are only named.
fn stopped(done: &[PathBuf], replaced: bool, why: Failure) -> Failure {
    let stays = |file: &&PathBuf| replaced || std::fs::remove_file(file).is_err();
    let left = done.iter().filter(stays).map(|file| format!("{} was written", file.display())).collect();
    why.after(left)
}

/// A name that no two objects share: a kind's name says whether a namespace follows.
fn file_name(target: &Target, form: Language) -> String {
    let ending = match form {
        Language::Yaml => "yaml",
        Language::Json => "json",
    };
    let place = target.namespace.as_ref().map(|namespace| format!("{namespace}.")).unwrap_or_default();
    format!("{}.{place}{}.{ending}", target.kind.singular, target.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::resource::kind_called;
    use super::cleaned;

    #[test]
    fn what_nobody_wrote_is_left_out_only_where_it_comes_back_by_itself() {
        let mut object = json!({
            "apiVersion": "hearth.dev/v1", "kind": "App",
            "metadata": {
                "name": "photos", "namespace": "household", "uid": "u", "resourceVersion": "7", "generation": 2,
                "finalizers": ["hearth.dev/app"],
                "annotations": { "hearth.dev/poked-at": "x", "note": "mine" },
                "managedFields": [
                    { "manager": "hearth", "fieldsV1": { "f:spec": { "f:compose": {}, "f:permissions": { "f:internet": {} } } } },
                    { "manager": "hearth", "subresource": "status", "fieldsV1": { "f:spec": { "f:slug": {} } } },
                ],
            },
            "spec": { "compose": "x", "permissions": { "internet": false }, "slug": "photos", "preferredSlugs": ["photos"] },
            "status": { "summary": "Ready" },
        });
        let kind = kind_called("App").unwrap();
        let clean = cleaned(&kind, &object);
        assert_eq!(clean["spec"], json!({ "compose": "x", "permissions": { "internet": false } }));
        assert_eq!(
            clean["metadata"],
            json!({ "name": "photos", "namespace": "household", "annotations": { "note": "mine" } })
        );
        assert!(clean["status"].is_null());
        // What nobody is noted for, and no default brings back, stays.
        object["spec"]["mainPort"] = 80.into();
        assert_eq!(cleaned(&kind, &object)["spec"], object["spec"]);
    }
}
