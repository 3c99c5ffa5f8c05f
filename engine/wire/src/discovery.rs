//! What there is: groups, versions, kinds and what may be done with them, in the aggregated form and the older one.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hearth_meta::{KindInfo, Scope};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::accept::wants_aggregated;
use crate::failure::Failure;
use crate::router::Wire;
use crate::views::View;
use crate::{events, reviews};

/// The type clients switch on.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// What may be done with an object of any kind.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const VERBS_OF_STATUS: [&str; 3] = ["get", "patch", "update"];
const VERBS_OF_EVENTS: [&str; 4] = ["create", "get", "list", "watch"];

/// The version, as clients parse it: the Kubernetes version this protocol is that of, then our own.
pub(crate) async fn version(State(wire): State<Wire>) -> Json<Value> {
    Json(json!({
        "major": "1",
        "minor": "37",
        "gitVersion": format!("v1.37.0+hearth.{}", wire.version),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    }))
}

/// `/api`: the core group.
pub(crate) async fn core_versions(State(wire): State<Wire>, headers: HeaderMap) -> Response {
    if wants_aggregated(&headers) {
        return aggregated(&headers, json!([aggregated_group(&wire, "")]));
    }
    plain(&headers, &json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }))
}

/// `/apis`: every other group.
pub(crate) async fn groups(State(wire): State<Wire>, headers: HeaderMap) -> Response {
    let names = group_names(&wire);
    if wants_aggregated(&headers) {
        return aggregated(&headers, names.iter().map(|name| aggregated_group(&wire, name)).collect());
    }
    let groups: Vec<Value> = names.iter().map(|name| named_group(&wire, name)).collect();
    plain(&headers, &json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
}

/// `/apis/GROUP`: one group and its versions.
pub(crate) async fn group(
    State(wire): State<Wire>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Failure> {
    if !group_names(&wire).contains(&name.as_str()) {
        return Err(Failure::no_such_place());
    }
    let mut group = named_group(&wire, &name);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Ok(Json(group))
}

/// `/api/v1`: the kinds of the core group.
pub(crate) async fn core_resources(
    State(wire): State<Wire>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    resource_list(&wire, &headers, "", "v1")
}

/// `/apis/GROUP/VERSION`: the kinds of a group.
pub(crate) async fn resources(
    State(wire): State<Wire>,
    Path((group, version)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    resource_list(&wire, &headers, &group, &version)
}

/// Every kind served, those that are not stored included.
pub(crate) fn kinds(wire: &Wire) -> Vec<KindInfo> {
    let unstored = [events::kind(""), events::kind(events::GROUP)].into_iter().chain(reviews::kinds());
    wire.gate
        .kinds()
        .cloned()
        .chain(unstored)
        .chain(wire.views.iter().map(|view| view.kind.clone()))
        .collect()
}

fn resource_list(wire: &Wire, headers: &HeaderMap, group: &str, version: &str) -> Result<Response, Failure> {
    let kinds: Vec<KindInfo> =
        kinds(wire).into_iter().filter(|kind| kind.group == group && kind.version == version).collect();
    if kinds.is_empty() {
        return Err(Failure::no_such_place());
    }
    let resources: Vec<Value> = kinds.iter().flat_map(|kind| listed(wire, kind)).collect();
    let group_version = kinds[0].api_version();
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
    });
    Ok(plain(headers, &list))
}

fn listed(wire: &Wire, kind: &KindInfo) -> Vec<Value> {
    let namespaced = kind.scope == Scope::Namespaced;
    let mut whole = json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": namespaced,
        "kind": kind.kind,
        "verbs": verbs(wire, kind),
        "shortNames": kind.short_names,
    });
    if let Some(categories) = categories(kind) {
        whole["categories"] = categories;
    }
    let mut listed = vec![whole];
    if kind.has_status {
        listed.push(json!({
            "name": format!("{}/status", kind.plural),
            "singularName": "",
            "namespaced": namespaced,
            "kind": kind.kind,
            "verbs": VERBS_OF_STATUS,
        }));
    }
    for part in view(wire, kind).map_or(&[][..], |view| view.parts) {
        listed.push(json!({
            "name": format!("{}/{part}", kind.plural),
            "singularName": "",
            "namespaced": namespaced,
            "kind": kind.kind,
            "verbs": ["get"],
        }));
    }
    listed
}

/// The view a kind is, if it is one.
fn view<'a>(wire: &'a Wire, kind: &KindInfo) -> Option<&'a View> {
    let is_same = |other: &KindInfo| other.api_version() == kind.api_version() && other.kind == kind.kind;
    wire.views.iter().find(|view| is_same(&view.kind))
}

fn verbs(wire: &Wire, kind: &KindInfo) -> &'static [&'static str] {
    if let Some(view) = view(wire, kind) {
        return view.verbs;
    }
    match kind.kind {
        "Event" => &VERBS_OF_EVENTS,
        // A question is asked and forgotten.
        _ if kind.group.ends_with(".k8s.io") => &["create"],
        _ => &VERBS,
    }
}

/// What `get all` shows: everything that is kept true, so everything with a status; but nothing that holds a secret.
fn categories(kind: &KindInfo) -> Option<Value> {
    (kind.has_status && kind.hidden.is_empty()).then(|| json!(["all"]))
}

fn group_names(wire: &Wire) -> Vec<&'static str> {
    let mut names: Vec<&'static str> =
        kinds(wire).iter().map(|kind| kind.group).filter(|group| !group.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn versions(wire: &Wire, group: &str) -> Vec<&'static str> {
    let mut versions: Vec<&'static str> =
        kinds(wire).iter().filter(|kind| kind.group == group).map(|kind| kind.version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

fn named_group(wire: &Wire, name: &str) -> Value {
    let versions: Vec<Value> = versions(wire, name)
        .iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    json!({ "name": name, "versions": versions, "preferredVersion": versions.first() })
}

fn aggregated_group(wire: &Wire, name: &str) -> Value {
    let kinds = kinds(wire);
    let versions: Vec<Value> = versions(wire, name)
        .iter()
        .map(|version| {
            let here = kinds.iter().filter(|kind| kind.group == name && kind.version == *version);
            let resources: Vec<Value> = here.map(|kind| aggregated_resource(wire, kind)).collect();
            json!({ "version": version, "freshness": "Current", "resources": resources })
        })
        .collect();
    let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(wire: &Wire, kind: &KindInfo) -> Value {
    let response = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let mut resource = json!({
        "resource": kind.plural,
        "responseKind": response,
        "scope": if kind.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": verbs(wire, kind),
        "shortNames": kind.short_names,
    });
    if let Some(categories) = categories(kind) {
        resource["categories"] = categories;
    }
    if kind.has_status {
        resource["subresources"] =
            json!([{ "subresource": "status", "responseKind": response, "verbs": VERBS_OF_STATUS }]);
    }
    let parts = view(wire, kind).map_or(&[][..], |view| view.parts);
    if !parts.is_empty() {
        let part = |part| json!({ "subresource": part, "responseKind": response, "verbs": ["get"] });
        resource["subresources"] = parts.iter().map(part).collect();
    }
    resource
}

fn aggregated(headers: &HeaderMap, items: Value) -> Response {
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    tagged(headers, AGGREGATED, &document)
}

fn plain(headers: &HeaderMap, document: &Value) -> Response {
    tagged(headers, "application/json", document)
}

/// A document with its tag; whoever has it already is only told so.
pub(crate) fn tagged(headers: &HeaderMap, media: &'static str, document: &Value) -> Response {
    let text = document.to_string();
    let tag = format!("{:?}", fingerprint(text.as_bytes()));
    let has_it = headers.get_all(IF_NONE_MATCH).iter().any(|known| known.as_bytes() == tag.as_bytes());
    let head = [(ETAG, tag), (VARY, "Accept".to_owned())];
    if has_it {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(CONTENT_TYPE, media)], text).into_response()
}

/// Names a document by what is in it.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
