//! *Makes true*: a bridge of its own exists with the claimed subnet, and its guests are attached.
//!
//! *Looks at*: the container engine's network of its name; which guests run, by what their Containers say.
//! *Owns*: the network and its guests' places on it. A container's own place is the container's.
//! *Woken by*: its own objects, network events, Containers that are guests.
//! *Never*: touches a network it did not make, or one that another home made.
//! *When it cannot*: NeedsYou with `NotOurs`; a subnet that overlaps a foreign network fails by name.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_capabilities::containers::JoinedNetwork;
use hearth_capabilities::networks::{NetworkFacts, NewNetwork};
use hearth_capabilities::{Events, Happening, Networks};
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Reference, Report, Seen, Step, StepError, Triggers, Wake,
    Wanted, spec_hash,
};
use hearth_engine::{Key, Object, Query, Store, keep};
use hearth_kinds::{Network, NetworkStatus, SYSTEM};
use hearth_meta::{FieldDiff, Reason, labels};
use serde_json::Value;

use crate::fault::{blind, failed};
use crate::naming::{Naming, Ownership, made_at, ownership};
use crate::ready::ready;
use crate::wakes::wakes;

/// Keeps networks.
pub struct NetworkController {
    store: Store,
    networks: Arc<dyn Networks>,
    events: Arc<dyn Events>,
    naming: Naming,
}

/// What is seen of one network.
pub struct NetworkSeen {
    network: Option<NetworkFacts>,
    /// Whose it is; `Mine` where there is none.
    ownership: Ownership,
    /// The engine's names of guests that run and should be attached.
    guests: Vec<String>,
    /// Those of Hearth's own containers that are attached and are no guests any more.
    strangers: Vec<String>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkStep {
    /// Makes the network.
    Create,
    /// Attaches a guest, by the engine's name.
    Attach(String),
    /// Detaches a container, by the engine's name.
    Detach(String),
    /// Removes the network, by id.
    Remove(String),
}

impl NetworkController {
    /// A controller with these hands.
    pub fn new(store: Store, networks: Arc<dyn Networks>, events: Arc<dyn Events>, naming: Naming) -> Self {
        Self { store, networks, events, naming }
    }

    fn engine_name(&self, wanted: &Wanted<Network>) -> String {
        self.naming.of(wanted.namespace(), wanted.name())
    }

    fn running_guests(&self, network: &Network) -> Vec<String> {
        let guests = network.spec.guests.iter().filter_map(|guest| guest.container.split_once('/'));
        guests
            .filter(|(namespace, name)| {
                let container = self.store.get(&Key::new("Container", *namespace, *name));
                container.is_some_and(|container| container.status()["state"] == "running")
            })
            .map(|(namespace, name)| self.naming.of(namespace, name))
            .collect()
    }
}

#[async_trait]
impl Controller for NetworkController {
    type Kind = Network;
    type Facts = NetworkSeen;
    type Step = NetworkStep;

    const NAME: &'static str = "network";
    const TELLS_VERSIONS: bool = true;

    fn triggers(&self) -> Triggers {
        // A guest is attached once it runs.
        let guests = Reference::to("Container", networks_with_guest)
            .where_it(|old, new| old.status()["state"] != new.status()["state"]);
        Triggers { owned: Vec::new(), referenced: vec![guests] }
    }

    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        let naming = self.naming.clone();
        Some(wakes(&self.events, move |happening| match happening {
            Happening::Network { name, .. } => {
                naming.key("Network", &name).map(Wake::Key).into_iter().collect()
            }
            _ => Vec::new(),
        }))
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        let listed = self.networks.list().await.map_err(blind)?;
        let found = listed.into_iter().map(|network| Found {
            uid: network.labels.get(labels::UID).cloned().unwrap_or_default(),
            lineage: network.labels.get(labels::LINEAGE).cloned().unwrap_or_default(),
            made_at: made_at(&network.labels),
            mark: network.id,
            name: network.name,
        });
        Ok(found.collect())
    }

    async fn observe(&self, wanted: &[Wanted<Network>]) -> Result<NetworkSeen, Blind> {
        let Some(wanted) = wanted.first() else { return Err(Blind("no network was asked for".into())) };
        let network = self.networks.inspect(&self.engine_name(wanted)).await.map_err(blind)?;
        let ownership = network
            .as_ref()
            .map_or(Ownership::Mine, |network| ownership(&network.labels, wanted.uid(), &self.store));
        let strangers = network
            .as_ref()
            .map(|network| strangers(&self.naming, &wanted.object, network))
            .unwrap_or_default();
        Ok(NetworkSeen { network, ownership, guests: self.running_guests(&wanted.object), strangers })
    }

    /// A guest that comes is a newer wish, not somebody's meddling.
    fn target(&self, wanted: &Wanted<Network>, facts: &NetworkSeen) -> Option<String> {
        Some(spec_hash(&(&wanted.object.spec, &facts.guests)))
    }

    fn diff(&self, wanted: &Wanted<Network>, facts: &NetworkSeen) -> Seen {
        differences(wanted, facts)
    }

    /// What else differs is known to the machine by other names than the spec.
    fn keep(&self, spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
        match difference.field.as_str() {
            "spec.internal" | "spec.subnet" => keep::plain(spec, difference),
            _ => Err(keep::NOT_A_WISH.into()),
        }
    }

    fn plan(&self, wanted: &[Wanted<Network>], facts: &NetworkSeen) -> Plan<NetworkStep> {
        wanted.first().map_or_else(Plan::nothing, |wanted| plan(wanted, facts))
    }

    async fn act(&self, step: &NetworkStep, wanted: &[Wanted<Network>], _cx: &Act) -> Result<(), StepError> {
        let Some(wanted) = wanted.first() else { return Ok(()) };
        let name = self.engine_name(wanted);
        match step {
            NetworkStep::Create => {
                let spec = &wanted.object.spec;
                let applied = spec_hash(&(&spec.subnet, spec.internal));
                let new = NewNetwork {
                    labels: self.naming.labels(wanted, &self.store, &applied),
                    subnet: spec.subnet.clone().unwrap_or_default(),
                    internal: spec.internal,
                    name,
                };
                self.networks.create(&new).await.map(|_| ())
            }
            NetworkStep::Attach(guest) => {
                self.networks.connect(&JoinedNetwork { name, aliases: Vec::new() }, guest).await
            }
            NetworkStep::Detach(container) => self.networks.disconnect(&name, container).await,
            NetworkStep::Remove(id) => self.networks.remove(id).await,
        }
        .map_err(failed)
    }

    fn status(
        &self,
        wanted: &Wanted<Network>,
        seen: Result<&NetworkSeen, &Blind>,
        outcome: &Outcome<NetworkStep>,
    ) -> Report<Network> {
        status(wanted, seen, outcome)
    }

    async fn collect(&self, orphan: &Found) -> Result<(), StepError> {
        let Some(network) = self.networks.inspect(&orphan.name).await.map_err(failed)? else { return Ok(()) };
        // Between the look and now the name may have come to stand for another network.
        if network.labels.get(labels::UID) != Some(&orphan.uid) {
            return Ok(());
        }
        for container in &network.attached {
            self.networks.disconnect(&network.name, container).await.map_err(failed)?;
        }
        self.networks.remove(&network.id).await.map_err(failed)
    }
}

impl Step for NetworkStep {
    fn doing(&self) -> String {
        match self {
            Self::Create => "Make the network".into(),
            Self::Attach(guest) => format!("Attach {guest}"),
            Self::Detach(container) => format!("Detach {container}"),
            Self::Remove(_) => "Remove the network".into(),
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::Create => ("Created", "Made the network".into()),
            Self::Attach(guest) => ("Attached", format!("Attached {guest}")),
            Self::Detach(container) => ("Detached", format!("Detached {container}")),
            Self::Remove(_) => ("Removed", "Removed the network".into()),
        }
    }
}

fn differences(wanted: &Wanted<Network>, facts: &NetworkSeen) -> Seen {
    let Some(network) = &facts.network else { return Seen::Absent };
    match facts.ownership {
        Ownership::Foreign => {
            Seen::Foreign(format!("A network {} exists that Hearth did not make", network.name))
        }
        Ownership::OtherHome => Seen::Foreign(format!("Network {} belongs to another Hearth", network.name)),
        Ownership::Predecessor if wanted.gone => Seen::Absent,
        Ownership::Predecessor => Seen::Ours(vec![FieldDiff::new(
            "metadata.uid",
            Some("this network".into()),
            Some("one made before".into()),
        )]),
        Ownership::Mine => {
            let mut differences = shape_differences(&wanted.object, network);
            for guest in missing_guests(facts, network) {
                differences.push(FieldDiff::new("spec.guests", Some(guest), None));
            }
            for stranger in &facts.strangers {
                differences.push(FieldDiff::new("spec.guests", None, Some(stranger.clone())));
            }
            Seen::Ours(differences)
        }
    }
}

fn plan(wanted: &Wanted<Network>, facts: &NetworkSeen) -> Plan<NetworkStep> {
    let Some(network) = &facts.network else {
        return if wanted.gone { Plan::nothing() } else { Plan::steps(vec![NetworkStep::Create]) };
    };
    let make_way = match facts.ownership {
        Ownership::Mine => wanted.gone || !shape_differences(&wanted.object, network).is_empty(),
        Ownership::Predecessor => !wanted.gone,
        // The engine tells that it is not ours; nothing is done about it.
        Ownership::Foreign | Ownership::OtherHome => {
            return if wanted.gone { Plan::nothing() } else { Plan::steps(vec![NetworkStep::Create]) };
        }
    };
    if make_way {
        let detached = network.attached.iter().cloned().map(NetworkStep::Detach);
        return Plan::steps(detached.chain([NetworkStep::Remove(network.id.clone())]).collect());
    }
    if wanted.gone {
        return Plan::nothing();
    }
    let detached = facts.strangers.iter().cloned().map(NetworkStep::Detach);
    let attached = missing_guests(facts, network).map(NetworkStep::Attach);
    Plan::steps(detached.chain(attached).collect())
}

fn status(
    wanted: &Wanted<Network>,
    seen: Result<&NetworkSeen, &Blind>,
    outcome: &Outcome<NetworkStep>,
) -> Report<Network> {
    let before = wanted.object.status.clone().unwrap_or_default();
    let common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
    let status = match seen {
        Ok(NetworkSeen { network, ownership, .. }) => {
            // Of one that is not this object's nothing is told: whoever reads the id would join it.
            let mine = network.as_ref().filter(|_| *ownership == Ownership::Mine);
            NetworkStatus {
                network_id: mine.map(|network| network.id.clone()),
                attached: mine.map(|network| network.attached.clone()).unwrap_or_default(),
                common,
            }
        }
        Err(_) => NetworkStatus { common, ..before },
    };
    let holds = seen.map(|_| matches!(outcome, Outcome::Steady));
    let conditions = vec![ready(holds, &status.common)];
    Report { status, conditions }
}

/// Only Hearth's own are ever guests; whoever else is attached is somebody's own affair.
fn strangers(naming: &Naming, network: &Network, seen: &NetworkFacts) -> Vec<String> {
    if network.metadata.namespace.as_deref() == Some(SYSTEM) {
        // There they have their own places.
        return Vec::new();
    }
    let is_guest = |key: &Key| {
        let name = format!("{}/{}", key.namespace, key.name);
        network.spec.guests.iter().any(|guest| guest.container == name)
    };
    let is_stranger = |name: &&String| {
        let key = naming.key("Container", name);
        key.is_some_and(|key| key.namespace == SYSTEM && !is_guest(&key))
    };
    seen.attached.iter().filter(is_stranger).cloned().collect()
}

/// What only making it anew can change.
fn shape_differences(wanted: &Network, seen: &NetworkFacts) -> Vec<FieldDiff> {
    let mut differences = Vec::new();
    FieldDiff::compare(&mut differences, "spec.internal", &wanted.spec.internal, &seen.internal);
    if let Some(subnet) = &wanted.spec.subnet {
        FieldDiff::compare(&mut differences, "spec.subnet", subnet, &seen.subnet);
    }
    FieldDiff::compare(&mut differences, "driver", &"bridge".to_owned(), &seen.driver);
    for foreign in &seen.foreign {
        differences.push(FieldDiff::new("sandbox", None, Some(foreign.clone())));
    }
    differences
}

fn missing_guests(facts: &NetworkSeen, network: &NetworkFacts) -> impl Iterator<Item = String> {
    facts.guests.iter().filter(|guest| !network.attached.contains(guest)).cloned()
}

fn networks_with_guest(container: &Object, store: &Store) -> Vec<Key> {
    let name =
        format!("{}/{}", container.metadata.namespace.as_deref().unwrap_or_default(), container.name());
    let networks = store.list(&Query::of("Network")).items;
    let is_guest = |network: &Object| {
        network.spec()["guests"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|guest| guest["container"] == name.as_str())
    };
    networks.iter().filter(|network| is_guest(network)).map(|network| network.key()).collect()
}

#[cfg(test)]
mod tests;
