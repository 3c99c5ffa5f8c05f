//! The other side: an etcd of its own beside this process, asked by its native client over the loopback.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp, WatchOptions};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Measured, Written, body};
use crate::lamp::lamp;
use crate::sample::processor_time;

/// So many connections at most, shared by the writers.
const CONNECTIONS: usize = 8;

const PREFIX: &str = "/lamps/den/";

pub(super) struct Etcd {
    process: Child,
    address: String,
}

impl Etcd {
    pub(super) async fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let (address, peers) = (free_address()?, free_address()?);
        #[expect(
            clippy::disallowed_methods,
            reason = "what Hearth is measured beside is a program of its own"
        )]
        let process = Command::new(program)
            .arg("--data-dir")
            .arg(folder)
            .args(["--listen-client-urls", &address, "--advertise-client-urls", &address])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            // Room for a long run; the default of 2 GB would end it.
            .args(["--quota-backend-bytes", "8589934592", "--log-level", "error", "--logger", "zap"])
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let etcd = Self { process, address };
        let end = Instant::now() + Duration::from_secs(20);
        while let Err(error) = etcd.connect().await {
            anyhow::ensure!(Instant::now() < end, "etcd does not answer: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(etcd)
    }

    /// Of the server and of its clients, which are in this process.
    fn processor_time(&self) -> anyhow::Result<Duration> {
        Ok(processor_time(None)? + processor_time(self.process.id())?)
    }

    async fn connect(&self) -> anyhow::Result<Client> {
        let mut client = Client::connect([&self.address], None).await?;
        client.get("ready", None).await?;
        Ok(client)
    }

    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// All writers at once, and one watcher.
    pub(super) async fn write(&self, writers: usize, length: Duration) -> anyhow::Result<Measured> {
        let mut clients = Vec::new();
        for _ in 0..writers.min(CONNECTIONS) {
            clients.push(self.connect().await?);
        }
        let (stop, stopped) = oneshot::channel();
        let watcher = watch(self.connect().await?, stopped).await?;
        let (began, before) = (Instant::now(), self.processor_time()?);
        let written = (0..writers).map(|writer| {
            tokio::spawn(write(clients[writer % clients.len()].clone(), writer, began + length))
        });
        let written = futures::future::try_join_all(written.collect::<Vec<_>>()).await?;
        let (took, processor) = (began.elapsed(), self.processor_time()?.saturating_sub(before));
        let written: Vec<Written> =
            written.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let newest = written.iter().map(|one| one.version).max().unwrap_or(0);
        // It has all once it has the newest.
        let _ = stop.send(newest);
        Ok(Measured { written, seen: watcher.await?, took, processor })
    }
}

fn free_address() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("http://{}", listener.local_addr()?))
}

async fn watch(
    mut client: Client,
    mut stopped: oneshot::Receiver<u64>,
) -> anyhow::Result<JoinHandle<HashMap<u64, Instant>>> {
    let mut stream = client.watch(PREFIX, Some(WatchOptions::new().with_prefix())).await?;
    // The first message says that it watches.
    stream.message().await?;
    Ok(tokio::spawn(async move {
        let (mut seen, mut newest) = (HashMap::new(), None);
        loop {
            if newest.is_some_and(|newest| seen.contains_key(&newest)) {
                return seen;
            }
            tokio::select! { biased;
                message = stream.message() => {
                    let Ok(Some(message)) = message else { return seen };
                    let now = Instant::now();
                    let versions = message.events().iter().filter_map(|event| Some(event.kv()?.mod_revision()));
                    seen.extend(versions.map(|version| (version.cast_unsigned(), now)));
                }
                stopped = &mut stopped, if newest.is_none() => newest = Some(stopped.unwrap_or(0)),
            }
        }
    }))
}

async fn write(mut client: Client, writer: usize, end: Instant) -> anyhow::Result<Vec<Written>> {
    let name = format!("writer-{writer}");
    let key = format!("{PREFIX}{name}");
    let found = client.get(key.clone(), None).await?;
    let mut version = found.kvs().first().map_or(0, etcd_client::KeyValue::mod_revision);
    let mut written = Vec::new();
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        let asked = Instant::now();
        let object = serde_json::to_vec(&lamp("den", &name, body(round))?)?;
        let change = Txn::new()
            .when([Compare::mod_revision(key.clone(), CompareOp::Equal, version)])
            .and_then([TxnOp::put(key.clone(), object, None)]);
        let answer = client.txn(change).await?;
        anyhow::ensure!(answer.succeeded(), "somebody else has changed {name}");
        version = answer.header().context("an answer without a version")?.revision();
        written.push(Written { version: version.cast_unsigned(), asked, answered: Instant::now() });
    }
    Ok(written)
}
