//! `hearth start` and `hearth stop`: set what state an app is wanted in; the rest follows by itself.

use clap::Args;
use hearth_meta::Verdict;
use serde_json::json;

use super::client::Client;
use super::complete;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::resource::{Target, parse_one};
use super::wait::{self, Goal};
use super::yaml;

/// Start or stop an app: sets spec.state.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth stop app/photos\n  hearth start app/photos --wait\n  hearth stop app/photos --show"
)]
pub(super) struct Power {
    /// The app, as app/NAME.
    #[arg(required = true, value_name = "app/NAME", add = complete::objects())]
    object: Vec<String>,
    /// Print what is written.
    #[arg(long)]
    show: bool,
    /// Wait until it is so; 2 minutes at most, or --timeout.
    #[arg(long)]
    wait: bool,
}

/// Carries out `hearth start` or `hearth stop`.
///
/// # Errors
/// No such app, no server.
pub(super) async fn run(args: Power, state: &str, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    if target.kind.kind != "App" {
        return Err(Failure::usage(format!("{target} is no app; only apps are started and stopped")));
    }
    let before = client.one(&target).await?;
    if args.show {
        out.data(&yaml::written(&fragment(&target, &json!({ "spec": { "state": state } }))));
    }
    // What is not written there is the default.
    let is_so = before["spec"]["state"].as_str().unwrap_or("Running") == state;
    client.patch(&target, &json!({ "spec": { "state": state } })).await?;
    let word = if is_so { "was so already" } else { "set" };
    out.note(&format!("{target}: state {state} {word}"));
    if args.wait {
        return wait::for_all(
            client,
            out,
            &[target],
            &Goal::Verdict(Verdict::Ready),
            client.waits(wait::USUAL),
        )
        .await;
    }
    Ok(Exit::Done)
}

/// What is written, as a manifest would say it.
pub(super) fn fragment(target: &Target, change: &serde_json::Value) -> serde_json::Value {
    let mut fragment = json!({
        "apiVersion": target.kind.api_version(),
        "kind": target.kind.kind,
        "metadata": { "name": target.name },
    });
    if let Some(namespace) = &target.namespace {
        fragment["metadata"]["namespace"] = namespace.as_str().into();
    }
    for (field, value) in change["metadata"].as_object().into_iter().flatten() {
        fragment["metadata"][field] = value.clone();
    }
    if !change["spec"].is_null() {
        fragment["spec"] = change["spec"].clone();
    }
    fragment
}
