//! What a browser in the home sees: a request through the proxy to a container.

use hearth_capabilities::proxy::{Answer, SeenRoute};

use crate::containers::record::Container;
use crate::hand::Behaviour;
use crate::machine::Machine;
use crate::proxy::{CATCH_ALL_PAGE, Entry};
use crate::state::State;

/// What a browser is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The page; of a container its name.
    pub body: String,
    /// The container that answered.
    pub container: Option<String>,
}

impl Machine {
    /// A server that is no container answers at an address, and says this.
    pub fn serve_at(&self, address: &str, says: &str) {
        self.change(|state| state.proxy.servers.insert(address.to_owned(), says.to_owned()));
    }

    /// From now on the proxy runs in the container of that name, as a product's Caddy does: it answers nobody while
    /// that does not run, forgets its configuration when it starts, and reaches only what shares a network with it.
    ///
    /// Without this the proxy always runs and reaches every container.
    pub fn proxy_runs_in(&self, name: &str) {
        self.change(|state| state.proxy.container = Some(name.to_owned()));
    }

    /// Asks for the page of a host, as a browser in the home does. The first route for it answers; a forward leads to
    /// the running container of that name, alias or address.
    pub fn ask(&self, host: &str) -> Reply {
        self.look(|state| ask(state, host))
    }

    /// The first route that answers for a host, the catch-all included; `None` where the proxy does not run, or has
    /// none.
    pub fn route_for(&self, host: &str) -> Option<SeenRoute> {
        self.look(|state| state.proxy_runs().then(|| first_for(state, host))?)
    }
}

fn page(status: u16, body: &str) -> Reply {
    Reply { status, body: body.to_owned(), container: None }
}

fn ask(state: &State, host: &str) -> Reply {
    if !state.proxy_runs() {
        // Nobody listens; a browser shows a page of its own.
        return page(0, "");
    }
    match first_for(state, host) {
        Some(SeenRoute::Ours(route)) => match route.answer {
            Answer::Page { status, html } => page(status, &html),
            Answer::Forward { address } => forward(state, &address),
        },
        Some(SeenRoute::CatchAll) => page(404, CATCH_ALL_PAGE),
        // A proxy without a route for it answers with nothing at all, and 200 (seen).
        Some(SeenRoute::Other { .. }) | None => page(200, ""),
    }
}

fn first_for(state: &State, host: &str) -> Option<SeenRoute> {
    let is_for = |hosts: &[String]| hosts.iter().any(|each| each.eq_ignore_ascii_case(host));
    let answers = |route: &&Entry| match route {
        Entry::Page(_, hosts, ..) | Entry::Forward(_, hosts, _) => is_for(hosts),
        Entry::CatchAll => true,
        Entry::Other(..) => false,
    };
    state.proxy.routes.iter().find(answers).map(Entry::seen)
}

fn forward(state: &State, address: &str) -> Reply {
    if let Some(says) = state.proxy.servers.get(address) {
        return page(200, says);
    }
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let reached =
        state.containers.values().find(|each| each.run.is_running() && is_reached(state, each, host));
    match reached.filter(|each| !is_mute(state, each)) {
        Some(container) => {
            Reply { status: 200, body: container.name.clone(), container: Some(container.name.clone()) }
        }
        None => page(502, ""),
    }
}

/// Whether a host leads to a container: by its name, an alias or its address, on a network the proxy is on.
fn is_reached(state: &State, container: &Container, host: &str) -> bool {
    let proxy = state.proxy.container.as_ref().and_then(|name| state.containers.get(name));
    let is_shared = |network_id: &str| {
        proxy.is_none_or(|proxy| proxy.places.values().any(|place| place.network_id == network_id))
    };
    // Without a proxy in a container, one that is on no network is reached as well.
    let is_on_none = proxy.is_none() && container.name == host;
    is_on_none
        || container.places.values().filter(|place| is_shared(&place.network_id)).any(|place| {
            container.name == host || place.ip == host || place.aliases.iter().any(|alias| alias == host)
        })
}

fn is_mute(state: &State, container: &Container) -> bool {
    let is_told = |called: &str| state.goes_by(container, called);
    state.behaviours.iter().any(|(called, behaviour)| *behaviour == Behaviour::Mute && is_told(called))
}
