//! What Hearth wants, as Caddy's JSON.

use std::collections::BTreeSet;

use hearth_capabilities::Fault;
use hearth_capabilities::proxy::{Answer, ProxyRoute};
use serde_json::{Value, json};

/// The id of the route that answers where no other does.
pub const CATCH_ALL: &str = "hearth-catchall";

/// The name of the one server.
pub const SERVER: &str = "hearth";

/// The origin that Hearth's own requests carry, without a scheme as Caddy wants it in its settings.
pub const ORIGIN: &str = "hearth";

/// How long a connection to an app may take to come about: it is on the same machine.
const DIAL_TIMEOUT: &str = "5s";

/// How long open streams such as WebSockets outlive a reload; without it each change of any route cuts them all.
const STREAM_CLOSE_DELAY: &str = "5m";

/// What the catch-all says. It needs nothing from outside and names nothing of the home.
const CATCH_ALL_PAGE: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Nothing here</title></head>\
<body style=\"font-family: sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem\">\
<h1>Nothing here</h1><p>No app of this home answers to this address.</p></body></html>\n";

/// Where Caddy listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// For everyone, such as `:80`.
    pub http: String,
    /// For Hearth, as Caddy itself sees it, such as `unix//run/hearth/admin.sock`.
    pub admin: String,
}

/// The whole configuration.
pub fn config(listen: &Listen, routes: &[ProxyRoute]) -> Value {
    let mut config = base(listen);
    config["apps"]["http"]["servers"][SERVER]["routes"] = self::routes(routes);
    config
}

/// The configuration without its routes.
pub fn base(listen: &Listen) -> Value {
    json!({
        "admin": {
            "listen": listen.admin,
            // On a UNIX socket `origins` alone checks nothing.
            "enforce_origin": true,
            "origins": [ORIGIN],
            // Hearth says everything anew, so nothing on a disk can disagree with it.
            "config": { "persist": false },
        },
        "apps": { "http": { "servers": { SERVER: {
            "listen": [listen.http],
            "automatic_https": { "disable": true },
        } } } },
    })
}

/// All routes in the order they are tried, the catch-all last (CP-52).
pub fn routes(routes: &[ProxyRoute]) -> Value {
    routes.iter().map(route).chain([catch_all()]).collect()
}

/// One route.
pub fn route(route: &ProxyRoute) -> Value {
    json!({
        "@id": route.id,
        "match": [{ "host": route.hosts }],
        "handle": [answer(&route.answer)],
        "terminal": true,
    })
}

/// The route that answers where no other does.
pub fn catch_all() -> Value {
    json!({ "@id": CATCH_ALL, "handle": [page(404, CATCH_ALL_PAGE)] })
}

fn answer(answer: &Answer) -> Value {
    match answer {
        Answer::Page { status, html } => page(*status, html),
        Answer::Forward { address } => json!({
            "handler": "reverse_proxy",
            "upstreams": [{ "dial": address }],
            // Passes on what an app sends at once, as live updates and progress need.
            "flush_interval": -1,
            "stream_close_delay": STREAM_CLOSE_DELAY,
            "transport": { "protocol": "http", "dial_timeout": DIAL_TIMEOUT },
        }),
    }
}

fn page(status: u16, html: &str) -> Value {
    json!({
        "handler": "static_response",
        "status_code": status,
        "headers": { "Content-Type": ["text/html; charset=utf-8"], "Cache-Control": ["no-store"] },
        "body": escape(html),
    })
}

/// Keeps Caddy from filling in what looks like a placeholder, which could show its environment to anyone.
fn escape(text: &str) -> String {
    text.replace('{', "\\{").replace('}', "\\}")
}

/// The opposite of what a page's text went through.
pub(crate) fn unescape(text: &str) -> String {
    text.replace("\\{", "{").replace("\\}", "}")
}

/// Says everything that is wrong with a set of routes.
///
/// Caddy fills placeholders into hosts and addresses and takes an address such as `unix//...` for a socket, so only
/// plain ones go to it.
///
/// # Errors
///
/// [`Fault::Refused`] with each route and what is wrong with it.
pub fn check(routes: &[ProxyRoute]) -> Result<(), Fault> {
    let mut problems = Vec::new();
    let mut ids = BTreeSet::from([CATCH_ALL]);
    for route in routes {
        let mut say = |what: String| problems.push(format!("route {:?}: {what}", route.id));
        if route.id.is_empty() || route.id.contains('/') {
            say("its id must not be empty or hold a slash".into());
        }
        if !ids.insert(&route.id) {
            say("its id is there twice".into());
        }
        if route.hosts.is_empty() {
            say("it has no host, so it would answer for every one".into());
        }
        for host in route.hosts.iter().filter(|host| !is_plain(host)) {
            say(format!("the host {host:?} is not a plain name"));
        }
        match &route.answer {
            Answer::Page { status, .. } if !(200..600).contains(status) => {
                say(format!("the status {status} is not one of HTTP"));
            }
            Answer::Forward { address } if !is_address(address) => {
                say(format!("the address {address:?} must be host:port"));
            }
            _ => {}
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Fault::Refused(problems.join("; "))) }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_address(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = match bracketed {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_plain(host),
    };
    is_host && port.chars().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests;
