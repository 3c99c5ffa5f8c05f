//! The first look after a start: nothing is changed, by any controller, before it is known what is there.
//!
//! A data folder that was restored whole, mark and all, looks like one whose process merely died. Only the world
//! tells otherwise: something in it was made at a later version than the store has come to. So every controller
//! whose things carry that version is heard first.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use hearth_meta::Reason;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Runner, lock};
use crate::controller::{Controller, Found, Outcome, Wait};
use crate::store::WriteError;

/// Which controllers have yet to look once. Shared by all of an engine.
#[derive(Default)]
pub(crate) struct FirstLook {
    missing: Mutex<BTreeSet<&'static str>>,
    /// Wakes in the order of waiting; tokio's `watch` wakes in an order of chance, and no run could be repeated.
    over: Notify,
}

impl FirstLook {
    /// This controller has to look before anybody acts.
    pub(super) fn expect(&self, controller: &'static str) {
        lock(&self.missing).insert(controller);
    }

    /// It has looked.
    fn seen(&self, controller: &'static str) {
        let mut missing = lock(&self.missing);
        missing.remove(controller);
        if missing.is_empty() {
            self.over.notify_waiters();
        }
    }

    /// Who has not looked yet; empty once all have.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        lock(&self.missing).iter().copied().collect()
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.missing).is_empty()
    }

    /// Returns once all have looked.
    pub(super) async fn over(&self) {
        // Enlisted before the question, so that an end in between is heard.
        let ended = self.over.notified();
        if !self.is_over() {
            ended.await;
        }
    }
}

impl<C: Controller> Runner<C> {
    /// Makes every key due once all have looked.
    pub(super) async fn wake_after_first_look(self: Arc<Self>, stop: CancellationToken) {
        tokio::select! { biased;
            () = stop.cancelled() => {}
            () = self.first_look.over() => {
                self.add_all();
                self.is_released.store(true, Ordering::Release);
            }
        }
    }

    /// Why nothing may be changed yet, as long as not all have looked.
    pub(super) fn before_first_look<S>(&self) -> Option<Outcome<S>> {
        let missing = self.first_look.missing();
        (!missing.is_empty()).then(|| {
            let message = format!(
                "Before anything is changed, it is looked once what is there: {}",
                missing.join(", ")
            );
            Outcome::Waiting(Wait::new(Reason::CannotSee, message))
        })
    }

    /// What is there was seen; where something of it is younger than the store, nothing is done from here on.
    pub(super) async fn compare_versions(&self, found: &[Found]) -> Result<(), WriteError> {
        let is_first = self.first_look.missing().contains(&C::NAME);
        // What this process made since is of its own versions.
        let come_to = if is_first { self.store.opened_at() } else { self.store.resource_version() };
        let ours = found.iter().filter(|found| found.lineage == self.store.lineage());
        // Of a history that is known to be lost nothing more is to be learnt, and a person may have said go since.
        let known = come_to.max(self.store.lost_until());
        if let Some(youngest) = ours.max_by_key(|found| found.made_at).filter(|it| it.made_at > known) {
            let why = format!(
                "This store is an older copy: {} {} was made at version {}, and the store had come to {come_to}",
                self.kind.singular.to_lowercase(),
                youngest.name,
                youngest.made_at
            );
            tracing::error!(controller = C::NAME, why, "nothing is changed until a person says go");
            self.store.distrust(&why, youngest.made_at).await?;
        }
        if is_first {
            self.first_look.seen(C::NAME);
        }
        Ok(())
    }
}
