//! Why a step may not be taken now: a person, a policy, a fight or a failure a moment ago stands against it.

use hearth_meta::labels::{PAUSED_UNTIL, POKED_AT};
use hearth_meta::{FieldDiff, Reason, Resource, Timestamp};
use kube::Resource as _;

use super::classify::Class;
use super::turn::Look;
use super::{Runner, drift, lock};
use crate::controller::{Controller, Outcome, Seen, Step, Stuck, Wait, Wanted};
use crate::object::Key;
use crate::pause;

impl<C: Controller> Runner<C> {
    /// Why the next step may not be taken, if it may not. A set is held only where each of its objects that
    /// differs is: it is written whole.
    pub(super) fn held_back(
        &self,
        key: &Key,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Option<Outcome<C::Step>> {
        if let Some(message) = self.store.observe_only() {
            return Some(Outcome::Stuck(Stuck { reason: Reason::ObserveOnly, message }));
        }
        if let Some(held) = self.before_first_look() {
            return Some(held);
        }
        let mut held = None;
        for (wanted, look) in wanted.iter().zip(looks) {
            if C::IS_SET && look.class == Class::InSync {
                continue;
            }
            let outcome = self.hold_on(wanted, look, step);
            if outcome.is_none() {
                held = None;
                break;
            }
            held = held.or(outcome);
        }
        held.or_else(|| {
            let (error, retry) = lock(&self.retries).too_early(key, step, self.clock.elapsed())?;
            Some(Outcome::Failed { step: step.clone(), error, attempts: retry.attempts, next_try: retry.at })
        })
    }

    /// Until when a person has paused one of its owners (to pause an app is to pause its parts), its namespace, or
    /// the whole home.
    fn paused_with_others(&self, wanted: &Wanted<C::Kind>) -> Option<Timestamp> {
        let owners = wanted.object.meta().owner_references.iter().flatten();
        let pauses =
            owners.filter_map(|owner| pause::of_object(&*self.store.by_uid(&owner.uid)?, wanted.now));
        pauses.max().max(pause::of_namespace(&self.store, wanted.namespace(), wanted.now))
    }

    fn hold_on(&self, wanted: &Wanted<C::Kind>, look: &Look, step: &C::Step) -> Option<Outcome<C::Step>> {
        if let Some(until) = paused_until(wanted).max(self.paused_with_others(wanted)) {
            return Some(Outcome::Paused { until });
        }
        match (look.class, &look.seen) {
            (Class::Unowned, Seen::Foreign(what)) => {
                Some(Outcome::Stuck(Stuck { reason: Reason::NotOurs, message: what.clone() }))
            }
            (Class::Interrupted, _) if look.needs_go => {
                let message = format!("Was interrupted; check before it is done again: {}", step.doing());
                Some(Outcome::Stuck(Stuck { reason: Reason::Interrupted, message }))
            }
            // What is gone is put back under every policy, and so is a person's answer (DECISIONS 12).
            (Class::Drifted, Seen::Ours(_)) if drift::is_put_back(wanted, look) => None,
            (Class::Drifted, Seen::Ours(differences)) if reports_drift(wanted) => {
                (!differences.iter().all(is_power)).then_some(Outcome::Reported)
            }
            (Class::Drifted, Seen::Ours(differences)) if !differences.iter().any(is_power) => {
                let (hold, fields) =
                    lock(&self.fights).hold(wanted.uid(), differences, self.clock.elapsed())?;
                let message = format!(
                    "Something else keeps changing {}; it is put back ever more slowly",
                    fields.join(", ")
                );
                let until = self.clock.now().saturating_add(hold).unwrap_or(Timestamp::MAX);
                Some(Outcome::Waiting(Wait::new(Reason::Contested, message).until(until)))
            }
            _ => None,
        }
    }
}

/// A pause of its own is shown also while there is nothing to do.
pub(super) fn paused<K: Resource, S>(wanted: &[Wanted<K>]) -> Option<Outcome<S>> {
    let [wanted] = wanted else { return None };
    let until = paused_until(wanted).filter(|_| !wanted.gone)?;
    Some(Outcome::Paused { until })
}

/// Until when a person has paused an object, if that is still to come.
fn paused_until<K: Resource>(wanted: &Wanted<K>) -> Option<Timestamp> {
    pause::until(annotation(wanted, PAUSED_UNTIL)?, wanted.now)
}

/// What tells a newer wish: the spec's generation, and a person's poke.
pub(super) fn wish<K: Resource>(wanted: &Wanted<K>) -> (i64, Option<String>) {
    let generation = wanted.object.meta().generation.unwrap_or(0);
    (generation, annotation(wanted, POKED_AT).map(str::to_owned))
}

/// Whether a person asked for another look since then; after an interruption that says go.
pub(super) fn was_poked_since<K: Resource>(wanted: &Wanted<K>, then: Timestamp) -> bool {
    annotation(wanted, POKED_AT)
        .and_then(|poked| poked.parse::<Timestamp>().ok())
        .is_some_and(|poked| poked > then)
}

pub(super) fn annotation<'a, K: Resource>(wanted: &'a Wanted<K>, name: &str) -> Option<&'a str> {
    wanted.object.meta().annotations.as_ref()?.get(name).map(String::as_str)
}

pub(super) fn reports_drift<K: Resource>(wanted: &Wanted<K>) -> bool {
    serde_json::to_value(wanted.object.spec()).is_ok_and(|spec| spec["driftPolicy"] == "Report")
}

/// Whether it runs is always repaired, however often (DESIGN section 4).
fn is_power(difference: &FieldDiff) -> bool {
    difference.field == "spec.power"
}
