//! `hearth reconcile`: look again now, at one object or at everything.

use std::time::Duration;

use clap::Args;
use hearth_meta::labels::POKED_AT;
use http::Method;
use serde_json::json;

use super::client::{Client, JSON};
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::power::fragment;
use super::resource::parse_one;
use super::yaml;

/// The place where everything is looked at.
const PLACE: &str = "/hearth/v1/controllers";

/// Look again now, and try at once what failed.
///
/// Nothing needs it: everything is looked at when it changes and at least every ten minutes. It is for whoever has
/// mended something by hand and does not want to wait, or lets an interrupted step go on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth reconcile app/photos\n  hearth reconcile --all")]
pub(super) struct Reconcile {
    /// The object, as KIND/NAME.
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "KIND/NAME")]
    object: Vec<String>,
    /// Everything, and wait until all of it was looked at.
    #[arg(long)]
    all: bool,
    /// Print what is written.
    #[arg(long, conflicts_with = "all")]
    show: bool,
}

/// How long a look at everything may take: the server says after 50 s what is still under way.
const LOOK: Duration = Duration::from_secs(60);

/// Carries out `hearth reconcile`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn run(args: Reconcile, client: &Client, out: &Output) -> Outcome {
    if args.all {
        return look_at_all(client, out).await;
    }
    let target = parse_one(&args.object, client.namespace())?;
    client.one(&target).await?;
    let change = json!({ "metadata": { "annotations": { POKED_AT: client.now().to_string() } } });
    if args.show {
        out.data(&yaml::written(&fragment(&target, &change)));
    }
    client.patch(&target, &change).await?;
    out.note(&format!("{target} is looked at again; see `hearth describe {target}`"));
    Ok(Exit::Done)
}

async fn look_at_all(client: &Client, out: &Output) -> Outcome {
    let look = client.patient(LOOK).send(Method::POST, PLACE, JSON, &json!({})).await?;
    let number = |field: &str| look[field].as_u64().unwrap_or_default();
    let took = format!("{} looks and {} steps in {} ms", number("turns"), number("steps"), number("millis"));
    if look["isIdle"] == true {
        out.note(&format!("everything was looked at: {took}"));
        return Ok(Exit::Done);
    }
    let failure = Failure::new(Exit::TimedOut, format!("something is still under way after {took}"));
    Err(failure.next("`hearth get all -A` shows what, and `hearth why KIND/NAME` why"))
}
