//! The machine as the one Node there is.

use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use hearth_engine::{Key, Object};
use hearth_meta::{KindInfo, Scope, Timestamp, labels};
use hearth_wire::{Actor, Asked, Failure, Standing, standing};
use serde_json::{Value, json};

use super::super::VERSION;
use super::super::places::{Door, Inside};
use super::{age, column, core};

/// How long Docker may take to say that it is there.
const LIMIT: Duration = Duration::from_secs(3);
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
    let node = node(&inside).await;
    let standing_now = Standing { kind: &kind, cells, objects: vec![node] };
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

async fn node(inside: &Inside) -> Object {
    let store = inside.store();
    let now = store.clock().now();
    let engine = match &inside.behind().machine {
        Some(machine) => tokio::time::timeout(LIMIT, machine.hands.containers.engine())
            .await
            .map_err(|_| "it does not answer".to_owned())
            .and_then(|told| told.map_err(|fault| fault.to_string())),
        None => Err("this server has no machine".to_owned()),
    };
    let made = store.get(&Key::new("Namespace", "", labels::SYSTEM));
    let made = made.and_then(|made| made.metadata.creation_timestamp.clone());
    let name = name();
    let system = rustix::system::uname();
    let (kernel, machine) = (system.release().to_string_lossy(), architecture());
    let room = json!({ "cpu": processors().to_string(), "memory": format!("{}Ki", memory_bytes() / 1024), "pods": "1000" });
    let value = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name, "uid": store.lineage(), "resourceVersion": store.resource_version().to_string(),
            "creationTimestamp": made,
            "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": machine, "kubernetes.io/role": "home" },
        },
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [condition(engine.as_ref().err(), now)],
            "addresses": [{ "type": "Hostname", "address": name }],
            "nodeInfo": {
                "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
                "kernelVersion": kernel, "osImage": "Linux", "operatingSystem": "linux", "architecture": machine,
                "containerRuntimeVersion": engine.as_ref().map_or_else(|_| "docker://".to_owned(), |told| format!("docker://{}", told.version)),
                "kubeletVersion": format!("v{VERSION}"),
            },
        },
    });
    Object::from_value(value).expect("it is an object")
}

/// Could not tell is not the same as not ready, and it is said why.
fn condition(trouble: Option<&String>, now: Timestamp) -> Value {
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let (status, reason, message) = match trouble {
        None => ("True", "DockerAnswers", "Docker answers".to_owned()),
        Some(why) => ("Unknown", "DockerDoesNotAnswer", format!("Docker does not answer: {why}")),
    };
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    })
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

/// How many processors there are; one where the system does not tell.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// All memory there is, in bytes.
fn memory_bytes() -> u64 {
    let told = rustix::system::sysinfo();
    told.totalram.saturating_mul(u64::from(told.mem_unit))
}
