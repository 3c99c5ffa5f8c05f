//! [`Proxy`] of the pretend machine.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hearth_capabilities::Fault;
use hearth_capabilities::proxy::{Answer, Proxy, ProxyFacts, ProxyRoute, SeenRoute};
use serde::{Deserialize, Serialize};

use crate::faults::Op;
use crate::machine::Machine;
use crate::state::State;

/// The id of the route that answers where no other does.
const CATCH_ALL: &str = "hearth-catchall";

/// What it says.
pub(crate) const CATCH_ALL_PAGE: &str = "<h1>Nothing here</h1>";

/// What the proxy is set to.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProxyState {
    /// Whether there is a configuration at all.
    is_configured: bool,
    /// What is wrong outside the routes.
    pub(crate) base_problem: Option<String>,
    pub(crate) routes: Vec<Entry>,
    /// Grows with every real change, and names the state.
    version: u64,
    /// Servers besides the containers, by address, and what they say.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, String>,
    /// The container it runs in; `None` means it always runs.
    #[serde(default)]
    pub(crate) container: Option<String>,
}

/// One route, as it is kept.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// Id, hosts, status, page.
    Page(String, Vec<String>, u16, String),
    /// Id, hosts, address.
    Forward(String, Vec<String>, String),
    /// The catch-all.
    CatchAll,
    /// Id, what it is.
    Other(Option<String>, String),
}

impl Entry {
    pub(crate) fn seen(&self) -> SeenRoute {
        let ours = |id: &String, hosts: &[String], answer| {
            SeenRoute::Ours(ProxyRoute { id: id.clone(), hosts: hosts.to_vec(), answer })
        };
        match self {
            Self::Page(id, hosts, status, html) => {
                ours(id, hosts, Answer::Page { status: *status, html: html.clone() })
            }
            Self::Forward(id, hosts, address) => {
                ours(id, hosts, Answer::Forward { address: address.clone() })
            }
            Self::CatchAll => SeenRoute::CatchAll,
            Self::Other(id, description) => {
                SeenRoute::Other { id: id.clone(), description: description.clone() }
            }
        }
    }
}

impl From<SeenRoute> for Entry {
    fn from(seen: SeenRoute) -> Self {
        match seen {
            SeenRoute::Ours(ProxyRoute { id, hosts, answer: Answer::Page { status, html } }) => {
                Self::Page(id, hosts, status, html)
            }
            SeenRoute::Ours(ProxyRoute { id, hosts, answer: Answer::Forward { address } }) => {
                Self::Forward(id, hosts, address)
            }
            SeenRoute::CatchAll => Self::CatchAll,
            SeenRoute::Other { id, description } => Self::Other(id, description),
        }
    }
}

impl ProxyState {
    fn facts(&self) -> ProxyFacts {
        let is_missing = (!self.is_configured).then(|| "it has no configuration".to_owned());
        ProxyFacts {
            base_problem: is_missing.or_else(|| self.base_problem.clone()),
            routes: self.routes.iter().map(Entry::seen).collect(),
            tag: format!("state {}", self.version),
        }
    }

    /// Changes something; the same again is no change, as Caddy skips it (seen).
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut Self)) {
        let before = (self.is_configured, self.base_problem.clone(), self.routes.clone());
        change(self);
        if before != (self.is_configured, self.base_problem.clone(), self.routes.clone()) {
            self.version += 1;
        }
    }

    fn configure(&mut self, routes: &[ProxyRoute]) {
        self.is_configured = true;
        self.base_problem = None;
        self.set_routes(routes);
    }

    fn set_routes(&mut self, routes: &[ProxyRoute]) {
        let ours = routes.iter().cloned().map(|route| Entry::from(SeenRoute::Ours(route)));
        self.routes = ours.chain([Entry::CatchAll]).collect();
    }

    /// As a proxy that was started anew.
    pub(crate) fn clear(&mut self) {
        self.is_configured = false;
        self.base_problem = None;
        self.routes.clear();
    }
}

#[async_trait]
impl Proxy for Machine {
    async fn read(&self) -> Result<ProxyFacts, Fault> {
        self.call(Op::ReadProxy, "", |state| {
            is_there(state)?;
            Ok(state.proxy.facts())
        })
        .await
    }

    async fn reset(&self, routes: &[ProxyRoute]) -> Result<(), Fault> {
        check(routes)?;
        self.call(Op::ResetProxy, "routes", |state| {
            is_there(state)?;
            state.proxy.set(|proxy| proxy.configure(routes));
            Ok(())
        })
        .await
    }

    async fn write(&self, routes: &[ProxyRoute], tag: &str) -> Result<(), Fault> {
        check(routes)?;
        self.call(Op::WriteProxy, "routes", |state| {
            is_there(state)?;
            if state.proxy.facts().tag != tag {
                return Err(Fault::Conflict("the proxy's routes have changed since they were read".into()));
            }
            state.proxy.set(|proxy| proxy.set_routes(routes));
            Ok(())
        })
        .await
    }
}

fn is_there(state: &State) -> Result<(), Fault> {
    if state.proxy_runs() {
        Ok(())
    } else {
        Err(Fault::Blind("no answer from the proxy: connection refused".into()))
    }
}

/// Refuses what the real hands refuse before they ask, and what Caddy refuses.
fn check(routes: &[ProxyRoute]) -> Result<(), Fault> {
    let is_plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let is_address = |address: &str| {
        address
            .rsplit_once(':')
            .is_some_and(|(host, port)| is_plain(host) && port.parse::<u16>().is_ok_and(|p| p > 0))
    };
    let mut ids = BTreeSet::from([CATCH_ALL]);
    let mut problems = Vec::new();
    for route in routes {
        let is_new = ids.insert(&route.id);
        let is_answer_fine = match &route.answer {
            Answer::Page { status, .. } => (200..600).contains(status),
            Answer::Forward { address } => is_address(address),
        };
        let is_host_fine = !route.hosts.is_empty() && route.hosts.iter().all(|host| is_plain(host));
        if !is_new || !is_answer_fine || !is_host_fine || route.id.is_empty() || route.id.contains('/') {
            problems.push(format!("route {:?} makes no sense or is there twice", route.id));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Fault::Refused(problems.join("; "))) }
}
