//! `hearth recover rebuild`: a new store in the place of one that is lost, of the same lineage and past every version
//! that is known to have been given out. It starts observe-only, so nothing is done before a person has looked.
//!
//! What stood is moved aside and never deleted. The new store is made in a folder of its own and put in place once it
//! is whole: dying at any line leaves the old files, or a store that is missing, and both can be rebuilt again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use hearth_controllers::naming::Naming;
use hearth_engine::store::{Founding, LOST_HISTORY, found, read_mark};
use hearth_engine::{Clock, WriteOptions};

use super::condition::condition;
use super::look::{Standing, look};
use super::restore::restore;
use crate::config::Config;
use crate::serve::wiring::Hands;

/// Where the new store is made.
const IN_THE_MAKING: &str = "rebuilding";

/// The new store there, once it is whole.
const WHOLE: &str = "whole.db";

/// The files of a store that are moved aside together.
const FILES: [&str; 4] = ["store.db", "store.db-wal", "store.db-shm", "high-water"];

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Rebuilt {
    /// The lineage of the store, old and new.
    pub lineage: String,
    /// The apps that are back, as `namespace/name`.
    pub apps: Vec<String>,
    /// How many objects are back.
    pub objects: usize,
    /// What is not back, and what to do about it.
    pub missing: Vec<String>,
    /// Where the old files are, if there were any.
    pub aside: Option<PathBuf>,
}

/// Rebuilds the store of a home from what stands on its machine. `lineage` chooses where several are told; without
/// `do_it` it is only said what would be back.
///
/// # Errors
/// Where the store needs no rebuilding, is in use, is of a newer program, or the machine cannot be looked at.
pub async fn rebuild(
    config: &Config,
    hands: &Hands,
    clock: Arc<dyn Clock>,
    lineage: Option<&str>,
    do_it: bool,
) -> anyhow::Result<Rebuilt> {
    let dir = &config.data_dir;
    let stands = condition(dir).await;
    if !stands.may_be_rebuilt() {
        bail!("nothing is rebuilt: {}; next: {}", stands.message, stands.next.join(", or "));
    }
    let standing = look(hands, &Naming::new(&config.name_prefix)).await.map_err(|fault| {
        anyhow::anyhow!("the machine cannot be looked at, so nothing is known: {fault}; start Docker first")
    })?;
    let mark = read_mark(dir).unwrap_or_default();
    let lineage = choose_lineage(lineage, mark.as_ref(), &standing)?;
    let marked = mark.filter(|(of, _)| *of == lineage).map_or(0, |(_, version)| version);
    let mut rebuilt = Rebuilt { lineage: lineage.clone(), ..Rebuilt::default() };
    let apps = judge(&standing, &lineage, &mut rebuilt.missing);
    if !do_it {
        rebuilt.apps = apps.iter().map(|record| super::look::title(&record.app.key())).collect();
        told_of_others(&standing, &mut rebuilt);
        return Ok(rebuilt);
    }
    let founding = Founding {
        resource_version: marked.max(standing.latest(&lineage)) + LOST_HISTORY,
        observe_only: format!(
            "It was rebuilt from {} instances and may lack what people declared since",
            apps.len()
        ),
        uids: standing.uids(&lineage),
        lineage,
    };
    let making = dir.join(IN_THE_MAKING);
    make(config, &making, clock.clone(), &founding, &apps, &mut rebuilt).await?;
    rebuilt.aside = put_in_place(dir, &making, &*clock)?;
    told_of_others(&standing, &mut rebuilt);
    Ok(rebuilt)
}

/// The lineage of what was lost: as the person says, as the mark beside the store says, or the only one that the
/// records and labels tell.
fn choose_lineage(
    said: Option<&str>,
    mark: Option<&(String, u64)>,
    standing: &Standing,
) -> anyhow::Result<String> {
    if let Some(lineage) = said.or(mark.map(|(lineage, _)| lineage.as_str())) {
        return Ok(lineage.to_owned());
    }
    let told = standing.lineages();
    let mut lineages = told.keys();
    match (lineages.next(), lineages.next()) {
        (Some(lineage), None) => Ok(lineage.clone()),
        (None, _) => bail!(
            "nothing here tells of a home: there is nothing to rebuild from; start anew with `hearth serve`"
        ),
        _ => {
            let told: Vec<String> = told.iter().map(|(of, count)| format!("{of} ({count} things)")).collect();
            bail!(
                "things of several homes stand here; say with --lineage which one is yours: {}",
                told.join(", ")
            )
        }
    }
}

/// Which instances are brought back; what speaks against the others is told.
fn judge<'a>(
    standing: &'a Standing,
    lineage: &str,
    missing: &mut Vec<String>,
) -> Vec<&'a hearth_controllers::app::Record> {
    let mut apps = Vec::new();
    for instance in &standing.instances {
        match &instance.record {
            Some(Err(why)) => missing.push(format!("the app of instance {}: {why}", instance.name)),
            Some(Ok(record)) if record.is_retired => {}
            Some(Ok(record)) => match &record.lineage {
                Some(of) if of != lineage => missing.push(format!(
                    "App {}: it is of another home ({of}); take it over with `hearth recover adopt`",
                    instance.title()
                )),
                // One of an older program does not tell whether it was deleted: what stands for it does.
                None if !standing.has_things_of(&instance.name) => missing.push(format!(
                    "App {}: nothing stands for it, so it may have been deleted; bring it back with `hearth recover adopt {0}`",
                    instance.title()
                )),
                _ => apps.push(record),
            },
            None => {}
        }
    }
    apps
}

/// Makes the new store in a folder of its own; one that was left half made is begun anew.
async fn make(
    config: &Config,
    making: &Path,
    clock: Arc<dyn Clock>,
    founding: &Founding,
    apps: &[&hearth_controllers::app::Record],
    rebuilt: &mut Rebuilt,
) -> anyhow::Result<()> {
    if making.exists() {
        fs::remove_dir_all(making).with_context(|| format!("clearing {}", making.display()))?;
    }
    fs::create_dir_all(making).with_context(|| format!("making {}", making.display()))?;
    found(making, founding).await.context("founding the new store")?;
    let key = config.data_dir.join("store.key");
    if is_key(&key)? {
        fs::copy(&key, making.join("store.key")).context("copying the store's key")?;
    }
    let making = Config { data_dir: making.to_path_buf(), ..config.clone() };
    let store = crate::serve::open_store(&making, clock).await?;
    let options = WriteOptions { actor: "admin".into(), source: "rebuild".into(), dry_run: false };
    for record in apps {
        let title = super::look::title(&record.app.key());
        match restore(&store, record, &options).await {
            Ok(restored) => {
                rebuilt.apps.push(title);
                rebuilt.objects += restored.objects;
                rebuilt.missing.extend(restored.problems);
                store.remember(restored.missing).await.context("writing the new store")?;
            }
            Err(why) => {
                rebuilt.missing.push(format!("App {title}: {why}"));
                let uids = std::iter::once(&record.app).chain(&record.parts);
                let uids = uids.map(|object| (object.key(), object.uid().to_owned())).collect();
                store.remember(uids).await.context("writing the new store")?;
            }
        }
    }
    // One file that is whole by itself: what is moved later must not hang on a journal beside it.
    let whole = making.data_dir.join(WHOLE);
    store.copy_to(&whole).await.context("writing the new store")?;
    store.close().await;
    fs::File::open(&whole).and_then(|file| file.sync_all()).context("writing out the new store")
}

/// A key that is no key is as good as none; it is moved aside with the rest.
fn is_key(path: &Path) -> anyhow::Result<bool> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes.len() == hearth_engine::store::KEY_BYTES),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("reading the key {}", path.display())),
    }
}

/// Moves what stood aside and the new store in its place. The key goes last: with it, a store that is missing is
/// known to be lost.
fn put_in_place(dir: &Path, making: &Path, clock: &dyn Clock) -> anyhow::Result<Option<PathBuf>> {
    let moment = clock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let aside = dir.join(format!("lost-{moment}"));
    let stood: Vec<&str> = FILES.into_iter().filter(|file| dir.join(file).exists()).collect();
    let has_key = dir.join("store.key").exists();
    if !stood.is_empty() || has_key {
        fs::create_dir_all(&aside).with_context(|| format!("making {}", aside.display()))?;
    }
    if has_key {
        fs::copy(dir.join("store.key"), aside.join("store.key")).context("copying the key aside")?;
    }
    let step = |from: PathBuf, to: PathBuf| {
        fs::rename(&from, &to).with_context(|| format!("moving {} to {}", from.display(), to.display()))
    };
    for file in &stood {
        step(dir.join(file), aside.join(file))?;
    }
    sync(&aside, dir)?;
    step(making.join("store.key"), dir.join("store.key"))?;
    step(making.join(WHOLE), dir.join("store.db"))?;
    sync(dir, dir)?;
    fs::remove_dir_all(making).with_context(|| format!("clearing {}", making.display()))?;
    Ok((!stood.is_empty() || has_key).then_some(aside))
}

/// Makes what happened to the names in two folders last through a power cut.
fn sync(one: &Path, other: &Path) -> anyhow::Result<()> {
    for folder in [one, other].into_iter().filter(|folder| folder.exists()) {
        fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("writing out {}", folder.display()))?;
    }
    Ok(())
}

/// What stands and has no object in the new store: people declared it themselves, or it is another home's.
fn told_of_others(standing: &Standing, rebuilt: &mut Rebuilt) {
    let apps: Vec<&str> = standing.instances.iter().map(|instance| instance.name.as_str()).collect();
    let own = |thing: &&super::look::Thing| {
        let is_system = thing.key.as_ref().is_some_and(|key| key.namespace == hearth_kinds::SYSTEM);
        !is_system && !apps.contains(&thing.owner_uid.as_str())
    };
    for thing in standing.of(&rebuilt.lineage).filter(own) {
        let what = thing.key.as_ref().map_or_else(|| thing.name.clone(), ToString::to_string);
        rebuilt
            .missing
            .push(format!("{what}: it has no record; it stays as it is until you declare it again"));
    }
    let foreign = standing.things.iter().filter(|thing| thing.lineage != rebuilt.lineage).count();
    if foreign > 0 {
        rebuilt.missing.push(format!("{foreign} things of other homes, which stay as they are"));
    }
    rebuilt
        .missing
        .push("Secrets, users' own objects and the history: they are in the old store and in backups".into());
}
