//! Durable writes by one, eight and 64 writers, and how soon a watcher has them: Hearth's store beside etcd.
//!
//! Both sides keep the same objects of 2 KiB on the same disk. Each writer has an object of its own and changes it
//! under the condition that nobody else did, one change after the other; one watcher sees everything. Both sides
//! answer only once the change is on the disk: Hearth's store commits with SQLite's `synchronous=FULL`, one sync of
//! the write-ahead log for each group of writes; etcd syncs its own log for each group of proposals.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::options::Options;
use crate::sample::Sample;
use crate::table::Row;

mod etcd;
mod ours;

use etcd::Etcd;
use ours::{Change, Ours};

/// Of one object as it is written.
const BYTES: usize = 2048;

/// Fills it up.
static FILLING: LazyLock<String> = LazyLock::new(|| "x".repeat(BYTES));

/// One write, as its writer knows it.
struct Written {
    version: u64,
    asked: Instant,
    answered: Instant,
}

/// What one side did in one round.
struct Measured {
    written: Vec<Written>,
    /// When the watcher had each version.
    seen: HashMap<u64, Instant>,
    took: Duration,
    /// Of the processors, by all that took part.
    processor: Duration,
}

impl Measured {
    /// What one write cost the processors, in microseconds.
    fn processor_each(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.written.len() as f64
    }

    fn rate(&self) -> f64 {
        self.written.len() as f64 / self.took.as_secs_f64()
    }

    /// From the question to the answer.
    fn waits(&self) -> Sample {
        Sample::of(self.written.iter().map(|one| one.answered - one.asked).collect())
    }

    /// From the question until the watcher has it.
    fn watched(&self) -> Sample {
        let seen = self.written.iter().filter_map(|one| Some(*self.seen.get(&one.version)? - one.asked));
        Sample::of(seen.collect())
    }
}

/// What is written in a round; cheap to make, since it is made while the clock runs.
fn body(round: u64) -> String {
    let mut body = format!("{round:020}");
    body.push_str(&FILLING[..BYTES - body.len()]);
    body
}

pub(crate) async fn compare(options: &Options) -> anyhow::Result<Vec<Row>> {
    let folder = options.folder()?;
    let ours = Ours::open(&folder.path().join("hearth"), false).await?;
    let etcd = Etcd::start(&options.etcd, &folder.path().join("etcd")).await?;
    let mut rows = Vec::new();
    for &writers in &options.writers {
        let mut tables = table_of(writers);
        for round in 0..options.rounds {
            // In turns, and each first as often as last.
            let (here, there);
            if round % 2 == 0 {
                here = ours.write(writers, Change::Wish, options.length()).await?;
                there = etcd.write(writers, options.length()).await?;
            } else {
                there = etcd.write(writers, options.length()).await?;
                here = ours.write(writers, Change::Wish, options.length()).await?;
            }
            note(&mut tables, &here, &there);
            // What is seen is written without a line in the audit log, as everything in etcd is.
            let seen = ours.write(writers, Change::Seen, options.length()).await?;
            tables[5].ours.push(seen.rate());
            tables[5].theirs.push(there.rate());
        }
        rows.extend(tables);
    }
    etcd.stop().await?;
    ours.close().await;
    rows.extend(watch(options, &folder.path().join("watched")).await?);
    Ok(rows)
}

fn table_of(writers: usize) -> Vec<Row> {
    let who = if writers == 1 { "1 writer".to_owned() } else { format!("{writers} writers") };
    let row = |what: &str, unit| Row::new(format!("{who}: {what}"), unit, "etcd");
    let writes = row("changes of wishes", "1/s");
    vec![
        if writers == 64 { writes.goal("at least 2") } else { writes },
        row("answered, p50", "ms"),
        row("answered, p99", "ms"),
        row("asked until watched, p50", "ms"),
        row("asked until watched, p99", "ms"),
        row("changes of statuses", "1/s"),
        row("processor time a change of a wish", "us"),
    ]
}

fn note(rows: &mut [Row], here: &Measured, there: &Measured) {
    let figures = |side: &Measured| {
        let (waits, watched) = (side.waits(), side.watched());
        [
            side.rate(),
            waits.percentile(50),
            waits.percentile(99),
            watched.percentile(50),
            watched.percentile(99),
        ]
    };
    rows[6].ours.push(here.processor_each());
    rows[6].theirs.push(there.processor_each());
    for (row, (ours, theirs)) in rows.iter_mut().zip(figures(here).into_iter().zip(figures(there))) {
        row.ours.push(ours);
        row.theirs.push(theirs);
    }
}

/// From the moment a commit is on the disk until a watcher has it. Only our own store tells that moment, by a gate
/// beneath it, so there is nothing beside.
async fn watch(options: &Options, folder: &std::path::Path) -> anyhow::Result<Vec<Row>> {
    let ours = Ours::open(folder, true).await?;
    let mut rows = Vec::new();
    for &writers in &options.writers {
        let row = |what| Row::new(format!("commit to watcher, writers {writers}, {what}"), "ms", "");
        let (mut half, mut most) = (row("p50"), row("p99").goal("under 2 ms"));
        for _ in 0..options.rounds {
            let delays = ours.commit_to_watcher(writers, options.length()).await?;
            half.ours.push(delays.percentile(50));
            most.ours.push(delays.percentile(99));
        }
        rows.extend([half, most]);
    }
    ours.close().await;
    Ok(rows)
}
