//! [`Networks`] of the pretend machine.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use async_trait::async_trait;
use hearth_capabilities::containers::JoinedNetwork;
use hearth_capabilities::networks::{ListedNetwork, NetworkFacts, Networks, NewNetwork};
use hearth_capabilities::{Fault, Happening};
use hearth_meta::labels;
use serde::{Deserialize, Serialize};

use crate::containers::record::{Place, sorted};
use crate::containers::{check_name, no_container};
use crate::faults::Op;
use crate::machine::Machine;
use crate::state::State;

/// One network.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Network {
    pub(crate) id: String,
    pub(crate) name: String,
    subnet: Subnet,
    internal: bool,
    labels: BTreeMap<String, String>,
    pub(crate) foreign: Vec<String>,
}

/// A subnet: its first address and how many bits of it are fixed.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Subnet {
    first: Ipv4Addr,
    bits: u32,
}

impl Subnet {
    fn parse(text: &str) -> Result<Self, Fault> {
        let parsed = text.split_once('/').and_then(|(first, bits)| {
            let (first, bits): (Ipv4Addr, u32) = (first.parse().ok()?, bits.parse().ok()?);
            (bits <= 30).then_some(Self { first, bits })
        });
        parsed.ok_or_else(|| Fault::Refused(format!("subnet: {text:?} must be like 10.89.4.0/24")))
    }

    fn overlaps(self, other: Self) -> bool {
        let shift = 32 - self.bits.min(other.bits);
        let network = |subnet: Self| subnet.first.to_bits().checked_shr(shift).unwrap_or_default();
        network(self) == network(other)
    }
}

impl Network {
    /// Its addresses in order, without the first and the last.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> + use<> {
        let first = self.subnet.first.to_bits();
        let count = 1_u32.checked_shl(32 - self.subnet.bits).unwrap_or(u32::MAX);
        (1..count.saturating_sub(1))
            .map(move |offset| Ipv4Addr::from_bits(first.saturating_add(offset)).to_string())
    }

    fn facts(&self, attached: Vec<String>) -> NetworkFacts {
        NetworkFacts {
            id: self.id.clone(),
            name: self.name.clone(),
            driver: "bridge".into(),
            subnet: format!("{}/{}", self.subnet.first, self.subnet.bits),
            internal: self.internal,
            labels: self.labels.clone(),
            attached,
            foreign: self.foreign.clone(),
        }
    }
}

#[async_trait]
impl Networks for Machine {
    async fn list(&self) -> Result<Vec<ListedNetwork>, Fault> {
        self.call(Op::ListNetworks, "", |state| {
            let ours = state.networks.values().filter(|each| each.labels.contains_key(labels::UID));
            let listed = |each: &Network| ListedNetwork {
                id: each.id.clone(),
                name: each.name.clone(),
                labels: each.labels.clone(),
            };
            Ok(ours.map(listed).collect())
        })
        .await
    }

    async fn inspect(&self, name: &str) -> Result<Option<NetworkFacts>, Fault> {
        check_name(name)?;
        self.call(Op::InspectNetwork, name, |state| {
            Ok(state.networks.get(name).map(|network| network.facts(state.attached(&network.id))))
        })
        .await
    }

    async fn create(&self, wanted: &NewNetwork) -> Result<String, Fault> {
        check_name(&wanted.name)?;
        let subnet = Subnet::parse(&wanted.subnet)?;
        self.call(Op::CreateNetwork, &wanted.name, |state| create(state, wanted, subnet)).await
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        check_name(id)?;
        let name = self.look(|state| state.network(id).map(|network| network.name.clone()));
        self.call(Op::RemoveNetwork, name.as_deref().unwrap_or(id), |state| remove(state, id)).await
    }

    async fn connect(&self, network: &JoinedNetwork, container: &str) -> Result<(), Fault> {
        check_name(&network.name)?;
        check_name(container)?;
        let object = format!("{} {container}", network.name);
        self.call(Op::ConnectNetwork, &object, |state| connect(state, network, container)).await
    }

    async fn disconnect(&self, network: &str, container: &str) -> Result<(), Fault> {
        check_name(network)?;
        check_name(container)?;
        let object = format!("{network} {container}");
        self.call(Op::DisconnectNetwork, &object, |state| {
            disconnect(state, network, container);
            Ok(())
        })
        .await
    }
}

fn create(state: &mut State, wanted: &NewNetwork, subnet: Subnet) -> Result<String, Fault> {
    if state.networks.contains_key(&wanted.name) {
        return Err(Fault::Conflict(format!("network with name {} already exists", wanted.name)));
    }
    if let Some(other) = state.networks.values().find(|other| other.subnet.overlaps(subnet)) {
        let theirs = format!("{} ({}/{})", other.name, other.subnet.first, other.subnet.bits);
        let said = format!("the subnet {} overlaps network {theirs}", wanted.subnet);
        return Err(Fault::Conflict(said));
    }
    let id = state.new_id("network");
    let network = Network {
        id: id.clone(),
        name: wanted.name.clone(),
        subnet,
        internal: wanted.internal,
        labels: wanted.labels.clone(),
        foreign: Vec::new(),
    };
    state.networks.insert(wanted.name.clone(), network);
    tell(state, &wanted.name, None, "create");
    Ok(id)
}

/// Stopped containers do not hold a network; they cannot be started any more when it is gone (seen).
pub(crate) fn remove(state: &mut State, id: &str) -> Result<(), Fault> {
    let Some((name, id)) = state.network(id).map(|network| (network.name.clone(), network.id.clone())) else {
        return Ok(());
    };
    if !state.attached(&id).is_empty() {
        return Err(Fault::Conflict(format!("network {name} id {id} has active endpoints")));
    }
    state.networks.remove(&name);
    tell(state, &name, None, "destroy");
    Ok(())
}

fn connect(state: &mut State, network: &JoinedNetwork, container: &str) -> Result<(), Fault> {
    let Some(id) = state.networks.get(&network.name).map(|network| network.id.clone()) else {
        return Err(Fault::Missing(format!("network {} is not there", network.name)));
    };
    let name = state.container_name(container).ok_or_else(|| no_container(container))?;
    let address = state.free_address(&id);
    let Some(there) = state.containers.get_mut(&name) else { return Ok(()) };
    let is_running = there.run.is_running();
    let is_on = there.places.get(&network.name);
    if is_on.is_some_and(|place| place.network_id == id || place.network_id.is_empty()) {
        return Ok(());
    }
    // Of a container that does not run, the id is not known until it is started (seen).
    let joined = there.id.clone();
    let (network_id, ip) = if is_running { (id, address) } else { Default::default() };
    let place = Place { network_id, aliases: sorted(&network.aliases), ip };
    there.places.insert(network.name.clone(), place);
    if is_running {
        tell(state, &network.name, Some(joined), "connect");
    }
    Ok(())
}

pub(crate) fn disconnect(state: &mut State, network: &str, container: &str) {
    let Some(name) = state.container_name(container) else { return };
    let network_name = state.network(network).map_or(network.to_owned(), |found| found.name.clone());
    let Some(there) = state.containers.get_mut(&name) else { return };
    let left = there.id.clone();
    if there.places.remove(&network_name).is_some() {
        tell(state, &network_name, Some(left), "disconnect");
    }
}

fn tell(state: &mut State, name: &str, container: Option<String>, action: &str) {
    state.tell(Happening::Network { name: name.to_owned(), container, action: action.to_owned() });
}
