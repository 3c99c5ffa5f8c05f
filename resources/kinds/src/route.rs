//! `Route`: which host names lead where.

use hearth_meta::name::check_subdomain;
use hearth_meta::{CommonStatus, HasCommon, Problem, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which host names lead where.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Route",
    plural = "routes",
    singular = "route",
    shortname = "rt",
    category = "all",
    namespaced,
    status = "RouteStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"Hosts","type":"string","jsonPath":".spec.hosts","description":"The host names"}"#,
    printcolumn = r#"{"name":"Mode","type":"string","jsonPath":".spec.mode","description":"Whether the app or a page of ours answers"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct RouteSpec {
    /// The host names.
    #[schemars(length(min = 1))]
    pub hosts: Vec<String>,
    /// What the pages of ours call the thing behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the app answers, or a page of ours.
    #[serde(default)]
    pub mode: RouteMode,
    /// Which page of ours, in mode `Splash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splash: Option<Splash>,
    /// Where it leads, in mode `Upstream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
}

/// Who answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RouteMode {
    /// A page of ours.
    #[default]
    Splash,
    /// The app.
    Upstream,
}

/// Which page of ours (AL-57).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Splash {
    /// It is starting.
    Starting,
    /// It is stopped, as wanted.
    Stopped,
    /// It failed.
    Failed,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upstream {
    /// The Container, in the Route's namespace.
    #[schemars(length(min = 1))]
    pub container: String,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// What is seen of a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// Whether the proxy serves it as wanted.
    #[serde(default)]
    pub applied: bool,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_since: Option<Time>,
}

impl HasCommon for RouteStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

pub(crate) fn validate(new: &Route, _old: Option<&Route>) -> Vec<Problem> {
    let spec = &new.spec;
    let mut problems = Vec::new();
    if spec.hosts.is_empty() {
        problems.push(Problem::new("spec.hosts", "needs at least one host name"));
    }
    for (index, host) in spec.hosts.iter().enumerate() {
        problems.extend(check_subdomain(host).err().map(|m| Problem::new(format!("spec.hosts[{index}]"), m)));
    }
    match spec.mode {
        RouteMode::Splash if spec.splash.is_none() => {
            problems
                .push(Problem::new("spec.splash", "is required in mode Splash: Starting, Stopped or Failed"));
        }
        RouteMode::Upstream if spec.upstream.is_none() => {
            problems.push(Problem::new("spec.upstream", "is required in mode Upstream"));
        }
        _ => {}
    }
    problems
}

/// The claim on a host name: of a Route that no App owns. A Route of an App stands on its App's slug.
pub(crate) fn claims(route: &serde_json::Value) -> Vec<hearth_meta::Claim> {
    route["spec"]["hosts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|host| host.as_str())
        .map(|host| hearth_meta::Claim { space: "host", name: host.to_owned(), field: "spec.hosts" })
        .collect()
}
