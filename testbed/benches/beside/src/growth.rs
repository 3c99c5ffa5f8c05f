//! A home that grows: what a start, memory, a full look, a list and a write cost with 100 objects and with 100,000.
//!
//! Each size is made in a folder of its own and then looked at by a fresh process of this program, so that the memory
//! of one is not that of the one before.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use hearth_engine::store::Beneath;
use hearth_engine::{Engine, Key, Query, Store, WriteOptions};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::lamp::{KIND, Lamps, Looking, furnished, make_all, make_namespace, open};
use crate::options::Options;
use crate::sample::Sample;

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// So many objects are in one namespace, however many there are.
const IN_NAMESPACE: usize = 50;

/// What a home of one size costs.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grown {
    objects: usize,
    file_mib: f64,
    /// From the question until the store is open, all of it checked and in memory.
    open_ms: f64,
    /// What the process holds once it is open, less what it held before, and the most it held on the way.
    memory_mib: f64,
    most_memory_mib: f64,
    /// From the start of the engine until everything was looked at and nothing is due.
    first_look_ms: f64,
    /// The same again, with the engine running.
    look_ms: f64,
    list_us: f64,
    write_us: f64,
}

pub(crate) fn grow(options: &Options) -> anyhow::Result<Vec<Grown>> {
    let mut all = Vec::new();
    for objects in SIZES.into_iter().filter(|size| *size <= options.objects) {
        let folder = options.folder()?;
        tokio::runtime::Runtime::new()?.block_on(make(folder.path(), objects))?;
        let mut rounds = Vec::new();
        for _ in 0..options.rounds {
            rounds.push(measured_apart(folder.path(), objects)?);
        }
        // The quickest round, by its start: the others met more of the machine's other work.
        rounds.sort_by(|one, other| one.open_ms.total_cmp(&other.open_ms));
        all.extend(rounds.into_iter().next());
    }
    Ok(all)
}

/// Makes a home whose objects have statuses.
async fn make(folder: &Path, objects: usize) -> anyhow::Result<()> {
    let store = open(folder, Beneath::default()).await?;
    for namespace in 0..objects.div_ceil(IN_NAMESPACE) {
        make_namespace(&store, &format!("den-{namespace}")).await?;
    }
    let lamps = (0..objects)
        .map(|number| furnished(&format!("den-{}", number / IN_NAMESPACE), &format!("lamp-{number}")));
    make_all(&store, lamps.collect::<Result<_, _>>()?).await?;
    let (engine, stop) = started(&store);
    until_idle(&engine).await;
    stop.cancel();
    store.close().await;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "memory is a process's, so each size has one of its own")]
fn measured_apart(folder: &Path, objects: usize) -> anyhow::Result<Grown> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .arg("--measure")
        .arg(folder)
        .args(["--objects", &objects.to_string()])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    anyhow::ensure!(output.status.success(), "the measuring process ended with {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures the home in a folder and tells it as JSON.
pub(crate) fn measure(folder: &Path, objects: usize) -> anyhow::Result<()> {
    let grown = tokio::runtime::Runtime::new()?.block_on(measure_home(folder, objects))?;
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string(&grown)?)?)
}

async fn measure_home(folder: &Path, objects: usize) -> anyhow::Result<Grown> {
    let before = memory_mib("VmRSS")?;
    let began = Instant::now();
    let store = open(folder, Beneath::default()).await?;
    let open_ms = milliseconds(began.elapsed());
    let memory_mib_now = memory_mib("VmRSS")? - before;
    let most_memory_mib = memory_mib("VmHWM")? - before;
    let began = Instant::now();
    let (engine, stop) = started(&store);
    until_idle(&engine).await;
    let first_look_ms = milliseconds(began.elapsed());
    let began = Instant::now();
    engine.wake_all();
    until_idle(&engine).await;
    let look_ms = milliseconds(began.elapsed());
    stop.cancel();
    let query = Query::of(KIND).within("den-0");
    let lists = (0..200).map(|_| timed(|| store.list(&query).items.len()));
    let list_us = Sample::of(lists.collect()).percentile(50) * 1000.0;
    let write_us = Sample::of(writes(&store).await?).percentile(50) * 1000.0;
    store.close().await;
    let file_mib = std::fs::metadata(folder.join("store.db"))?.len() as f64 / 1024.0 / 1024.0;
    Ok(Grown {
        objects,
        file_mib,
        open_ms,
        memory_mib: memory_mib_now,
        most_memory_mib,
        first_look_ms,
        look_ms,
        list_us,
        write_us,
    })
}

/// An engine with one controller, running.
fn started(store: &Store) -> (Engine, CancellationToken) {
    let mut engine = Engine::new(store.clone(), 1);
    engine.add(Lamps::new(Looking::Nothing));
    let stop = CancellationToken::new();
    let (running, stopped) = (engine.clone(), stop.clone());
    tokio::spawn(async move { running.run(stopped).await });
    (engine, stop)
}

async fn until_idle(engine: &Engine) {
    while !engine.is_idle() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// How long each of some writes took, one after the other.
async fn writes(store: &Store) -> anyhow::Result<Vec<Duration>> {
    let key = Key::new(KIND, "den-0", "lamp-0");
    let mut took = Vec::new();
    for number in 0..200 {
        let began = Instant::now();
        let change = move |lamp: &hearth_engine::Object| {
            let mut lamp = lamp.clone();
            lamp.body.insert("spec".into(), json!({"color": format!("color {number}")}));
            Ok(lamp)
        };
        store.update(&key, &WriteOptions::default(), change).await?;
        took.push(began.elapsed());
    }
    Ok(took)
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    std::hint::black_box(work());
    began.elapsed()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// One of the figures that Linux gives of this process.
fn memory_mib(which: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(which)).context("no such figure")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
    Ok(kib / 1024.0)
}

/// Prints what each size costs, and how much of it each object costs.
pub(crate) fn print(all: &[Grown]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n| objects | file | start | memory | most memory | first look | look | list of 50 | one write |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for grown in all {
        let each = |value: f64| value / grown.objects as f64;
        writeln!(
            out,
            "| {} | {:.1} MiB | {:.0} ms, {:.0} us each | {:.1} MiB, {:.1} KiB each | {:.1} MiB | {:.0} ms | {:.0} ms, {:.0} us each | {:.1} us | {:.0} us |",
            grown.objects,
            grown.file_mib,
            grown.open_ms,
            each(grown.open_ms) * 1000.0,
            grown.memory_mib,
            each(grown.memory_mib) * 1024.0,
            grown.most_memory_mib,
            grown.first_look_ms,
            grown.look_ms,
            each(grown.look_ms) * 1000.0,
            grown.list_us,
            grown.write_us,
        )?;
    }
    Ok(())
}
