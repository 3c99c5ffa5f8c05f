//! What many small measurements come to.

use std::time::Duration;

use anyhow::Context;

/// Durations, sorted.
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    pub(crate) fn of(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// The one below which `percent` of them lie, in milliseconds; zero of none.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).map_or(0.0, |one| one.as_secs_f64() * 1000.0)
    }
}

/// The middle one; zero of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The least and the most; zero of none.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    (least, values.iter().copied().reduce(f64::max).unwrap_or(0.0))
}

/// What a process, or this one, has had of the processors; what waits for others does not count, so a busy machine
/// changes it little.
pub(crate) fn processor_time(process: Option<u32>) -> anyhow::Result<Duration> {
    let process = process.map_or_else(|| "self".to_owned(), |process| process.to_string());
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // After the name, which may hold anything, in parentheses.
    let (_, fields) = stat.rsplit_once(") ").context("no name in it")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}
