//! What there is on the machine, and the small questions everything asks of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hearth_capabilities::Happening;
use hearth_meta::{Time, Timestamp};
use serde::{Deserialize, Serialize};

use crate::containers::record::Container;
use crate::faults::Op;
use crate::hand::Behaviour;
use crate::images::{Image, Registry};
use crate::networks::Network;
use crate::proxy::ProxyState;
use crate::volumes::Disk;

/// Everything there is. Ordered throughout, so that every run is the same.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    /// By name.
    pub(crate) containers: BTreeMap<String, Container>,
    /// By name.
    pub(crate) networks: BTreeMap<String, Network>,
    /// By id.
    pub(crate) images: BTreeMap<String, Image>,
    pub(crate) registry: Registry,
    pub(crate) proxy: ProxyState,
    pub(crate) disk: Disk,
    /// How containers behave, by name or by image reference.
    pub(crate) behaviours: BTreeMap<String, Behaviour>,
    /// Changes asked for: what and of which object, and how often.
    pub(crate) writes: BTreeMap<String, u64>,
    /// Grows with every id that is given away, so that none is given twice.
    pub(crate) ids_given: u64,
    /// The machine's time up to which everything has happened.
    pub(crate) now: Moment,
    /// What has happened and was not told yet.
    #[serde(skip)]
    pub(crate) untold: Vec<Happening>,
}

/// One moment, on both readings of the clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Moment {
    pub(crate) elapsed: Duration,
    pub(crate) wall: Time,
}

impl Default for Moment {
    fn default() -> Self {
        Self { elapsed: Duration::ZERO, wall: Time(Timestamp::UNIX_EPOCH) }
    }
}

impl Moment {
    /// An earlier moment than this one.
    pub(crate) fn at(&self, elapsed: Duration) -> Self {
        let before = self.elapsed.saturating_sub(elapsed);
        let wall = self.wall.0.saturating_sub(before).unwrap_or(self.wall.0);
        Self { elapsed, wall: Time(wall) }
    }
}

impl State {
    /// A new id, 64 hexadecimal digits as Docker's.
    pub(crate) fn new_id(&mut self, what: &str) -> String {
        self.ids_given += 1;
        fingerprint(&format!("{what} {}", self.ids_given))
    }

    pub(crate) fn tell(&mut self, happening: Happening) {
        self.untold.push(happening);
    }

    /// Counts a change that was asked for.
    pub(crate) fn count(&mut self, op: Op, object: &str) {
        if let Some(change) = op.change() {
            *self.writes.entry(format!("{change} {object}")).or_default() += 1;
        }
    }

    /// The container of that name or id.
    pub(crate) fn container(&self, name_or_id: &str) -> Option<&Container> {
        self.containers
            .get(name_or_id)
            .or_else(|| self.containers.values().find(|each| each.id == name_or_id))
    }

    /// The name of the container of that name or id.
    pub(crate) fn container_name(&self, name_or_id: &str) -> Option<String> {
        self.container(name_or_id).map(|container| container.name.clone())
    }

    /// Whether a container is meant by its name, by the reference it was made with, or by a tag of its image.
    pub(crate) fn goes_by(&self, container: &Container, called: &str) -> bool {
        let has_tag = || self.images.get(&container.image_id).is_some_and(|image| image.has_tag(called));
        container.name == called || container.image_reference == called || has_tag()
    }

    /// The network of that name or id.
    pub(crate) fn network(&self, name_or_id: &str) -> Option<&Network> {
        self.networks.get(name_or_id).or_else(|| self.networks.values().find(|each| each.id == name_or_id))
    }

    /// The running containers that have an address on a network, by its id.
    pub(crate) fn attached(&self, network_id: &str) -> Vec<String> {
        let is_on = |each: &&Container| {
            each.run.is_running() && each.places.values().any(|place| place.network_id == network_id)
        };
        self.containers.values().filter(is_on).map(|each| each.name.clone()).collect()
    }

    /// Whether the proxy runs, which it always does unless it runs in a container.
    pub(crate) fn proxy_runs(&self) -> bool {
        let is_running = |name: &String| self.containers.get(name).is_some_and(|each| each.run.is_running());
        self.proxy.container.as_ref().is_none_or(is_running)
    }

    /// The first free address of a network.
    pub(crate) fn free_address(&self, network_id: &str) -> String {
        let Some(network) = self.network(network_id) else { return String::new() };
        let taken: BTreeSet<&str> = self
            .containers
            .values()
            .flat_map(|each| each.places.values())
            .filter(|place| place.network_id == network_id)
            .map(|place| place.ip.as_str())
            .collect();
        // The first one is the gateway's.
        network.addresses().skip(1).find(|ip| !taken.contains(ip.as_str())).unwrap_or_default()
    }
}

/// 64 hexadecimal digits that depend on the text alone: FNV-1a, four times over with different beginnings. Nothing
/// here needs to withstand an attacker, only to differ.
pub(crate) fn fingerprint(text: &str) -> String {
    let word = |salt: u64| {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        // Short texts leave the upper bits alike; spread them.
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    };
    (1..=4).map(|salt| format!("{:016x}", word(salt))).collect()
}
