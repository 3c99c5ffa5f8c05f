//! Our side: the store as the engine uses it, in this process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hearth_engine::store::{Beneath, Commit, Gate, Refusal};
use hearth_engine::{Key, Object, Query, Store, WriteError, WriteOptions};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Measured, Written, body};
use crate::lamp::{KIND, lamp, make_namespace, open};
use crate::sample::{Sample, processor_time};

/// What is changed of an object.
#[derive(Clone, Copy)]
pub(super) enum Change {
    /// What is wanted of it, which goes into the audit log too.
    Wish,
    /// What is seen of it.
    Seen,
}

pub(super) struct Ours {
    store: Store,
    /// When each version was on the disk, where that is asked for.
    commits: Option<Arc<Commits>>,
}

#[derive(Default)]
struct Commits(Mutex<HashMap<u64, Instant>>);

#[async_trait]
impl Gate for Commits {
    async fn enter(&self) -> Result<(), Refusal> {
        Ok(())
    }

    async fn committed(&self, commit: &Commit) {
        let now = Instant::now();
        let mut commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        commits.extend(commit.changes.iter().map(|change| (change.resource_version, now)));
    }

    fn leave(&self) {}
}

impl Ours {
    pub(super) async fn open(folder: &Path, with_commits: bool) -> anyhow::Result<Self> {
        let commits = with_commits.then(Arc::<Commits>::default);
        let gate = commits.clone().map(|commits| commits as Arc<dyn Gate>);
        let store = open(folder, Beneath { gate, bits: None }).await?;
        make_namespace(&store, "den").await?;
        for writer in 0..64 {
            store.create(lamp("den", &name(writer), body(0))?, &WriteOptions::default()).await?;
        }
        Ok(Self { store, commits })
    }

    pub(super) async fn close(&self) {
        self.store.close().await;
    }

    /// All writers at once, and one watcher.
    pub(super) async fn write(
        &self,
        writers: usize,
        change: Change,
        length: Duration,
    ) -> anyhow::Result<Measured> {
        let stop = CancellationToken::new();
        let watcher = self.watch(stop.clone())?;
        let (began, before) = (Instant::now(), processor_time(None)?);
        let written = (0..writers).map(|writer| {
            let store = self.store.clone();
            tokio::spawn(write(store, writer, change, began + length))
        });
        let written = futures::future::try_join_all(written.collect::<Vec<_>>()).await?;
        let (took, processor) = (began.elapsed(), processor_time(None)?.saturating_sub(before));
        let written = written.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        stop.cancel();
        Ok(Measured { written, seen: watcher.await?, took, processor })
    }

    /// How long each version took from the disk to the watcher.
    pub(super) async fn commit_to_watcher(&self, writers: usize, length: Duration) -> anyhow::Result<Sample> {
        let measured = self.write(writers, Change::Seen, length).await?;
        let commits = self
            .commits
            .as_ref()
            .map(|commits| std::mem::take(&mut *commits.0.lock().unwrap_or_else(PoisonError::into_inner)));
        let commits = commits.unwrap_or_default();
        let delays = measured.seen.iter().filter_map(|(version, seen)| Some(*seen - *commits.get(version)?));
        Ok(Sample::of(delays.collect()))
    }

    fn watch(&self, stop: CancellationToken) -> anyhow::Result<JoinHandle<HashMap<u64, Instant>>> {
        let mut watch = self.store.watch(Query::of(KIND), None)?;
        Ok(tokio::spawn(async move {
            let mut seen = HashMap::new();
            loop {
                tokio::select! { biased;
                    change = watch.next() => match change {
                        Some((_, object)) => seen.insert(object.resource_version(), Instant::now()),
                        None => return seen,
                    },
                    () = stop.cancelled() => return seen,
                };
            }
        }))
    }
}

fn name(writer: usize) -> String {
    format!("writer-{writer}")
}

async fn write(store: Store, writer: usize, change: Change, end: Instant) -> anyhow::Result<Vec<Written>> {
    let key = Key::new(KIND, "den", name(writer));
    let mut object = store.get(&key).ok_or_else(|| anyhow::anyhow!("{key} is not there"))?;
    let mut written = Vec::new();
    let mut round = object.resource_version();
    while Instant::now() < end {
        round += 1;
        let asked = Instant::now();
        object = match change {
            Change::Wish => wish(&store, &key, &object, body(round)).await?,
            Change::Seen => {
                let status = json!({"text": body(round)});
                store.update_status(&key, object.uid(), status).await?
            }
        };
        written.push(Written { version: object.resource_version(), asked, answered: Instant::now() });
    }
    Ok(written)
}

/// Changes what is wanted, if it still is what was read.
async fn wish(store: &Store, key: &Key, read: &Object, color: String) -> anyhow::Result<Arc<Object>> {
    let (mut new, version) = (lamp("den", &key.name, color)?, read.resource_version());
    let change = move |now: &Object| {
        if now.resource_version() != version {
            return Err(WriteError::Conflict("it has changed".into()));
        }
        new.metadata.uid.clone_from(&now.metadata.uid);
        Ok(new)
    };
    Ok(store.update(key, &WriteOptions::default(), change).await?)
}
