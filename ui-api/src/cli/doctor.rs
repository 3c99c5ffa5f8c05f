//! `hearth doctor`: how everything stands that a home leans on, each with what to do about it.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::client::Reach;
use super::exit::{Exit, Failure, Outcome};
use super::output::{Output, Tone, paint, width_of};
use crate::config::Config;
use crate::doctor::{Check, Standing, offline, to_value};
use crate::serve::ServeOptions;
use crate::server::VERSION;

/// Where a server is asked.
const PLACE: &str = "/hearth/v1/doctor";

/// Look at everything a home leans on, and say what to do about what is wrong.
///
/// Exits with 1 where something does not work. Nothing is changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth doctor\n  hearth doctor -o json\n  hearth doctor --data-dir /var/lib/hearth    (where no server can start)"
)]
pub(super) struct Doctor {
    /// Look without a server at this data directory and at the machine.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Docker's address, where it is not that of the settings.
    #[arg(long, value_name = "ADDRESS", requires = "data_dir")]
    docker: Option<String>,
    /// Print as JSON.
    #[arg(short, long, value_name = "json")]
    output: Option<Form>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Json,
}

/// Carries out `hearth doctor`.
///
/// # Errors
/// No server, where none is named to do without; settings that are wrong.
pub(super) async fn run(args: Doctor, reach: &Reach<'_>, out: &Output) -> Outcome {
    let checks = match &args.data_dir {
        Some(_) => without_a_server(&args).await?,
        None => ask(reach).await?,
    };
    match args.output {
        Some(Form::Json) => out.line(&format!("{:#}", to_value(&checks))),
        None => {
            lines(&checks, out).iter().for_each(|line| out.line(line));
            out.note(&tally(&checks));
        }
    }
    let failed = checks.iter().any(|check| check.standing == Standing::Failure);
    Ok(if failed { Exit::Differs } else { Exit::Done })
}

async fn without_a_server(args: &Doctor) -> Result<Vec<Check>, Failure> {
    let options = ServeOptions {
        data_dir: args.data_dir.clone(),
        docker: args.docker.clone(),
        ..ServeOptions::default()
    };
    let config = Config::settle(options).map_err(|problems| Failure::usage(problems.join("; ")))?;
    Ok(offline(&config).await)
}

async fn ask(reach: &Reach<'_>) -> Result<Vec<Check>, Failure> {
    let or_offline = |failure: Failure| match failure.exit {
        Exit::Unreachable => failure.next(
            "start it with `hearth serve`; what stands in its way is told by `hearth doctor --data-dir DIR`",
        ),
        _ => failure,
    };
    let client = reach.client().await.map_err(or_offline)?;
    if reach.from.is_some() {
        return checks(&client.get(PLACE).await?);
    }
    let begun = Instant::now();
    client.get("/version").await.map_err(|trouble| or_offline(trouble.into()))?;
    let took = begun.elapsed().as_millis() + 1;
    let told = client.get(PLACE).await.map_err(|trouble| or_offline(trouble.into()))?;
    let version = told["version"].as_str().unwrap_or("of unknown version");
    let said = format!("hearth {version} at {} answered within {took} ms", client.address());
    let server = if version == VERSION {
        Check::ok("server", said)
    } else {
        let next = "run the same version on both sides";
        Check::warning("server", format!("{said}; this program is {VERSION}"), next)
    };
    Ok(std::iter::once(server).chain(checks(&told)?).collect())
}

/// The checks of an answer.
///
/// # Errors
/// An answer of another form.
pub(super) fn checks(told: &Value) -> Result<Vec<Check>, Failure> {
    serde_json::from_value(told["checks"].clone())
        .map_err(|error| Failure::new(Exit::Bug, format!("the server's answer cannot be read: {error}")))
}

/// A line for each, the grave ones first, and what to do below it.
pub(super) fn lines(checks: &[Check], out: &Output) -> Vec<String> {
    let widest = checks.iter().map(|check| width_of(&check.name)).max().unwrap_or(0);
    let mut sorted: Vec<&Check> = checks.iter().collect();
    sorted.sort_by_key(|check| std::cmp::Reverse(check.standing));
    let margin = " ".repeat(widest + 4);
    let lay = |check: &&Check| {
        let blank = " ".repeat(widest - width_of(&check.name));
        let first = format!("{} {}{blank}  ", sign(check.standing, out), check.name);
        let mut said = out.wrapped(&check.message, widest + 4).into_iter();
        let mut lines = vec![format!("{first}{}", said.next().unwrap_or_default())];
        lines.extend(said.map(|line| format!("{margin}{line}")));
        let next = if check.next.is_empty() { Vec::new() } else { out.wrapped(&check.next, widest + 6) };
        let arrow = paint(Tone::Faint, out.sign("→"));
        lines.extend(next.iter().enumerate().map(|(number, line)| {
            let lead = if number == 0 { arrow.as_str() } else { " " };
            format!("{margin}{lead} {line}")
        }));
        lines
    };
    sorted.iter().flat_map(lay).collect()
}

fn sign(standing: Standing, out: &Output) -> String {
    match standing {
        Standing::Ok => paint(Tone::Good, out.sign("✓")),
        Standing::Warning => paint(Tone::Moving, "!"),
        Standing::Failure => paint(Tone::Bad, out.sign("✗")),
    }
}

fn tally(checks: &[Check]) -> String {
    let count = |standing| checks.iter().filter(|check| check.standing == standing).count();
    match (count(Standing::Failure), count(Standing::Warning)) {
        (0, 0) => "everything is well".to_owned(),
        (failures, warnings) => {
            let counted =
                |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
            let (failures, warnings) = (counted(failures, "failure"), counted(warnings, "warning"));
            format!("{failures}, {warnings} of {} checks", checks.len())
        }
    }
}
