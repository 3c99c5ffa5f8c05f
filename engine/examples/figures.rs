//! Two figures of the engine, side effects aside: durable writes a second, and turns a second over many keys.
//!
//!     cargo run --release --example figures -p hearth-engine

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Report, Seen, Step, StepError, Wanted,
};
use hearth_engine::{Clock, Engine, Key, Object, OpenOptions, Query, Store, SystemClock, WriteOptions};
use hearth_meta::{CommonStatus, HasCommon, KindInfo, Reason, Scope};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const WRITERS: usize = 64;
const MEASURED: Duration = Duration::from_secs(5);
const KEYS: usize = 10_000;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.dev", version = "v1", kind = "Lamp", plural = "lamps", namespaced)]
#[kube(status = "LampStatus", derive = "PartialEq")]
struct LampSpec {
    color: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct LampStatus {
    #[serde(flatten)]
    common: CommonStatus,
}

impl HasCommon for LampStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

struct Lamps;

#[derive(Clone, Debug, PartialEq)]
struct NoStep;

impl Step for NoStep {
    fn doing(&self) -> String {
        "Do nothing".into()
    }
    fn done(&self) -> (&'static str, String) {
        ("Done", "Did nothing".into())
    }
}

#[async_trait]
impl Controller for Lamps {
    type Kind = Lamp;
    type Facts = ();
    type Step = NoStep;
    const NAME: &'static str = "lamp";

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        Ok(Vec::new())
    }
    async fn observe(&self, _: &[Wanted<Lamp>]) -> Result<(), Blind> {
        Ok(())
    }
    fn diff(&self, _: &Wanted<Lamp>, (): &()) -> Seen {
        Seen::Ours(Vec::new())
    }
    fn plan(&self, _: &[Wanted<Lamp>], (): &()) -> Plan<NoStep> {
        Plan::nothing()
    }
    async fn act(&self, _: &NoStep, _: &[Wanted<Lamp>], _: &Act) -> Result<(), StepError> {
        Ok(())
    }
    fn status(
        &self,
        wanted: &Wanted<Lamp>,
        seen: Result<&(), &Blind>,
        outcome: &Outcome<NoStep>,
    ) -> Report<Lamp> {
        let common = outcome.common(wanted.gone, seen.copied(), Reason::InSync);
        Report { status: LampStatus { common }, conditions: Vec::new() }
    }
}

fn kind(kind: &'static str, scope: Scope) -> KindInfo {
    KindInfo { has_status: true, ..KindInfo::plain("test.dev", kind, (kind, kind), scope) }
}

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

async fn open(folder: &Path, clock: &SystemClock) -> Outcomes<Store> {
    let kinds = vec![kind("Namespace", Scope::Cluster), kind("Lamp", Scope::Namespaced)];
    let clock = Arc::new(*clock);
    Ok(Store::open(OpenOptions { data_dir: folder.to_owned(), kinds, clock }).await?)
}

fn lamp(name: String, color: String) -> Outcomes<Object> {
    Ok(Object::from_value(json!({
        "apiVersion": "test.dev/v1", "kind": "Lamp",
        "metadata": {"name": name, "namespace": "den"}, "spec": {"color": color}
    }))?)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Outcomes<()> {
    let mut out = std::io::stdout().lock();
    let folder = tempfile::TempDir::new()?;
    let clock = SystemClock::start();
    let store = open(folder.path(), &clock).await?;
    let namespace = json!({"apiVersion": "test.dev/v1", "kind": "Namespace", "metadata": {"name": "den"}});
    store.create(Object::from_value(namespace)?, &WriteOptions::default()).await?;
    for writers in [1, 8, WRITERS] {
        let (count, mut waits) = writes(&store, &clock, writers).await;
        waits.sort_unstable();
        let (half, most) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
        let rate = count as f64 / MEASURED.as_secs_f64();
        writeln!(out, "{writers} writers: {rate:.0} durable writes/s, p50 {half:?}, p99 {most:?}")?;
    }
    writeln!(out, "{WRITERS} writers: {:.0} durable status writes/s", statuses(&store, &clock).await)?;
    for n in 0..KEYS {
        let made = lamp(format!("k{n}"), "red".into())?;
        let store = store.clone();
        tokio::spawn(async move { store.create(made, &WriteOptions::default()).await });
    }
    while store.list(&Query::of("Lamp")).items.len() < KEYS {
        tokio::task::yield_now().await;
    }
    store.close().await;
    drop(store);
    let start = clock.elapsed();
    let store = open(folder.path(), &clock).await?;
    writeln!(out, "opened with {} objects in {:?}", store.all().len(), clock.elapsed() - start)?;
    writeln!(out, "{:.0} turns/s over {KEYS} keys, at rest", turns(store, &clock).await)?;
    Ok(())
}

/// Spec writes of objects of 2 KiB, one after the other by each writer.
async fn writes(store: &Store, clock: &SystemClock, writers: usize) -> (usize, Vec<Duration>) {
    let end = clock.elapsed() + MEASURED;
    let writer = |n: usize| {
        let (store, clock) = (store.clone(), *clock);
        tokio::spawn(async move {
            let mut waits = Vec::new();
            for round in 0.. {
                if clock.elapsed() >= end {
                    break;
                }
                let start = clock.elapsed();
                let Ok(made) = lamp(format!("w{n}"), format!("{round:02048}")) else { break };
                let key = made.key();
                let written = match store.get(&key) {
                    None => store.create(made, &WriteOptions::default()).await,
                    Some(_) => store.update(&key, &WriteOptions::default(), move |_| Ok(made)).await,
                };
                if written.is_ok() {
                    waits.push(clock.elapsed() - start);
                }
            }
            waits
        })
    };
    let waits: Vec<Duration> = futures::future::join_all((0..writers).map(writer))
        .await
        .into_iter()
        .filter_map(Result::ok)
        .flatten()
        .collect();
    (waits.len(), waits)
}

/// Statuses of 2 KiB, which enter no history.
async fn statuses(store: &Store, clock: &SystemClock) -> f64 {
    let end = clock.elapsed() + MEASURED;
    let writer = |n: usize| {
        let (store, clock) = (store.clone(), *clock);
        tokio::spawn(async move {
            let key = Key::new("Lamp", "den", format!("w{n}"));
            let uid = store.get(&key).map(|object| object.uid().to_owned()).unwrap_or_default();
            let mut count = 0;
            while clock.elapsed() < end {
                let status = json!({"text": format!("{count:02048}")});
                if store.update_status(&key, &uid, status).await.is_err() {
                    break;
                }
                count += 1;
            }
            count
        })
    };
    let counts = futures::future::join_all((0..WRITERS).map(writer)).await;
    f64::from(counts.into_iter().filter_map(Result::ok).sum::<i32>()) / MEASURED.as_secs_f64()
}

async fn turns(store: Store, clock: &SystemClock) -> f64 {
    let mut engine = Engine::new(store, 1);
    engine.add(Lamps);
    let stop = CancellationToken::new();
    let (running, stopped) = (engine.clone(), stop.clone());
    let task = tokio::spawn(async move { running.run(stopped).await });
    let count = || engine.diagnostics()[0].turns;
    while !engine.is_idle() {
        clock.sleep(Duration::from_millis(10)).await;
    }
    let (first, start) = (count(), clock.elapsed());
    while clock.elapsed() - start < MEASURED {
        engine.wake_all();
        while !engine.is_idle() {
            clock.sleep(Duration::from_millis(2)).await;
        }
    }
    let rate = (count() - first) as f64 / (clock.elapsed() - start).as_secs_f64();
    stop.cancel();
    // It has nothing under way.
    let _ = task.await;
    rate
}
