//! What the processes of a service find around them: limits, names, groups.

use super::{Judge, Ulimit, fields};
use crate::node::{Node, Value};

/// Limits that a process has for itself. Those that weigh it against other processes of the host are not among them.
const OWN_LIMITS: [&str; 12] = [
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nofile",
    "nproc",
    "sigpending",
    "stack",
];

/// The `ulimits` of a service, by name.
pub(super) fn ulimits(judge: &mut Judge<'_>, name: &str, service: &Node) -> Vec<Ulimit> {
    let mut out = Vec::new();
    for (limit, node) in service.get("ulimits").and_then(Node::as_map).into_iter().flatten() {
        let path = format!("services.{name}.ulimits.{limit}");
        if !OWN_LIMITS.contains(&limit.as_str()) {
            judge.warn(node, path, "has no effect here: it would weigh the app against the host");
            continue;
        }
        let number = |node: Option<&Node>| match node.map(|node| &node.value) {
            Some(Value::Int(number)) => *number,
            // Zero does not show in the model.
            _ => 0,
        };
        let (soft, hard) = match node.value {
            Value::Int(both) => (both, both),
            _ => (number(node.get("soft")), number(node.get("hard"))),
        };
        let over = hard != -1 && (soft == -1 || soft > hard);
        if over || soft < -1 || hard < -1 {
            judge.refuse(node, path, "soft must be at most hard; -1 is without limit");
            continue;
        }
        out.push(Ulimit { name: limit.clone(), soft, hard });
    }
    out
}

/// The `extra_hosts` of a service: names with an address each, or with the host itself.
pub(super) fn extra_hosts(judge: &mut Judge<'_>, name: &str, service: &Node) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (index, node) in
        service.get("extra_hosts").and_then(Node::as_list).unwrap_or_default().iter().enumerate()
    {
        let path = format!("services.{name}.extra_hosts[{index}]");
        let (host, address) = node.as_text().and_then(|text| text.split_once('=')).unwrap_or_default();
        if address != "host-gateway" && address.parse::<std::net::IpAddr>().is_err() {
            let message = format!("`{address}` is neither an address nor host-gateway");
            judge.refuse(node, path, message);
        } else if !super::service::is_host_name(host) {
            judge.refuse(node, path, format!("`{host}` is not a host name; use letters, digits and `-`"));
        } else {
            out.push((host.to_owned(), address.to_owned()));
        }
    }
    out
}

/// The `group_add` of a service. A number means something in the container and where a device is granted; a name would
/// be looked up in the image, and the container would not start without it.
pub(super) fn groups(judge: &mut Judge<'_>, name: &str, service: &Node) -> Vec<String> {
    let mut out = Vec::new();
    for (index, node) in
        service.get("group_add").and_then(Node::as_list).unwrap_or_default().iter().enumerate()
    {
        let text = fields::texts(Some(&Node::list(vec![node.clone()], node.at))).pop().unwrap_or_default();
        match text.parse::<u32>() {
            Ok(number) => out.push(number.to_string()),
            Err(_) => judge.refuse(
                node,
                format!("services.{name}.group_add[{index}]"),
                format!("`{text}` is not a number; apps join no groups of the host by name"),
            ),
        }
    }
    out.sort();
    out.dedup();
    out
}
