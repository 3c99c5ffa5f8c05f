//! `hearth backup`: a home's store, key and credentials in one file, made, looked at and listed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hearth_engine::store::{CopyFacts, OpenError, copy_closed, verify};
use hearth_engine::{Clock, SystemClock};
use hearth_meta::Timestamp;
use serde_json::Value;

use super::client::Client;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use crate::backup::{self, Manifest, Packed, Source, file_name, unpack};

/// Where the running server hands out a backup, and tells of its copies.
const PLACE: &str = "/hearth/v1/backup";
const COPIES: &str = "/hearth/v1/copies";

/// Back up the home: what is declared, its secrets and their key, its authority and credentials.
///
/// The data of apps is not in it; copy the instances folder of the data directory as you copy any data.
/// Whoever has the file can read every secret of the home: keep it where only you can.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth backup create /mnt/usb/home.tar\n  hearth backup create --data-dir /var/lib/hearth\n  hearth backup list\n  hearth backup list /mnt/usb\n  hearth backup verify /mnt/usb/home.tar\n  hearth restore /mnt/usb/home.tar"
)]
pub(super) struct Backup {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a backup of the running server, or of a data directory that no server has open.
    Create {
        /// The file to make [default: hearth-backup-TIME.tar].
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Back up this data directory, without a server.
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// List the copies the server makes by itself, or the backups in a folder.
    List {
        /// A folder with backups.
        #[arg(value_name = "FOLDER", conflicts_with = "data_dir")]
        folder: Option<PathBuf>,
        /// List the copies of this data directory, without a server.
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// Read all of a backup: every sum, the whole store, and whether its key opens it.
    Verify {
        /// The backup.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Carries out `hearth backup`; `open` reaches the server where one is asked.
///
/// # Errors
/// A file that cannot be made or is no sound backup, or no server.
pub(super) async fn run<F>(args: Backup, open: impl FnOnce() -> F, out: &Output) -> Outcome
where
    F: Future<Output = Result<Client, Failure>>,
{
    match args.what {
        What::Create { file, data_dir: None } => {
            let client = open().await?;
            create(file, out, async |half| download(&client, half).await).await
        }
        What::Create { file, data_dir: Some(data_dir) } => {
            create(file, out, async |half| pack(&data_dir, half).await).await
        }
        What::List { folder: Some(folder), .. } => list(&backup::backups_in(&folder).map_err(of_files)?, out),
        What::List { data_dir: Some(data_dir), .. } => {
            list(&backup::copies_in(&data_dir).map_err(of_files)?, out)
        }
        What::List { .. } => {
            let answer = open().await?.get(COPIES).await?;
            list(&answer["copies"].as_array().into_iter().flatten().filter_map(copy).collect::<Vec<_>>(), out)
        }
        What::Verify { file } => {
            let (manifest, facts) = check(&file).await?;
            tell(&file, &manifest, &facts, out);
            Ok(Exit::Done)
        }
    }
}

/// Makes the file beside its place, reads it back whole, and only then gives it its name.
async fn create(
    file: Option<PathBuf>,
    out: &Output,
    write: impl AsyncFnOnce(&Path) -> Result<(), Failure>,
) -> Outcome {
    let file = file.unwrap_or_else(|| file_name(SystemClock::start().now()).into());
    if file.exists() {
        return Err(Failure::new(Exit::Conflict, format!("{} exists already", file.display()))
            .next("choose another name; a backup never replaces one"));
    }
    let half = Half(beside(&file, "half"));
    write(&half.0).await?;
    let (manifest, facts) = check(&half.0).await?;
    // A name that was taken meanwhile is not taken away again.
    let placed = std::fs::hard_link(&half.0, &file).or_else(|_| match file.exists() {
        true => Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it exists already")),
        false => std::fs::rename(&half.0, &file),
    });
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    placed.and_then(|()| File::open(folder)?.sync_all()).map_err(|error| {
        Failure::new(Exit::Rejected, format!("{} cannot be made: {error}", file.display()))
    })?;
    tell(&file, &manifest, &facts, out);
    out.note("it holds the key to every secret of this home, and the admin's credential: keep it where only you can");
    out.note("the data of apps is not in it: copy the instances folder of the data directory as well");
    Ok(Exit::Done)
}

async fn download(client: &Client, half: &Path) -> Result<(), Failure> {
    let mut file = private(half)?;
    client.download(PLACE, &mut file).await?;
    file.sync_all().map_err(|error| cannot_write(half, &error))
}

async fn pack(data_dir: &Path, half: &Path) -> Result<(), Failure> {
    let copy = Half(beside(half, "db"));
    let facts = copy_closed(data_dir, &copy.0).await.map_err(|error| of_store(error, data_dir))?;
    let packed = Packed::new(&copy.0, data_dir, &facts, SystemClock::start().now()).map_err(of_files)?;
    let mut file = private(half)?;
    packed.write(&mut file).map_err(of_files)?;
    file.sync_all().map_err(|error| cannot_write(half, &error))
}

/// Unpacks a backup beside itself, reads all of its store, and leaves nothing behind.
async fn check(file: &Path) -> Result<(Manifest, CopyFacts), Failure> {
    let folder = HalfFolder(beside(file, "check"));
    let made = DirBuilder::new().mode(0o700).create(&folder.0);
    made.map_err(|error| {
        Failure::new(Exit::Rejected, format!("{} cannot be made: {error}", folder.0.display()))
            .next("a backup is unpacked beside itself to be read; remove what is left of an earlier try, or copy it elsewhere")
    })?;
    let manifest = unpack(file, &folder.0).map_err(|error| {
        Failure::new(Exit::Rejected, format!("{} is no sound backup: {error:#}", file.display()))
    })?;
    let facts = verify(&folder.0.join("store.db"), &folder.0.join("store.key")).await;
    let facts = facts.map_err(|error| {
        let why = error.to_string();
        // The way back that the store's own words lead to is this very file.
        let why = why.split(';').next().unwrap_or_default();
        Failure::new(Exit::Rejected, format!("{} is no sound backup: {why}", file.display()))
    })?;
    if facts.lineage != manifest.lineage {
        let message = format!("{} is no sound backup: its store is not the one it names", file.display());
        return Err(Failure::new(Exit::Rejected, message));
    }
    Ok((manifest, facts))
}

fn tell(file: &Path, manifest: &Manifest, facts: &CopyFacts, out: &Output) {
    out.line(&format!(
        "{} is sound: store {} at version {}, of {}, made by hearth {}",
        file.display(),
        facts.lineage,
        manifest.resource_version,
        manifest.made_at,
        manifest.program
    ));
}

fn list(sources: &[Source], out: &Output) -> Outcome {
    if sources.is_empty() {
        out.note("there are none");
        return Ok(Exit::Done);
    }
    out.line("TIME                  SORT    VERSION     SIZE  FILE");
    for source in sources {
        let time = Timestamp::from_second(source.at.as_second()).unwrap_or(source.at).to_string();
        let size = format!("{} KiB", source.bytes.div_ceil(1024));
        let (sort, version) = (source.sort, source.resource_version);
        out.line(&format!("{time:<22}{sort:<7}{version:>8}{size:>9}  {}", source.path.display()));
    }
    Ok(Exit::Done)
}

/// A copy as the server tells it.
fn copy(value: &Value) -> Option<Source> {
    Some(Source {
        path: value["path"].as_str()?.into(),
        at: value["time"].as_str()?.parse().ok()?,
        sort: ["hourly", "daily"].into_iter().find(|sort| value["every"] == *sort)?,
        resource_version: value["resourceVersion"].as_str()?.parse().ok()?,
        bytes: value["bytes"].as_u64()?,
    })
}

/// A store that could not be read, in words that fit a command.
pub(super) fn of_store(error: OpenError, data_dir: &Path) -> Failure {
    match error {
        OpenError::InUse(_) => {
            Failure::new(Exit::Conflict, format!("a server has {} open", data_dir.display()))
        }
        error => Failure::new(Exit::Rejected, error.to_string()),
    }
}

/// Files that could not be read or written.
pub(super) fn of_files(error: anyhow::Error) -> Failure {
    Failure::new(Exit::Rejected, format!("{error:#}"))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Rejected, format!("{} cannot be written: {error}", path.display()))
}

fn private(path: &Path) -> Result<File, Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| cannot_write(path, &error))
}

/// A hidden name beside a file, of this process alone.
fn beside(file: &Path, what: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{}.{what}", std::process::id()))
}

/// A file that goes with its end, unless it has got another name.
struct Half(PathBuf);

impl Drop for Half {
    fn drop(&mut self) {
        // Mostly it has been given its name by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

struct HalfFolder(PathBuf);

impl Drop for HalfFolder {
    fn drop(&mut self) {
        // It holds the key, so it should not stay; there is nobody to be told here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
