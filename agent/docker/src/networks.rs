//! [`Networks`] over Docker.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use async_trait::async_trait;
use bollard::errors::Error;
use bollard::models::{
    Ipam, IpamConfig, NetworkConnectRequest, NetworkCreateRequest, NetworkCreateResponse,
    NetworkDisconnectRequest, NetworkInspect,
};
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptions, ListNetworksOptionsBuilder};
use bytes::Bytes;
use futures::FutureExt;
use hearth_capabilities::containers::JoinedNetwork;
use hearth_capabilities::networks::{ListedNetwork, NetworkFacts, NewNetwork};
use hearth_capabilities::{Fault, Networks};
use hearth_meta::labels;

use crate::client::{CHANGE, Docker};
use crate::containers::{endpoint_for, none_if_absent};
use crate::failure::says;
use crate::names::check_name;

/// The driver of every network of Hearth's.
const DRIVER: &str = "bridge";
/// The address driver Docker uses by itself.
const ADDRESS_DRIVER: &str = "default";
/// Options newer versions of Docker add by themselves, with the value they then have.
const ADDED_OPTIONS: &[(&str, &str)] =
    &[("com.docker.network.enable_ipv4", "true"), ("com.docker.network.enable_ipv6", "false")];

#[async_trait]
impl Networks for Docker {
    async fn list(&self) -> Result<Vec<ListedNetwork>, Fault> {
        let filters = HashMap::from([("label", vec![labels::UID])]);
        let options = ListNetworksOptionsBuilder::default().filters(&filters).build();
        let seen = self.tell(self.api.list_networks(Some(options))).await?;
        Ok(seen.into_iter().map(|network| listed(network.id, network.name, network.labels)).collect())
    }

    async fn inspect(&self, name: &str) -> Result<Option<NetworkFacts>, Fault> {
        Ok(self.find_network(name).await?.map(facts_from))
    }

    async fn create(&self, wanted: &NewNetwork) -> Result<String, Fault> {
        check_name(&wanted.name)?;
        if !is_subnet(&wanted.subnet) {
            let problem = format!("subnet: {:?} must be like 10.89.4.0/24", wanted.subnet);
            return Err(Fault::Refused(problem));
        }
        let request = request_for(wanted)
            .map_err(|error| Fault::Failed(format!("the request cannot be written: {error}")))?;
        let made = match self.change(CHANGE, self.transport.post("/networks/create", request)).await {
            Err(Fault::Conflict(said)) if said.contains("overlap") => {
                return Err(self.overlap(&wanted.subnet).await);
            }
            made => made?,
        };
        let made: NetworkCreateResponse = serde_json::from_slice(&made)
            .map_err(|error| Fault::Blind(format!("Docker's answer makes no sense: {error}")))?;
        Ok(made.id)
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        self.change(CHANGE, self.api.remove_network(check_name(id)?).map(none_if_absent)).await.map(drop)
    }

    async fn connect(&self, network: &JoinedNetwork, container: &str) -> Result<(), Fault> {
        check_name(container)?;
        // Docker lets a stopped container join a network that is not there, and then cannot start it.
        let Some(seen) = self.find_network(&network.name).await? else {
            return Err(Fault::Missing(format!("network {} is not there", network.name)));
        };
        if self.is_attached(container, &network.name, seen.id.as_deref()).await? {
            return Ok(());
        }
        let request = NetworkConnectRequest {
            container: container.to_owned(),
            endpoint_config: Some(endpoint_for(network)),
        };
        let joined = self.api.connect_network(&network.name, request);
        match self.change(CHANGE, joined.map(already)).await? {
            Joined::Now => Ok(()),
            // The name is taken there: by this container in the meantime, or by what a crash of Docker left behind.
            Joined::NameTaken if self.is_attached(container, &network.name, seen.id.as_deref()).await? => {
                Ok(())
            }
            Joined::NameTaken => Err(Fault::Conflict(format!(
                "network {} holds a leftover of {container}: disconnect it by force",
                network.name
            ))),
        }
    }

    async fn disconnect(&self, network: &str, container: &str) -> Result<(), Fault> {
        check_name(container)?;
        // By force, so that what a crash of Docker left behind goes as well.
        let request = NetworkDisconnectRequest { container: container.to_owned(), force: Some(true) };
        let left = self.api.disconnect_network(check_name(network)?, request);
        let left = left.map(|answer| match answer {
            Err(error) if says(&error, "is not connected to") => Ok(None),
            answer => none_if_absent(answer),
        });
        self.change(CHANGE, left).await.map(drop)
    }
}

/// How an attempt to join ended.
enum Joined {
    Now,
    NameTaken,
}

fn already(answer: Result<(), Error>) -> Result<Joined, Error> {
    match answer {
        Ok(()) => Ok(Joined::Now),
        Err(error)
            if says(&error, "already exists in network")
                || says(&error, "is already attached to network") =>
        {
            Ok(Joined::NameTaken)
        }
        Err(error) => Err(error),
    }
}

impl Docker {
    /// A network by its whole name. Docker would also take an id, or the beginning of one, for it.
    async fn find_network(&self, name: &str) -> Result<Option<NetworkInspect>, Fault> {
        let asked = self.api.inspect_network(check_name(name)?, None::<InspectNetworkOptions>);
        let seen = self.tell(asked.map(|answer| match answer {
            Err(error) if says(&error, "is ambiguous") => {
                Ok(Err(Fault::Conflict(format!("two networks are named {name}: remove one of them"))))
            }
            answer => none_if_absent(answer).map(Ok),
        }));
        Ok(seen.await??.filter(|seen| seen.name.as_deref() == Some(name)))
    }

    /// Which network has the addresses of a subnet. Docker only says that one has.
    async fn overlap(&self, subnet: &str) -> Fault {
        let all = self.tell(self.api.list_networks(None::<ListNetworksOptions>)).await.unwrap_or_default();
        let in_the_way = all.into_iter().find_map(|network| {
            let configs = network.ipam?.config?;
            let theirs = configs.into_iter().filter_map(|config| config.subnet);
            let theirs = { theirs }.find(|theirs| overlaps(subnet, theirs))?;
            Some(format!("network {} ({theirs})", network.name.unwrap_or_default()))
        });
        let with = in_the_way.unwrap_or_else(|| "addresses that Docker uses already".to_owned());
        Fault::Conflict(format!("the subnet {subnet} overlaps {with}"))
    }

    /// Whether a container is on a network, and on the one of that name that exists now.
    async fn is_attached(&self, container: &str, network: &str, id: Option<&str>) -> Result<bool, Fault> {
        let Some(seen) = self.find_container(container).await? else {
            return Err(Fault::Missing(format!("container {container} is not there")));
        };
        let networks = seen.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
        // A container that never started has no id of its network yet.
        let same = |seen: Option<&str>| seen.is_none_or(str::is_empty) || seen == id;
        Ok(networks.get(network).is_some_and(|endpoint| same(endpoint.network_id.as_deref())))
    }
}

/// As JSON: Docker 20.10 makes a second network of a name unless it is asked to look, and bollard's types have no
/// place for that question.
fn request_for(wanted: &NewNetwork) -> Result<Bytes, serde_json::Error> {
    let subnet = IpamConfig { subnet: Some(wanted.subnet.clone()), ..IpamConfig::default() };
    let mut request = serde_json::to_value(NetworkCreateRequest {
        name: wanted.name.clone(),
        driver: Some(DRIVER.to_owned()),
        internal: Some(wanted.internal),
        ipam: Some(Ipam { config: Some(vec![subnet]), ..Ipam::default() }),
        labels: Some(wanted.labels.clone().into_iter().collect()),
        ..NetworkCreateRequest::default()
    })?;
    request["CheckDuplicate"] = true.into();
    serde_json::to_vec(&request).map(Bytes::from)
}

fn is_subnet(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| {
        let bits = bits.parse::<u8>().ok();
        address.parse::<std::net::Ipv4Addr>().is_ok() && bits.is_some_and(|bits| (1..=30).contains(&bits))
    })
}

/// Whether two subnets share an address; what is no subnet of IPv4 shares none.
fn overlaps(one: &str, other: &str) -> bool {
    let range = |text: &str| {
        let (address, bits) = text.split_once('/')?;
        let address = u32::from(address.parse::<std::net::Ipv4Addr>().ok()?);
        let mask = u32::MAX.checked_shl(32 - bits.parse::<u32>().ok().filter(|bits| *bits <= 32)?);
        let first = address & mask.unwrap_or(0);
        Some((first, first | !mask.unwrap_or(0)))
    };
    match (range(one), range(other)) {
        (Some((first, last)), Some((others_first, others_last))) => {
            first <= others_last && others_first <= last
        }
        _ => false,
    }
}

fn listed(
    id: Option<String>,
    name: Option<String>,
    labels: Option<HashMap<String, String>>,
) -> ListedNetwork {
    ListedNetwork {
        id: id.unwrap_or_default(),
        name: name.unwrap_or_default(),
        labels: labels.unwrap_or_default().into_iter().collect(),
    }
}

fn facts_from(seen: NetworkInspect) -> NetworkFacts {
    let foreign = foreign_in(&seen);
    let first = seen.ipam.and_then(|ipam| ipam.config).and_then(|configs| configs.into_iter().next());
    let mut attached: Vec<String> =
        seen.containers.unwrap_or_default().into_values().filter_map(|endpoint| endpoint.name).collect();
    attached.sort();
    NetworkFacts {
        id: seen.id.unwrap_or_default(),
        name: seen.name.unwrap_or_default(),
        driver: seen.driver.unwrap_or_default(),
        subnet: first.and_then(|config| config.subnet).unwrap_or_default(),
        internal: seen.internal.unwrap_or_default(),
        labels: seen.labels.unwrap_or_default().into_iter().collect(),
        attached,
        foreign,
    }
}

fn foreign_in(seen: &NetworkInspect) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |is_foreign: bool, what: &str| {
        if is_foreign {
            found.push(what.to_owned());
        }
    };
    note(seen.enable_ipv6 == Some(true), "IPv6");
    note(seen.attachable == Some(true), "attachable");
    note(seen.ingress == Some(true), "ingress");
    note(seen.config_only == Some(true), "only a configuration");
    let from = seen.config_from.as_ref().and_then(|from| from.network.as_ref());
    note(from.is_some_and(|from| !from.is_empty()), "configured from another network");
    if let Some(ipam) = &seen.ipam {
        let driver = ipam.driver.as_deref().unwrap_or(ADDRESS_DRIVER);
        note(driver != ADDRESS_DRIVER, "address driver");
        note(ipam.options.as_ref().is_some_and(|options| !options.is_empty()), "address options");
        let configs = ipam.config.as_deref().unwrap_or_default();
        note(configs.len() > 1, "more than one subnet");
        let narrowed = |config: &IpamConfig| config.ip_range.as_ref().is_some_and(|range| !range.is_empty());
        note(configs.iter().any(narrowed), "address range");
    }
    for (name, value) in seen.options.iter().flatten() {
        if !ADDED_OPTIONS.contains(&(name.as_str(), value.as_str())) {
            found.push(format!("option {name}={value}"));
        }
    }
    found.sort();
    found
}
