//! What services are to each other: which end by themselves, and which wait for one that is not run.

use crate::import::report::{Entry, Report};
use crate::import::text_of;
use crate::node::{Map, Node};

/// Which services end by themselves. Some catalogues write `on-failure` at every service, databases too, so it makes a
/// job only of one that another waits for to complete; and `no` only of one that serves nobody: it has no port and no
/// health check, and nobody waits until it is healthy.
pub(in crate::import) fn tell_jobs(services: &mut Map, report: &mut Report) {
    let waits: Vec<(String, String)> = services
        .values()
        .filter_map(|service| service.get("depends_on")?.as_map())
        .flatten()
        .map(|(name, wait)| (name.clone(), text_of(wait, "condition").to_owned()))
        .collect();
    let waited = |name: &str, how: &str| waits.iter().any(|(of, condition)| of == name && condition == how);
    for (name, service) in services.iter_mut() {
        let text = text_of(service, "restart").to_owned();
        let serves = service.get("expose").is_some()
            || service.get("healthcheck").is_some()
            || waited(name, "service_healthy");
        let is_job = waited(name, "service_completed_successfully") || (text == "no" && !serves);
        let Some(fields) = service.as_map_mut() else { continue };
        if !is_job && fields.remove("restart").is_some() {
            let path = format!("services.{name}.restart");
            report.kept.retain(|entry| entry.field != path);
            report.dropped.push(Entry::new(path, "services are always brought back"));
        }
    }
}

/// Takes dependencies on services that are not run out of the others.
pub(in crate::import) fn forget_missing(services: &mut Map, report: &mut Report) {
    let names: Vec<String> = services.keys().cloned().collect();
    for (name, service) in services.iter_mut() {
        let Some(fields) = service.as_map_mut() else { continue };
        let Some(depends) = fields.get_mut("depends_on").and_then(Node::as_map_mut) else { continue };
        depends.retain(|target, _| {
            let there = names.contains(target);
            if !there {
                report.dropped.push(Entry::new(
                    format!("services.{name}.depends_on.{target}"),
                    "that service is not run",
                ));
            }
            there
        });
        if depends.is_empty() {
            fields.remove("depends_on");
        }
    }
}
