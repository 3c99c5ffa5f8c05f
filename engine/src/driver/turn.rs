//! One turn of one key: observe, plan, act, observe again, status.
//!
//! Only the first step of a plan is taken, then it is observed and planned anew: what a step was for is thereby
//! verified, and a world that changed meanwhile is seen. A step that is still the first after it was taken had no
//! effect, and counts as failed (AL-20).

use std::sync::Arc;
use std::time::Duration;

use hearth_meta::labels::{PAUSED_UNTIL, finalizer};
use hearth_meta::{FieldDiff, Reason, Timestamp};
use kube::Resource;

use super::classify::{Class, classify};
use super::jobs::Standing;
use super::{Runner, lock};
use crate::controller::{Act, Blind, Controller, Outcome, Plan, Seen, Step, StepError, Stuck, Wait, Wanted};
use crate::object::Key;
use crate::store::{EventKind, EventNote, Intent};

/// Steady objects are looked at again after this (NX-11).
const RESYNC: Duration = Duration::from_secs(600);

/// A turn that takes more steps than this leaves the rest to the next one, so that other keys get their turn.
const MOST_STEPS: usize = 64;

/// One object as a turn sees it.
pub(super) struct Look {
    pub(super) seen: Seen,
    pub(super) class: Class,
    pub(super) target: String,
}

impl Look {
    pub(super) fn differences(&self) -> &[FieldDiff] {
        if let Seen::Ours(differences) = &self.seen { differences } else { &[] }
    }
}

/// How a turn ended: what was last seen, and what came of it.
struct Ended<C: Controller> {
    seen: Result<(C::Facts, Vec<Look>), Blind>,
    outcome: Outcome<C::Step>,
    holds_slot: bool,
}

/// What to do about a plan.
enum Decision<S> {
    Take(S),
    End(Outcome<S>),
}

impl<C: Controller> Runner<C> {
    pub(super) async fn turn(&self, key: &Key) {
        self.counters.turn();
        let wanted = self.wanted(key);
        if wanted.is_empty() && !C::IS_SET {
            self.forget(key);
            return;
        }
        self.start_afresh_for_newer_wish(key, &wanted);
        let ended = self.converge(key, &wanted).await;
        self.settle_slot(key, ended.holds_slot);
        for (index, wanted) in wanted.iter().enumerate() {
            let seen = ended.seen.as_ref().map(|(facts, looks)| (facts, &looks[index]));
            self.report(wanted, seen, &ended.outcome).await;
        }
        if let Ok((_, looks)) = &ended.seen
            && matches!(ended.outcome, Outcome::Steady)
        {
            self.finish_deletions(&wanted, looks).await;
        }
        self.queue_next(key, &ended.outcome);
    }

    /// Observes, plans and acts until there is nothing more to do now.
    async fn converge(&self, key: &Key, wanted: &[Wanted<C::Kind>]) -> Ended<C> {
        let mut taken: Option<C::Step> = None;
        let mut steps = 0;
        loop {
            let (facts, looks) = match self.look(wanted).await {
                Ok(looked) => looked,
                Err(blind) => {
                    let (_, wait) = lock(&self.backoff).failed(key);
                    self.counters.blind(&blind.0);
                    let outcome = Outcome::Blind { next_try: later(self.clock.now(), wait) };
                    return Ended { seen: Err(blind), outcome, holds_slot: true };
                }
            };
            let plan = self.controller.plan(wanted, &facts);
            let holds_slot = plan.holds_slot;
            let outcome = match self.decide(key, wanted, &looks, plan) {
                Decision::End(outcome) => Some(outcome),
                Decision::Take(step) if taken.as_ref() == Some(&step) => {
                    let error =
                        StepError::new(Reason::EffectMissing, "it was done and its effect is not there");
                    Some(self.failed(key, step, error))
                }
                Decision::Take(_) if steps == MOST_STEPS => {
                    self.queue.add(key.clone());
                    Some(Outcome::Waiting(Wait::new(Reason::Applying, "More steps are to come")))
                }
                Decision::Take(step) => match self.take(wanted, &looks, &step).await {
                    Ok(()) => {
                        steps += 1;
                        taken = Some(step);
                        None
                    }
                    Err(error) => Some(self.failed(key, step, error)),
                },
            };
            if let Some(outcome) = outcome {
                return Ended { seen: Ok((facts, looks)), outcome, holds_slot };
            }
        }
    }

    async fn look(&self, wanted: &[Wanted<C::Kind>]) -> Result<(C::Facts, Vec<Look>), Blind> {
        let facts = self.controller.observe(wanted).await?;
        let mut looks = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let seen = self.controller.diff(wanted, &facts);
            let target = self.controller.target(wanted, &facts);
            let intent = self.store.intent(wanted.uid());
            let class = classify(&seen, wanted.gone, intent.as_ref(), &target, self.store.epoch());
            if class == Class::InSync && !wanted.gone {
                self.close_intent(wanted, intent, &target).await;
            }
            looks.push(Look { seen, class, target });
        }
        Ok((facts, looks))
    }

    /// Whether the first step of a plan is taken, and if not what that means.
    fn decide(
        &self,
        key: &Key,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        plan: Plan<C::Step>,
    ) -> Decision<C::Step> {
        let Plan { steps, wait, stuck, holds_slot } = plan;
        let standing = self.jobs.standing(key, steps.first().filter(|step| step.is_slow()));
        let Some(step) = steps.into_iter().next() else {
            return Decision::End(match (stuck, wait) {
                (Some(stuck), _) => Outcome::Stuck(stuck),
                (None, Some(wait)) => Outcome::Waiting(wait),
                (None, None) => {
                    lock(&self.backoff).reset(key);
                    Outcome::Steady
                }
            });
        };
        if let Some(outcome) = self.held_back(wanted, looks, &step) {
            return Decision::End(outcome);
        }
        if holds_slot && self.slots.as_ref().is_some_and(|slots| !lock(slots).take(key)) {
            let message = "Other installs are under way; it is next in line";
            return Decision::End(Outcome::Waiting(Wait::new(Reason::WaitingForInstallSlot, message)));
        }
        match standing {
            Standing::Running(progress) => Decision::End(Outcome::Working { step, progress }),
            Standing::Ended(Err(error)) => Decision::End(self.failed(key, step, error)),
            Standing::Ended(Ok(())) => {
                let error = StepError::new(Reason::EffectMissing, "it was done and its effect is not there");
                Decision::End(self.failed(key, step, error))
            }
            Standing::None if step.is_slow() => {
                self.start_job(key, wanted, &step);
                Decision::End(Outcome::Working { step, progress: None })
            }
            Standing::None => Decision::Take(step),
        }
    }

    /// Why a step may not be taken now, if it may not: a person, a policy or a fight stands against it.
    fn held_back(
        &self,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Option<Outcome<C::Step>> {
        let [wanted] = wanted else { return None };
        let look = looks.first()?;
        if let Some(until) = paused_until(wanted) {
            return Some(Outcome::Paused { until });
        }
        match (look.class, &look.seen) {
            (Class::Unowned, Seen::Foreign(what)) => {
                Some(Outcome::Stuck(Stuck { reason: Reason::NotOurs, message: what.clone() }))
            }
            (Class::Interrupted, _) if step.is_dangerous() => {
                let message = format!("Was interrupted; check before it is done again: {}", step.doing());
                Some(Outcome::Stuck(Stuck { reason: Reason::Interrupted, message }))
            }
            (Class::Drifted, _) if reports_drift(wanted) => Some(Outcome::Reported),
            (Class::Drifted, Seen::Ours(differences)) if !differences.iter().any(is_power) => {
                let (hold, fields) =
                    lock(&self.fights).hold(wanted.uid(), differences, self.clock.elapsed())?;
                let message = format!(
                    "Something else keeps changing {}; it is put back ever more slowly",
                    fields.join(", ")
                );
                let until = later(self.clock.now(), hold);
                Some(Outcome::Waiting(Wait::new(Reason::Contested, message).until(until)))
            }
            _ => None,
        }
    }

    /// Takes a step, with its intent on record before and an event after.
    async fn take(
        &self,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Result<(), StepError> {
        self.open_intents(wanted, looks, step).await?;
        let act = Act { store: self.store.clone(), cancel: Default::default(), progress: Arc::new(|_| {}) };
        self.controller.act(step, wanted, &act).await?;
        self.counters.step();
        self.tell_done(wanted, looks, step).await;
        Ok(())
    }

    async fn open_intents(
        &self,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Result<(), StepError> {
        for (wanted, look) in wanted.iter().zip(looks).filter(|(_, look)| look.class != Class::InSync) {
            let before = self.store.intent(wanted.uid());
            let same = before
                .as_ref()
                .is_some_and(|i| i.is_open() && i.epoch == self.store.epoch() && i.target == look.target);
            if same && !step.is_dangerous() {
                continue;
            }
            let intent = Intent {
                uid: wanted.uid().to_owned(),
                epoch: self.store.epoch(),
                target: look.target.clone(),
                step: step.doing(),
                dangerous: step.is_dangerous(),
                opened_at: self.clock.now(),
                closed_at: None,
                last_applied: before.and_then(|intent| intent.last_applied),
            };
            let put = self.store.put_intent(intent).await;
            put.map_err(|error| {
                StepError::new(Reason::StepFailed, format!("the intent could not be recorded: {error}"))
            })?;
        }
        Ok(())
    }

    /// The effect was verified: what was wanted is what was applied.
    async fn close_intent(&self, wanted: &Wanted<C::Kind>, intent: Option<Intent>, target: &str) {
        if intent.as_ref().is_some_and(|i| !i.is_open() && i.last_applied.as_deref() == Some(target)) {
            return;
        }
        let now = self.clock.now();
        let closed = Intent {
            uid: wanted.uid().to_owned(),
            epoch: self.store.epoch(),
            target: target.to_owned(),
            step: intent.as_ref().map(|i| i.step.clone()).unwrap_or_default(),
            dangerous: false,
            opened_at: intent.map_or(now, |i| i.opened_at),
            closed_at: Some(now),
            last_applied: Some(target.to_owned()),
        };
        if let Err(error) = self.store.put_intent(closed).await {
            // It stays open; the next turn finds it in sync and closes it then.
            tracing::warn!(controller = C::NAME, error = %error, "an intent could not be closed");
        }
    }

    /// Notes what was done, and on which difference where somebody else had made it.
    async fn tell_done(&self, wanted: &[Wanted<C::Kind>], looks: &[Look], step: &C::Step) {
        let (reason, message) = step.done();
        let concerned: Vec<_> =
            wanted.iter().zip(looks).filter(|(_, look)| look.class != Class::InSync).collect();
        for (wanted, look) in &concerned {
            if look.class == Class::Drifted {
                lock(&self.fights).repaired(wanted.uid(), look.differences(), self.clock.elapsed());
                let found = match &look.seen {
                    Seen::Ours(differences) => {
                        differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
                    }
                    _ => "it was gone".to_owned(),
                };
                self.note(
                    wanted,
                    EventKind::Warning,
                    "Drifted",
                    format!("Was changed from outside: {found}"),
                )
                .await;
            }
            self.note(wanted, EventKind::Normal, reason, message.clone()).await;
        }
        // A step for what a set shares concerns no object in particular; the first one tells of it.
        if concerned.is_empty()
            && let Some(first) = wanted.first()
        {
            self.note(first, EventKind::Normal, reason, message).await;
        }
    }

    pub(super) async fn note(
        &self,
        wanted: &Wanted<C::Kind>,
        kind: EventKind,
        reason: &str,
        message: String,
    ) {
        self.store
            .note(EventNote {
                about: Key::new(self.kind.kind, wanted.namespace(), wanted.name()).reference(),
                uid: wanted.uid().to_owned(),
                kind,
                reason: reason.to_owned(),
                message,
                reporter: format!("controller/{}", C::NAME),
            })
            .await;
    }

    fn failed(&self, key: &Key, step: C::Step, error: StepError) -> Outcome<C::Step> {
        let (attempts, wait) = lock(&self.backoff).failed(key);
        self.counters.failed(&error.message);
        tracing::warn!(controller = C::NAME, name = %key, step = step.doing(), attempts, error = error.message, "a step failed");
        Outcome::Failed { step, error, attempts, next_try: later(self.clock.now(), wait) }
    }

    fn start_job(&self, key: &Key, wanted: &[Wanted<C::Kind>], step: &C::Step) {
        let (controller, store, clock, queue) =
            (self.controller.clone(), self.store.clone(), self.clock.clone(), self.queue.clone());
        let (key, wanted, step) = (key.clone(), wanted.to_vec(), step.clone());
        let work = |shared: Arc<super::jobs::Shared>| {
            let (key, step) = (key.clone(), step.clone());
            let cancel = shared.cancel.clone();
            let progress = Arc::new(move |progress| {
                if shared.advance(progress, &*clock) {
                    queue.add(key.clone());
                }
            });
            async move { controller.act(&step, &wanted, &Act { store, cancel, progress }).await }
        };
        self.counters.step();
        self.jobs.start(key.clone(), step.clone(), work);
    }

    /// Drops the finalizer of what is gone and should be.
    async fn finish_deletions(&self, wanted: &[Wanted<C::Kind>], looks: &[Look]) {
        for (wanted, look) in wanted.iter().zip(looks) {
            if !wanted.gone || look.class != Class::InSync {
                continue;
            }
            lock(&self.fights).forget(wanted.uid());
            let key = Key::new(self.kind.kind, wanted.namespace(), wanted.name());
            if let Err(error) = self.store.drop_finalizer(&key, wanted.uid(), &finalizer(C::NAME)).await {
                tracing::warn!(controller = C::NAME, name = %key, error = %error, "a finalizer could not be dropped");
                self.queue.add_after(key, Duration::from_secs(1));
            }
        }
    }

    fn settle_slot(&self, key: &Key, holds_slot: bool) {
        let Some(slots) = &self.slots else { return };
        if !holds_slot && let Some(next) = lock(slots).release(key) {
            self.queue.add(next);
        }
    }

    /// A newer wish is carried out at once, however often the older one failed.
    fn start_afresh_for_newer_wish(&self, key: &Key, wanted: &[Wanted<C::Kind>]) {
        let now: Vec<i64> =
            wanted.iter().map(|wanted| wanted.object.meta().generation.unwrap_or(0)).collect();
        if lock(&self.generations).insert(key.clone(), now.clone()).is_some_and(|before| before != now) {
            lock(&self.backoff).reset(key);
        }
    }

    fn forget(&self, key: &Key) {
        self.jobs.standing(key, None);
        lock(&self.backoff).reset(key);
        lock(&self.generations).remove(key);
        self.settle_slot(key, false);
    }

    fn queue_next(&self, key: &Key, outcome: &Outcome<C::Step>) {
        let deadline = match outcome {
            Outcome::Failed { next_try, .. } | Outcome::Blind { next_try } => Some(*next_try),
            Outcome::Waiting(wait) => wait.until,
            Outcome::Paused { until } => Some(*until),
            _ => None,
        };
        let resync = lock(&self.backoff).spread(RESYNC);
        let after = deadline.map_or(resync, |deadline| {
            let left = Duration::try_from(deadline.duration_since(self.clock.now())).unwrap_or_default();
            left.min(resync)
        });
        self.queue.add_after(key.clone(), after);
    }
}

fn later(now: Timestamp, wait: Duration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// Until when a person has paused an object, if that is still to come.
fn paused_until<K: Resource>(wanted: &Wanted<K>) -> Option<Timestamp> {
    let until: Timestamp = wanted.object.meta().annotations.as_ref()?.get(PAUSED_UNTIL)?.parse().ok()?;
    (until > wanted.now).then_some(until)
}

fn reports_drift<K: hearth_meta::Resource>(wanted: &Wanted<K>) -> bool {
    serde_json::to_value(wanted.object.spec()).is_ok_and(|spec| spec["driftPolicy"] == "Report")
}

/// Whether it runs is always repaired, however often (DESIGN section 4).
fn is_power(difference: &FieldDiff) -> bool {
    difference.field == "spec.power"
}
