//! What a Ready status says of the machine, read from the machine itself.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use hearth_capabilities::containers::{BoundFolder, ContainerFacts, Health};
use hearth_capabilities::images::ImageFacts;
use hearth_capabilities::proxy::{Answer, SeenRoute};
use hearth_capabilities::volumes::{Leaf, LeafFacts, LeafState};
use hearth_capabilities::{Containers, Images, Networks, Volumes};
use hearth_engine::store::Query;
use hearth_engine::{Key, Object, Store};
use hearth_kinds::container::{EnvPart, EnvVar, Mount};
use hearth_kinds::route::RouteMode;
use hearth_kinds::shared::SecretKeyRef;
use hearth_kinds::{Container, ContainerSpec, Network, Route};
use hearth_meta::labels;
use hearth_pretend::Machine;
use k8s_openapi::ByteString;

use super::{is_ready, names};
use crate::world::Seen;

/// Whether the machine is as an object says that it is where it is Ready. What is out of reach is not.
pub(super) fn is_true(seen: &Seen<'_>, object: &Object) -> bool {
    match object.kind.as_str() {
        "App" => app(seen.store, object),
        "Container" => container(seen, object),
        "Route" => object.typed().is_ok_and(|route: Route| is_served(seen.machine, object, &route)),
        "Network" => object.typed().is_ok_and(|network: Network| is_bridged(seen, object, &network)),
        "Image" => image(seen.machine, object.spec()["reference"].as_str().unwrap_or_default()).is_some(),
        "Volume" => folder(seen.machine, object).is_some(),
        _ => true,
    }
}

/// Every part of it is Ready. One that is no longer declared is on its way out.
fn app(store: &Store, app: &Object) -> bool {
    let images = store.list(&Query::of("Image").labelled(labels::OWNER_UID, app.uid())).items;
    let parts = store.owned_by(app.uid());
    let mut counted = parts.iter().chain(&images).filter(|part| part.kind != "Revision" && !part.is_going());
    counted.all(|part| is_ready(part))
}

/// It runs, is not unhealthy, and is made as declared: of this image, with these variables, over these folders.
fn container(seen: &Seen<'_>, object: &Object) -> bool {
    let spec = object.spec();
    let engine_name = names().of(namespace(object), object.name());
    let ours = on_machine(seen.machine, &engine_name)
        .filter(|there| there.labels.get(labels::UID).is_some_and(|uid| uid == object.uid()));
    if spec["power"] == "Stopped" {
        return ours.is_none_or(|ours| !ours.state.running);
    }
    if spec["type"] == "Job" {
        // Done once is done; the container may be pruned.
        return !object.status()["completedAt"].is_null()
            || ours.is_some_and(|ours| ours.state.status == "exited");
    }
    let Some(ours) = ours else { return false };
    let runs = ours.state.running && matches!(ours.state.health, None | Some(Health::Healthy));
    let is_made_so = |declared: Container| {
        is_of_its_image(seen, &declared.spec, &ours)
            && has_its_variables(seen.store, namespace(object), &declared.spec, &ours)
            && has_its_folders(seen, namespace(object), &declared.spec, &ours)
    };
    runs && object.typed().is_ok_and(is_made_so)
}

/// Where the image of its pin is on the machine, it is made of that one.
fn is_of_its_image(seen: &Seen<'_>, spec: &ContainerSpec, ours: &ContainerFacts) -> bool {
    let (name, digest) = (&spec.image.image, &spec.image.digest);
    let Some(object) = seen.store.get(&Key::new("Image", "", name)) else { return true };
    let reference = object.spec()["reference"].as_str().unwrap_or_default();
    let pinned = match reference.rsplit_once(':') {
        _ if reference.contains('@') => reference.to_owned(),
        // A colon before the last slash begins a port.
        Some((repository, tag)) if !tag.contains('/') => format!("{repository}@{digest}"),
        _ => format!("{reference}@{digest}"),
    };
    let pinned = image(seen.machine, &pinned).or_else(|| image(seen.machine, digest));
    pinned.is_none_or(|image| image.id == ours.image_id)
}

/// Its variables are the image's own and those that are declared, and no others. One whose secret is missing waits.
fn has_its_variables(store: &Store, namespace: &str, spec: &ContainerSpec, ours: &ContainerFacts) -> bool {
    let mut wanted: BTreeMap<&String, String> =
        ours.image.env.iter().map(|(name, value)| (name, value.clone())).collect();
    let mut unknown = BTreeSet::new();
    for variable in &spec.env {
        match value_of(store, namespace, variable) {
            Some(value) => drop(wanted.insert(&variable.name, value)),
            None => drop(unknown.insert(&variable.name)),
        }
    }
    let names = wanted.keys().copied().chain(ours.env.keys());
    names.filter(|name| !unknown.contains(name)).all(|name| wanted.get(name) == ours.env.get(name))
}

fn value_of(store: &Store, namespace: &str, variable: &EnvVar) -> Option<String> {
    let Some(source) = &variable.value_from else { return Some(variable.value.clone().unwrap_or_default()) };
    let secret = |SecretKeyRef { name, key }: &SecretKeyRef| {
        let secret = store.get(&Key::new("Secret", namespace, name))?;
        let bytes: ByteString = serde_json::from_value(secret.body.get("data")?.get(key)?.clone()).ok()?;
        String::from_utf8(bytes.0).ok()
    };
    if let Some(whole) = &source.secret_key_ref {
        return secret(whole);
    }
    let part = |part: &EnvPart| match &part.secret_key_ref {
        Some(of) => secret(of),
        None => Some(part.text.clone().unwrap_or_default()),
    };
    source.parts.iter().map(part).collect()
}

/// Where all its folders are there, they are mounted as declared, and nothing else is but the files it is given.
fn has_its_folders(seen: &Seen<'_>, namespace: &str, spec: &ContainerSpec, ours: &ContainerFacts) -> bool {
    let wanted = |mount: &Mount| {
        let volume = seen.store.get(&Key::new("Volume", namespace, &mount.volume))?;
        let host_path = folder(seen.machine, &volume)?.host_path;
        Some(BoundFolder { host_path, path: mount.path.clone(), read_only: mount.read_only })
    };
    let Some(wanted) = spec.mounts.iter().map(wanted).collect::<Option<Vec<_>>>() else { return true };
    wanted.iter().all(|folder| ours.mounts.contains(folder))
        && ours.mounts.len() == spec.mounts.len() + spec.files.len()
}

/// The proxy answers for each of its hosts, with what is declared, before it comes to the page for all others.
fn is_served(machine: &Machine, object: &Object, route: &Route) -> bool {
    let spec = &route.spec;
    let id = format!("route-{}", object.uid());
    let is_right = |answer: &Answer| match (answer, &spec.upstream, spec.mode) {
        (Answer::Forward { address }, Some(upstream), RouteMode::Upstream) => {
            let container = names().of(namespace(object), &upstream.container);
            *address == format!("{container}:{}", upstream.port)
        }
        (Answer::Page { .. }, None, _) | (Answer::Page { .. }, _, RouteMode::Splash) => true,
        _ => false,
    };
    spec.hosts.iter().all(|host| match machine.route_for(host) {
        Some(SeenRoute::Ours(seen)) => seen.id == id && is_right(&seen.answer),
        _ => false,
    })
}

/// The bridge is there as declared, and whoever runs and is its guest has a place on it.
fn is_bridged(seen: &Seen<'_>, object: &Object, network: &Network) -> bool {
    let (machine, spec) = (seen.machine, &network.spec);
    let engine_name = names().of(namespace(object), object.name());
    let there = Networks::inspect(machine, &engine_name).now_or_never().and_then(Result::ok).flatten();
    let has_a_place = |guest: &str| {
        let Some((namespace, name)) = guest.split_once('/') else { return true };
        let guest = seen.store.get(&Key::new("Container", namespace, name));
        // A guest comes once its own status tells that it runs.
        let is_said_to_run = guest.is_some_and(|guest| guest.status()["state"] == "running");
        let engine_name = names().of(namespace, name);
        let runs = || on_machine(machine, &engine_name).is_some_and(|guest| guest.state.running);
        !is_said_to_run
            || !runs()
            || there.as_ref().is_some_and(|network| network.attached.contains(&engine_name))
    };
    there.as_ref().is_some_and(|there| {
        there.labels.get(labels::UID).is_some_and(|uid| uid == object.uid())
            && spec.subnet.as_ref().is_none_or(|subnet| *subnet == there.subnet)
            && spec.internal == there.internal
            && there.foreign.is_empty()
    }) && spec.guests.iter().all(|guest| has_a_place(&guest.container))
}

fn namespace(object: &Object) -> &str {
    object.metadata.namespace.as_deref().unwrap_or_default()
}

/// The container of a name in the engine.
fn on_machine(machine: &Machine, engine_name: &str) -> Option<ContainerFacts> {
    Containers::inspect(machine, engine_name).now_or_never()?.ok()?
}

fn image(machine: &Machine, reference: &str) -> Option<ImageFacts> {
    Images::inspect(machine, reference).now_or_never()?.ok()?
}

/// The folder of a volume, where it is there and carries the volume's own mark.
fn folder(machine: &Machine, volume: &Object) -> Option<LeafFacts> {
    let word = |field: &str| volume.spec()[field].as_str().unwrap_or_default().to_owned();
    let leaf = Leaf { instance: word("instance"), path: word("path") };
    match Volumes::inspect(machine, &leaf).now_or_never()?.ok()? {
        LeafState::Present(facts) if facts.marker.as_deref() == Some(volume.uid()) => Some(facts),
        _ => None,
    }
}

/// Every container of a machine that takes no time.
pub fn all_containers(machine: &Machine) -> Vec<ContainerFacts> {
    let listed = Containers::list(machine).now_or_never().and_then(Result::ok).unwrap_or_default();
    listed.iter().filter_map(|listed| on_machine(machine, &listed.name)).collect()
}
