//! The machine as the one Node there is.
//!
//! What is told of it is what the engine says of its machine; what nobody says is left out, or empty where clients need
//! the field. Nobody tells of changes, so a watch looks again and again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use futures::{StreamExt, stream};
use hearth_capabilities::containers::EngineFacts;
use hearth_engine::{Key, Object};
use hearth_meta::{KindInfo, Scope, Timestamp, labels};
use hearth_wire::{Actor, Asked, Failure, Standing, standing};
use serde_json::{Value, json};

use super::super::VERSION;
use super::super::places::{Door, Inside};
use super::{age, column, core};

/// How long Docker may take to say that it is there.
const LIMIT: Duration = Duration::from_secs(3);
/// How often whoever watches is told what has changed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Where nothing better is known.
const NAMELESS: &str = "home";

/// What a Node is.
pub(in super::super) fn kind() -> KindInfo {
    KindInfo {
        short_names: &["no"],
        columns: vec![
            column("Status", "string", "", 0, "Whether Docker answers"),
            column("Roles", "string", "", 0, "What it is for"),
            age(),
            column("Version", "string", ".status.nodeInfo.kubeletVersion", 0, "The version of Hearth"),
            column(
                "Runtime",
                "string",
                ".status.nodeInfo.containerRuntimeVersion",
                1,
                "The version of Docker",
            ),
            column("Kernel", "string", ".status.nodeInfo.kernelVersion", 1, "The version of the kernel"),
        ],
        ..core("Node", ("nodes", "node"), Scope::Cluster)
    }
}

/// The machine's name, which is also its Node's.
pub(super) fn name() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().to_lowercase();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    if is_name { name } else { NAMELESS.to_owned() }
}

/// `/api/v1/nodes` and `/api/v1/nodes/NAME`.
pub(in super::super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let kind = kind();
    let place = uri.path().trim_start_matches("/api/v1/").trim_end_matches('/');
    let inside = door.open(&actor, &asked(&kind, place, &uri)?)?;
    let objects = vec![node(&inside).await];
    let again = stream::unfold(inside.clone(), async |inside| {
        inside.store().clock().sleep(LOOK_AGAIN).await;
        Some((vec![node(&inside).await], inside))
    });
    let standing_now = Standing { kind: &kind, cells, objects, again: Some(again.boxed()), lasting };
    standing(&inside, standing_now, place, (&uri, &headers), inside.behind().closing.clone())
}

/// The namespace, the plural and the name that a place says; those it does not say are empty.
pub(super) fn parts(place: &str) -> Option<(&str, &str, &str)> {
    match place.split('/').collect::<Vec<_>>().as_slice() {
        ["namespaces", namespace, plural] => Some((*namespace, *plural, "")),
        ["namespaces", namespace, plural, name] => Some((*namespace, *plural, *name)),
        [plural] => Some(("", *plural, "")),
        [plural, name] => Some(("", *plural, *name)),
        _ => None,
    }
}

/// The right that is asked for, by what stands for the moment. What is checked is what is then answered: the same kind,
/// and a watch however it is spelt.
pub(super) fn asked(kind: &KindInfo, place: &str, uri: &Uri) -> Result<Asked, Failure> {
    let (namespace, _, name) =
        parts(place).filter(|(_, plural, _)| *plural == kind.plural).ok_or_else(Failure::no_such_place)?;
    let Query(said) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|error| Failure::bad_request(format!("the query string is not understood: {error}")))?;
    let watches = said.iter().any(|(key, value)| {
        key == "watch" && !["", "0"].contains(&value.as_str()) && !value.eq_ignore_ascii_case("false")
    });
    let verb = match name {
        _ if watches => "watch",
        "" => "list",
        _ => "get",
    };
    Ok(Asked::of(verb, kind, namespace, name))
}

/// How the machine was last seen. Clones are the same.
#[derive(Clone, Default)]
pub(in super::super) struct Seen(Arc<Mutex<Known>>);

#[derive(Clone, Default)]
struct Known {
    /// What the engine last said, though it may not answer now.
    facts: Option<EngineFacts>,
    /// Why it does not answer, and since when that, or that it does, is so.
    since: Option<(Option<String>, Timestamp)>,
}

impl Seen {
    /// Takes in what the engine says, or why it says nothing.
    fn take(&self, told: Result<EngineFacts, String>, now: Timestamp) -> Known {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = told.as_ref().err().cloned();
        let since = match &known.since {
            Some((before, since)) if before.is_some() == trouble.is_some() => *since,
            _ => now,
        };
        known.since = Some((trouble, since));
        known.facts = told.ok().or(known.facts.take());
        known.clone()
    }
}

async fn node(inside: &Inside) -> Object {
    let store = inside.store();
    let now = store.clock().now();
    let told = match &inside.behind().machine {
        Some(machine) => tokio::time::timeout(LIMIT, machine.hands.containers.engine())
            .await
            .map_err(|_| "it does not answer".to_owned())
            .and_then(|told| told.map_err(|fault| fault.to_string())),
        None => Err("this server has no machine".to_owned()),
    };
    let Known { facts, since } = inside.behind().node.take(told, now);
    let (trouble, since) = since.unwrap_or((None, now));
    let made = store.get(&Key::new("Namespace", "", labels::SYSTEM));
    let made = made.and_then(|made| made.metadata.creation_timestamp.clone());
    let name = name();
    let system = rustix::system::uname();
    let (kernel, machine) = (system.release().to_string_lossy(), architecture());
    let host = facts.as_ref().map(|facts| facts.host.clone()).unwrap_or_default();
    let mut status = json!({
        "conditions": [condition(trouble.as_ref(), since, now)],
        "addresses": [{ "type": "Hostname", "address": name }],
        // Clients need each of these fields; one that is empty is not known.
        "nodeInfo": {
            "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
            "kernelVersion": kernel, "operatingSystem": "linux", "architecture": machine,
            "osImage": host.system.unwrap_or_default(),
            "containerRuntimeVersion": facts.map_or_else(|| "docker://".to_owned(), |facts| format!("docker://{}", facts.version)),
            "kubeletVersion": format!("v{VERSION}"),
        },
    });
    let mut room = json!({});
    if let Some(processors) = host.processors {
        room["cpu"] = processors.to_string().into();
    }
    if let Some(bytes) = host.memory_bytes {
        room["memory"] = format!("{}Ki", bytes / 1024).into();
    }
    if room != json!({}) {
        (status["capacity"], status["allocatable"]) = (room.clone(), room);
    }
    let value = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name, "uid": store.lineage(), "resourceVersion": store.resource_version().to_string(),
            "creationTimestamp": made,
            "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": machine, "kubernetes.io/role": "home" },
        },
        "spec": {},
        "status": status,
    });
    Object::from_value(value).expect("it is an object")
}

/// Could not tell is not the same as not ready, and it is said why.
fn condition(trouble: Option<&String>, since: Timestamp, now: Timestamp) -> Value {
    let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let (status, reason, message) = match trouble {
        None => ("True", "DockerAnswers", "Docker answers".to_owned()),
        Some(why) => ("Unknown", "DockerDoesNotAnswer", format!("Docker does not answer: {why}")),
    };
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": whole(now), "lastTransitionTime": whole(since),
    })
}

/// All of it but when it was looked at.
fn lasting(node: &Object) -> Value {
    let mut value = node.to_value();
    value["metadata"]["resourceVersion"] = Value::Null;
    value["status"]["conditions"][0]["lastHeartbeatTime"] = Value::Null;
    value
}

/// What the columns without a path say.
fn cells(node: &Value) -> Vec<Value> {
    let ready = node["status"]["conditions"][0]["status"] == "True";
    vec![if ready { "Ready" } else { "NotReady" }.into(), "home".into()]
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use hearth_capabilities::containers::EngineFacts;
    use hearth_meta::Timestamp;

    use super::Seen;

    #[test]
    fn what_the_engine_said_of_the_machine_is_kept_while_it_is_silent_and_since_when_it_is() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let facts = EngineFacts { version: "1".into(), root_folder: String::new(), host: Default::default() };
        let seen = Seen::default();
        let told = [
            (Err("first".to_owned()), 1, false, Some("first")),
            (Ok(facts.clone()), 2, true, None),
            (Ok(facts), 2, true, None),
            (Err("gone".to_owned()), 4, true, Some("gone")),
            (Err("still".to_owned()), 4, true, Some("still")),
        ];
        for (now, (told, since, is_known, trouble)) in told.into_iter().enumerate() {
            let known = seen.take(told, at(i64::try_from(now).unwrap() + 1));
            assert_eq!(known.facts.is_some(), is_known);
            assert_eq!(known.since, Some((trouble.map(str::to_owned), at(since))));
        }
    }
}
