//! Taking a step: the intent on record before, an event after, and the record closed once the effect was seen.

use std::sync::Arc;

use futures::future::try_join_all;
use hearth_meta::Reason;

use super::classify::Class;
use super::jobs::Shared;
use super::turn::Look;
use super::{Runner, drift, hold, lock};
use crate::controller::{Act, Controller, Step, StepError, Wanted};
use crate::object::Key;
use crate::store::{EventKind, EventNote, Intent, WriteError};

impl<C: Controller> Runner<C> {
    /// Takes a quick step to its end.
    pub(super) async fn take(
        &self,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Result<(), StepError> {
        if C::IS_SET {
            lock(&self.pace).wrote(self.clock.elapsed());
        }
        self.begin(wanted, looks, step).await?;
        let act = Act { store: self.store.clone(), cancel: Default::default(), progress: Arc::new(|_| {}) };
        // A step may run twice, so one that is given up is simply taken again.
        let limit = step.limit();
        self.within(limit, self.controller.act(step, wanted, &act)).await.unwrap_or_else(|| {
            act.cancel.cancel();
            let message = format!("it did not end within {} s", limit.as_secs());
            Err(StepError::new(Reason::Stalled, message))
        })?;
        self.tell_done(wanted, Some(looks), step).await;
        Ok(())
    }

    /// Starts a slow step on the pool; [`Runner::begin`] comes first.
    pub(super) fn start_job(&self, key: &Key, wanted: &[Wanted<C::Kind>], step: &C::Step) {
        let (controller, store, clock, queue) =
            (self.controller.clone(), self.store.clone(), self.clock.clone(), self.queue.clone());
        let (key, wanted, step) = (key.clone(), wanted.to_vec(), step.clone());
        let work = |shared: Arc<Shared>| {
            let (key, step) = (key.clone(), step.clone());
            let cancel = shared.cancel.clone();
            let progress = Arc::new(move |progress| {
                if shared.advance(progress, &*clock) {
                    queue.add(key.clone());
                }
            });
            async move { controller.act(&step, &wanted, &Act { store, cancel, progress }).await }
        };
        self.jobs.start(key.clone(), step.clone(), work);
    }

    /// What goes before any step: the intents are on record, and what somebody else had changed is told, since
    /// from here on it looks like work of ours.
    pub(super) async fn begin(
        &self,
        wanted: &[Wanted<C::Kind>],
        looks: &[Look],
        step: &C::Step,
    ) -> Result<(), StepError> {
        let concerned = || wanted.iter().zip(looks).filter(|(_, look)| look.class != Class::InSync);
        let opened = try_join_all(concerned().map(|(wanted, look)| self.open_intent(wanted, look, step)));
        opened.await.map_err(|error| {
            StepError::new(Reason::StepFailed, format!("the intent could not be recorded: {error}"))
        })?;
        self.counters.step();
        for (wanted, look) in concerned().filter(|(_, look)| look.class == Class::Drifted) {
            self.tell_repair(wanted, look).await;
        }
        Ok(())
    }

    /// Notes that what somebody else had changed is put right, and counts it.
    async fn tell_repair(&self, wanted: &Wanted<C::Kind>, look: &Look) {
        if hold::reports_drift(wanted) && drift::is_put_back(wanted, look) {
            let message = format!("Somebody asked to put it back: {}", drift::words(look));
            self.note(wanted, EventKind::Normal, "PutBack", message).await;
            return;
        }
        let differences = look.differences();
        let is_fight = lock(&self.fights).repaired(wanted.uid(), differences, self.clock.elapsed());
        // In a fight the values may be others each time; the fields are the same, and make one event.
        let fields = || differences.iter().map(|d| d.field.as_str()).collect::<Vec<_>>().join(", ");
        let message = if is_fight {
            format!("Was changed from outside again and again: {}", fields())
        } else {
            format!("Was changed from outside: {}", drift::words(look))
        };
        self.note(wanted, EventKind::Warning, "Drifted", message).await;
    }

    async fn open_intent(
        &self,
        wanted: &Wanted<C::Kind>,
        look: &Look,
        step: &C::Step,
    ) -> Result<(), WriteError> {
        let before = self.store.intent(wanted.uid());
        let is_on_record = before.as_ref().is_some_and(|intent| {
            intent.is_open() && intent.epoch == self.store.epoch() && intent.target == look.target
        });
        // Whether the step is dangerous must be on record too, and until when a person may say go to it.
        let is_dangerous = step.is_dangerous() || before.as_ref().is_some_and(|intent| intent.dangerous);
        if is_on_record && !is_dangerous {
            return Ok(());
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
        self.store.put_intent(intent).await
    }

    /// The effect was verified: what was wanted is what was applied.
    pub(super) async fn close_intent(&self, wanted: &Wanted<C::Kind>, target: &str) {
        let intent = self.store.intent(wanted.uid());
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
        match self.store.put_intent(closed).await {
            // Gone meanwhile, and its intent with it.
            Ok(()) | Err(WriteError::Conflict(_)) => {}
            // It stays open; the next turn finds it in sync and closes it then.
            Err(error) => {
                tracing::warn!(controller = C::NAME, error = %error, "an intent could not be closed");
            }
        }
    }

    /// Notes what was done, with those it concerned as they looked before.
    pub(super) async fn tell_done(&self, wanted: &[Wanted<C::Kind>], looks: Option<&[Look]>, step: &C::Step) {
        let (reason, message) = step.done();
        let concerned: Vec<_> = match looks {
            Some(looks) => {
                let differs = wanted.iter().zip(looks).filter(|(_, look)| look.class != Class::InSync);
                differs.map(|(wanted, _)| wanted).collect()
            }
            None if C::IS_SET => Vec::new(),
            None => wanted.iter().collect(),
        };
        for wanted in &concerned {
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
        let note = EventNote {
            about: Key::new(self.kind.kind, wanted.namespace(), wanted.name()).reference(),
            uid: wanted.uid().to_owned(),
            kind,
            reason: reason.to_owned(),
            message,
            reporter: format!("controller/{}", C::NAME),
        };
        self.store.note(note).await;
    }
}
