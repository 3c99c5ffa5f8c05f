//! Which other objects a Container hangs on: a change of one wakes those that refer to it.

use hearth_engine::controller::{Reference, Triggers};
use hearth_engine::{Key, Object, Query, Store};

pub(super) fn triggers() -> Triggers {
    let referenced = vec![
        Reference::to("Image", |image, store| {
            referring(store, None, |spec| spec["image"]["ref"] == image.name())
        }),
        Reference::to("Secret", |secret, store| {
            referring(store, namespace(secret), |spec| uses_secret(spec, secret.name()))
        }),
        Reference::to("Volume", |volume, store| {
            referring(store, namespace(volume), |spec| lists(spec, "mounts", "volume", volume.name()))
        }),
        Reference::to("Network", |network, store| {
            let mut keys =
                referring(store, namespace(network), |spec| lists(spec, "networks", "name", network.name()));
            keys.extend(attached(network));
            keys
        }),
        Reference::to("Container", |other, store| {
            referring(store, namespace(other), |spec| lists(spec, "dependsOn", "container", other.name()))
        }),
    ];
    Triggers { owned: Vec::new(), referenced }
}

fn namespace(object: &Object) -> Option<&str> {
    object.metadata.namespace.as_deref()
}

fn referring(
    store: &Store,
    namespace: Option<&str>,
    refers: impl Fn(&serde_json::Value) -> bool,
) -> Vec<Key> {
    let query = Query { namespace: namespace.map(str::to_owned), ..Query::of("Container") };
    store
        .list(&query)
        .items
        .iter()
        .filter(|container| refers(container.spec()))
        .map(|container| container.key())
        .collect()
}

fn lists(spec: &serde_json::Value, list: &str, field: &str, name: &str) -> bool {
    spec[list].as_array().into_iter().flatten().any(|item| item[field] == name)
}

fn uses_secret(spec: &serde_json::Value, name: &str) -> bool {
    let in_parts = |parts| each(parts).any(|part| part["secretKeyRef"]["name"] == name);
    let in_env = each(&spec["env"]).any(|env| {
        let source = &env["valueFrom"];
        source["secretKeyRef"]["name"] == name || in_parts(&source["parts"])
    });
    in_env || each(&spec["files"]).any(|file| in_parts(&file["parts"]))
}

fn each(list: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    list.as_array().into_iter().flatten()
}

/// The containers that are on a network, wanted there or not: the engine's names end in namespace and name.
fn attached(network: &Object) -> Vec<Key> {
    let names =
        network.status()["attached"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
    let key = |name: &str| {
        let (rest, name) = name.rsplit_once('_')?;
        let (_, namespace) = rest.rsplit_once('_')?;
        Some(Key::new("Container", namespace, name))
    };
    names.filter_map(key).collect()
}

/// The object whose container has this id in the engine, as it was last seen.
pub(super) fn made_as(store: &Store, id: &str) -> Option<Key> {
    let containers = store.list(&Query::of("Container")).items;
    containers
        .iter()
        .find(|container| container.status()["containerId"] == id)
        .map(|container| container.key())
}
