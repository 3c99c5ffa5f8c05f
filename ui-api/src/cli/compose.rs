//! `hearth compose config`: a compose file as it is understood, in the form Docker Compose prints.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hearth_charts::compose::{DiskRequest, config_on_disk};

use super::exit::{Exit, Failure, Outcome};
use super::output::Output;

/// Compose files, without a server.
#[derive(Debug, Args)]
pub(super) struct Compose {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print a compose file as it is understood: interpolated, merged, every short form written out.
    ///
    /// It reads no variable of the environment but those of the files it is given.
    #[command(
        after_help = "Examples:\n  hearth compose config -f compose.yml\n  hearth compose config -f base.yml -f mine.yml --env-file .env"
    )]
    Config(Config),
}

#[derive(Debug, Args)]
struct Config {
    /// A compose file; later ones are laid over earlier ones.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// The project's name [default: the file's own, else its folder's].
    #[arg(short, long, value_name = "NAME")]
    project_name: Option<String>,
    /// The folder relative paths are seen from [default: that of the first file].
    #[arg(long, value_name = "DIR")]
    project_directory: Option<PathBuf>,
    /// A file of variables; may be given several times.
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    /// A profile whose services are wanted; may be given several times.
    #[arg(long, value_name = "NAME")]
    profile: Vec<String>,
    /// The form of the output.
    #[arg(long, default_value = "json", value_parser = ["json"])]
    format: String,
}

/// Carries out `hearth compose`.
///
/// # Errors
/// Every problem of the files, with its place.
pub(super) fn run(args: &Compose, out: &Output) -> Outcome {
    let What::Config(args) = &args.what;
    let request = DiskRequest {
        files: &args.file,
        folder: args.project_directory.as_deref(),
        project: args.project_name.as_deref(),
        env_files: &args.env_file,
        profiles: &args.profile,
        ..DiskRequest::default()
    };
    match config_on_disk(request) {
        Ok(model) => {
            out.data(&format!("{}\n", serde_json::to_string_pretty(&model).unwrap_or_default()));
            Ok(Exit::Done)
        }
        Err(problems) => {
            let lines = problems.iter().map(ToString::to_string).collect();
            let message = super::caret::tally(&problems, "nothing is printed");
            Err(Failure::new(Exit::Rejected, message).after(lines))
        }
    }
}
