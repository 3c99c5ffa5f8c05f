//! The cheap look once a minute: everything of ours that exists, what changed since the last look, and orphans.
//!
//! An orphan is ours, of our lineage, without an object, and seen so twice. A breaker counts what would be removed
//! without anybody having asked: too much at once, and nothing is removed until a person has looked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Runner, lock};
use crate::controller::{Controller, Found};

/// DESIGN section 4.
const EVERY: Duration = Duration::from_secs(60);

/// Fewer orphans than this never trip the breaker.
const BREAKER_LEAST: usize = 3;
/// More orphans than this always do.
const BREAKER_MOST: usize = 10;
/// So do more than this share of everything found, in percent.
const BREAKER_PERCENT: usize = 30;

/// What the last survey found.
#[derive(Default)]
pub(super) struct Memory {
    marks: BTreeMap<String, String>,
    orphans: BTreeSet<(String, String)>,
    breaker: Option<String>,
}

impl Memory {
    pub(super) fn orphans(&self) -> usize {
        self.orphans.len()
    }

    pub(super) fn breaker(&self) -> Option<String> {
        self.breaker.clone()
    }
}

impl<C: Controller> Runner<C> {
    pub(super) async fn survey_on_time(self: Arc<Self>, stop: CancellationToken) {
        loop {
            self.survey_once().await;
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = self.clock.sleep(EVERY) => {}
            }
        }
    }

    async fn survey_once(&self) {
        let found = match self.controller.survey().await {
            Ok(found) => found,
            Err(blind) => {
                // Could not tell: nothing is absent because of it, and nothing an orphan.
                self.counters.blind(&blind.0);
                return;
            }
        };
        let orphans = self.compare(&found);
        for orphan in orphans {
            tracing::info!(controller = C::NAME, name = orphan.name, "removing an orphan");
            if let Err(error) = self.controller.collect(&orphan).await {
                tracing::warn!(
                    controller = C::NAME,
                    name = orphan.name,
                    error = error.message,
                    "an orphan could not be removed"
                );
            }
        }
    }

    /// Wakes what changed since the last look; returns the orphans that may go.
    fn compare(&self, found: &[Found]) -> Vec<Found> {
        let mut memory = lock(&self.survey);
        let marks: BTreeMap<String, String> =
            found.iter().map(|found| (found.uid.clone(), found.mark.clone())).collect();
        let changed =
            marks.iter().filter(|(uid, mark)| memory.marks.get(*uid) != Some(mark)).map(|(uid, _)| uid);
        let missing = memory.marks.keys().filter(|uid| !marks.contains_key(*uid));
        for object in changed
            .chain(missing)
            .filter_map(|uid| self.store.by_uid(uid))
            .filter(|o| o.kind == self.kind.kind)
        {
            self.queue.add(self.key_of(&object));
        }
        let alone: Vec<&Found> = found
            .iter()
            .filter(|found| found.lineage == self.store.lineage() && self.store.by_uid(&found.uid).is_none())
            .collect();
        let twice: Vec<Found> = alone
            .iter()
            .filter(|found| memory.orphans.contains(&(found.uid.clone(), found.name.clone())))
            .map(|found| Found::clone(found))
            .collect();
        memory.orphans = alone.iter().map(|found| (found.uid.clone(), found.name.clone())).collect();
        memory.marks = marks;
        memory.breaker = tripped(twice.len(), found.len());
        if let Some(why) = &memory.breaker {
            tracing::error!(controller = C::NAME, why, "orphans are kept until a person has looked");
            return Vec::new();
        }
        twice
    }
}

fn tripped(orphans: usize, found: usize) -> Option<String> {
    let too_many =
        orphans >= BREAKER_LEAST && (orphans > BREAKER_MOST || orphans * 100 > found * BREAKER_PERCENT);
    too_many.then(|| format!("{orphans} of {found} have no object in the store"))
}

#[cfg(test)]
mod tests {
    use super::tripped;

    #[test]
    fn the_breaker_trips_on_many_or_on_a_large_share() {
        assert!(tripped(2, 2).is_none());
        assert!(tripped(3, 100).is_none());
        assert!(tripped(3, 9).is_some());
        assert!(tripped(11, 1000).is_some());
    }
}
