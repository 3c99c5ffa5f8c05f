//! `hearth status`: the whole home on one screen, problems first.

use std::collections::BTreeMap;

use clap::Args;
use hearth_meta::Verdict;
use serde_json::Value;

use super::client::{Client, JSON, Trouble};
use super::doctor;
use super::exit::{Exit, Outcome};
use super::output::{Output, Tone, paint, width_of};
use super::progress::state_of;
use super::resource::{Target, kinds};
use super::wait::current_verdict;
use crate::doctor::{Check, Standing};

/// So many objects that are not well are listed; the rest are counted.
const LISTED: usize = 12;
/// What is told of even where it is well: how long a home can go on, and what is left if it cannot.
const ALWAYS: [&str; 2] = ["disk", "copies"];

/// Show how the whole home stands, problems first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth status\n  hearth doctor    (more of what it leans on)\n  hearth get all -A    (every object)"
)]
pub(super) struct Status {}

/// An object that is not well.
pub(super) struct Unwell {
    /// Which.
    pub(super) target: Target,
    /// How it stands.
    pub(super) object: Value,
}

/// Carries out `hearth status`.
///
/// # Errors
/// No server.
pub(super) async fn run(_: Status, client: &Client, out: &Output) -> Outcome {
    let (unwell, counts) = survey(client).await?;
    let mut checks = match client.get("/hearth/v1/doctor").await {
        Ok(told) => doctor::checks(&told)?,
        Err(trouble) if trouble.is_forbidden() => {
            out.note("this is of what you may see; how the machine stands is for an admin");
            Vec::new()
        }
        Err(trouble) => return Err(trouble.into()),
    };
    // Objects and what controllers say of them are listed by name.
    checks.retain(|check| !["objects", "controllers"].contains(&check.name.as_str()));
    out.line(&headline(&unwell, &checks, out));
    if !unwell.is_empty() {
        out.line("");
        lines(&unwell, out).iter().take(LISTED).for_each(|line| out.line(&format!("  {line}")));
        if unwell.len() > LISTED {
            out.line(&format!("  and {} more; see `hearth get all -A`", unwell.len() - LISTED));
        }
    }
    let shown: Vec<Check> = checks
        .into_iter()
        .filter(|check| check.standing != Standing::Ok || ALWAYS.contains(&check.name.as_str()))
        .collect();
    if !shown.is_empty() {
        out.line("");
        doctor::lines(&shown, out).iter().for_each(|line| out.line(line));
    }
    let counted: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    out.line(&format!("\nObjects: {}", if counted.is_empty() { "none".into() } else { counted.join(", ") }));
    if let Some(first) = unwell.first() {
        let place = first.target.elsewhere(client.namespace());
        out.note(&format!("see why with `hearth why {}{place}`", first.target));
    }
    Ok(Exit::Done)
}

fn headline(unwell: &[Unwell], checks: &[Check], out: &Output) -> String {
    let failures = checks.iter().filter(|check| check.standing == Standing::Failure).count();
    if unwell.is_empty() && failures == 0 {
        return paint(Tone::Good, &format!("{} everything is well", out.sign("✓")));
    }
    let mut parts = Vec::new();
    if !unwell.is_empty() {
        parts.push(format!(
            "{} of the objects {} not Ready",
            unwell.len(),
            if unwell.len() == 1 { "is" } else { "are" }
        ));
    }
    if failures > 0 {
        parts.push(format!(
            "{failures} of what the home leans on {} not work",
            if failures == 1 { "does" } else { "do" }
        ));
    }
    paint(Tone::Bad, &format!("{} {}", out.sign("✗"), parts.join("; ")))
}

/// Every object that is not well, the graver first, and how many stand how.
///
/// # Errors
/// See [`Trouble`].
pub(super) async fn survey(client: &Client) -> Result<(Vec<Unwell>, BTreeMap<String, usize>), Trouble> {
    let (mut unwell, mut counts) = (Vec::new(), BTreeMap::new());
    for kind in kinds().iter().filter(|kind| kind.has_status) {
        let listings = match client.everywhere(kind, "", JSON).await {
            // What one may not see is somebody else's to mend.
            Err(trouble) if trouble.is_forbidden() => continue,
            other => other?,
        };
        for item in listings.iter().flat_map(|listing| listing["items"].as_array().into_iter().flatten()) {
            let word = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
            let target = Target::new(kind.clone(), word("namespace"), word("name"));
            let verdict = current_verdict(item);
            // Nobody has looked at what was asked for last, so nobody can say that it is well.
            let is_unseen = verdict.is_none() && target.is_made_true();
            let counted = verdict.map(|verdict| verdict.to_string());
            let Some(counted) = counted.or_else(|| is_unseen.then(|| "asked for".to_owned())) else {
                continue;
            };
            *counts.entry(counted).or_default() += 1;
            if verdict != Some(Verdict::Ready) {
                unwell.push(Unwell { target, object: item.clone() });
            }
        }
    }
    unwell.sort_by_key(|each| gravity(&each.object));
    Ok((unwell, counts))
}

fn gravity(object: &Value) -> u8 {
    match current_verdict(object) {
        Some(Verdict::Failed) => 0,
        Some(Verdict::NeedsYou) => 1,
        Some(Verdict::Degraded) => 2,
        Some(Verdict::Waiting) => 3,
        _ => 4,
    }
}

/// A line for each.
pub(super) fn lines(unwell: &[Unwell], out: &Output) -> Vec<String> {
    let name = |each: &Unwell| {
        let place = each.target.namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
        format!("{}{place}", each.target)
    };
    let widest = unwell.iter().map(|each| width_of(&name(each))).max().unwrap_or(0);
    let lay = |each: &Unwell| {
        let name = name(each);
        let line = format!("{name}{}  {}", " ".repeat(widest - width_of(&name)), state_of(out, &each.object));
        match out.width() {
            Some(width) if width_of(&line) + 2 > width => {
                out.cut(&super::output::plain(&line), width.saturating_sub(2))
            }
            _ => line,
        }
    };
    unwell.iter().map(lay).collect()
}
