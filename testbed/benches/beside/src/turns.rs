//! Turns a second over 10,000 keys where nothing is to do, and who gets none where more is asked for than can be done:
//! Hearth's engine beside kube-runtime's `applier`, in this process, both with four keys at once.
//!
//! A turn of ours does more than a reconcile there: it reads the object from the store, looks for an
//! intent, compares, classifies, and compares the status it would write with the one that stands. So two things are
//! measured besides: our queue alone, and the applier with a reconcile that does as much of that as it can.

use std::collections::HashMap;
use std::sync::Arc;

use hearth_engine::store::Beneath;
use hearth_engine::{Object, Query, Store};
use tokio::sync::mpsc;

use crate::lamp::{KIND, Lamp, furnished, lamp, make_all, make_namespace, open};
use crate::options::Options;
use crate::table::Row;

mod ours;
mod theirs;

/// How many keys are due all the time.
const KEYS: usize = 10_000;
/// How many ask for ten times what can be done.
const PRESSING: usize = 1_000;
/// How many turns are looked at then: five for each, where all are served alike.
const LOOKED_AT: usize = 5_000;
/// How many are worked on at once: what the engine gives a controller.
const WORKERS: u16 = 4;

const BESIDE: &str = "kube-runtime";

pub(crate) async fn compare(options: &Options) -> anyhow::Result<Vec<Row>> {
    let small = |number| lamp("den", &format!("lamp-{number}"), "red".into());
    let large = |number| furnished("den", &format!("lamp-{number}"));
    let mut rows = at_full_speed(options, "objects of one field", small).await?;
    rows.extend(at_full_speed(options, "objects of twenty settings", large).await?);
    rows.extend(under_pressure(options).await?);
    Ok(rows)
}

async fn at_full_speed(
    options: &Options,
    what: &str,
    make: impl Fn(usize) -> anyhow::Result<Object>,
) -> anyhow::Result<Vec<Row>> {
    let folder = options.folder()?;
    let store = open(folder.path(), Beneath::default()).await?;
    make_namespace(&store, "den").await?;
    make_all(&store, (0..KEYS).map(make).collect::<Result<_, _>>()?).await?;
    let mut rows = vec![
        Row::new(format!("turns over 10,000 {what}"), "1/s", BESIDE).goal("at least 1"),
        Row::new("the same, and the other does as much in one", "1/s", BESIDE),
        Row::new("our queue alone, with all of theirs", "1/s", BESIDE),
    ];
    for _ in 0..options.rounds {
        let turns = ours::turns(&store, KEYS, options.length()).await;
        // After the first turns, so that statuses stand on both sides.
        let lamps = typed(&store)?;
        let plain = theirs::turns(&lamps, false, options.length()).await;
        let alone = ours::queue_alone(KEYS, options.length()).await;
        let busy = theirs::turns(&lamps, true, options.length()).await;
        for (row, (here, there)) in rows.iter_mut().zip([(turns, plain), (turns, busy), (alone, plain)]) {
            row.ours.push(here);
            row.theirs.push(there);
        }
    }
    store.close().await;
    Ok(rows)
}

/// Where ten times as much is due as can be done.
async fn under_pressure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let row = |what: &str, unit| Row::new(format!("ten times too much: {what}"), unit, BESIDE);
    let mut rows = vec![
        row("keys of 1,000 that had no turn of 5,000", "keys").goal("0"),
        row("longest wait of a key", "turns"),
        row("most turns of a key to least", ""),
    ];
    let lamps = ours::pressing_lamps()?;
    for _ in 0..options.rounds {
        let here = Fairness::of(&ours::under_pressure(options).await?, PRESSING);
        let there = Fairness::of(&theirs::under_pressure(&lamps).await, PRESSING);
        let figures = |side: &Fairness| [side.starved, side.longest_wait, side.spread];
        for (row, (here, there)) in rows.iter_mut().zip(figures(&here).into_iter().zip(figures(&there))) {
            row.ours.push(here);
            row.theirs.push(there);
        }
    }
    Ok(rows)
}

/// Every lamp, as the applier keeps them.
fn typed(store: &Store) -> anyhow::Result<Vec<Arc<Lamp>>> {
    let lamps = store.list(&Query::of(KIND)).items;
    lamps.iter().map(|lamp| Ok(Arc::new(lamp.typed::<Lamp>().map_err(anyhow::Error::msg)?))).collect()
}

/// The names of [`LOOKED_AT`] turns, after the first ones.
async fn names_told(mut told: mpsc::UnboundedReceiver<String>, first: usize) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < first + LOOKED_AT
        && let Some(name) = told.recv().await
    {
        names.push(name);
    }
    names.split_off(first.min(names.len()))
}

/// Who had turns and who waited, told from the order of all turns.
struct Fairness {
    /// How many had none.
    starved: f64,
    /// The most turns of others between two of one key, or before its first or after its last.
    longest_wait: f64,
    /// How often the most frequent had a turn for each of the rarest; of those that had any.
    spread: f64,
}

impl Fairness {
    fn of(names: &[String], keys: usize) -> Self {
        let mut last: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut longest = 0;
        for (at, name) in names.iter().enumerate() {
            let (before, count) = last.get(name.as_str()).copied().unwrap_or((0, 0));
            longest = longest.max(at - before);
            last.insert(name, (at, count + 1));
        }
        longest = last.values().map(|(at, _)| names.len() - at).fold(longest, usize::max);
        let starved = keys - last.len();
        let counts = last.values().map(|(_, count)| *count);
        let (least, most) = (counts.clone().min().unwrap_or(1), counts.max().unwrap_or(1));
        Self {
            starved: starved as f64,
            longest_wait: if starved > 0 { names.len() } else { longest } as f64,
            spread: most as f64 / least as f64,
        }
    }
}
