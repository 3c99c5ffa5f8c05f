//! How a container as inspected differs from what is wanted, field by field. Never by what a label says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hearth_capabilities::containers::{BoundFolder, ContainerFacts, ImageDefaults, MemoryFolder};
use hearth_engine::controller::{Seen, Wanted, spec_hash};
use hearth_kinds::container::{ContainerType, HealthCheck, is_reserved};
use hearth_kinds::{Container, ContainerSpec, DriftPolicy, Power, SYSTEM};
use hearth_meta::difference::SECRET;
use hearth_meta::quantity::{parse_bytes, parse_millicpus};
use hearth_meta::{FieldDiff, labels};

use super::observe::{ContainerSeen, EnvValue};
use crate::naming::Ownership;

/// What decides whether a finished job is finished for its spec: everything but when and whether it should run.
pub(super) fn job_hash(spec: &ContainerSpec) -> String {
    let own = ContainerSpec {
        power: Power::Running,
        depends_on: Vec::new(),
        drift_policy: DriftPolicy::Enforce,
        health_deadline_seconds: 0,
        networks: Vec::new(),
        ..spec.clone()
    };
    spec_hash(&own)
}

/// Whether it is a job that has done its work for the spec it has now.
pub(super) fn is_finished_job(wanted: &Wanted<Container>, facts: &ContainerSeen) -> bool {
    let spec = &wanted.object.spec;
    let known = wanted.object.status.as_ref().and_then(|status| status.completed_for.as_ref());
    let recorded = facts.recorded.as_ref().map(|done| &done.completed_for);
    spec.r#type == ContainerType::Job && known.or(recorded) == Some(&job_hash(spec))
}

/// The spec and the secrets it uses, so that a changed secret is a newer wish and not somebody's meddling.
pub(super) fn target(wanted: &Wanted<Container>, facts: &ContainerSeen) -> String {
    let secrets: BTreeMap<&String, &String> = facts
        .env
        .iter()
        .filter_map(
            |(name, value)| if let Ok(EnvValue::Secret(hash)) = value { Some((name, hash)) } else { None },
        )
        .collect();
    let given = facts.files.as_ref().map(|files| files.hash.as_str()).unwrap_or_default();
    if given.is_empty() {
        // As it was before there were given files, so that what was applied then still counts.
        return spec_hash(&(&wanted.object.spec, secrets));
    }
    spec_hash(&(&wanted.object.spec, secrets, given))
}

pub(super) fn seen(wanted: &Wanted<Container>, facts: &ContainerSeen) -> Seen {
    let finished = is_finished_job(wanted, facts) && !wanted.gone;
    let stopped = wanted.object.spec.power == Power::Stopped && !wanted.gone;
    if let Some(stray) = facts.strays.first() {
        return Seen::Ours(vec![FieldDiff::new(
            "metadata.name",
            Some(wanted.name().into()),
            Some(stray.name.clone()),
        )]);
    }
    if wanted.gone && facts.still_holds {
        // Whatever stands in its place, or nothing: it has not gone before its files have.
        return Seen::Ours(Vec::new());
    }
    let Some(container) = &facts.container else {
        // A finished job, and what should be stopped, need no container.
        return if finished || stopped { Seen::Ours(Vec::new()) } else { Seen::Absent };
    };
    match facts.ownership {
        Ownership::Foreign => {
            return Seen::Foreign(format!("A container {} exists that Hearth did not make", container.name));
        }
        Ownership::OtherHome => {
            return Seen::Foreign(format!("Container {} belongs to another Hearth", container.name));
        }
        Ownership::Predecessor if wanted.gone => return Seen::Absent,
        Ownership::Predecessor => {
            let difference =
                FieldDiff::new("metadata.uid", Some("this container".into()), Some("one made before".into()));
            return Seen::Ours(vec![difference]);
        }
        Ownership::Mine => {}
    }
    if finished {
        return Seen::Ours(Vec::new());
    }
    let mut differences = Vec::new();
    if stopped {
        // What is stopped is compared once it should run again.
        if container.state.running {
            differences.push(power(Power::Stopped, container));
        }
        return Seen::Ours(differences);
    }
    differences.extend(shape(wanted, facts, container));
    differences.extend(places(wanted, facts, container));
    let has_done_its_work = wanted.object.spec.r#type == ContainerType::Job
        && container.state.status == "exited"
        && container.state.exit_code == 0;
    if !container.state.running && container.state.status != "restarting" && !has_done_its_work {
        differences.push(power(Power::Running, container));
    }
    Seen::Ours(differences)
}

fn power(wanted: Power, container: &ContainerFacts) -> FieldDiff {
    FieldDiff::new("spec.power", Some(format!("{wanted:?}")), Some(container.state.status.clone()))
}

/// Differences that only making the container anew can mend.
pub(super) fn shape(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    seen: &ContainerFacts,
) -> Vec<FieldDiff> {
    let spec = &wanted.object.spec;
    let mut differences = Vec::new();
    let into = &mut differences;
    if let Some(image) = &facts.image {
        FieldDiff::compare(into, "spec.image", &image.id, &seen.image_id);
    }
    program(spec, seen, into);
    environment(facts, seen, into);
    storage(spec, facts, seen, into);
    sandbox(spec, seen, into);
    lifecycle(spec, seen, into);
    author_labels(spec, seen, into);
    if seen.labels.get(labels::OWNER_UID).map(String::as_str) != Some(wanted.owner_uid()) {
        into.push(FieldDiff::new(
            "metadata.labels",
            Some(wanted.owner_uid().into()),
            seen.labels.get(labels::OWNER_UID).cloned(),
        ));
    }
    if seen.state.status == "paused" {
        into.push(power(Power::Running, seen));
    }
    differences
}

/// Labels of the author: those wanted, and those that were and are not any more. What the image says of itself is no
/// difference either way.
fn author_labels(spec: &ContainerSpec, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    let wanted: BTreeMap<&String, &String> =
        spec.labels.iter().map(|label| (&label.name, &label.value)).collect();
    let names: BTreeSet<&String> = wanted.keys().copied().chain(seen.labels.keys()).collect();
    for name in names.into_iter().filter(|name| !is_reserved(name)) {
        let (value, is) = (wanted.get(name).copied(), seen.labels.get(name).or(seen.image.labels.get(name)));
        if value != is && (value.is_some() || seen.labels.contains_key(name)) {
            FieldDiff::compare_json(into, &format!("spec.labels[{name}]"), &value, &is);
        }
    }
}

/// What runs. Where the spec says nothing the image decides; an entry point of one's own drops the image's command.
fn program(spec: &ContainerSpec, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    let ImageDefaults { command, entrypoint, working_dir, user, .. } = &seen.image;
    let wanted_command = match (&spec.command, &spec.entrypoint) {
        (Some(command), _) => command.clone(),
        (None, Some(_)) => Vec::new(),
        (None, None) => command.clone(),
    };
    FieldDiff::compare_json(into, "spec.command", &wanted_command, &seen.command);
    FieldDiff::compare_json(
        into,
        "spec.entrypoint",
        spec.entrypoint.as_ref().unwrap_or(entrypoint),
        &seen.entrypoint,
    );
    FieldDiff::compare(
        into,
        "spec.workingDir",
        spec.working_dir.as_ref().unwrap_or(working_dir),
        &seen.working_dir,
    );
    FieldDiff::compare(into, "spec.user", spec.user.as_ref().unwrap_or(user), &seen.user);
    FieldDiff::compare(into, "spec.init", &spec.init, &seen.init);
    FieldDiff::compare_json(into, "spec.hostname", &spec.hostname, &seen.hostname);
}

fn environment(facts: &ContainerSeen, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    let from_image = facts.image_defaults.as_ref().map(|image| image.env.clone()).unwrap_or_default();
    let names: BTreeSet<&String> = facts.env.keys().chain(seen.env.keys()).chain(from_image.keys()).collect();
    for name in names {
        let field = format!("spec.env[{name}]");
        let is = seen.env.get(name);
        let shown = |is: Option<&String>| is.map(|_| format!("{SECRET}, another one"));
        match facts.env.get(name) {
            Some(Ok(EnvValue::Secret(hash))) if is != Some(hash) => {
                into.push(FieldDiff::new(field, Some(SECRET.into()), shown(is)));
            }
            // A missing secret is waited for; what runs meanwhile is left as it is.
            Some(Ok(EnvValue::Secret(_)) | Err(_)) => {}
            Some(Ok(EnvValue::Plain(value))) if facts.hidden.contains(name) => {
                into.push(FieldDiff::new(field, Some(value.clone()), shown(is)));
            }
            Some(Ok(EnvValue::Plain(value))) => FieldDiff::compare_json(into, &field, &Some(value), &is),
            None if facts.hidden.contains(name) => {
                into.push(FieldDiff::new(field, from_image.get(name).cloned(), shown(is)));
            }
            None => FieldDiff::compare_json(into, &field, &from_image.get(name), &is),
        }
    }
}

fn storage(spec: &ContainerSpec, facts: &ContainerSeen, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    let given = facts.files.as_ref().ok().map(|files| files.paths.as_deref());
    if given == Some(None) {
        into.push(FieldDiff::new("spec.files", Some("as declared".into()), Some("other files".into())));
    }
    // What is not there cannot be compared; that it is not there is told elsewhere.
    if let Some(Some(given)) = given
        && facts.volumes.values().all(Result::is_ok)
    {
        let folder = |mount: &hearth_kinds::container::Mount| BoundFolder {
            host_path: facts
                .volumes
                .get(&mount.volume)
                .and_then(|path| path.clone().ok())
                .unwrap_or_default(),
            path: mount.path.clone(),
            read_only: mount.read_only,
        };
        let mut mounts: Vec<BoundFolder> =
            spec.mounts.iter().map(folder).chain(bound_files(spec, given)).collect();
        mounts.sort_by(|a, b| a.path.cmp(&b.path));
        let shown = |mounts: &[BoundFolder]| {
            let one = |m: &BoundFolder| {
                format!("{}:{}{}", m.host_path, m.path, if m.read_only { ":ro" } else { "" })
            };
            mounts.iter().map(one).collect::<Vec<_>>().join(" ")
        };
        FieldDiff::compare(into, "spec.mounts", &shown(&mounts), &shown(&seen.mounts));
    }
    let mut tmpfs: Vec<MemoryFolder> = spec.tmpfs.iter().map(memory_folder).collect();
    tmpfs.sort();
    let shown = |folders: &[MemoryFolder]| {
        let one = |f: &MemoryFolder| {
            let size = f.size_bytes.map(|size| format!(" of {size} bytes")).unwrap_or_default();
            let mode = f.mode.map(|mode| format!(" with mode {mode:o}")).unwrap_or_default();
            format!("{}{size}{mode}", f.path)
        };
        folders.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    FieldDiff::compare(into, "spec.tmpfs", &shown(&tmpfs), &shown(&seen.tmpfs));
    FieldDiff::compare(into, "spec.readOnlyRoot", &spec.read_only_root, &seen.read_only_root);
}

pub(super) fn memory_folder(tmpfs: &hearth_kinds::container::Tmpfs) -> MemoryFolder {
    let size_bytes = tmpfs.size_limit.as_deref().and_then(|size| parse_bytes(size).ok());
    MemoryFolder { path: tmpfs.path.clone(), size_bytes, mode: tmpfs.mode_bits() }
}

/// The given files as they are mounted, from where they are.
pub(super) fn bound_files(spec: &ContainerSpec, paths: &[String]) -> Vec<BoundFolder> {
    let pairs = spec.files.iter().zip(paths);
    pairs
        .map(|(file, host_path)| BoundFolder {
            host_path: host_path.clone(),
            path: file.path.clone(),
            read_only: true,
        })
        .collect()
}

fn sandbox(spec: &ContainerSpec, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    let sorted =
        |list: &[String]| list.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect::<Vec<_>>();
    FieldDiff::compare_json(
        into,
        "spec.capabilities",
        &sorted(&spec.capabilities),
        &sorted(&seen.capabilities),
    );
    FieldDiff::compare_json(into, "spec.surroundings", &spec.surroundings, &seen.surroundings);
    FieldDiff::compare_json(into, "spec.devices", &sorted(&spec.devices), &sorted(&seen.devices));
    let mut ports = spec.ports.clone();
    ports.sort();
    FieldDiff::compare_json(into, "spec.ports", &ports, &seen.ports);
    FieldDiff::compare_json(into, "sandbox.dropsAllCapabilities", &true, &seen.drops_all);
    FieldDiff::compare_json(into, "sandbox.noNewPrivileges", &true, &seen.no_new_privileges);
    for foreign in &seen.foreign {
        into.push(FieldDiff::new("sandbox", None, Some(foreign.clone())));
    }
    let memory = spec.resources.memory_limit.as_deref().and_then(|limit| parse_bytes(limit).ok());
    let millicpus = spec.resources.cpu_limit.as_deref().and_then(|limit| parse_millicpus(limit).ok());
    FieldDiff::compare_json(into, "spec.resources.memoryLimit", &memory, &seen.memory_bytes);
    FieldDiff::compare_json(into, "spec.resources.cpuLimit", &millicpus, &seen.millicpus);
}

fn lifecycle(spec: &ContainerSpec, seen: &ContainerFacts, into: &mut Vec<FieldDiff>) {
    FieldDiff::compare_json(into, "spec.restart", &Some(spec.restart), &seen.restart);
    FieldDiff::compare_json(
        into,
        "spec.health",
        &health(spec, &seen.image),
        &in_force(seen.health_check.clone()),
    );
    let seconds = |grace: Duration| i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
    FieldDiff::compare_json(
        into,
        "spec.stop.graceSeconds",
        &Some(spec.stop.grace_seconds),
        &seen.stop_grace.map(seconds),
    );
    let signal = spec.stop.signal.as_ref().unwrap_or(&seen.image.stop_signal);
    FieldDiff::compare(into, "spec.stop.signal", or_default(signal), or_default(&seen.stop_signal));
}

fn or_default(signal: &str) -> &str {
    if signal.is_empty() { "SIGTERM" } else { signal }
}

/// The check that is wanted: the spec's, else the image's.
fn health(spec: &ContainerSpec, image: &ImageDefaults) -> Option<HealthCheck> {
    in_force(spec.health.clone().or_else(|| image.health_check.clone()))
}

/// `[NONE]` means none at all, wherever it is said.
fn in_force(check: Option<HealthCheck>) -> Option<HealthCheck> {
    check.filter(|check| check.test.first().is_none_or(|first| first != "NONE"))
}

/// Differences in the container's places on networks, which can be mended while it runs.
pub(super) fn places(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    seen: &ContainerFacts,
) -> Vec<FieldDiff> {
    let mut differences = Vec::new();
    for extra in extra_places(wanted, facts, seen) {
        differences.push(FieldDiff::new("spec.networks", None, Some(extra)));
    }
    for link in &wanted.object.spec.networks {
        let field = format!("spec.networks[{}]", link.name);
        let Some(network) = facts.networks.get(&link.name) else { continue };
        let Some(place) = seen.networks.iter().find(|place| place.name == network.engine_name) else {
            differences.push(FieldDiff::new(field, Some("attached".into()), None));
            continue;
        };
        let dead =
            network.id.as_ref().is_some_and(|id| !place.network_id.is_empty() && *id != place.network_id);
        if dead {
            differences.push(FieldDiff::new(
                field,
                Some("attached".into()),
                Some("attached to a network that is gone".into()),
            ));
        } else if let Some(missing) = link.aliases.iter().find(|alias| !place.aliases.contains(alias)) {
            differences.push(FieldDiff::new(format!("{field}.aliases"), Some(missing.clone()), None));
        }
    }
    differences
}

/// Networks the container is on and should not be: an app reaches nobody but through its own (DESIGN section 2).
/// Hearth's own proxy is a guest on many, which is the networks' business.
pub(super) fn extra_places(
    wanted: &Wanted<Container>,
    facts: &ContainerSeen,
    seen: &ContainerFacts,
) -> Vec<String> {
    if wanted.namespace() == SYSTEM || wanted.object.spec.networks.is_empty() {
        return Vec::new();
    }
    let is_wanted = |name: &String| facts.networks.values().any(|network| network.engine_name == *name);
    seen.networks.iter().map(|place| place.name.clone()).filter(|name| !is_wanted(name)).collect()
}
