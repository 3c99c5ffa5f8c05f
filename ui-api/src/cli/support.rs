//! `hearth support`: a file for a helper elsewhere, and reading one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::client::{Client, Reach};
use super::consent;
use super::doctor;
use super::exit::{Exit, Failure, Outcome};
use super::output::{Output, Tone, paint};
use super::status;
use crate::doctor::Standing;
use crate::private_file;
use crate::support::{Bundle, file_name};

pub(super) mod archive;
mod collect;

/// Make a file for a helper elsewhere, without the secrets of this home, or read one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth support bundle\n  hearth support bundle --out photos.tar --yes\n  hearth support open photos.tar\n  hearth --from photos.tar why app/photos"
)]
pub(super) struct Support {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Put together what a helper needs; what would be in it is shown before it is written.
    Bundle(Make),
    /// Say what a bundle tells; every verb that reads reads it with `hearth --from FILE`.
    Open {
        /// The bundle.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Make {
    /// The file to make [default: hearth-support-TIME.tar].
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

/// Carries out `hearth support`.
///
/// # Errors
/// No server, a file that cannot be written or is no sound bundle.
pub(super) async fn run(args: Support, reach: &Reach<'_>, out: &Output) -> Outcome {
    match args.what {
        What::Bundle(make) => bundle(make, reach, out).await,
        What::Open { file } => open(&file, out).await,
    }
}

async fn bundle(args: Make, reach: &Reach<'_>, out: &Output) -> Outcome {
    if reach.from.is_some() {
        return Err(Failure::usage("that is a bundle already"));
    }
    let client = reach.client().await.map_err(or_look_offline)?;
    let file = args.out.unwrap_or_else(|| file_name(client.now()).into());
    if file.exists() {
        let message = format!("{} exists already", file.display());
        return Err(Failure::new(Exit::Conflict, message).next("choose another name with --out FILE"));
    }
    let bundle = collect::collect(&client, reach).await.map_err(or_look_offline)?;
    contents(&bundle).iter().for_each(|line| out.note(line));
    if !args.yes {
        consent::ask("this would be written", "add --yes to write it without being asked", out).await?;
    }
    write(&bundle, &file)?;
    out.line(&file.display().to_string());
    out.note("only you may read it; look through it before you give it away");
    Ok(Exit::Done)
}

fn or_look_offline(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Unreachable => failure
            .next("where no server can start, `hearth doctor --data-dir DIR -o json` tells a helper most"),
        _ => failure,
    }
}

/// What is in a bundle, for whoever decides whether to give it away.
fn contents(bundle: &Bundle) -> Vec<String> {
    let of = |lead: &'static str| bundle.parts.iter().filter(move |(name, _)| name.starts_with(lead));
    let items = |content: &[u8]| {
        let listing: Value = serde_json::from_slice(content).unwrap_or_default();
        listing["items"].as_array().map_or(0, Vec::len)
    };
    let objects: Vec<String> = of("objects/")
        .filter(|(name, content)| !name.ends_with("/events.json") && items(content) > 0)
        .map(|(name, content)| {
            format!("{} {}", items(content), name["objects/".len()..].trim_end_matches(".json"))
        })
        .collect();
    let events = bundle.parts.get("objects/events.json").map_or(0, |content| items(content));
    let others: Vec<&str> = of("answers/")
        .filter(|(name, _)| !name.contains("/history/"))
        .map(|(name, _)| name["answers/".len()..].trim_end_matches(".json"))
        .collect();
    let bytes: usize = bundle.parts.values().map(Vec::len).sum();
    let mut lines = vec![
        "In it would be, without secrets:".to_owned(),
        format!("  objects   {}", objects.join(", ")),
        format!("  events    {events}"),
        format!("  history   of {} objects", of("answers/history/").count()),
        format!(
            "  logs      the last {} lines of each of {} containers",
            collect::LINES,
            of("logs/").count()
        ),
        format!("  answers   {}", others.join(", ")),
        format!("  size      {}", super::progress::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))),
    ];
    lines.extend(
        bundle
            .manifest
            .missing
            .iter()
            .map(|missing| format!("  not       {}: {}", missing.what, missing.why)),
    );
    lines.push(format!(
        "Taken out: {} texts: the values of secrets, passwords, keys, tokens, whatever repeats one of them, and the \
         comments of compose files. Names, addresses and what logs tell of people stay.",
        bundle.manifest.redacted
    ));
    lines
}

/// For its owner alone, and given its name once it is whole and on the disk.
fn write(bundle: &Bundle, file: &Path) -> Result<(), Failure> {
    private_file::create_with(file, |half| bundle.write(half)).map_err(|error| {
        Failure::new(Exit::Rejected, format!("{} cannot be written: {error:#}", file.display()))
    })
}

async fn open(file: &Path, out: &Output) -> Outcome {
    let manifest = Bundle::read(file)
        .map_err(|error| {
            Failure::new(Exit::Rejected, format!("{} cannot be read: {error:#}", file.display()))
        })?
        .manifest;
    let client = Client::of_bundle(file, None)?;
    let (server, program) = (&manifest.server, &manifest.program);
    out.line(&format!("A home at {}, hearth {server}, put together by hearth {program}", manifest.made_at));
    for missing in &manifest.missing {
        out.line(&format!("  not in it: {}: {}", missing.what, missing.why));
    }
    if let Ok(told) = client.get("/hearth/v1/doctor").await {
        let mut checks = doctor::checks(&told)?;
        let all = checks.len();
        checks.retain(|check| check.standing != Standing::Ok);
        out.line(&format!(
            "\n{}",
            paint(Tone::Strong, &format!("Doctor: {} of {all} checks are not well", checks.len()))
        ));
        doctor::lines(&checks, out).iter().for_each(|line| out.line(&format!("  {line}")));
    }
    let (unwell, _) = status::survey(&client).await?;
    out.line(&format!("\n{}", paint(Tone::Strong, &format!("Unwell: {}", unwell.len()))));
    status::lines(&unwell, out).iter().for_each(|line| out.line(&format!("  {line}")));
    let shown = file.display();
    out.line(&format!("\nRead on with `hearth --from {shown} get all -A`, `why`, `describe`, `events -A`, `history`, `logs`, `tree`"));
    Ok(Exit::Done)
}
