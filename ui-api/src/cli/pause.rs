//! `hearth pause` and `hearth resume`: no repairs of an object for a while, and an end to that.

use std::time::Duration;

use clap::Args;
use hearth_meta::Timestamp;
use hearth_meta::labels::PAUSED_UNTIL;
use serde_json::json;

use super::client::Client;
use super::duration;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::power::fragment;
use super::resource::parse_one;
use super::yaml;

/// Repair nothing of an object for a while.
///
/// So that a person can work on the machine; afterwards it goes on by itself.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth pause app/photos --for 30m\n  hearth resume app/photos")]
pub(super) struct Pause {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME")]
    object: Vec<String>,
    /// How long; afterwards it goes on by itself.
    #[arg(long = "for", value_name = "SPAN", default_value = "30m", value_parser = duration::parse)]
    span: Duration,
    /// Print what is written.
    #[arg(long)]
    show: bool,
}

/// End the pause of an object.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth resume app/photos")]
pub(super) struct Resume {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME")]
    object: Vec<String>,
}

/// Carries out `hearth pause`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn pause(args: Pause, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    client.one(&target).await?;
    let seconds = i64::try_from(args.span.as_secs()).unwrap_or(i64::MAX);
    let until = Timestamp::from_second(Timestamp::now().as_second().saturating_add(seconds))
        .map_err(|_| Failure::usage("that is too far away; name a shorter span with --for"))?;
    let change = json!({ "metadata": { "annotations": { PAUSED_UNTIL: until.to_string() } } });
    if args.show {
        out.data(&yaml::written(&fragment(&target, &change)));
    }
    client.patch(&target, &change).await?;
    out.note(&format!(
        "{target} is paused for {} (until {until}); nothing of it is repaired until then",
        duration::shown(seconds)
    ));
    out.note(&format!("  end it with `hearth resume {target}`"));
    Ok(Exit::Done)
}

/// Carries out `hearth resume`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn resume(args: Resume, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let object = client.one(&target).await?;
    if object["metadata"]["annotations"][PAUSED_UNTIL].is_null() {
        out.note(&format!("{target} is not paused"));
        return Ok(Exit::Done);
    }
    client.patch(&target, &json!({ "metadata": { "annotations": { PAUSED_UNTIL: null } } })).await?;
    out.note(&format!("{target} goes on"));
    Ok(Exit::Done)
}
