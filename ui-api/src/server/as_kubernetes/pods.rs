//! A Container as a Pod of one container: its words are those of Kubernetes, as far as they mean the same.

use hearth_engine::Object;
use hearth_kinds::Container;
use hearth_kinds::container::{ContainerStatus, ContainerType, EnvVar, Restart};
use hearth_kinds::policy::Power;
use hearth_kinds::shared::Limits;
use hearth_meta::{KindInfo, Reason, Scope, Verdict, labels};
use serde_json::{Map, Value, json};

use super::{age, column, core, nodes, text};

/// What a Pod is.
pub(in super::super) fn kind() -> KindInfo {
    KindInfo {
        short_names: &["po"],
        columns: vec![
            column("Ready", "string", "", 0, "How many of its containers serve, of how many"),
            column("Status", "string", "", 0, "How it stands, in one word"),
            column(
                "Restarts",
                "integer",
                ".status.containerStatuses[0].restartCount",
                0,
                "How often it was restarted",
            ),
            age(),
            column("IP", "string", ".status.podIP", 1, "Its address on its first network"),
            column("Node", "string", ".spec.nodeName", 1, "The machine it runs on"),
            column("Image", "string", ".spec.containers[0].image", 1, "The Image it runs"),
        ],
        ..core("Pod", ("pods", "pod"), Scope::Namespaced)
    }
}

/// The one container's name within its Pod: the service it is, or its own.
pub(super) fn container_name(object: &Object) -> String {
    let service = object.metadata.labels.as_ref().and_then(|labels| labels.get(labels::SERVICE));
    service.cloned().unwrap_or_else(|| object.name().to_owned())
}

/// A Container as a Pod.
pub(super) fn show(object: &Object) -> Object {
    let mut metadata = object.metadata.clone();
    // They are of the Container, and mean nothing of a Pod.
    (metadata.managed_fields, metadata.finalizers) = (None, None);
    let name = container_name(object);
    let body = match object.typed::<Container>() {
        Ok(container) => body(&name, &container),
        // A newer or older program may have written it.
        Err(_) => Map::from_iter([
            ("spec".into(), json!({ "containers": [{ "name": name, "image": "" }] })),
            ("status".into(), json!({ "phase": "Unknown" })),
        ]),
    };
    Object { api_version: "v1".into(), kind: "Pod".into(), metadata, body }
}

/// What the columns without a path say.
pub(super) fn cells(pod: &Value) -> Vec<Value> {
    let containers = pod["status"]["containerStatuses"].as_array().map_or(&[][..], Vec::as_slice);
    let ready = containers.iter().filter(|container| container["ready"] == true).count();
    let state = containers.first().map_or(&Value::Null, |container| &container["state"]);
    let word = [
        &pod["status"]["reason"],
        &state["waiting"]["reason"],
        &state["terminated"]["reason"],
        &pod["status"]["phase"],
    ]
    .into_iter()
    .map(text)
    .find(|word| !word.is_empty());
    let word = if pod["metadata"]["deletionTimestamp"].is_string() { Some("Terminating") } else { word };
    vec![format!("{ready}/{}", containers.len().max(1)).into(), word.unwrap_or("Unknown").into()]
}

fn body(name: &str, container: &Container) -> Map<String, Value> {
    let status = container.status.clone().unwrap_or_default();
    let state = State::of(container, &status);
    let is_ready = state.phase == "Running" && status.common.summary == Some(Verdict::Ready);
    let spec = json!({
        "nodeName": nodes::name(),
        "restartPolicy": match container.spec.restart {
            Restart::UnlessStopped => "Always",
            Restart::OnFailure => "OnFailure",
            Restart::Never => "Never",
        },
        "enableServiceLinks": false,
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": container.spec.stop.grace_seconds,
        "containers": [shape(name, container)],
    });
    let mut seen = json!({
        "phase": state.phase,
        "conditions": conditions(container, is_ready, &status),
        "startTime": container.metadata.creation_timestamp,
        "qosClass": "BestEffort",
        "containerStatuses": [{
            "name": name,
            "image": container.spec.image.image,
            "imageID": status.image_id.as_deref().unwrap_or(&container.spec.image.digest),
            "ready": is_ready,
            "started": state.phase == "Running",
            "restartCount": status.restarts.unwrap_or(0),
            "state": state.state,
            "lastState": state.last,
        }],
    });
    if let Some(id) = &status.container_id {
        seen["containerStatuses"][0]["containerID"] = format!("docker://{id}").into();
    }
    if let Some(message) = &status.common.message {
        seen["message"] = message.as_str().into();
    }
    let ips: Vec<Value> = status.addresses.iter().map(|address| json!({ "ip": address.ip })).collect();
    if let Some(first) = status.addresses.first() {
        seen["podIP"] = first.ip.as_str().into();
        seen["podIPs"] = ips.into();
    }
    Map::from_iter([("spec".into(), spec), ("status".into(), seen)])
}

fn shape(name: &str, container: &Container) -> Value {
    let spec = &container.spec;
    let mut shape = json!({
        "name": name,
        "image": spec.image.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": resources(&spec.resources),
        "env": spec.env.iter().map(variable).collect::<Vec<_>>(),
    });
    // In Kubernetes `command` is the entry point and `args` what Docker calls the command.
    let words = [("command", &spec.entrypoint), ("args", &spec.command)];
    for (field, words) in words.into_iter().filter_map(|(field, words)| Some((field, words.as_ref()?))) {
        shape[field] = words.clone().into();
    }
    if let Some(folder) = &spec.working_dir {
        shape["workingDir"] = folder.as_str().into();
    }
    shape
}

/// A value that is put together has no word in Kubernetes: only its name is told.
fn variable(variable: &EnvVar) -> Value {
    let mut shown = json!({ "name": variable.name });
    match (&variable.value, &variable.value_from) {
        (Some(value), _) => shown["value"] = value.as_str().into(),
        (None, Some(source)) => {
            if let Some(key) = &source.secret_key_ref {
                shown["valueFrom"] = json!({ "secretKeyRef": key });
            }
        }
        (None, None) => {}
    }
    shown
}

fn resources(limits: &Limits) -> Value {
    let told = [("memory", &limits.memory_limit), ("cpu", &limits.cpu_limit)];
    let told: Map<String, Value> =
        told.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), limit.clone()?.into()))).collect();
    if told.is_empty() { json!({}) } else { json!({ "limits": told }) }
}

fn conditions(container: &Container, is_ready: bool, status: &ContainerStatus) -> Value {
    let ready = status.common.conditions.iter().find(|condition| condition.type_ == "Ready");
    let since = ready.map(|condition| condition.last_transition_time.clone());
    let since = since.or_else(|| container.metadata.creation_timestamp.clone());
    let holds = |holds: bool| if holds { "True" } else { "False" };
    let condition = |name: &str, status: bool| json!({ "type": name, "status": holds(status), "lastTransitionTime": since });
    let mut told = vec![condition("PodScheduled", true), condition("Initialized", true)];
    for name in ["ContainersReady", "Ready"] {
        let mut one = condition(name, is_ready);
        if let Some(reason) = status.common.reason.filter(|_| !is_ready) {
            one["reason"] = reason.as_str().into();
            one["message"] = status.common.message.clone().unwrap_or_default().into();
        }
        told.push(one);
    }
    told.into()
}

/// The word and the code of the protocol for an end of which nothing is known; never 0, which would be a good one.
const UNKNOWN_END: (&str, i64) = ("ContainerStatusUnknown", 137);

/// How a Container stands, in the words of a Pod.
struct State {
    phase: &'static str,
    state: Value,
    last: Value,
}

impl State {
    fn of(container: &Container, status: &ContainerStatus) -> Self {
        let ended = |word: &str, code: i64| {
            let mut ended = json!({ "exitCode": code, "reason": word });
            if let Some(started) = &status.started_at {
                ended["startedAt"] = json!(started);
            }
            if let Some(last) = status.completed_at.as_ref().or(status.recent_deaths.last()) {
                ended["finishedAt"] = json!(last);
            }
            json!({ "terminated": ended })
        };
        let (word, code) = match status.exit_code {
            Some(0) => ("Completed", 0),
            Some(code) => ("Error", code),
            None => UNKNOWN_END,
        };
        let has_died = status.restarts.unwrap_or(0) > 0 || !status.recent_deaths.is_empty();
        // A start takes the code of the last end away.
        let (last_word, last_code) = if code == 0 { UNKNOWN_END } else { (word, code) };
        let last = if has_died { ended(last_word, last_code) } else { json!({}) };
        let is_job = container.spec.r#type == ContainerType::Job;
        let known = |phase, state| Self { phase, state, last: last.clone() };
        match status.state.as_deref() {
            _ if status.crash_loop.as_ref().is_some_and(|looping| !looping.recovering) => {
                known("Running", waiting("CrashLoopBackOff", status))
            }
            Some("running" | "paused") => {
                known("Running", json!({ "running": { "startedAt": status.started_at } }))
            }
            Some("restarting") => known("Running", waiting("CrashLoopBackOff", status)),
            Some("exited" | "dead") => {
                let phase = if code == 0 { "Succeeded" } else { "Failed" };
                Self { phase, state: ended(word, code), last: json!({}) }
            }
            // The container of a job that is done may be gone.
            _ if is_job && status.completed_at.is_some() => {
                Self { phase: "Succeeded", state: ended("Completed", 0), last: json!({}) }
            }
            _ if container.spec.power == Power::Stopped && status.common.summary == Some(Verdict::Ready) => {
                Self { phase: "Succeeded", state: ended("Stopped", 0), last: json!({}) }
            }
            _ => known(
                "Pending",
                waiting(status.common.reason.map_or("ContainerCreating", Reason::as_str), status),
            ),
        }
    }
}

fn waiting(word: &str, status: &ContainerStatus) -> Value {
    let message = status.common.message.as_deref().unwrap_or_default();
    json!({ "waiting": { "reason": word, "message": message } })
}

#[cfg(test)]
mod tests;
