//! `hearth test`: carries out the cases of a folder over a pretend machine, for packagers and CI.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::caret;
use super::exit::{Exit, Failure, Outcome as Ending};
use super::output::Output;
use super::text_diff;
use crate::cases::{self, Check, Outcome, Suite, Unreadable};

/// Test apps and cases without a machine.
///
/// Everything that serves a home runs, over a pretend machine and in made-up time: no Docker, no server, no root. A
/// folder without case files is tested as a whole: it is admitted, settles, is Ready, and applying it again does nothing.
#[derive(Debug, Args)]
#[command(before_help = "Examples:\n  \
    hearth test photos/                       its cases, or all its objects\n  \
    hearth test photos/ --check crash-anywhere --check idempotent\n  \
    hearth test photos/ --junit report.xml --filter restart\n  \
    hearth test photos/cases.yaml -o story    what happened, line by line")]
pub(super) struct Test {
    /// A folder of objects and cases, or one file of cases.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// What every case is held to besides; may be given several times.
    #[arg(long, value_enum, value_name = "CHECK")]
    check: Vec<Held>,
    /// Show every case in this order of happenings, not in its own.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Only cases whose name holds this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write the outcome there as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Take what happened as right, and write it beside each case file, as FILE.out.
    #[arg(long, conflicts_with_all = ["seed", "filter"])]
    accept: bool,
    /// How to tell: text, story (with all that happened), or json.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

/// What a case can be held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Held {
    /// Applied again, nothing is done and nothing is written.
    Idempotent,
    /// With a crash at every boundary of its last wish it ends the same.
    CrashAnywhere,
    /// Carried out again and restarted once in the middle, it ends the same.
    Restart,
}

/// How to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    #[default]
    Text,
    Story,
    Json,
}

/// Carries out `hearth test`.
///
/// # Errors
/// A folder that cannot be tested: every problem of it.
pub(super) fn run(args: &Test, out: &Output) -> Ending {
    let mut suite = match Suite::read(&args.dir) {
        Ok(suite) => suite,
        Err(why) => {
            if let Some(path) = &args.junit {
                write(path, &cases::junit::rejected(&args.dir, &why))?;
            }
            return Err(unreadable(why));
        }
    };
    if let Some(part) = &args.filter {
        let is_meant = |name: &str| name.contains(part.as_str());
        suite.files.iter_mut().for_each(|file| file.cases.retain(|case| is_meant(&case.name)));
        suite.files.retain(|file| !file.cases.is_empty());
        if suite.files.is_empty() {
            return Err(Failure::usage(format!("no case in {} is called so: {part}", args.dir.display())));
        }
    }
    let checks = checks(args, &suite);
    let mut outcomes = Vec::new();
    for file in &suite.files {
        let mut stories = Vec::new();
        for case in &file.cases {
            let of_case = cases::run(&file.path, case, args.seed, &checks);
            for outcome in &of_case {
                tell(args, outcome, out);
            }
            if let Some(outcome) = of_case.first() {
                stories.push(format!("# {}\n{}\n", case.name, outcome.story.join("\n")));
            }
            outcomes.extend(of_case);
        }
        // A part of the cases is no record, nor is another order of happenings.
        if args.seed.is_none() && args.filter.is_none() {
            outcomes.extend(recorded(args, &file.path, &stories.join("\n"), out)?);
        }
    }
    if let Some(path) = &args.junit {
        let text = cases::junit::written(&suite.files, &outcomes, |outcome| again(args, outcome));
        write(path, &text)?;
    }
    if args.output == Form::Json {
        out.line(&format!("{:#}", cases::report::json(&outcomes)));
        out.note(&cases::report::tally(&outcomes));
    } else {
        out.line(&cases::report::tally(&outcomes));
    }
    let is_well = outcomes.iter().all(|outcome| outcome.failure.is_none());
    Ok(if is_well { Exit::Done } else { Exit::Differs })
}

/// The same from within a runtime, which would not bear another one in its thread.
///
/// # Errors
/// As for [`run`].
pub(super) fn run_aside(args: &Test, out: &Output) -> Ending {
    let done = std::thread::scope(|scope| scope.spawn(|| run(args, out)).join());
    done.unwrap_or_else(|_| Err(Failure::new(Exit::Bug, "the cases were cut short")))
}

/// What every case is held to: what is asked for, and a folder without cases to being idempotent.
fn checks(args: &Test, suite: &Suite) -> Vec<Check> {
    let mut checks: Vec<Check> = args
        .check
        .iter()
        .map(|held| match held {
            Held::Idempotent => Check::Idempotent,
            Held::CrashAnywhere => Check::CrashAnywhere,
            Held::Restart => Check::Restart,
        })
        .collect();
    if suite.is_of_objects {
        checks.push(Check::Idempotent);
    }
    checks.sort();
    checks.dedup();
    checks
}

fn tell(args: &Test, outcome: &Outcome, out: &Output) {
    match args.output {
        Form::Json => {}
        Form::Text => {
            cases::report::lines(outcome, &again(args, outcome)).iter().for_each(|line| out.line(line))
        }
        Form::Story => {
            let mut told = cases::report::lines(outcome, &again(args, outcome));
            out.line(&told.remove(0));
            outcome.story.iter().for_each(|line| out.line(&format!("      {line}")));
            told.iter().for_each(|line| out.line(line));
        }
    }
}

/// Compares what happened with the record beside a case file, where there is one, or takes it as right.
fn recorded(args: &Test, file: &Path, story: &str, out: &Output) -> Result<Option<Outcome>, Failure> {
    let path = cases::read::record_of(file);
    if file.is_dir() {
        return Ok(None);
    }
    let record = match std::fs::read_to_string(&path) {
        Ok(record) => Some(record),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        // What cannot be read is no record that is not there.
        Err(_) if args.accept => None,
        Err(error) => {
            let mut outcome = Outcome::of_record(file, &path);
            outcome.fails(&path, format!("it cannot be read: {error}"));
            tell(args, &outcome, out);
            return Ok(Some(outcome));
        }
    };
    if args.accept {
        if record.as_deref() != Some(story) {
            write(&path, story)?;
            out.note(&format!("{} is written", path.display()));
        }
        return Ok(None);
    }
    let Some(record) = record else { return Ok(None) };
    let mut outcome = Outcome::of_record(file, &path);
    if record != story {
        let lines = text_diff::lines(&record, story);
        outcome.fails(&path, format!("something else happens:\n{}", lines.join("\n")));
    }
    tell(args, &outcome, out);
    Ok(Some(outcome))
}

/// The command that shows a case again.
fn again(args: &Test, outcome: &Outcome) -> String {
    let mut words = vec!["hearth test".to_owned()];
    if outcome.is_of_record {
        // Of this file alone: what happens in others is not taken as right with it.
        words.push(quoted(&outcome.file.display().to_string()));
        words.push("--accept".into());
        return words.join(" ");
    }
    words.push(quoted(&args.dir.display().to_string()));
    let (name, check) = match outcome.check {
        Some(check) => (outcome.case.as_str(), Some(check)),
        None => (outcome.name.as_str(), None),
    };
    // As one word, whatever the name begins with.
    words.push(format!("--filter={}", in_quotes(name)));
    words.push(format!("--seed {}", outcome.seed));
    words.extend(check.map(|check| format!("--check {}", check.word())));
    words.join(" ")
}

/// A path as a shell takes it, and not for an option.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%=,".contains(letter);
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    if !path.is_empty() && path.chars().all(is_plain) { path } else { in_quotes(&path) }
}

fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::new(Exit::Rejected, format!("{} cannot be written: {error}", path.display()))
    })
}

fn unreadable(why: Unreadable) -> Failure {
    match why {
        Unreadable::Missing(path, error) => {
            let exit =
                if error.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Rejected };
            Failure::new(exit, format!("{} cannot be read: {error}", path.display()))
        }
        Unreadable::Empty(path) => {
            Failure::new(Exit::Rejected, format!("{} holds neither a case nor an object", path.display()))
                .next("write an app's manifest there, or cases; see `hearth test --help`")
        }
        Unreadable::Problems(mut problems, texts) => {
            problems.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
            let text = |problem: &hearth_meta::Problem| {
                problem.file.as_ref().and_then(|file| texts.get(file)).map_or("", String::as_str)
            };
            let shown = problems.iter().flat_map(|problem| caret::show(problem, text(problem))).collect();
            Failure::new(Exit::Rejected, caret::tally(&problems, "nothing was run")).after(shown)
        }
    }
}
