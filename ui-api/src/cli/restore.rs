//! `hearth restore`: a backup, or a copy the server made by itself, in the place of the store.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_engine::store::{CopyFacts, CopyFile, Replacement};
use hearth_engine::{Clock, SystemClock};
use hearth_meta::Timestamp;

use super::backup::{of_files, of_store};
use super::consent;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use crate::backup::unpack;

/// How every SQLite file begins; a backup begins otherwise.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Put a backup, or a copy of the store, in the place of what stands.
///
/// No server may have the data directory open. What stands is moved aside and never deleted. The restored home starts
/// by only looking: nothing is changed on the machine until you say go with `hearth recover accept`.
/// The data of apps is not touched.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth restore /mnt/usb/home.tar\n  hearth restore home.tar --data-dir /srv/hearth --yes\n  hearth restore /var/lib/hearth/copies/2026-11-29T12-00-00Z-daily-at-1234.db"
)]
pub(super) struct Restore {
    /// A backup, or a copy from `hearth backup list`, which keeps the key that stands.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data directory to restore; made if there is none.
    #[arg(
        long,
        value_name = "DIR",
        env = "HEARTH_DATA_DIR",
        hide_env_values = true,
        default_value = "/var/lib/hearth"
    )]
    data_dir: PathBuf,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

/// Carries out `hearth restore`.
///
/// # Errors
/// A file that is no sound backup or copy, a server that runs, or nobody who said yes.
pub(super) async fn run(args: &Restore, out: &Output) -> Outcome {
    let is_copy = begins_as_store(&args.file)?;
    let of_store = |error| of_store(error, &args.data_dir);
    let replacement = Replacement::begin(&args.data_dir)
        .map_err(of_store)
        .map_err(|failure| failure.next("stop the server first, then try again"))?;
    let (at, sort) = if is_copy {
        lay_out_copy(&args.file, &replacement)?;
        (time_of_copy(&args.file)?, "copy")
    } else {
        let unpacked = unpack(&args.file, &replacement.parts());
        let manifest = unpacked.map_err(|error| unsound(&args.file, &format!("{error:#}")))?;
        (manifest.made_at, "backup")
    };
    let facts = replacement.verify().await.map_err(|error| {
        let why = error.to_string();
        unsound(&args.file, why.split(';').next().unwrap_or_default())
    })?;
    let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
    tell(args, &facts, sort, at, out);
    let what = format!("the store in {} would be moved aside for this {sort}", args.data_dir.display());
    if !args.yes {
        consent::ask(&what, "add --yes if that is meant", out).await?;
    }
    let why = format!("Restored from a {sort} of {at}");
    let aside = replacement.put_in_place(&why, SystemClock::start().now()).await.map_err(of_store)?;
    out.line(&format!("{} is restored from the {sort} of {at}", args.data_dir.display()));
    if aside.is_dir() {
        out.note(&format!("what stood there before is in {}", aside.display()));
    }
    out.note(
        "tokens that were revoked since then are in it again: none lets in until `hearth recover accept`; see `hearth token list` before that",
    );
    out.note(
        "start it with `hearth serve`: it only looks, and says what differs, until `hearth recover accept`",
    );
    Ok(Exit::Done)
}

fn tell(args: &Restore, facts: &CopyFacts, sort: &str, at: Timestamp, out: &Output) {
    out.note(&format!(
        "{} is sound: a {sort} of {at}, of store {} at version {}",
        args.file.display(),
        facts.lineage,
        facts.resource_version
    ));
}

fn begins_as_store(file: &Path) -> Result<bool, Failure> {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut start));
    read.map_err(|error| {
        let exit = if error.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Rejected };
        Failure::new(exit, format!("{} cannot be read: {error}", file.display()))
            .next("`hearth backup list --data-dir DIR` shows the copies there are")
    })?;
    Ok(start == SQLITE)
}

/// A copy is one file: a log that lies beside a file by that name belongs to a store that was in use.
fn lay_out_copy(file: &Path, replacement: &Replacement) -> Result<(), Failure> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).exists() {
        let message = format!("{} has a log beside it, so it is no copy but a store in use", file.display());
        return Err(Failure::new(Exit::Rejected, message)
            .next("make a backup of it with `hearth backup create --data-dir DIR`, and restore that"));
    }
    let copied = std::fs::copy(file, replacement.parts().join("store.db"));
    copied.map(drop).map_err(|error| of_files(anyhow::Error::new(error).context("copying it")))
}

/// When a copy was made: by its name, else by its file.
fn time_of_copy(file: &Path) -> Result<Timestamp, Failure> {
    if let Some(copy) = CopyFile::parse(file, 0) {
        return Ok(copy.at);
    }
    let written = std::fs::metadata(file).and_then(|found| found.modified());
    let written = written.map_err(|error| of_files(anyhow::Error::new(error).context("its time")))?;
    Timestamp::try_from(written).map_err(|error| of_files(anyhow::Error::new(error).context("its time")))
}

fn unsound(file: &Path, why: &str) -> Failure {
    Failure::new(Exit::Rejected, format!("{} is not restored: {why}", file.display()))
        .next("nothing was changed; `hearth backup list --data-dir DIR` shows what else there is")
}
