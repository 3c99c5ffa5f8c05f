//! The cheap look once a minute: everything of ours that exists, what changed since the last look, and orphans.
//!
//! An orphan is ours, of our lineage, without an object, and seen so twice. What becomes of it `orphans` decides: too
//! much at once, and nothing is removed until a person has answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hearth_meta::Reason;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::orphans::Question;
use super::turn::LOOK_LIMIT;
use super::{Runner, lock};
use crate::controller::{Blind, Controller, Found, StepError};
use crate::object::Key;
use crate::panics::caught;
use crate::store::{EventKind, EventNote, Past};

/// DESIGN section 4.
const EVERY: Duration = Duration::from_secs(60);

/// How soon a first look that could not tell is taken again: everything waits for it.
const FIRST_AGAIN: Duration = Duration::from_secs(5);

/// What the last survey found.
#[derive(Default)]
pub(super) struct Memory {
    /// By uid: the name and the mark of each thing made for it.
    marks: BTreeMap<String, BTreeSet<(String, String)>>,
    orphans: BTreeSet<(String, String)>,
    /// What is asked about them.
    pub(super) question: Question,
    /// What the history knows of those they were made for, by uid; `None` where it knows nothing.
    pub(super) pasts: BTreeMap<String, Option<Past>>,
    under_way: bool,
    /// Orphans that are being removed.
    collecting: BTreeSet<(String, String)>,
    /// Whether the last survey could see: what went before is not known to one that can again.
    can_see: bool,
    /// Whether a survey ever found anything; some kinds have nothing to be found.
    has_found: bool,
}

impl Memory {
    pub(super) fn orphans(&self) -> usize {
        self.orphans.len()
    }

    pub(super) fn breaker(&self) -> Option<String> {
        self.question.why()
    }

    /// A turn has seen what was made for this object: the next survey must find it, or its key is woken.
    pub(super) fn expect(&mut self, uid: &str) {
        if self.has_found && !self.marks.contains_key(uid) {
            self.marks.insert(uid.to_owned(), BTreeSet::new());
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way || !self.collecting.is_empty()
    }
}

impl<C: Controller> Runner<C> {
    pub(super) async fn survey_on_time(self: Arc<Self>, stop: CancellationToken) {
        // Given up where they stand when this ends; the next start finds what is left.
        let mut collects = JoinSet::new();
        loop {
            lock(&self.survey).under_way = true;
            let looked = caught(self.survey_once()).await;
            let orphans = looked.unwrap_or_else(|words| {
                tracing::error!(controller = C::NAME, words, "a survey panicked");
                self.counters.blind(&words);
                lock(&self.survey).can_see = false;
                Vec::new()
            });
            for orphan in orphans {
                if lock(&self.survey).collecting.insert(name_of(&orphan)) {
                    collects.spawn(self.clone().collect(orphan));
                }
            }
            lock(&self.survey).under_way = false;
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = self.clock.sleep(self.survey_again_after()) => {}
                // An answer is acted on at once.
                () = self.look_for_orphans.notified() => {}
            }
            // Only the ended ones, so that they do not pile up.
            while collects.try_join_next().is_some() {}
        }
    }

    fn survey_again_after(&self) -> Duration {
        if self.first_look.missing().contains(&C::NAME) { FIRST_AGAIN } else { EVERY }
    }

    /// Looks once; returns the orphans that may go.
    async fn survey_once(&self) -> Vec<Found> {
        let found = self.within(LOOK_LIMIT, self.controller.survey()).await.unwrap_or_else(|| {
            Err(Blind(format!("Its backend did not answer within {} s", LOOK_LIMIT.as_secs())))
        });
        match found {
            Ok(found) => {
                if let Err(error) = self.compare_versions(&found).await {
                    tracing::error!(controller = C::NAME, error = %error, "it could not be written that the store is an older copy");
                    return Vec::new();
                }
                if !std::mem::replace(&mut lock(&self.survey).can_see, true) {
                    self.add_all();
                }
                let (alone, of) = self.compare(&found);
                self.look_up_pasts(&alone).await;
                let orphans = self.sort_out(alone, of);
                // Told once for each set; from then on the question shows it.
                let asked = lock(&self.survey).question.news();
                if let Some(why) = asked {
                    self.tell_breaker(&why).await;
                }
                orphans
            }
            // Could not tell: nothing is absent because of it, and nothing an orphan.
            Err(blind) => {
                if std::mem::replace(&mut lock(&self.survey).can_see, false) {
                    // What was seen last may no longer be so, and nobody may be told of it: each key looks itself.
                    self.add_all();
                }
                self.counters.blind(&blind.0);
                Vec::new()
            }
        }
    }

    async fn collect(self: Arc<Self>, orphan: Found) {
        let _place = self.pool.place().await;
        // It may have waited long for its place.
        let may_go = self.is_alone(&orphan.uid) && self.store.observe_only().is_none();
        let collected = if may_go {
            Some(self.collect_within(self.controller.collect_limit(), &orphan).await)
        } else {
            None
        };
        match collected {
            Some(Ok(())) => self.tell_collected(&orphan).await,
            Some(Err(error)) => {
                let (name, error) = (&orphan.name, error.message);
                tracing::warn!(controller = C::NAME, name, error, "an orphan could not be removed");
            }
            None => {}
        }
        lock(&self.survey).collecting.remove(&name_of(&orphan));
    }

    async fn collect_within(&self, limit: Duration, orphan: &Found) -> Result<(), StepError> {
        let collected = self.within(limit, caught(self.controller.collect(orphan))).await;
        match collected {
            Some(Ok(collected)) => collected,
            Some(Err(words)) => Err(StepError::new(Reason::StepFailed, format!("it panicked: {words}"))),
            None => {
                let message = format!("it did not end within {} s", limit.as_secs());
                Err(StepError::new(Reason::Stalled, message))
            }
        }
    }

    /// Whether nothing in the store stands for it, nor is remembered to come back.
    fn is_alone(&self, uid: &str) -> bool {
        self.store.by_uid(uid).is_none() && !self.store.is_remembered(uid)
    }

    async fn tell_breaker(&self, why: &str) {
        let note = EventNote {
            about: self.whole().reference(),
            uid: String::new(),
            kind: EventKind::Warning,
            reason: "OrphansKept".to_owned(),
            message: format!("Nothing is removed until somebody answers `hearth recover status`: {why}"),
            reporter: format!("controller/{}", C::NAME),
        };
        self.store.note(note).await;
    }

    async fn tell_collected(&self, orphan: &Found) {
        let note = EventNote {
            about: Key::new(self.kind.kind, "", orphan.name.clone()).reference(),
            uid: orphan.uid.clone(),
            kind: EventKind::Normal,
            reason: "OrphanRemoved".to_owned(),
            message: format!("Removed {}, which had no object any more", orphan.name),
            reporter: format!("controller/{}", C::NAME),
        };
        self.store.note(note).await;
    }

    /// Wakes what changed since the last look; returns what has had no object for two looks, and how much of ours
    /// there is.
    fn compare(&self, found: &[Found]) -> (Vec<Found>, usize) {
        let mut memory = lock(&self.survey);
        let mut marks: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for found in found {
            marks.entry(found.uid.clone()).or_default().insert((found.name.clone(), found.mark.clone()));
        }
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
        let ours: Vec<&Found> = found.iter().filter(|found| found.lineage == self.store.lineage()).collect();
        let alone: Vec<&Found> = ours.iter().copied().filter(|found| self.is_alone(&found.uid)).collect();
        let twice: Vec<Found> = alone
            .iter()
            .filter(|found| memory.orphans.contains(&(found.uid.clone(), found.name.clone())))
            .map(|found| Found::clone(found))
            .collect();
        memory.orphans = alone.iter().map(|found| (found.uid.clone(), found.name.clone())).collect();
        memory.has_found |= !marks.is_empty();
        memory.marks = marks;
        memory.pasts.retain(|uid, _| twice.iter().any(|found| found.uid == *uid));
        (twice, ours.len())
    }
}

/// What an orphan is known by.
pub(super) fn name_of(found: &Found) -> (String, String) {
    (found.uid.clone(), found.name.clone())
}
