//! *Makes true*: the proxy serves exactly the declared routes, and answers 404 to every other host.
//!
//! *Looks at*: the proxy's whole configuration, once for all routes.
//! *Owns*: everything the proxy is set to.
//! *Woken by*: Routes; the proxy's own Container, since a new one starts empty.
//! *Never*: writes what is there already (a reload may cut connections); removes a route and adds it again, since
//! its host would fall to the catch-all in between.
//! *When it cannot*: `CannotSee` while the proxy does not answer; what it served last it serves on.

use std::sync::Arc;

use async_trait::async_trait;
use hearth_capabilities::Proxy;
use hearth_capabilities::proxy::{Answer, ProxyFacts, ProxyRoute, SeenRoute};
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Reference, Report, Seen, Step, StepError, Triggers, Wanted,
};
use hearth_engine::{Key, Object, Store};
use hearth_kinds::route::RouteMode;
use hearth_kinds::{Route, RouteStatus, SYSTEM};
use hearth_meta::{FieldDiff, Reason, Time};

use crate::fault::{blind, failed};
use crate::naming::Naming;
use crate::ready::ready;

mod splash;

/// The name of the proxy's own Container, in namespace `system`.
pub const PROXY: &str = "caddy";

/// Keeps the proxy's routes, all as one set.
pub struct RouteController {
    proxy: Arc<dyn Proxy>,
    naming: Naming,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum RouteStep {
    /// Sets the proxy up from nothing, routes included.
    Reset {
        /// What was wrong with it.
        problem: String,
        /// Every route.
        routes: Vec<ProxyRoute>,
    },
    /// Writes the routes.
    Write {
        /// Every route.
        routes: Vec<ProxyRoute>,
        /// The state they replace.
        tag: String,
        /// What differed, in words for people.
        why: String,
    },
}

impl RouteController {
    /// A controller with these hands.
    pub fn new(proxy: Arc<dyn Proxy>, naming: Naming) -> Self {
        Self { proxy, naming }
    }

    fn towards(&self, wanted: &Wanted<Route>) -> ProxyRoute {
        let spec = &wanted.object.spec;
        let mut hosts = spec.hosts.clone();
        hosts.sort();
        let answer = match (&spec.upstream, spec.mode) {
            (Some(upstream), RouteMode::Upstream) => {
                let container = self.naming.of(wanted.namespace(), &upstream.container);
                Answer::Forward { address: format!("{container}:{}", upstream.port) }
            }
            _ => splash::page(spec.title.as_deref().unwrap_or(wanted.name()), spec.splash),
        };
        ProxyRoute { id: format!("route-{}", wanted.uid()), hosts, answer }
    }
}

#[async_trait]
impl Controller for RouteController {
    type Kind = Route;
    type Facts = ProxyFacts;
    type Step = RouteStep;

    const NAME: &'static str = "route";
    const IS_SET: bool = true;

    fn triggers(&self) -> Triggers {
        Triggers { owned: Vec::new(), referenced: vec![Reference::to("Container", all_routes_for_the_proxy)] }
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        let facts = self.proxy.read().await.map_err(blind)?;
        let mark = format!("{} {:?}", facts.tag, facts.base_problem);
        // Routes without an object are written away with the next set; none is an orphan to collect.
        let uids = facts.routes.iter().filter_map(|route| match route {
            SeenRoute::Ours(route) => route.id.strip_prefix("route-").map(str::to_owned),
            SeenRoute::CatchAll | SeenRoute::Other { .. } => None,
        });
        let found = |uid: String| Found {
            lineage: String::new(),
            name: uid.clone(),
            mark: mark.clone(),
            made_at: 0,
            uid,
        };
        Ok(uids.map(found).collect())
    }

    async fn observe(&self, _wanted: &[Wanted<Route>]) -> Result<ProxyFacts, Blind> {
        self.proxy.read().await.map_err(blind)
    }

    fn diff(&self, wanted: &Wanted<Route>, facts: &ProxyFacts) -> Seen {
        let route = self.towards(wanted);
        let mut seen = facts.routes.iter().filter_map(|seen| match seen {
            SeenRoute::Ours(seen) if seen.id == route.id => Some(Ok(seen)),
            SeenRoute::Other { id: Some(id), description } if *id == route.id => Some(Err(description)),
            _ => None,
        });
        match seen.next() {
            None => Seen::Absent,
            Some(Err(description)) => Seen::Ours(vec![FieldDiff::new(
                "spec",
                Some(shown(&route.answer)),
                Some(description.clone()),
            )]),
            Some(Ok(seen)) => {
                let mut differences = Vec::new();
                if !comes_first(facts, &route.id) {
                    // Whatever it is set to, nobody ever comes to it.
                    let (wanted, seen) = ("before the catch-all", "after the catch-all");
                    differences.push(FieldDiff::new("order", Some(wanted.into()), Some(seen.into())));
                }
                FieldDiff::compare_json(&mut differences, "spec.hosts", &route.hosts, &seen.hosts);
                if route.answer != seen.answer {
                    differences.push(FieldDiff::new(
                        "spec.mode",
                        Some(shown(&route.answer)),
                        Some(shown(&seen.answer)),
                    ));
                }
                Seen::Ours(differences)
            }
        }
    }

    fn plan(&self, wanted: &[Wanted<Route>], facts: &ProxyFacts) -> Plan<RouteStep> {
        let mut routes: Vec<ProxyRoute> =
            wanted.iter().filter(|wanted| !wanted.gone).map(|wanted| self.towards(wanted)).collect();
        routes.sort();
        if let Some(problem) = &facts.base_problem {
            return Plan::steps(vec![RouteStep::Reset { problem: problem.clone(), routes }]);
        }
        let right: Vec<SeenRoute> =
            routes.iter().cloned().map(SeenRoute::Ours).chain([SeenRoute::CatchAll]).collect();
        if facts.routes == right {
            return Plan::nothing();
        }
        let why = what_differs(&right, &facts.routes);
        Plan::steps(vec![RouteStep::Write { routes, tag: facts.tag.clone(), why }])
    }

    async fn act(&self, step: &RouteStep, _wanted: &[Wanted<Route>], _cx: &Act) -> Result<(), StepError> {
        match step {
            RouteStep::Reset { routes, .. } => self.proxy.reset(routes).await,
            RouteStep::Write { routes, tag, .. } => self.proxy.write(routes, tag).await,
        }
        .map_err(failed)
    }

    fn status(
        &self,
        wanted: &Wanted<Route>,
        seen: Result<&ProxyFacts, &Blind>,
        outcome: &Outcome<RouteStep>,
    ) -> Report<Route> {
        let before = wanted.object.status.clone().unwrap_or_default();
        let applied = match seen {
            Ok(facts) => facts.base_problem.is_none() && self.diff(wanted, facts) == Seen::Ours(Vec::new()),
            Err(_) => before.applied,
        };
        // One that is served is served, whatever becomes of the others it is written with.
        let is_held = matches!(outcome, Outcome::Paused { .. });
        let outcome =
            if applied && seen.is_ok() && !wanted.gone && !is_held { &Outcome::Steady } else { outcome };
        let common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
        let since = before.served_since.filter(|_| before.applied).or(Some(Time(wanted.now)));
        let conditions = vec![ready(seen.map(|_| applied && !wanted.gone), &common)];
        let status = RouteStatus { common, applied, served_since: since.filter(|_| applied) };
        Report { status, conditions }
    }
}

impl Step for RouteStep {
    fn doing(&self) -> String {
        match self {
            Self::Reset { .. } => "Set the proxy up".into(),
            Self::Write { .. } => "Write the proxy's routes".into(),
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::Reset { problem, .. } => ("ProxyReset", format!("Set the proxy up anew: {problem}")),
            Self::Write { why, .. } => ("RoutesWritten", format!("Wrote the proxy's routes: {why}")),
        }
    }
}

/// Whether a route stands before the one that answers every host.
fn comes_first(facts: &ProxyFacts, id: &str) -> bool {
    let is_it = |route: &&SeenRoute| match route {
        SeenRoute::CatchAll => true,
        SeenRoute::Ours(route) => route.id == id,
        SeenRoute::Other { .. } => false,
    };
    !matches!(facts.routes.iter().find(is_it), Some(SeenRoute::CatchAll))
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Page { status, .. } => format!("a page with status {status}"),
        Answer::Forward { address } => format!("forward to {address}"),
    }
}

/// Why the routes are written, without naming each of many.
fn what_differs(right: &[SeenRoute], seen: &[SeenRoute]) -> String {
    let edited: Vec<&str> = seen
        .iter()
        .filter_map(|route| {
            if let SeenRoute::Other { description, .. } = route { Some(description.as_str()) } else { None }
        })
        .collect();
    if !edited.is_empty() {
        return format!("found {}", edited.join(", "));
    }
    let ours =
        |routes: &[SeenRoute]| routes.iter().filter(|route| matches!(route, SeenRoute::Ours(_))).count();
    match (ours(right), ours(seen)) {
        _ if seen.last() != Some(&SeenRoute::CatchAll) => "the catch-all was not last".into(),
        (more, fewer) if more != fewer => format!("{more} are wanted and {fewer} were there"),
        _ => "a route had changed".into(),
    }
}

fn all_routes_for_the_proxy(container: &Object, _store: &Store) -> Vec<Key> {
    let is_proxy = container.metadata.namespace.as_deref() == Some(SYSTEM) && container.name() == PROXY;
    // The routes are one set: any key wakes it.
    is_proxy.then(|| Key::new("Route", "", "*")).into_iter().collect()
}

#[cfg(test)]
mod tests;
