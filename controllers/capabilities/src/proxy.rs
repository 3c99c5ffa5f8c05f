//! The reverse proxy: all its routes as one set, read once and written once.

use async_trait::async_trait;

use crate::Fault;

/// What a reverse proxy can do.
#[async_trait]
pub trait Proxy: Send + Sync {
    /// Reads everything that matters in one look.
    async fn read(&self) -> Result<ProxyFacts, Fault>;

    /// Replaces the whole configuration: Hearth's base, these routes in this order, the catch-all last.
    async fn reset(&self, routes: &[ProxyRoute]) -> Result<(), Fault>;

    /// Replaces the array of routes in one write, the catch-all last. `tag` is of the read the decision was made
    /// on: if the routes have changed since, nothing is written and the answer is [`Fault::Conflict`].
    async fn write(&self, routes: &[ProxyRoute], tag: &str) -> Result<(), Fault>;
}

/// What the proxy is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyFacts {
    /// What is wrong outside the routes (listeners, admin, other servers); `None` means it is as Hearth sets it.
    pub base_problem: Option<String>,
    /// The routes in the order they are tried, the catch-all included.
    pub routes: Vec<SeenRoute>,
    /// Names this state of the routes, for [`Proxy::write`].
    pub tag: String,
}

/// One route as the proxy has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeenRoute {
    /// Exactly as Hearth would write it.
    Ours(ProxyRoute),
    /// The catch-all, exactly as Hearth would write it.
    CatchAll,
    /// Anything else: edited, or never ours. In words for people.
    Other {
        /// Its id, if it has one.
        id: Option<String>,
        /// What it is.
        description: String,
    },
}

/// One route as Hearth wants it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProxyRoute {
    /// Its id, unique in the proxy.
    pub id: String,
    /// The host names, sorted.
    pub hosts: Vec<String>,
    /// What answers.
    pub answer: Answer,
}

/// What answers on a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// A page.
    Page {
        /// The HTTP status.
        status: u16,
        /// The page, as HTML that needs nothing from outside.
        html: String,
    },
    /// Another server.
    Forward {
        /// `host:port`, as the proxy can reach it.
        address: String,
    },
}
