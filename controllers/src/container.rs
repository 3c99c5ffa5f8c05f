//! *Makes true*: one service's container exists exactly as declared, and runs or is stopped as wanted.
//!
//! *Looks at*: the container of its name, as inspected; its Image, Secrets, Volumes, Networks and the Containers it
//! depends on, as the store says; its leaves of data and the files it is given, on the disk.
//! *Owns*: the container, the files it is given, and its own places on networks. Guests of a Network are the Network's.
//! *Woken by*: its own objects, container events of the engine, whatever it refers to.
//! *Never*: restarts what the engine itself is still restarting (two supervisors never fight); trusts a label that
//! says the container is as applied; starts on data that is gone; runs a finished job again; removes a container
//! before what should replace it can be made.
//! *When it cannot*: Degraded with the last lines it wrote while it dies again and again; waits, naming what for; NeedsYou where a secret, the data or a name is the matter; Failed once
//! it did not become healthy within its deadline, or a job exited with anything but 0.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_capabilities::{Containers, Events, Happening, Images, Networks, Volumes};
use hearth_engine::Store;
use hearth_engine::controller::{
    Act, Blind, Controller, Found, News, Outcome, Plan, Report, Seen, StepError, Triggers, Wake, Wanted,
};
use hearth_kinds::{Container, ContainerStatus};
use hearth_meta::{FieldDiff, labels};
use serde_json::Value;

use crate::fault::{blind, failed};
use crate::naming::{Naming, made_at};
use crate::wakes::wakes;

mod triggers;
mod observe;
mod given;
mod crashes;
mod tail;
mod diff;
mod keep;
mod plan;
mod act;
mod status;

pub use observe::ContainerSeen;
pub use plan::ContainerStep;

/// Keeps containers.
pub struct ContainerController {
    store: Store,
    hands: ContainerHands,
    naming: Naming,
}

/// What the controller touches the machine with.
#[derive(Clone)]
pub struct ContainerHands {
    /// Containers of the engine.
    pub containers: Arc<dyn Containers>,
    /// Its networks, for the container's own places.
    pub networks: Arc<dyn Networks>,
    /// Its images, for what the pinned one is here.
    pub images: Arc<dyn Images>,
    /// Leaves of data, checked again before each start.
    pub volumes: Arc<dyn Volumes>,
    /// What happens in the engine.
    pub events: Arc<dyn Events>,
}

impl ContainerController {
    /// A controller with these hands.
    pub fn new(store: Store, hands: ContainerHands, naming: Naming) -> Self {
        Self { store, hands, naming }
    }

    fn engine_name(&self, wanted: &Wanted<Container>) -> String {
        self.naming.of(wanted.namespace(), wanted.name())
    }
}

#[async_trait]
impl Controller for ContainerController {
    type Kind = Container;
    type Facts = ContainerSeen;
    type Step = ContainerStep;

    const NAME: &'static str = "container";
    const TELLS_VERSIONS: bool = true;

    fn triggers(&self) -> Triggers {
        triggers::triggers()
    }

    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        let (naming, store) = (self.naming.clone(), self.store.clone());
        Some(wakes(&self.hands.events, move |happening| match happening {
            Happening::Container { name, uid, .. } => {
                let by_name = naming.key("Container", &name).map(Wake::Key);
                uid.map(Wake::Uid).into_iter().chain(by_name).collect()
            }
            // Its own networks wake it through their objects; of others nobody else would tell it.
            Happening::Network { name, container: Some(id), .. }
                if naming.key("Network", &name).is_none() =>
            {
                triggers::made_as(&store, &id).map(Wake::Key).into_iter().collect()
            }
            _ => Vec::new(),
        }))
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        let listed = self.hands.containers.list().await.map_err(blind)?;
        let found = listed.into_iter().map(|container| Found {
            uid: container.labels.get(labels::UID).cloned().unwrap_or_default(),
            lineage: container.labels.get(labels::LINEAGE).cloned().unwrap_or_default(),
            made_at: made_at(&container.labels),
            name: container.name,
            mark: format!("{} {}", container.id, container.state),
        });
        Ok(found.collect())
    }

    async fn observe(&self, wanted: &[Wanted<Container>]) -> Result<ContainerSeen, Blind> {
        match wanted.first() {
            Some(wanted) => self.look(wanted).await,
            None => Err(Blind("no container was asked for".into())),
        }
    }

    fn target(&self, wanted: &Wanted<Container>, facts: &ContainerSeen) -> Option<String> {
        Some(diff::target(wanted, facts))
    }

    fn diff(&self, wanted: &Wanted<Container>, facts: &ContainerSeen) -> Seen {
        diff::seen(wanted, facts)
    }

    fn keep(&self, spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
        keep::keep(spec, difference)
    }

    fn plan(&self, wanted: &[Wanted<Container>], facts: &ContainerSeen) -> Plan<ContainerStep> {
        wanted.first().map_or_else(Plan::nothing, |wanted| plan::plan(wanted, facts))
    }

    fn foresee(&self, wanted: &Wanted<Container>, facts: &ContainerSeen) -> Vec<ContainerStep> {
        plan::foresee(wanted, facts)
    }

    async fn act(
        &self,
        step: &ContainerStep,
        wanted: &[Wanted<Container>],
        _cx: &Act,
    ) -> Result<(), StepError> {
        match wanted.first() {
            Some(wanted) => self.carry_out(step, wanted).await,
            None => Ok(()),
        }
    }

    fn status(
        &self,
        wanted: &Wanted<Container>,
        seen: Result<&ContainerSeen, &Blind>,
        outcome: &Outcome<ContainerStep>,
    ) -> Report<Container> {
        status::report(wanted, seen, outcome)
    }

    fn news(&self, before: Option<&ContainerStatus>, after: &ContainerStatus) -> Vec<News> {
        crashes::news(before, after)
    }

    async fn collect(&self, orphan: &Found) -> Result<(), StepError> {
        let Some(container) = self.hands.containers.inspect(&orphan.name).await.map_err(failed)? else {
            return Ok(());
        };
        // Between the look and now the name may have come to stand for another container.
        if container.labels.get(labels::UID) != Some(&orphan.uid) {
            return Ok(());
        }
        self.remove_orphan(&container).await
    }
}

#[cfg(test)]
mod tests;
