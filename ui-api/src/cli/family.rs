//! An object and everything that was made for it, by owner references.

use std::collections::HashMap;

use clap::Args;
use futures::future::try_join_all;
use hearth_meta::Verdict;
use serde_json::Value;

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::exit::{Exit, Outcome};
use super::output::{Output, Tone, paint, width_of};
use super::progress::state_of;
use super::resource::{Target, collection, kinds, parse_one};
use super::wait::current_verdict;

/// An object with those it owns.
pub(super) struct Family {
    /// The object.
    pub(super) object: Value,
    /// What it owns, by kind and name.
    pub(super) parts: Vec<Family>,
}

/// Show an object and everything made for it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth tree app/photos")]
pub(super) struct Tree {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
}

/// Carries out `hearth tree`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn run(args: Tree, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let object = client.one(&target).await?;
    gather(client, object).await?.lines(out).iter().for_each(|line| out.line(line));
    Ok(Exit::Done)
}

/// Reads everything that was made for an object.
///
/// # Errors
/// See [`Trouble`].
pub(super) async fn gather(client: &Client, object: Value) -> Result<Family, Trouble> {
    let namespace = object["metadata"]["namespace"].as_str();
    // Owners and what they own live in one namespace, or the owner is of the whole machine.
    let paths = kinds().iter().filter(|kind| kind.kind != "Event").map(|kind| collection(kind, namespace));
    let listings = paths.map(|path| async move {
        match client.list(&path, JSON).await {
            // What one may not look at is not shown.
            Err(trouble) if trouble.is_forbidden() => Ok(Value::Null),
            listed => listed,
        }
    });
    let listings = try_join_all(listings).await?;
    let mut owned: HashMap<String, Vec<Value>> = HashMap::new();
    for (kind, listing) in kinds().iter().filter(|kind| kind.kind != "Event").zip(listings) {
        for item in listing["items"].as_array().into_iter().flatten() {
            let mut item = item.clone();
            item["kind"] = kind.kind.into();
            item["apiVersion"] = kind.api_version().into();
            for owner in item["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default() {
                owned
                    .entry(owner["uid"].as_str().unwrap_or_default().to_owned())
                    .or_default()
                    .push(item.clone());
            }
        }
    }
    Ok(Family::of(object, &mut owned))
}

impl Family {
    fn of(object: Value, owned: &mut HashMap<String, Vec<Value>>) -> Self {
        // Taken out, so that an object that comes to own itself cannot go round for ever.
        let own = owned.remove(object["metadata"]["uid"].as_str().unwrap_or_default()).unwrap_or_default();
        let parts = own.into_iter().map(|part| Self::of(part, owned)).collect();
        Self { object, parts }
    }

    /// The object and all its parts, owners first.
    pub(super) fn members(&self) -> Vec<&Value> {
        std::iter::once(&self.object).chain(self.parts.iter().flat_map(Family::members)).collect()
    }

    /// The parts of its own that are not well, or have one that is not.
    pub(super) fn unwell(&self) -> Vec<&Self> {
        self.parts.iter().filter(|part| part.members().into_iter().any(is_unwell)).collect()
    }

    /// The family as a drawn tree.
    pub(super) fn lines(&self, out: &Output) -> Vec<String> {
        let mut rows = Vec::new();
        self.draw(out, "", "", &mut rows);
        let widest = rows.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
        let lay = |(name, state): (String, String)| {
            let blank = " ".repeat(widest - width_of(&name));
            format!("{name}{blank}  {state}").trim_end().to_owned()
        };
        rows.into_iter().map(lay).collect()
    }

    /// What it owns as a drawn tree, without itself; only what still moves or is wrong.
    pub(super) fn part_lines(&self, out: &Output) -> Vec<String> {
        let moving = Self { object: self.object.clone(), parts: Vec::new() };
        let parts = self.parts.iter().filter(|part| part.members().into_iter().any(is_unwell));
        let tree = Self { parts: parts.map(Self::copied).collect(), ..moving };
        tree.lines(out).into_iter().skip(1).collect()
    }

    fn copied(part: &Self) -> Self {
        Self { object: part.object.clone(), parts: part.parts.iter().map(Self::copied).collect() }
    }

    fn draw(&self, out: &Output, lead: &str, below: &str, rows: &mut Vec<(String, String)>) {
        let name = Target::of(&self.object).map(|target| target.to_string()).unwrap_or_default();
        let has_status = !self.object["status"].is_null();
        let state = if has_status { state_of(out, &self.object) } else { String::new() };
        rows.push((format!("{}{name}", paint(Tone::Faint, lead)), state));
        for (number, part) in self.parts.iter().enumerate() {
            let is_last = number + 1 == self.parts.len();
            let (branch, trunk) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let (branch, trunk) = (out.sign(branch), out.sign(trunk));
            part.draw(out, &format!("{below}{branch}"), &format!("{below}{trunk}"), rows);
        }
    }
}

fn is_unwell(object: &Value) -> bool {
    current_verdict(object).is_some_and(|verdict| !matches!(verdict, Verdict::Ready | Verdict::Paused))
}
