//! Ports in their short forms: `80`, `8080:80`, `127.0.0.1:9000-9001:9000-9001/udp`.

use std::net::IpAddr;

/// One port of the container and what the file asks to bind on the host for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub host_ip: String,
    /// Empty, a port, or a range to choose from.
    pub published: String,
    pub target: u16,
    pub protocol: String,
}

/// Takes a short form apart; a range gives several ports, sorted as Docker Compose sorts them.
///
/// # Errors
/// A sentence that says what is not a port.
pub(crate) fn parse(text: &str) -> Result<Vec<Port>, String> {
    let wrong = |why: &str| format!("`{text}` is not a port: {why}; write it like \"8080:80\"");
    let parts: Vec<&str> = text.split(':').collect();
    let (ip, host, container) = match parts.as_slice() {
        [container] => (String::new(), "", *container),
        [host, container] => (String::new(), *host, *container),
        [ip @ .., host, container] => (ip.join(":"), *host, *container),
        [] => return Err(wrong("it is empty")),
    };
    let (container, protocol) = container.split_once('/').unwrap_or((container, "tcp"));
    let protocol = if protocol.is_empty() { "tcp".to_owned() } else { protocol.to_lowercase() };
    if container.is_empty() {
        return Err(wrong("the container's port is missing"));
    }
    if !matches!(protocol.as_str(), "tcp" | "udp" | "sctp") {
        return Err(wrong("the protocol is tcp, udp or sctp"));
    }
    let host_ip = address(&ip).ok_or_else(|| wrong("the address is not one"))?;
    let (first, last) =
        range(container).ok_or_else(|| wrong("the container's port is no number from 0 to 65535"))?;
    let published = if host.is_empty() {
        None
    } else {
        Some(range(host).ok_or_else(|| wrong("the host's port is no number from 0 to 65535"))?)
    };
    if let Some((low, high)) = published
        && last - first != high - low
        && first != last
    {
        return Err(wrong("the two ranges differ in length"));
    }
    let mut ports: Vec<Port> = (first..=last)
        .map(|target| Port {
            host_ip: host_ip.clone(),
            published: published.map_or_else(String::new, |(low, high)| {
                published_for(target - first, first == last, low, high)
            }),
            target,
            protocol: protocol.clone(),
        })
        .collect();
    // By the text `80/tcp`, so 1000 comes before 999.
    ports.sort_by_key(|port| format!("{}/{}", port.target, port.protocol));
    Ok(ports)
}

fn published_for(offset: u16, single: bool, low: u16, high: u16) -> String {
    if single && low != high { format!("{low}-{high}") } else { (low + offset).to_string() }
}

/// An address without its brackets; empty for none.
fn address(text: &str) -> Option<String> {
    let inner = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    (inner.is_empty() && text.is_empty() || is_address(inner)).then(|| inner.to_owned())
}

/// Whether a text is an IP address, without zone or brackets.
pub(crate) fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

fn range(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| -> Option<u16> {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    // A second dash is ignored with what follows it.
    let mut parts = text.split('-');
    let first = number(parts.next()?)?;
    let last = parts.next().map_or(Some(first), number)?;
    (last >= first).then_some((first, last))
}
