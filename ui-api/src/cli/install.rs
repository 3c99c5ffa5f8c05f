//! `hearth install`, `hearth upgrade` and `hearth uninstall`: an app from its source to its end.
//!
//! They write an App and delete it, through what `apply` and `delete` do, and nothing else; `--show` prints the App as a
//! file would declare it.

use std::path::{Path, PathBuf};

use clap::Args;
use hearth_meta::labels::POKED_AT;
use hearth_meta::name::check_label;
use serde_json::{Value, json};

use super::apply::{self, How, Meant};
use super::client::Client;
use super::complete;
use super::consent;
use super::delete::{self, Fate};
use super::differences::{Change, lines_of, preview_of};
use super::edit::shown;
use super::exit::{Exit, Failure, Outcome};
use super::export::without_orders;
use super::manifest::Manifests;
use super::output::Output;
use super::resource::{Target, kind_named, parse_one};
use super::yaml;

/// Install an app from a compose file, or from a package folder.
///
/// It writes an App, as `hearth apply` would; --show prints it. The compose file is kept in the App; a package folder is
/// read by the server, where it must be.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth install photos --compose docker-compose.yml --wait\n  hearth install photos --compose compose.yml --set TZ=Europe/Paris --dry-run\n  hearth install vault --package /srv/packages/vault --set ADMIN=ana\n  hearth install photos --compose compose.yml --show > photos.yaml"
)]
pub(super) struct Install {
    /// What the app is called.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    source: Source,
    /// The service that answers people, where there are several.
    #[arg(long, value_name = "SERVICE")]
    main_service: Option<String>,
    /// Print the App as a file would declare it.
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    how: How,
}

/// Give an installed app its source anew, or another one.
///
/// What would change and come of it is shown first. Values that are not given stay as they are. A package is read again
/// where it lies.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth upgrade photos --compose docker-compose.yml\n  hearth upgrade photos --compose docker-compose.yml --dry-run\n  hearth upgrade vault --yes --wait    (from the package it has)"
)]
pub(super) struct Upgrade {
    /// The app.
    #[arg(value_name = "NAME", add = complete::named("app"))]
    name: String,
    #[command(flatten)]
    source: Source,
    /// Print the App as a file would declare it.
    #[arg(long)]
    show: bool,
    /// Do not ask before it is changed.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    how: How,
}

/// Remove apps; their data is kept by default.
///
/// Which data that is, is said. It goes too where spec.dataPolicy is Delete, or with --data.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth uninstall photos\n  hearth uninstall photos --data --yes")]
pub(super) struct Uninstall {
    /// The apps.
    #[arg(required = true, value_name = "NAME", add = complete::named("app"))]
    names: Vec<String>,
    #[command(flatten)]
    fate: Fate,
}

/// Where an app comes from, and what it is given.
#[derive(Debug, Args)]
struct Source {
    /// A compose file, or - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "package")]
    compose: Option<PathBuf>,
    /// A package folder on the server's disk.
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    /// What ${VALUE_NAME} in the compose file becomes; may be given several times.
    #[arg(long, value_name = "VALUE_NAME=VALUE")]
    set: Vec<String>,
}

impl Source {
    /// Puts what was given into a spec, in the place of what was there.
    fn put(&self, spec: &mut Value) -> Result<(), Failure> {
        let given = match (&self.compose, &self.package) {
            (Some(file), _) => Some(("compose", "package", read(file)?.into())),
            (None, Some(folder)) => Some(("package", "compose", json!({ "path": absolute(folder)? }))),
            (None, None) => None,
        };
        if let (Some((field, other, value)), Some(fields)) = (given, spec.as_object_mut()) {
            fields.remove(other);
            fields.insert(field.to_owned(), value);
        }
        for word in &self.set {
            let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(Failure::usage(format!("--set {word:?} gives no value; write --set NAME=VALUE")));
            };
            let new = json!({ "name": name, "value": value });
            if !spec["values"].is_array() {
                spec["values"] = json!([]);
            }
            if let Some(values) = spec["values"].as_array_mut() {
                match values.iter_mut().find(|known| known["name"] == name) {
                    Some(known) => *known = new.clone(),
                    None => values.push(new.clone()),
                }
            }
        }
        Ok(())
    }

    fn is_given(&self) -> bool {
        self.compose.is_some() || self.package.is_some()
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let read = match file == Path::new("-") {
        true => consent::input(),
        false => std::fs::read_to_string(file),
    };
    read.map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let exit = if is_missing { Exit::NotFound } else { Exit::Rejected };
        Failure::new(exit, format!("{} cannot be read: {error}", file.display()))
    })
}

/// The server's working folder is not a person's.
fn absolute(folder: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(folder)
        .map_err(|error| Failure::usage(format!("{} is no folder: {error}", folder.display())))?;
    Ok(path.display().to_string())
}

/// `photos`, or `app/photos` as other verbs have it.
fn app_named(name: &str, client: &Client) -> Result<Target, Failure> {
    let target = match name.contains('/') {
        true => parse_one(&[name.to_owned()], client.namespace())?,
        false => Target::new(kind_named("app")?, client.namespace(), name),
    };
    if target.kind.kind == "App" { Ok(target) } else { Err(Failure::usage(format!("{target} is no app"))) }
}

fn app_of(target: &Target, spec: &Value) -> Value {
    json!({
        "apiVersion": target.kind.api_version(), "kind": target.kind.kind,
        "metadata": { "name": target.name, "namespace": target.namespace }, "spec": spec,
    })
}

/// Carries out `hearth install`.
///
/// # Errors
/// No source, an app of that name, what is wrong with the source, no server.
pub(super) async fn install(args: Install, client: &Client, out: &Output) -> Outcome {
    let target = app_named(&args.name, client)?;
    check_label(&target.name)
        .map_err(|why| Failure::usage(format!("{:?} cannot be an app's name: it {why}", target.name)))?;
    if !args.source.is_given() {
        return Err(Failure::usage("an app comes from somewhere")
            .next("give its compose file with --compose FILE, or its package with --package DIR"));
    }
    let mut spec = json!({});
    args.source.put(&mut spec)?;
    if let Some(service) = &args.main_service {
        spec["mainService"] = service.as_str().into();
    }
    let app = app_of(&target, &spec);
    if args.show {
        out.data(&yaml::written(&app));
    }
    if client.find(&target).await?.is_some() {
        let next =
            format!("give it another source with `hearth upgrade {}`, or choose another name", target.name);
        return Err(Failure::new(Exit::Conflict, format!("{target} is installed already")).next(next));
    }
    let manifests = Manifests::of(&app, &target.to_string(), client.namespace())?;
    apply::carry_out(&manifests, &args.how, Meant::New, client, &beside(args.show, out)).await
}

/// With the App on standard output, what becomes of it is said beside it.
fn beside(show: bool, out: &Output) -> Output {
    if show { out.beside() } else { out.clone() }
}

/// Carries out `hearth upgrade`.
///
/// # Errors
/// No such app, nothing that could be given anew, what is wrong with the source, somebody else's change, no server.
pub(super) async fn upgrade(args: Upgrade, client: &Client, out: &Output) -> Outcome {
    let target = app_named(&args.name, client)?;
    let before = client.one(&target).await?;
    if !args.source.is_given() && before["spec"]["package"].is_null() && args.source.set.is_empty() {
        return Err(Failure::usage(format!("{target} has its compose file within itself; nothing is new"))
            .next("give the new one with --compose FILE"));
    }
    let mut spec = before["spec"].clone();
    args.source.put(&mut spec)?;
    let reads_package = !spec["package"].is_null();
    if args.show {
        let mut declared = shown(&before);
        without_orders(&mut declared["metadata"]);
        declared["spec"] = spec.clone();
        out.data(&yaml::written(&declared));
    }
    // Nothing but what is upgraded: a label or an order may be taken back while the question is answered.
    let mut wanted = app_of(&target, &spec);
    if reads_package {
        // The same folder may hold another version by now.
        wanted["metadata"]["annotations"][POKED_AT] = client.now().to_string().into();
    }
    let out = &beside(args.show, out);
    let manifests = Manifests::of(&wanted, &target.to_string(), client.namespace())?;
    let change = plan(&target, &wanted, client).await?;
    if change.differences.is_empty() && !reads_package {
        out.note(&format!("{target}: nothing changes"));
        // It may be on its way still, or have failed.
        return args.how.waited(&[target], client, out).await;
    }
    lines_of(&change, out).iter().for_each(|line| out.line(line));
    if reads_package {
        let path = wanted["spec"]["package"]["path"].as_str().unwrap_or_default();
        out.note(&format!("{path} is read again on the server; what it holds is known once it was read"));
    }
    if !args.yes && !args.how.is_dry() {
        consent::ask("this would be changed", "add --yes to change it without being asked", out).await?;
    }
    let generation = before["metadata"]["generation"].as_i64().unwrap_or(1);
    apply::carry_out(&manifests, &args.how, Meant::At(generation), client, out).await
}

/// What would change, without the order to look again.
async fn plan(target: &Target, wanted: &Value, client: &Client) -> Result<Change, Failure> {
    let mut change = preview_of(target, wanted, client).await?;
    change
        .differences
        .retain(|difference| !difference["field"].as_str().is_some_and(|field| field.contains(POKED_AT)));
    Ok(change)
}

/// Carries out `hearth uninstall`.
///
/// # Errors
/// No such app, data without consent, no server.
pub(super) async fn uninstall(args: Uninstall, client: &Client, out: &Output) -> Outcome {
    let targets: Vec<Target> =
        args.names.iter().map(|name| app_named(name, client)).collect::<Result<_, _>>()?;
    delete::apps(&targets, &args.fate, client, out).await
}
