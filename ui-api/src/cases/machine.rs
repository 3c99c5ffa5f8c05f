//! The machine as a case sees it: containers and networks by the names of their objects, volumes by app and path,
//! routes as a browser meets them.

use std::collections::BTreeMap;

use futures::FutureExt;
use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_capabilities::volumes::Leaf;
use hearth_capabilities::{Containers, Images, Networks};
use hearth_controllers::Naming;
use hearth_controllers::app::{RECORD, Record};
use hearth_pretend::Machine;
use serde_json::{Map, Value, json};

use super::HOUSEHOLD;
use super::story::in_words;
use crate::world::PREFIX;

/// The status and page of a host that nobody has.
const NOBODY: u16 = 404;

/// The name in the engine of what a case calls `NAME` or `NAMESPACE/NAME`.
pub(super) fn engine_name(written: &str) -> String {
    let (namespace, name) = written.split_once('/').unwrap_or((HOUSEHOLD, written));
    Naming::new(PREFIX).of(namespace, name)
}

/// What a case calls what the engine calls so; things of others by their own names.
pub(super) fn short(engine: &str) -> String {
    match Naming::new(PREFIX).key("Container", engine) {
        Some(key) if key.namespace == HOUSEHOLD => key.name,
        Some(key) => format!("{}/{}", key.namespace, key.name),
        None => engine.to_owned(),
    }
}

/// The engine's name of a container or a network that is there: one of ours, or by its own name.
pub(super) fn find(machine: &Machine, what: &str, written: &str) -> Option<String> {
    let all = machine.as_value();
    let ours = engine_name(written);
    [ours, written.to_owned()].into_iter().find(|name| !all[what][name].is_null())
}

/// The folder that a case calls `APP/PATH`.
pub(super) fn leaf(machine: &Machine, written: &str) -> Option<Leaf> {
    let state = machine.as_value();
    folders(&state).into_iter().find(|folder| folder.name == written).map(|folder| folder.leaf)
}

/// All of it, but for what only a question brings out: images and routes of these names.
pub(super) fn view(machine: &Machine, expected: &Value, uids: &BTreeMap<String, String>) -> Value {
    let state = machine.as_value();
    let names = |part: &str| -> Vec<String> {
        expected[part].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let containers: Map<String, Value> =
        all_of(&state, "containers").filter_map(|name| container(machine, &state, name)).collect();
    let networks: Map<String, Value> =
        all_of(&state, "networks").filter_map(|name| network(machine, name)).collect();
    let images: Map<String, Value> =
        names("images").into_iter().filter_map(|reference| image(machine, reference)).collect();
    let routes: Map<String, Value> =
        names("routes").into_iter().filter_map(|host| route(machine, host)).collect();
    let volumes: Map<String, Value> =
        folders(&state).into_iter().map(|folder| (folder.name, folder.shown)).collect();
    let mut changes: BTreeMap<String, u64> = BTreeMap::new();
    for (change, count) in machine.writes() {
        *changes.entry(in_words(&change, uids)).or_default() += count;
    }
    json!({
        "containers": containers, "networks": networks, "images": images, "volumes": volumes, "routes": routes,
        "changes": changes,
    })
}

fn all_of<'a>(state: &'a Value, part: &str) -> impl Iterator<Item = &'a String> + use<'a> {
    state[part].as_object().into_iter().flatten().map(|(name, _)| name)
}

fn container(machine: &Machine, state: &Value, name: &str) -> Option<(String, Value)> {
    let facts = Containers::inspect(machine, name).now_or_never()?.ok()??;
    let image = &state["containers"][name]["image_reference"];
    Some((short(name), shown(&facts, image)))
}

/// A container in the words of its object.
fn shown(facts: &ContainerFacts, image: &Value) -> Value {
    let mounts: Vec<Value> = facts
        .mounts
        .iter()
        .map(|m| json!({ "path": m.path, "hostPath": m.host_path, "readOnly": m.read_only }))
        .collect();
    let networks: Vec<Value> = facts
        .networks
        .iter()
        .map(|place| json!({ "name": short(&place.name), "aliases": place.aliases }))
        .collect();
    json!({
        "state": facts.state.status,
        "running": facts.state.running,
        "exitCode": facts.state.exit_code,
        "outOfMemory": facts.state.out_of_memory,
        "restarts": facts.state.restarts,
        "health": facts.state.health.map(Health::as_str),
        "image": image,
        "command": facts.command,
        "entrypoint": facts.entrypoint,
        "workingDir": facts.working_dir,
        "user": facts.user,
        "env": facts.env,
        "mounts": mounts,
        "tmpfs": facts.tmpfs.iter().map(|each| each.path.clone()).collect::<Vec<_>>(),
        "networks": networks,
        "readOnlyRoot": facts.read_only_root,
        "memoryBytes": facts.memory_bytes,
        "millicpus": facts.millicpus,
        "devices": facts.devices,
        "capabilities": facts.capabilities,
        "dropsAll": facts.drops_all,
        "noNewPrivileges": facts.no_new_privileges,
        "labels": facts.labels,
        "hostname": facts.hostname,
        "foreign": facts.foreign,
    })
}

fn network(machine: &Machine, name: &str) -> Option<(String, Value)> {
    let facts = Networks::inspect(machine, name).now_or_never()?.ok()??;
    let mut attached: Vec<String> = facts.attached.iter().map(|name| short(name)).collect();
    attached.sort();
    let shown = json!({
        "subnet": facts.subnet, "internal": facts.internal, "attached": attached, "labels": facts.labels,
        "foreign": facts.foreign,
    });
    Some((short(name), shown))
}

fn image(machine: &Machine, reference: String) -> Option<(String, Value)> {
    let facts = Images::inspect(machine, &reference).now_or_never()?.ok()??;
    Some((reference, json!({ "id": facts.id })))
}

/// What a browser is answered; nothing where nobody has the host.
fn route(machine: &Machine, host: String) -> Option<(String, Value)> {
    let reply = machine.ask(&host);
    if reply.status == NOBODY {
        return None;
    }
    let container = reply.container.as_deref().map(short);
    Some((host, json!({ "status": reply.status, "container": container, "page": reply.body })))
}

/// A folder on the disk.
struct Folder {
    /// `APP/PATH`; what no app's record tells of goes by its instance.
    name: String,
    leaf: Leaf,
    shown: Value,
}

fn folders(state: &Value) -> Vec<Folder> {
    let mut folders = Vec::new();
    for (instance, kept) in state["disk"]["instances"].as_object().into_iter().flatten() {
        let record: Option<Vec<u8>> = serde_json::from_value(kept["files"][RECORD].clone()).ok();
        let app =
            record.and_then(|bytes| Record::parse(&bytes).ok()).map(|record| record.app.name().to_owned());
        for (path, node) in kept["data"].as_object().into_iter().flatten() {
            let shown = match &node["Folder"] {
                Value::Null => json!({ "is": node.as_str().unwrap_or_default().to_lowercase() }),
                folder => json!({
                    "is": "folder",
                    "owner": format!("{}:{}", folder["uid"], folder["gid"]),
                    "mode": format!("{:04o}", folder["mode"].as_u64().unwrap_or_default()),
                    "marked": !folder["marker"].is_null(),
                }),
            };
            let name = format!("{}/{path}", app.as_deref().unwrap_or(instance));
            let leaf = Leaf { instance: instance.clone(), path: path.clone() };
            folders.push(Folder { name, leaf, shown });
        }
    }
    folders
}
