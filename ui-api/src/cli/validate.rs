//! `hearth validate`: checks files without a server.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Outcome};
use super::manifest::Manifests;
use super::output::Output;

/// Where no context is read, no namespace is known but the one most objects are in.
const NAMESPACE: &str = "household";

/// Check files without a server.
///
/// Shows every problem at once, each with its place.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth validate -f home/")]
pub(super) struct Validate {
    /// A file, a folder of .yaml and .json files, or - for standard input; may be given several times.
    #[arg(short, long = "filename", required = true, value_name = "FILE")]
    file: Vec<PathBuf>,
}

/// Carries out `hearth validate`.
///
/// # Errors
/// Every problem of every file.
pub(super) fn run(args: &Validate, namespace: Option<&str>, out: &Output) -> Outcome {
    let manifests = Manifests::read(&args.file, namespace.unwrap_or(NAMESPACE), true)?;
    manifests.items.iter().for_each(|manifest| out.line(&format!("{} is well formed", manifest.target)));
    Ok(Exit::Done)
}
