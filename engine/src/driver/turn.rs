//! One turn of one key: observe, plan, act, observe again, status.
//!
//! Only the first step of a plan is taken, then what is wanted is read, and what is there observed, and it is
//! planned anew: what a step was for is thereby verified, and a world or a wish that changed meanwhile is seen. A
//! step that is still the first after it was taken had no effect, and counts as failed (AL-20).

use std::time::Duration;

use futures::future::join_all;
use hearth_meta::labels::finalizer;
use hearth_meta::{FieldDiff, Reason};

use super::classify::{Class, classify};
use super::jobs::Standing;
use super::{Runner, lock};
use crate::controller::{Blind, Controller, Outcome, Plan, Seen, Step, StepError, Stuck, Wait, Wanted};
use crate::object::Key;
use crate::panics::caught;

/// Steady objects are looked at again after this (NX-11).
const RESYNC: Duration = Duration::from_secs(600);

/// A turn that takes more steps than this leaves the rest to the next one, so that other keys get their turn.
const MOST_STEPS: usize = 64;

/// So often a step may be needed in one turn, with others between; once more, and it does not last.
const MOST_REPEATS: usize = 3;

/// A look that takes longer has not told anything; a hung backend must not keep the workers.
pub(super) const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// A status that could not be written is tried again after this.
const WRITE_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// A wait whose deadline has passed and that still waits is looked at again after this, so that it never spins.
const OVERDUE_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// One object as a turn sees it.
pub(super) struct Look {
    pub(super) seen: Seen,
    pub(super) class: Class,
    pub(super) target: String,
    /// Whether it is on record that just this was applied and seen.
    pub(super) is_closed: bool,
    /// Where it was interrupted: whether that was in a dangerous step a person has not said go to since.
    pub(super) needs_go: bool,
}

impl Look {
    pub(super) fn differences(&self) -> &[FieldDiff] {
        if let Seen::Ours(differences) = &self.seen { differences } else { &[] }
    }
}

/// How a turn ended: what was wanted, what was last seen, and what came of it.
struct Ended<C: Controller> {
    wanted: Vec<Wanted<C::Kind>>,
    seen: Result<(C::Facts, Vec<Look>), Blind>,
    outcome: Outcome<C::Step>,
    /// Whether the slow step of the outcome has yet to begin.
    begins: bool,
    hold: Hold,
}

/// What this turn has done already.
struct Done<S> {
    /// The steps that were taken, and the slow one that has ended, in order.
    taken: Vec<S>,
    /// The slow step that has failed.
    failed: Option<(S, StepError)>,
}

/// What an ended turn means for the key's slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// An install or update is under way.
    UnderWay,
    /// One waits in the line for a slot.
    InLine,
    /// Nothing could be seen: what is held is kept.
    Unknown,
    /// None.
    Settled,
}

/// What comes after a look.
pub(super) enum Next<S> {
    /// Something was done: look again.
    LookAgain,
    /// The turn ends.
    End(Outcome<S>),
    /// The turn ends, and then this slow step begins.
    Begin(S),
    /// The turn ends, and the key waits in the line for a slot.
    InLine(Outcome<S>),
}

impl<C: Controller> Runner<C> {
    pub(super) async fn turn(&self, key: &Key) {
        self.counters.turn();
        if C::IS_SET {
            lock(&self.pace).turned(self.clock.elapsed());
        }
        let ended = match caught(self.converge(key)).await {
            Ok(ended) => ended,
            Err(words) => {
                tracing::error!(controller = C::NAME, name = %key, words, "a controller panicked");
                let blind = Blind(format!("The controller stopped half way: {words}"));
                Some(self.blind(key, self.wanted(key).unwrap_or_default(), blind))
            }
        };
        let Some(ended) = ended else {
            self.forget(key).await;
            return;
        };
        self.settle_slot(key, ended.hold);
        let told = join_all(ended.wanted.iter().enumerate().map(|(index, wanted)| {
            let seen = ended.seen.as_ref().map(|(facts, looks)| (facts, &looks[index]));
            self.report(wanted, seen, &ended.outcome)
        }));
        let told = told.await.into_iter().all(|told| told);
        let dropped = self.finish_deletions(&ended).await;
        if let Ok((_, looks)) = &ended.seen {
            for (wanted, look) in ended.wanted.iter().zip(looks) {
                if !wanted.gone && matches!(look.seen, Seen::Ours(_)) {
                    lock(&self.survey).expect(wanted.uid());
                }
            }
            // Only now, since a controller that panics over what it saw has seen nothing.
            lock(&self.retries).looked(key);
        }
        if !told || !dropped {
            self.queue.add_after(key.clone(), WRITE_AGAIN_AFTER);
        } else if let Outcome::Working { step, .. } = &ended.outcome
            && ended.begins
        {
            // Only now: what was seen before it is on record, whenever we die while it is under way. A controller
            // may have nothing else to tell by that it was not there before.
            self.start_job(key, &ended.wanted, step);
        }
        self.queue_next(key, &ended.outcome);
    }

    /// Observes, plans and acts until there is nothing more to do now; `None` where nothing is wanted at all.
    async fn converge(&self, key: &Key) -> Option<Ended<C>> {
        let mut done = Done { taken: Vec::new(), failed: None };
        loop {
            let wanted = match self.wanted(key) {
                Ok(wanted) if wanted.is_empty() && !C::IS_SET => return None,
                Ok(wanted) => wanted,
                Err(blind) => return Some(self.blind(key, Vec::new(), blind)),
            };
            self.start_afresh_for_newer_wish(key, &wanted);
            // Before the look, so that the look is from after its end.
            match self.jobs.take_ended(key) {
                Some((step, Ok(()))) => {
                    self.tell_done(&wanted, None, &step).await;
                    done.taken.push(step);
                }
                Some((step, Err(error))) => done.failed = Some((step, error)),
                None => {}
            }
            let (facts, looks) = match self.look(&wanted).await {
                Ok(looked) => looked,
                Err(blind) => return Some(self.blind(key, wanted, blind)),
            };
            let plan = self.controller.plan(&wanted, &facts);
            let holds_slot = plan.holds_slot;
            let mut begins = false;
            let (outcome, in_line) = match self.advance(key, &wanted, &looks, plan, &mut done).await {
                Next::LookAgain => continue,
                Next::End(outcome) => (outcome, false),
                Next::Begin(step) => {
                    begins = true;
                    (Outcome::Working { step, progress: None }, false)
                }
                Next::InLine(outcome) => (outcome, true),
            };
            // Whatever has failed or was stopped is no longer under way, however much is still planned.
            let hold = match outcome {
                _ if in_line => Hold::InLine,
                Outcome::Waiting(_) | Outcome::Working { .. } if holds_slot => Hold::UnderWay,
                _ => Hold::Settled,
            };
            return Some(Ended { wanted, seen: Ok((facts, looks)), outcome, begins, hold });
        }
    }

    fn blind(&self, key: &Key, wanted: Vec<Wanted<C::Kind>>, blind: Blind) -> Ended<C> {
        let retry = lock(&self.retries).look_failed(key, &*self.clock);
        self.counters.blind(&blind.0);
        let outcome = Outcome::Blind { next_try: retry.at };
        Ended { wanted, seen: Err(blind), outcome, begins: false, hold: Hold::Unknown }
    }

    async fn look(&self, wanted: &[Wanted<C::Kind>]) -> Result<(C::Facts, Vec<Look>), Blind> {
        let facts = self.within(LOOK_LIMIT, self.controller.observe(wanted)).await;
        let facts = facts.unwrap_or_else(|| {
            Err(Blind(format!("Its backend did not answer within {} s", LOOK_LIMIT.as_secs())))
        })?;
        let looks = wanted.iter().map(|wanted| self.look_at(wanted, &facts)).collect();
        Ok((facts, looks))
    }

    fn look_at(&self, wanted: &Wanted<C::Kind>, facts: &C::Facts) -> Look {
        let seen = self.controller.diff(wanted, facts);
        let target = self.target(wanted, facts);
        let intent = self.store.intent(wanted.uid());
        let class = classify(&seen, wanted.gone, intent.as_ref(), &target, self.store.epoch());
        let is_closed = intent.as_ref().is_some_and(|intent| intent.is_closed_for(&target));
        let needs_go = class == Class::Interrupted
            && intent.is_some_and(|intent| {
                intent.dangerous && !super::hold::was_poked_since(wanted, intent.opened_at)
            });
        Look { seen, class, target, is_closed, needs_go }
    }

    /// Takes the first step of a plan, or says why not.
    async fn advance(
        &self,
        key: &Key,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        plan: Plan<C::Step>,
        done: &mut Done<C::Step>,
    ) -> Next<C::Step> {
        let Plan { steps, wait, stuck, holds_slot } = plan;
        let Some(step) = steps.into_iter().next() else {
            self.jobs.cancel(key).await;
            if wait.is_some() && holds_slot {
                self.slots.iter().for_each(|slots| lock(slots).count_in(key));
            }
            return Next::End(match (stuck, wait) {
                (Some(stuck), _) => Outcome::Stuck(stuck),
                (None, Some(wait)) => Outcome::Waiting(wait),
                (None, None) => {
                    let left = unplanned(looks);
                    if left.is_none() {
                        lock(&self.retries).settled(key);
                    }
                    super::hold::paused(wanted).or(left).unwrap_or(Outcome::Steady)
                }
            });
        };
        if let Some((_, error)) = done.failed.take().filter(|(failed, _)| *failed == step) {
            return Next::End(self.failed(key, step, error));
        }
        if let Some(outcome) = self.held_back(key, wanted, looks, &step) {
            self.jobs.cancel(key).await;
            return Next::End(outcome);
        }
        if holds_slot && self.slots.as_ref().is_some_and(|slots| !lock(slots).take(key)) {
            self.jobs.cancel(key).await;
            let message = "Other installs are under way; it is in line";
            return Next::InLine(Outcome::Waiting(Wait::new(Reason::WaitingForInstallSlot, message)));
        }
        if step.is_slow() {
            self.take_slowly(key, wanted, looks, step, &done.taken).await
        } else {
            self.jobs.cancel(key).await;
            self.take_now(key, wanted, looks, step, &mut done.taken).await
        }
    }

    async fn take_now(
        &self,
        key: &Key,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: C::Step,
        taken: &mut Vec<C::Step>,
    ) -> Next<C::Step> {
        if has_no_effect(taken, &step) {
            return Next::End(self.without_effect(key, step));
        }
        if taken.len() == MOST_STEPS {
            self.queue.add(key.clone());
            return Next::End(Outcome::Waiting(Wait::new(Reason::Applying, "More steps are to come")));
        }
        match self.take(wanted, looks, &step).await {
            Ok(()) => {
                taken.push(step);
                Next::LookAgain
            }
            Err(error) => Next::End(self.failed(key, step, error)),
        }
    }

    async fn take_slowly(
        &self,
        key: &Key,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: C::Step,
        taken: &[C::Step],
    ) -> Next<C::Step> {
        match self.jobs.standing(key, &step).await {
            Standing::Running(progress) => Next::End(Outcome::Working { step, progress }),
            Standing::None if has_no_effect(taken, &step) => Next::End(self.without_effect(key, step)),
            Standing::None => match self.begin(wanted, looks, &step).await {
                Ok(()) => Next::Begin(step),
                Err(error) => Next::End(self.failed(key, step, error)),
            },
        }
    }

    fn without_effect(&self, key: &Key, step: C::Step) -> Outcome<C::Step> {
        let error = StepError::new(Reason::EffectMissing, "it was done and its effect is not there");
        self.failed(key, step, error)
    }

    fn failed(&self, key: &Key, step: C::Step, error: StepError) -> Outcome<C::Step> {
        let retry = lock(&self.retries).step_failed(key, step.clone(), error.clone(), &*self.clock);
        self.counters.failed(&error.message);
        let attempts = retry.attempts;
        tracing::warn!(controller = C::NAME, name = %key, step = step.doing(), attempts, error = error.message, "a step failed");
        Outcome::Failed { step, error, attempts, next_try: retry.at }
    }

    /// Drops the finalizer of what is gone and should be; whether all of that was written.
    async fn finish_deletions(&self, ended: &Ended<C>) -> bool {
        let Ok((_, looks)) = &ended.seen else { return true };
        // One object of a set must not be kept because another one fails.
        if !C::IS_SET && !matches!(ended.outcome, Outcome::Steady) {
            return true;
        }
        let gone = ended.wanted.iter().zip(looks).filter(|(w, look)| w.gone && look.class == Class::InSync);
        let dropped = join_all(gone.map(|(wanted, _)| async {
            lock(&self.fights).forget(wanted.uid());
            let key = Key::new(self.kind.kind, wanted.namespace(), wanted.name());
            let dropped = self.store.drop_finalizer(&key, wanted.uid(), &finalizer(C::NAME)).await;
            if let Err(error) = &dropped {
                tracing::warn!(controller = C::NAME, name = %key, error = %error, "a finalizer could not be dropped");
            }
            dropped.is_ok()
        }));
        dropped.await.into_iter().all(|dropped| dropped)
    }

    fn settle_slot(&self, key: &Key, hold: Hold) {
        let Some(slots) = &self.slots else { return };
        let next = match hold {
            Hold::InLine => return,
            Hold::UnderWay | Hold::Unknown => lock(slots).wait_no_more(key),
            Hold::Settled => lock(slots).release(key),
        };
        next.into_iter().for_each(|key| self.queue.add(key));
    }

    /// A newer wish is carried out at once, however often the older one failed; so is one a person pokes.
    fn start_afresh_for_newer_wish(&self, key: &Key, wanted: &[Wanted<C::Kind>]) {
        let now: Vec<_> = wanted.iter().map(super::hold::wish).collect();
        let mut wishes = lock(&self.wishes);
        match wishes.get_mut(key) {
            Some(before) if *before == now => {}
            Some(before) => {
                *before = now;
                drop(wishes);
                lock(&self.retries).reset(key);
            }
            None => drop(wishes.insert(key.clone(), now)),
        }
    }

    async fn forget(&self, key: &Key) {
        self.jobs.cancel(key).await;
        lock(&self.retries).reset(key);
        lock(&self.wishes).remove(key);
        lock(&self.readings).forget(key);
        self.settle_slot(key, Hold::Settled);
    }

    fn queue_next(&self, key: &Key, outcome: &Outcome<C::Step>) {
        let resync = lock(&self.retries).spread(RESYNC);
        let after = match outcome {
            // By the monotonic clock, whatever the wall clock does meanwhile.
            Outcome::Failed { .. } => Some(lock(&self.retries).step_due(key, self.clock.elapsed())),
            Outcome::Blind { .. } => Some(lock(&self.retries).look_due(key, self.clock.elapsed())),
            Outcome::Waiting(Wait { until: Some(until), .. }) | Outcome::Paused { until } => {
                let left = Duration::try_from(until.duration_since(self.clock.now())).unwrap_or_default();
                Some(if left.is_zero() { OVERDUE_AGAIN_AFTER } else { left })
            }
            _ => None,
        };
        self.queue.add_after(key.clone(), after.map_or(resync, |after| after.min(resync)));
    }
}

/// What is not as wanted is never called steady, also where the plan has nothing to do about it.
fn unplanned<S>(looks: &[Look]) -> Option<Outcome<S>> {
    let look = looks.iter().find(|look| look.class != Class::InSync)?;
    Some(match &look.seen {
        Seen::Foreign(what) => Outcome::Stuck(Stuck { reason: Reason::NotOurs, message: what.clone() }),
        Seen::Ours(differences) if !differences.is_empty() => {
            let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
            let message = format!("It differs: {}", differences.join("; "));
            Outcome::Waiting(Wait::new(Reason::DependencyNotReady, message))
        }
        Seen::Ours(_) => Outcome::Waiting(Wait::new(Reason::Removing, "It is still there")),
        Seen::Absent => Outcome::Waiting(Wait::new(Reason::DependencyNotReady, "It is not there yet")),
    })
}

/// Whether a step was just taken, or again and again in this turn, and is still wanted.
fn has_no_effect<S: PartialEq>(taken: &[S], step: &S) -> bool {
    taken.last() == Some(step) || taken.iter().filter(|before| *before == step).count() >= MOST_REPEATS
}
