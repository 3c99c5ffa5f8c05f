//! `hearth get`: objects as the server lists them, in a table or in a form for programs.

use clap::Args;
use hearth_meta::Scope;
use serde_json::Value;

use super::client::{Client, JSON, TABLE, Trouble};
use super::complete;
use super::exit::{Exit, Outcome};
use super::output::Output;
use super::resource::{Asked, Target, collection, encode, parse_asked};
use super::table::{Columns, Table};

mod form;
mod watch;

pub(super) use form::Language;
pub(super) use form::named;
use form::{Form, list_of};

/// List objects, problems first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth get apps\n  hearth get app/photos -o yaml\n  hearth get containers -A -o wide -w\n  hearth get apps -o jsonpath='{.items[*].status.url}'\n  hearth get all"
)]
pub(super) struct Get {
    /// KIND, KIND,KIND, all, KIND NAME..., or KIND/NAME...
    #[arg(required = true, value_name = "WHAT", add = complete::kinds_and_objects())]
    what: Vec<String>,
    /// In every namespace.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only with these labels, such as hearth.dev/app=photos.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// table, wide, yaml, json, name, jsonpath=TEMPLATE, or custom-columns=HEADING:.path,...
    #[arg(short, long, default_value = "table", value_parser = Form::parse)]
    output: Form,
    /// Go on, and show every change.
    #[arg(short, long)]
    watch: bool,
    /// Also the fields that say who set which field.
    #[arg(long)]
    show_managed_fields: bool,
    /// Show the values of secrets; without it only their names are shown.
    #[arg(long)]
    reveal: bool,
}

impl Get {
    /// What is shown of an object or a list, as these options ask.
    fn cleaned(&self, shown: serde_json::Value) -> serde_json::Value {
        form::cleaned(shown, self.show_managed_fields, self.reveal)
    }
}

/// Carries out `hearth get`.
///
/// # Errors
/// An unknown kind, no such object, no server.
pub(super) async fn run(args: Get, client: &Client, out: &Output) -> Outcome {
    let asked = parse_asked(&args.what, client.namespace())?;
    if args.watch {
        return watch::watch(&args, asked, client, out).await;
    }
    match (&args.output, asked) {
        (Form::Table(wide), Asked::Kinds(kinds)) => {
            let many = kinds.len() > 1;
            let mut is_first = true;
            for kind in kinds {
                let columns = columns(
                    *wide,
                    args.all_namespaces && kind.scope == Scope::Namespaced,
                    many.then_some(kind.singular),
                );
                let served = match listings(&args, client, &kind, TABLE).await {
                    // Of several kinds, those one may see are shown.
                    Err(trouble) if trouble.is_forbidden() && many => continue,
                    other => other?,
                };
                let mut table = Table::default();
                served.iter().for_each(|served| table.take(served, &columns, client.now()));
                if table.is_empty() && many {
                    continue;
                }
                if !is_first {
                    out.line("");
                }
                is_first = false;
                if table.is_empty() {
                    out.note(&nothing(&args, client, kind.plural, kind.scope));
                    continue;
                }
                print(table, out);
            }
            if is_first && many {
                out.note(&nothing(&args, client, "objects", Scope::Namespaced));
            }
            Ok(Exit::Done)
        }
        (Form::Table(wide), Asked::Objects(targets)) => tables_of(*wide, &targets, client, out).await,
        (form, asked) => documents(form, &args, asked, client, out).await,
    }
}

fn columns(wide: bool, namespaces: bool, kinds: Option<&'static str>) -> Columns {
    Columns { wide, namespaces, kinds }
}

fn print(mut table: Table, out: &Output) {
    table.sort();
    table.lines(out).iter().for_each(|line| out.line(line));
}

fn nothing(args: &Get, client: &Client, what: &str, scope: Scope) -> String {
    let chosen = if args.selector.is_some() { " with these labels" } else { "" };
    if args.all_namespaces || scope == Scope::Cluster {
        format!("no {what}{chosen}")
    } else {
        format!("no {what}{chosen} in namespace {}", client.namespace())
    }
}

async fn tables_of(wide: bool, targets: &[Target], client: &Client, out: &Output) -> Outcome {
    let mut failed = None;
    let mixed = targets.iter().any(|target| target.kind.kind != targets[0].kind.kind);
    let mut tables: Vec<(&'static str, Table)> = Vec::new();
    for target in targets {
        match client.read(&target.path(), TABLE).await {
            Ok(served) => {
                let columns = columns(wide, false, mixed.then_some(target.kind.singular));
                let at = tables.iter().position(|(kind, _)| *kind == target.kind.kind).unwrap_or_else(|| {
                    tables.push((target.kind.kind, Table::default()));
                    tables.len() - 1
                });
                tables[at].1.take(&served, &columns, client.now());
            }
            // The others are still shown; the first that is missing decides how the command ends.
            Err(trouble) if trouble.is_not_found() => {
                let missing = client.missing(target).await;
                failed = failed.or(Some(missing));
            }
            Err(trouble) => return Err(trouble.into()),
        }
    }
    for (at, (_, table)) in tables.into_iter().enumerate() {
        if at > 0 {
            out.line("");
        }
        print(table, out);
    }
    failed.map_or(Ok(Exit::Done), Err)
}

/// Where the objects of a kind are listed that are asked for.
fn list_path(args: &Get, client: &Client, kind: &hearth_meta::KindInfo) -> String {
    let namespace = (!args.all_namespaces).then(|| client.namespace());
    format!("{}{}", collection(kind, namespace), query_of(args))
}

fn query_of(args: &Get) -> String {
    let selector = args.selector.as_ref();
    selector.map(|selector| format!("?labelSelector={}", encode(selector))).unwrap_or_default()
}

/// The objects of a kind that are asked for.
async fn listings(
    args: &Get,
    client: &Client,
    kind: &hearth_meta::KindInfo,
    accept: &str,
) -> Result<Vec<Value>, Trouble> {
    let query = query_of(args);
    if args.all_namespaces {
        return client.everywhere(kind, &query, accept).await;
    }
    Ok(vec![client.list(&list_path(args, client, kind), accept).await?])
}

async fn documents(form: &Form, args: &Get, asked: Asked, client: &Client, out: &Output) -> Outcome {
    let shown = match asked {
        Asked::Objects(targets) if targets.len() == 1 => client.one(&targets[0]).await?,
        Asked::Objects(targets) => {
            let mut items = Vec::new();
            for target in &targets {
                items.push(client.one(target).await?);
            }
            list_of(items)
        }
        Asked::Kinds(kinds) => {
            let mut items = Vec::new();
            let many = kinds.len() > 1;
            for kind in kinds {
                let served = match listings(args, client, &kind, JSON).await {
                    Err(trouble) if trouble.is_forbidden() && many => continue,
                    other => other?,
                };
                let served =
                    served.iter().flat_map(|listing| listing["items"].as_array().into_iter().flatten());
                items.extend(served.map(|item| named(item, &kind)));
            }
            list_of(items)
        }
    };
    form::show(form, &args.cleaned(shown), out);
    Ok(Exit::Done)
}
