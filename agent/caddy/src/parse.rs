//! What Caddy is set to, in words.

use hearth_capabilities::proxy::{Answer, ProxyFacts, ProxyRoute, SeenRoute};
use serde_json::Value;

use crate::render::{self, Listen, SERVER};

/// What Caddy's whole configuration says. `tag` names the state it was read in.
pub fn facts(config: &Value, listen: &Listen, tag: String) -> ProxyFacts {
    let mut outside = config.clone();
    let routes = outside
        .pointer_mut(&format!("/apps/http/servers/{SERVER}"))
        .and_then(Value::as_object_mut)
        .and_then(|server| server.remove("routes"));
    let base_problem = match &routes {
        _ if config.is_null() => Some("it has no configuration".to_owned()),
        Some(Value::Array(_)) => difference(&render::base(listen), &outside, ""),
        _ => Some(format!("it has no server {SERVER:?} with routes")),
    };
    let routes = match routes {
        Some(Value::Array(routes)) => routes.iter().map(seen_route).collect(),
        _ => Vec::new(),
    };
    ProxyFacts { base_problem, routes, tag }
}

/// One route. It is ours only if Hearth would write exactly the same: no field may hide beside those we know.
pub fn seen_route(value: &Value) -> SeenRoute {
    if *value == render::catch_all() {
        return SeenRoute::CatchAll;
    }
    match parse_route(value) {
        Some(route) if render::route(&route) == *value => SeenRoute::Ours(route),
        _ => SeenRoute::Other { id: text(&value["@id"]), description: describe(value) },
    }
}

fn parse_route(value: &Value) -> Option<ProxyRoute> {
    let hosts = value.pointer("/match/0/host")?.as_array()?;
    let hosts = hosts.iter().map(text).collect::<Option<Vec<String>>>()?;
    let handler = value.pointer("/handle/0")?;
    let answer = match handler["handler"].as_str()? {
        "static_response" => Answer::Page {
            status: u16::try_from(handler["status_code"].as_u64()?).ok()?,
            html: render::unescape(handler["body"].as_str()?),
        },
        "reverse_proxy" => Answer::Forward { address: text(handler.pointer("/upstreams/0/dial")?)? },
        _ => return None,
    };
    Some(ProxyRoute { id: text(&value["@id"])?, hosts, answer })
}

/// In words for people, since it may be anything.
fn describe(value: &Value) -> String {
    let hosts: Vec<&str> =
        list(&value["match"]).flat_map(|matcher| list(&matcher["host"])).filter_map(Value::as_str).collect();
    let handlers: Vec<&str> =
        list(&value["handle"]).filter_map(|handler| handler["handler"].as_str()).collect();
    let hosts = if hosts.is_empty() { "any host".to_owned() } else { hosts.join(", ") };
    let handlers = if handlers.is_empty() { "nothing".to_owned() } else { handlers.join(", ") };
    match parse_route(value) {
        Some(_) => format!("a route for {hosts} to {handlers}, edited"),
        None => format!("a route for {hosts} to {handlers}"),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Where two configurations differ first; `None` means nowhere.
fn difference(wanted: &Value, seen: &Value, path: &str) -> Option<String> {
    let (Value::Object(wanted), Value::Object(seen)) = (wanted, seen) else {
        return (wanted != seen).then(|| format!("{path} is {seen}, not {wanted}"));
    };
    for (key, value) in wanted {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match seen.get(key) {
            None => return Some(format!("{path} is missing")),
            Some(seen) => {
                if let Some(found) = difference(value, seen, &path) {
                    return Some(found);
                }
            }
        }
    }
    let strange = seen.keys().find(|key| !wanted.contains_key(*key))?;
    let place = if path.is_empty() { String::new() } else { format!("{path}.") };
    Some(format!("{place}{strange} is set, which Hearth never sets"))
}

#[cfg(test)]
mod tests;
