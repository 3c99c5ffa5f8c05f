//! `hearth pause` and `hearth resume`: no repairs of an object, or of everything, for a while, and an end to that.

use std::time::Duration;

use clap::Args;
use hearth_meta::Timestamp;
use hearth_meta::labels::{PAUSED_UNTIL, SYSTEM};
use serde_json::json;

use super::client::Client;
use super::duration;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::power::fragment;
use super::resource::{Target, kind_named, parse_one};
use super::yaml;

/// Repair nothing of an object, or of everything, for a while.
///
/// So that a person can work on the machine; afterwards it goes on by itself. A namespace stands for all that is in it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth pause app/photos --for 30m\n  hearth pause namespace/ana --for 1d\n  hearth pause --all --for 2h\n  hearth resume --all"
)]
pub(super) struct Pause {
    /// The object, as KIND/NAME.
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "KIND/NAME")]
    object: Vec<String>,
    /// The whole home.
    #[arg(long)]
    all: bool,
    /// How long; afterwards it goes on by itself.
    #[arg(long = "for", value_name = "SPAN", default_value = "30m", value_parser = duration::parse)]
    span: Duration,
    /// Print what is written.
    #[arg(long)]
    show: bool,
}

/// End the pause of an object, or of everything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth resume app/photos\n  hearth resume --all")]
pub(super) struct Resume {
    /// The object, as KIND/NAME.
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "KIND/NAME")]
    object: Vec<String>,
    /// The whole home; what was paused on its own stays so.
    #[arg(long)]
    all: bool,
    /// Print what is written.
    #[arg(long)]
    show: bool,
}

/// Carries out `hearth pause`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn pause(args: Pause, client: &Client, out: &Output) -> Outcome {
    let target = target_of(&args.object, args.all, client)?;
    client.one(&target).await?;
    let seconds = i64::try_from(args.span.as_secs()).unwrap_or(i64::MAX);
    let until = Timestamp::from_second(client.now().as_second().saturating_add(seconds))
        .map_err(|_| Failure::usage("that is too far away; name a shorter span with --for"))?;
    let change = json!({ "metadata": { "annotations": { PAUSED_UNTIL: until.to_string() } } });
    if args.show {
        out.data(&yaml::written(&fragment(&target, &change)));
    }
    client.patch(&target, &change).await?;
    let (what, end) = named(&target);
    out.note(&format!(
        "{what} is paused for {} (until {until}); nothing of it is repaired until then",
        duration::shown(seconds)
    ));
    out.note(&format!("  end it with `hearth resume {end}`"));
    Ok(Exit::Done)
}

/// The object that is meant; the whole home is the Namespace of its own parts.
fn target_of(object: &[String], all: bool, client: &Client) -> Result<Target, Failure> {
    if all {
        return Ok(Target::new(kind_named("namespace")?, "", SYSTEM));
    }
    parse_one(object, client.namespace())
}

/// A target as it is spoken of, and as it is named to `hearth resume`.
fn named(target: &Target) -> (String, String) {
    let said = target.to_string();
    match target.kind.kind {
        "Namespace" if target.name == SYSTEM => ("everything".into(), "--all".into()),
        "Namespace" => (format!("everything in {said}"), said),
        _ => (said.clone(), said),
    }
}

/// Carries out `hearth resume`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn resume(args: Resume, client: &Client, out: &Output) -> Outcome {
    let target = target_of(&args.object, args.all, client)?;
    let object = client.one(&target).await?;
    let (what, _) = named(&target);
    if object["metadata"]["annotations"][PAUSED_UNTIL].is_null() {
        out.note(&format!("{what} is not paused"));
        return Ok(Exit::Done);
    }
    let change = json!({ "metadata": { "annotations": { PAUSED_UNTIL: null } } });
    if args.show {
        out.data(&yaml::written(&fragment(&target, &change)));
    }
    client.patch(&target, &change).await?;
    out.note(&format!("{what} goes on"));
    Ok(Exit::Done)
}
