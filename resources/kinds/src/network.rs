//! `Network`: a bridge of its own for an app, and who else is attached to it.

use std::fmt;
use std::net::Ipv4Addr;

use hearth_meta::{Claim, CommonStatus, HasCommon, Problem};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::DriftPolicy;

/// What a network should be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Network",
    plural = "networks",
    singular = "network",
    shortname = "net",
    category = "all",
    namespaced,
    status = "NetworkStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"Subnet","type":"string","jsonPath":".spec.subnet","description":"Its addresses"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkSpec {
    /// Whether nothing on it may reach the internet (AL-32).
    #[serde(default)]
    pub internal: bool,
    /// Its addresses, as a /24; chosen from Hearth's pool where absent, then fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    /// Containers of others that are attached to it, such as the proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guests: Vec<Guest>,
    /// What is done when it is changed from outside.
    #[serde(default)]
    pub drift_policy: DriftPolicy,
}

/// A container of others that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guest {
    /// The Container, as `namespace/name`.
    pub container: String,
}

/// What is seen of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// Docker's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_id: Option<String>,
    /// The names of the containers attached to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

impl HasCommon for NetworkStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

/// A pool of addresses that is cut into /24 networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    base: u32,
    prefix: u32,
}

impl Pool {
    /// The default, `10.89.0.0/16`: 256 networks, away from Docker's own pools.
    pub const DEFAULT: Self = Self { base: 0x0a59_0000, prefix: 16 };

    /// Parses `10.89.0.0/16`; the prefix must be 8 to 24.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!("{text:?} is not a pool of addresses; write it as 10.89.0.0/16, with a prefix of 8 to 24")
        };
        let (address, prefix) = text.split_once('/').ok_or_else(bad)?;
        let address: Ipv4Addr = address.parse().map_err(|_| bad())?;
        let prefix: u32 = prefix.parse().ok().filter(|p| (8..=24).contains(p)).ok_or_else(bad)?;
        Ok(Self { base: u32::from(address) & (u32::MAX << (32 - prefix)), prefix })
    }

    fn subnets(self) -> impl Iterator<Item = String> {
        (0..1u32 << (24 - self.prefix)).map(move |i| format!("{}/24", Ipv4Addr::from(self.base + (i << 8))))
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.base), self.prefix)
    }
}

/// Keeps the subnet that was once chosen.
pub(crate) fn default(new: &mut Value, old: Option<&Value>) {
    if let Some(subnet) = old.and_then(|old| old["spec"]["subnet"].as_str())
        && new["spec"].is_object()
        && new["spec"]["subnet"].is_null()
    {
        new["spec"]["subnet"] = subnet.into();
    }
}

pub(crate) fn validate(new: &Network, _old: Option<&Network>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(subnet) = &new.spec.subnet {
        let is_slash_24 = subnet
            .strip_suffix(".0/24")
            .is_some_and(|start| format!("{start}.0").parse::<Ipv4Addr>().is_ok());
        if !is_slash_24 {
            problems
                .push(Problem::new("spec.subnet", format!("{subnet:?} is not a /24 such as 10.89.4.0/24")));
        }
    }
    for (index, guest) in new.spec.guests.iter().enumerate() {
        if guest.container.split('/').filter(|part| !part.is_empty()).count() != 2 {
            problems.push(Problem::new(
                format!("spec.guests[{index}].container"),
                "must be written as namespace/name",
            ));
        }
    }
    problems
}

fn subnet_claim(subnet: &str) -> Claim {
    Claim { space: "subnet", name: subnet.to_owned(), field: "spec.subnet" }
}

pub(crate) fn claims(network: &Value) -> Vec<Claim> {
    network["spec"]["subnet"].as_str().map(subnet_claim).into_iter().collect()
}

/// Stores the first free /24 of the pool.
pub(crate) fn choose(network: &mut Value, pool: Pool, taken: &dyn Fn(&Claim) -> bool) -> Vec<Problem> {
    if !network["spec"]["subnet"].is_null() || !network["spec"].is_object() {
        return Vec::new();
    }
    match pool.subnets().find(|subnet| !taken(&subnet_claim(subnet))) {
        Some(subnet) => {
            network["spec"]["subnet"] = subnet.into();
            Vec::new()
        }
        None => vec![Problem::new(
            "spec.subnet",
            "every network of Hearth's pool is taken; delete apps or serve with a larger --network-pool",
        )],
    }
}
