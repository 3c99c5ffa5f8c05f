//! `hearth events`: what happened to an object and to everything made for it, oldest first.

use clap::Args;
use hearth_meta::Timestamp;
use serde_json::Value;

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::exit::{Exit, Outcome};
use super::family::{Family, gather};
use super::output::{Output, Tone, paint};
use super::resource::{Target, encode, kind_called, parse_one};
use super::table::{Table, age};

/// Events about things of the whole machine are kept in this namespace.
const MACHINE: &str = "default";

/// Show what happened, oldest first.
///
/// To one object and everything made for it, or in a namespace.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth events app/photos\n  hearth events -A -w")]
pub(super) struct Events {
    /// The object, as KIND/NAME; without it, everything in the namespace.
    #[arg(value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// In every namespace.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Go on, and show what happens.
    #[arg(short, long)]
    watch: bool,
}

/// Carries out `hearth events`.
///
/// # Errors
/// An unknown kind, no server.
pub(super) async fn run(args: Events, client: &Client, out: &Output) -> Outcome {
    let (path, about) = if args.object.is_empty() {
        let namespace = (!args.all_namespaces).then(|| client.namespace());
        (place(namespace), None)
    } else {
        let target = parse_one(&args.object, client.namespace())?;
        // What is gone has its events still.
        let members = match client.find(&target).await? {
            Some(object) => {
                gather(client, object).await?.members().into_iter().filter_map(Target::of).collect()
            }
            None => vec![target.clone()],
        };
        (place(Some(target.namespace.as_deref().unwrap_or(MACHINE))), Some(members))
    };
    let wanted = |event: &Value| {
        about.as_ref().is_none_or(|members| members.iter().any(|member| is_about(event, member)))
    };
    let listing = client.list(&path, JSON).await?;
    let mut events: Vec<&Value> =
        listing["items"].as_array().into_iter().flatten().filter(|event| wanted(event)).collect();
    events.sort_by_key(|event| last_of(event));
    if events.is_empty() && !args.watch {
        out.note("nothing has happened");
    } else {
        table(&events, args.all_namespaces, client.now()).lines(out).iter().for_each(|line| out.line(line));
    }
    if args.watch { follow(&path, &listing, wanted, client, out).await } else { Ok(Exit::Done) }
}

fn place(namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{}/events", encode(namespace)),
        None => "/api/v1/events".into(),
    }
}

fn is_about(event: &Value, target: &Target) -> bool {
    let about = &event["involvedObject"];
    about["kind"] == target.kind.kind && about["name"] == target.name
}

fn last_of(event: &Value) -> String {
    let named = |field: &str| event[field].as_str().map(str::to_owned);
    named("lastTimestamp").or_else(|| named("eventTime")).unwrap_or_default()
}

fn table(events: &[&Value], namespaces: bool, now: Timestamp) -> Table {
    let mut headings = vec!["last", "type", "object", "reason", "what", "times"];
    if namespaces {
        headings.insert(0, "namespace");
    }
    let mut table = Table::new(&headings);
    events.iter().for_each(|event| table.push(cells(event, namespaces, now)));
    table
}

fn cells(event: &Value, namespaces: bool, now: Timestamp) -> Vec<String> {
    let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let about = &event["involvedObject"];
    let kind = about["kind"].as_str().unwrap_or_default();
    let singular = kind_called(kind).map_or_else(|| kind.to_lowercase(), |kind| kind.singular.to_owned());
    let object = format!("{singular}/{}", about["name"].as_str().unwrap_or_default());
    let times = match event["count"].as_i64() {
        Some(count) if count > 1 => count.to_string(),
        _ => String::new(),
    };
    let kind = match text("type") {
        warning if warning == "Warning" => paint(Tone::Bad, "Warning"),
        other => other,
    };
    let mut cells = vec![age(&last_of(event), now), kind, object, text("reason"), text("message"), times];
    if namespaces {
        cells.insert(0, about["namespace"].as_str().unwrap_or_default().to_owned());
    }
    cells
}

async fn follow(
    path: &str,
    listing: &Value,
    wanted: impl Fn(&Value) -> bool,
    client: &Client,
    out: &Output,
) -> Outcome {
    let mut from = listing["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    loop {
        let mut changes = client.lines(&format!("{path}?watch=true&resourceVersion={from}"), JSON).await?;
        while let Some(change) = changes.next_event().await? {
            let event = &change["object"];
            if let Some(version) = event["metadata"]["resourceVersion"].as_str() {
                version.clone_into(&mut from);
            }
            if matches!(change["type"].as_str(), Some("ADDED" | "MODIFIED")) && wanted(event) {
                let cells = cells(event, true, Timestamp::now());
                out.line(&format!("{}  {}", last_of(event), cells[3..].join("  ").trim_end()));
            }
            if out.is_closed() {
                return Ok(Exit::Done);
            }
        }
    }
}

/// What happened to an object and its parts most lately, as lines for other verbs; oldest first.
///
/// # Errors
/// See [`Trouble`].
pub(super) async fn lately(
    family: &Family,
    most: usize,
    client: &Client,
    out: &Output,
) -> Result<Vec<String>, Trouble> {
    let members: Vec<Target> = family.members().into_iter().filter_map(Target::of).collect();
    let namespace = family.object["metadata"]["namespace"].as_str().unwrap_or(MACHINE);
    let listing = client.list(&place(Some(namespace)), JSON).await?;
    let items = listing["items"].as_array().into_iter().flatten();
    let mut events: Vec<&Value> =
        items.filter(|event| members.iter().any(|member| is_about(event, member))).collect();
    events.sort_by_key(|event| last_of(event));
    let newest = &events[events.len().saturating_sub(most)..];
    Ok(if newest.is_empty() { Vec::new() } else { table(newest, false, client.now()).inner_lines(out) })
}
