//! `hearth token`: ways in for people and programs, made, listed and revoked.
//!
//! The token is drawn here and told once; the server is given only its hash.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use hearth_engine::{Clock, Object, SystemClock, WriteError, WriteOptions};
use hearth_kinds::Role;
use hearth_meta::Timestamp;
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON, TABLE};
use super::duration;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::resource::{Target, collection, kind_called};
use super::table::{Columns, Table};
use crate::access::{Way, draw, write_kubeconfig};

/// Let people and programs in, and take it back.
///
/// An admin may do everything. A member reads and writes apps and secrets in the namespaces that are named, and reads
/// what the household shares; a viewer reads in the namespaces that are named.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth token create anna-laptop --user anna --role member --namespace anna --write-kubeconfig anna.kubeconfig\n  hearth token create ci --role member --namespace ci --for 90d\n  hearth token create monitoring --role viewer --namespace '*'\n  hearth token list\n  hearth token revoke anna-laptop\n\nWhere the admin's own was lost, on the home's machine:\n  sudo hearth token create mine --role admin --data-dir /var/lib/hearth"
)]
pub(super) struct Token {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Create(Create),
    /// List who may come in, what they may do, and when they last did.
    List,
    /// End a token at once: what is watched with it ends too.
    Revoke {
        /// The token.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Make a token and print it, once.
#[derive(Debug, Args)]
struct Create {
    /// What it is called; name the device or the program that will hold it.
    #[arg(value_name = "NAME")]
    name: String,
    /// What it may do, in the namespaces given with --namespace (several with commas, '*' for every one).
    #[arg(long, value_enum, ignore_case = true)]
    role: RoleWord,
    /// Whom it stands for in the history [default: NAME].
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How long it is good, such as 90d [default: until it is revoked].
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse)]
    lasts: Option<std::time::Duration>,
    /// Write a kubeconfig file with it, readable only by you, instead of printing it.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Where the one who gets it reaches the server [default: as you do].
    #[arg(long, value_name = "URL", requires = "write_kubeconfig")]
    reached_at: Option<String>,
    /// Make it in this data directory, which no server has open.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleWord {
    Admin,
    Member,
    Viewer,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Admin => Self::Admin,
            RoleWord::Member => Self::Member,
            RoleWord::Viewer => Self::Viewer,
        }
    }
}

/// Carries out `hearth token`; `open` reaches the server where one is asked.
///
/// # Errors
/// What the server refuses, a file that cannot be written, or no server.
pub(super) async fn run<F>(
    args: Token,
    namespace: Option<&str>,
    open: impl FnOnce() -> F,
    out: &Output,
) -> Outcome
where
    F: Future<Output = Result<Client, Failure>>,
{
    match args.what {
        What::Create(create) => make(create, namespace, open, out).await,
        What::List => list(&open().await?, out).await,
        What::Revoke { names } => revoke(&names, &open().await?, out).await,
    }
}

async fn make<F>(create: Create, namespace: Option<&str>, open: impl FnOnce() -> F, out: &Output) -> Outcome
where
    F: Future<Output = Result<Client, Failure>>,
{
    if let Some(file) = create.write_kubeconfig.as_deref().filter(|file| file.exists()) {
        return Err(Failure::new(Exit::Conflict, format!("{} exists already", file.display()))
            .next("choose another name; a file is never replaced by a token"));
    }
    let drawn = draw().map_err(|error| Failure::new(Exit::Bug, error.to_string()))?;
    let object = object(&create, namespace, &drawn.sha256)?;
    let way = match &create.data_dir {
        Some(data_dir) => {
            store(data_dir, object).await?;
            Way::of_data_dir(data_dir)
        }
        None => {
            let client = open().await?;
            let path = token(&create.name)?.kind;
            client.send(Method::POST, &collection(&path, None), JSON, &object).await?;
            client.way()
        }
    };
    let name = &create.name;
    match &create.write_kubeconfig {
        None => {
            out.line(&drawn.token);
            out.note(&format!("this is the only time it is shown; end it with `hearth token revoke {name}`"));
        }
        Some(file) => {
            let written = way.and_then(|way| {
                let way = Way { server: create.reached_at.clone().unwrap_or(way.server), ..way };
                let home = first_namespace(&object_namespaces(namespace));
                write_kubeconfig(file, &way, &drawn.token, create.user.as_deref().unwrap_or(name), &home)
            });
            written.map_err(|error| {
                Failure::new(
                    Exit::Rejected,
                    format!("the token was made, and its file could not be: {error:#}"),
                )
                .next(format!("`hearth token revoke {name}`, then try again"))
            })?;
            out.note(&format!(
                "{} lets in whoever can read it; end it with `hearth token revoke {name}`",
                file.display()
            ));
        }
    }
    Ok(Exit::Done)
}

fn object(create: &Create, namespace: Option<&str>, sha256: &str) -> Result<Value, Failure> {
    let role = Role::from(create.role);
    let namespaces = object_namespaces(namespace);
    match (role, namespaces.is_empty()) {
        (Role::Admin, false) => {
            return Err(Failure::usage("an admin may do everything everywhere; leave --namespace out"));
        }
        (Role::Member | Role::Viewer, true) => {
            return Err(Failure::usage(
                "say where with --namespace NAME, several with commas, '*' for every one",
            ));
        }
        _ => {}
    }
    let mut spec =
        json!({ "user": create.user.as_ref().unwrap_or(&create.name), "role": role, "sha256": sha256 });
    if !namespaces.is_empty() {
        spec["namespaces"] = json!(namespaces);
    }
    if let Some(lasts) = create.lasts {
        let now = SystemClock::start().now();
        let end = now.checked_add(lasts).ok().and_then(|end| Timestamp::from_second(end.as_second()).ok());
        let end =
            end.ok_or_else(|| Failure::usage("--for is too long; leave it out for a token without an end"))?;
        spec["expiresAt"] = end.to_string().into();
    }
    Ok(
        json!({ "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": create.name }, "spec": spec }),
    )
}

fn object_namespaces(namespace: Option<&str>) -> Vec<String> {
    let words = namespace.into_iter().flat_map(|text| text.split(',')).map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn first_namespace(namespaces: &[String]) -> String {
    let first = namespaces.iter().find(|name| name.as_str() != hearth_kinds::token::EVERY_NAMESPACE);
    first.map_or(hearth_kinds::HOUSEHOLD, String::as_str).to_owned()
}

/// Whoever may write the data directory is the admin.
async fn store(data_dir: &Path, object: Value) -> Result<(), Failure> {
    if !data_dir.join("store.db").exists() {
        return Err(Failure::new(Exit::NotFound, format!("there is no store in {}", data_dir.display()))
            .next("name the data directory of the home; a new one is made by `hearth serve`"));
    }
    let bug = |message: String| Failure::new(Exit::Bug, message);
    let object = Object::from_value(object).map_err(bug)?;
    let store = crate::access::open_store(data_dir).await.map_err(|error| {
        Failure::new(Exit::Rejected, format!("{error:#}"))
            .next("where a server runs, leave --data-dir out: root is let in through its socket")
    })?;
    let options = WriteOptions { actor: "root".into(), source: "offline".into(), dry_run: false };
    let made = store.create(object, &options).await;
    store.close().await;
    made.map(drop).map_err(|error| match error {
        WriteError::AlreadyExists(_) => Failure::new(Exit::Conflict, "there is a token of that name")
            .next("choose another name, or revoke that one first"),
        WriteError::Invalid(problems) => {
            let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Failure::new(Exit::Rejected, listed.join("; "))
        }
        other => Failure::new(Exit::Rejected, other.to_string()),
    })
}

fn token(name: &str) -> Result<Target, Failure> {
    let kind = kind_called("Token").ok_or_else(|| Failure::new(Exit::Bug, "there is no kind Token"))?;
    Ok(Target::new(kind, "", name))
}

async fn list(client: &Client, out: &Output) -> Outcome {
    let served = client.read(&collection(&token("")?.kind, None), TABLE).await?;
    let mut table = Table::default();
    table.take(&served, &Columns { wide: false, namespaces: false, kinds: None }, Timestamp::now());
    if table.is_empty() {
        out.note("no tokens; the admin comes in with admin.kubeconfig of the data directory");
        return Ok(Exit::Done);
    }
    table.lines(out).iter().for_each(|line| out.line(line));
    Ok(Exit::Done)
}

async fn revoke(names: &[String], client: &Client, out: &Output) -> Outcome {
    for name in names {
        let target = token(name)?;
        match client.send(Method::DELETE, &target.path(), JSON, &json!({})).await {
            Ok(_) => out.note(&format!("{target} lets nobody in any more")),
            Err(trouble) if trouble.is_not_found() => return Err(client.missing(&target).await),
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Ok(Exit::Done)
}
