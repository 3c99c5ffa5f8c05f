//! Networks: bridges of the container engine and what is attached to them.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::Fault;
use crate::containers::JoinedNetwork;

/// What a container engine can do with networks.
#[async_trait]
pub trait Networks: Send + Sync {
    /// Every network that carries Hearth's uid label.
    async fn list(&self) -> Result<Vec<ListedNetwork>, Fault>;

    /// The network of that name, whoever made it; `None` means there is none.
    async fn inspect(&self, name: &str) -> Result<Option<NetworkFacts>, Fault>;

    /// Makes a bridge. Returns its id. One of that name, or an overlapping subnet, is a [`Fault::Conflict`]
    /// that says which network is in the way.
    async fn create(&self, wanted: &NewNetwork) -> Result<String, Fault>;

    /// Removes a network by id; gone already is success, containers still on it a [`Fault::Conflict`].
    async fn remove(&self, id: &str) -> Result<(), Fault>;

    /// Attaches a container, by name or id; attached already is success.
    async fn connect(&self, network: &JoinedNetwork, container: &str) -> Result<(), Fault>;

    /// Detaches a container, by name or id; not attached, or either gone, is success.
    async fn disconnect(&self, network: &str, container: &str) -> Result<(), Fault>;
}

/// A network in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNetwork {
    /// Docker's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A network to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNetwork {
    /// Its name.
    pub name: String,
    /// Its addresses, such as `10.89.4.0/24`.
    pub subnet: String,
    /// Whether nothing on it may reach the outside.
    pub internal: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A network as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Docker's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its driver, such as `bridge`.
    pub driver: String,
    /// Its first subnet; empty where it has none.
    pub subnet: String,
    /// Whether nothing on it may reach the outside.
    pub internal: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The names of the running containers attached to it, sorted.
    pub attached: Vec<String>,
    /// Whatever is set that Hearth never sets, such as driver options, for people to read.
    pub foreign: Vec<String>,
}
