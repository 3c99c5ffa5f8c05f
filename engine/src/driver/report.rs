//! From a controller's word to the status people read: generation, dates, differences. Written only when it
//! says something new.

use futures::future::join;
use hearth_meta::condition::dated;
use hearth_meta::{DiffState, FieldDiff, HasCommon, Reason, Time};
use kube::Resource;
use kube::core::object::HasStatus;

use super::classify::Class;
use super::turn::Look;
use super::{Runner, drift, lock};
use crate::controller::{Blind, Controller, Outcome, Seen, Wanted};
use crate::object::Key;
use crate::store::WriteError;

impl<C: Controller> Runner<C> {
    /// Writes what people are told of an object and, where it is as wanted, that it was applied; whether that needs
    /// no other try. Both go down together: were we to die in between, it would be seen in sync once more.
    pub(super) async fn report(
        &self,
        wanted: &Wanted<C::Kind>,
        seen: Result<(&C::Facts, &Look), &Blind>,
        outcome: &Outcome<C::Step>,
    ) -> bool {
        let applied = async {
            if let Ok((_, look)) = seen
                && look.class == Class::InSync
                && !wanted.gone
                && !look.is_closed
            {
                self.close_intent(wanted, &look.target).await;
            }
        };
        join(applied, self.tell(wanted, seen, outcome)).await.1
    }

    async fn tell(
        &self,
        wanted: &Wanted<C::Kind>,
        seen: Result<(&C::Facts, &Look), &Blind>,
        outcome: &Outcome<C::Step>,
    ) -> bool {
        let outcome = &own_outcome::<C>(seen.map(|(_, look)| look), outcome);
        let mut report = self.controller.status(wanted, seen.map(|(facts, _)| facts), outcome);
        let mut status = report.status;
        let before = wanted.object.status().map(|status| status.common().clone()).unwrap_or_default();
        let now = Time(self.clock.now());
        let drift = match seen {
            Ok((_, look)) if look.class == Class::Drifted => {
                let repairs = lock(&self.fights).most(wanted.uid(), self.clock.elapsed());
                drift::standing(look, before.drift.as_ref(), repairs, &now)
            }
            Ok(_) => None,
            Err(_) => before.drift.clone(),
        };
        let look = seen.ok().map(|(_, look)| look);
        if let Some(look) = look {
            self.tell_drift(wanted, look, outcome, (&before, drift.as_ref())).await;
        }
        report.conditions.extend(drift::condition(drift.as_ref(), look, outcome, &before.conditions));
        let common = status.common_mut();
        common.drift = drift;
        common.observed_generation = wanted.object.meta().generation;
        common.conditions = dated(&report.conditions, &before.conditions, wanted.object.meta(), now.clone());
        common.next_try_at = match outcome {
            Outcome::Failed { next_try, .. } | Outcome::Blind { next_try } => Some(Time(*next_try)),
            _ => None,
        };
        if let (Outcome::Paused { .. }, Ok((_, Look { seen: Seen::Absent, .. }))) = (outcome, &seen)
            && wanted.object.meta().deletion_timestamp.is_none()
        {
            // A pause hides nothing.
            let known = common.message.take().unwrap_or_default();
            common.message = Some(format!("{known}; it is not there"));
        }
        common.differences = match seen {
            Ok((_, look)) => {
                differences(look, outcome, &before.differences, &now, common.next_try_at.as_ref())
            }
            // Nothing was seen, so what was known last stays.
            Err(_) => before.differences,
        };
        self.write_status(wanted, &status).await
    }

    async fn write_status(&self, wanted: &Wanted<C::Kind>, status: &<C::Kind as HasStatus>::Status) -> bool {
        if wanted.object.status() == Some(status) {
            return true;
        }
        let value = match serde_json::to_value(status) {
            Ok(value) => value,
            Err(error) => {
                tracing::error!(controller = C::NAME, error = %error, "a status cannot be written down");
                return true;
            }
        };
        // Before the status, so that what is only told once is not lost if we end in between; told twice, it is merged.
        for news in self.controller.news(wanted.object.status(), status) {
            self.note(wanted, news.kind, news.reason, news.message).await;
        }
        let key = Key::new(self.kind.kind, wanted.namespace(), wanted.name());
        match self.store.update_status(&key, wanted.uid(), value).await {
            // Gone meanwhile: nobody is left to be told.
            Ok(_) | Err(WriteError::NotFound(_)) => true,
            Err(error) => {
                tracing::warn!(controller = C::NAME, name = %key, error = %error, "a status could not be written");
                false
            }
        }
    }
}

/// What a turn's end means for one object: where a set is held back, those of it that are as wanted are not.
fn own_outcome<C: Controller>(look: Result<&Look, &Blind>, outcome: &Outcome<C::Step>) -> Outcome<C::Step> {
    let is_held = match outcome {
        Outcome::Reported | Outcome::Paused { .. } => true,
        Outcome::Waiting(wait) => wait.reason == Reason::Contested,
        _ => false,
    };
    let in_sync = look.is_ok_and(|look| look.class == Class::InSync);
    if C::IS_SET && is_held && in_sync { Outcome::Steady } else { outcome.clone() }
}

/// The differences with their state and since when they are known.
fn differences<S>(
    look: &Look,
    outcome: &Outcome<S>,
    before: &[FieldDiff],
    now: &Time,
    retry: Option<&Time>,
) -> Vec<FieldDiff> {
    let state = match (look.class, outcome) {
        (Class::Drifted, Outcome::Waiting(wait)) if wait.reason == Reason::Contested => DiffState::Drifted,
        (_, Outcome::Stuck(_) | Outcome::Waiting(_)) => DiffState::Blocked,
        (Class::Drifted, _) => DiffState::Drifted,
        (_, Outcome::Working { .. }) => DiffState::Applying,
        _ => DiffState::Pending,
    };
    look.differences()
        .iter()
        .map(|difference| {
            let same = |old: &&FieldDiff| {
                old.field == difference.field
                    && old.wanted == difference.wanted
                    && old.seen == difference.seen
            };
            let since =
                before.iter().find(same).and_then(|old| old.since.clone()).unwrap_or_else(|| now.clone());
            FieldDiff { state, since: Some(since), will_retry_at: retry.cloned(), ..difference.clone() }
        })
        .collect()
}
