//! `hearth version` and `hearth api-resources`: what this program and its server are, and which kinds there are.

use clap::{Args, ValueEnum};
use hearth_meta::Scope;
use serde_json::{Value, json};

use super::client::Reach;
use super::exit::{Exit, Outcome};
use super::output::Output;
use super::resource::kinds;
use super::table::Table;
use crate::server::VERSION;

/// Show the versions of this program and of the server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth version\n  hearth version --client")]
pub(super) struct Version {
    /// Of this program alone.
    #[arg(long)]
    client: bool,
    /// Print as JSON.
    #[arg(short, long, value_name = "json")]
    output: Option<Form>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Json,
}

/// Carries out `hearth version`. What this program is, is told even where no server answers.
///
/// # Errors
/// No server, where one is asked.
pub(super) async fn run(args: Version, reach: &Reach<'_>, out: &Output) -> Outcome {
    let is_json = args.output.is_some();
    if !is_json {
        out.line(&format!("client  {VERSION}"));
    } else if args.client {
        out.line(&format!("{:#}", json!({ "client": VERSION })));
    }
    if args.client {
        return Ok(Exit::Done);
    }
    let client = reach.client().await?;
    let told = client.get("/version").await?;
    let server = of_server(&told);
    match is_json {
        true => out.line(&format!("{:#}", json!({ "client": VERSION, "server": server }))),
        false => out.line(&format!("server  {server}  at {}", client.address())),
    }
    if server != VERSION {
        out.note("the two are not the same; what one of them does not know is refused");
    }
    Ok(Exit::Done)
}

/// The version of Hearth in what a server tells of itself, which for other clients is that of the protocol.
pub(super) fn of_server(told: &Value) -> &str {
    let whole = told["gitVersion"].as_str().unwrap_or("unknown");
    whole.split_once("+hearth.").map_or(whole, |(_, version)| version)
}

/// List the kinds of objects, with the names each answers to.
#[derive(Debug, Args)]
#[command(
    name = "api-resources",
    after_help = "Examples:\n  hearth api-resources\n  hearth explain app    (what one means)"
)]
pub(super) struct ApiResources {}

/// Carries out `hearth api-resources`.
///
/// # Errors
/// None; the form is that of the other verbs.
pub(super) fn list(_: &ApiResources, out: &Output) -> Outcome {
    let mut table = Table::new(&["name", "short", "kind", "api", "namespaced"]);
    for kind in kinds() {
        let namespaced = if kind.scope == Scope::Namespaced { "yes" } else { "no" };
        table.push(vec![
            kind.plural.to_owned(),
            kind.short_names.join(","),
            kind.kind.to_owned(),
            kind.api_version(),
            namespaced.to_owned(),
        ]);
    }
    table.lines(out).iter().for_each(|line| out.line(line));
    Ok(Exit::Done)
}
