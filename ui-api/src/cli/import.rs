//! `hearth import`: a published compose file becomes a package, with a report of every field.

use std::path::{Path, PathBuf};

use clap::Args;
use hearth_charts::import::{Entry, Report, Request, import};

use super::exit::{Exit, Failure, Outcome};
use super::output::Output;

/// Turn a published compose file into a package.
///
/// The author's file is kept as it is; ours stands beside it, with a report of what was kept, changed, dropped,
/// asked and refused.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth import docker-compose.yml -o photos/ --name photos\n  hearth apply -f photos/app.yaml"
)]
pub(super) struct Import {
    /// The file.
    file: PathBuf,
    /// The folder the package is written to; it must not exist, or be empty [default: the app's name].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The app's name [default: the file's own, else its folder's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Carries out `hearth import`.
///
/// # Errors
/// A file that cannot be read, a folder that cannot be written, or a file that cannot be carried.
pub(super) fn run(args: &Import, out: &Output) -> Outcome {
    let text = read(&args.file)?;
    let beside = args.file.parent().unwrap_or(Path::new(".")).join("template.toml");
    let template = std::fs::read_to_string(beside).ok();
    let file = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let request =
        Request { file: &file, text: &text, name: args.name.as_deref(), template: template.as_deref() };
    let outcome = import(&request);
    let folder = args.output.clone().unwrap_or_else(|| outcome.report.name.clone().into());
    tell(&outcome.report, out);
    let mut files = outcome.files.clone().unwrap_or_default();
    let report = serde_json::to_string_pretty(&outcome.report).unwrap_or_default();
    files.insert("report.json".to_owned(), format!("{report}\n"));
    write(&folder, &files)?;
    if outcome.files.is_none() {
        let message = format!(
            "{} cannot be carried; the reasons are in {}",
            file,
            folder.join("report.json").display()
        );
        return Err(Failure::new(Exit::Rejected, message));
    }
    out.note(&format!("{} written to {}", outcome.report.name, folder.display()));
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))
}

fn tell(report: &Report, out: &Output) {
    let section = |title: &str, entries: &[Entry]| {
        for entry in entries {
            let field = if entry.field.is_empty() { String::new() } else { format!("{}: ", entry.field) };
            out.note(&format!("{title:<8} {field}{}", entry.reason));
        }
    };
    section("changed", &report.changed);
    section("dropped", &report.dropped);
    section("asked", &report.asked);
    section("refused", &report.refused);
}

/// Writes a package where nothing is yet: no file of a person's is ever written over.
fn write(folder: &Path, files: &std::collections::BTreeMap<String, String>) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", folder.display()));
    let is_taken = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken {
        return Err(Failure::usage(format!(
            "{} is not empty; name another folder with -o",
            folder.display()
        )));
    }
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)?;
    }
    Ok(())
}
