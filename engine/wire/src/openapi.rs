//! The schemas as OpenAPI, from which clients explain fields and learn what a server checks.
//!
//! kubectl leaves the check of fields to a server whose patches have a `fieldValidation` parameter, and refuses to
//! write to one that publishes no document at all.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hearth_engine::Store;
use hearth_meta::{KindInfo, Scope};
use serde_json::{Map, Value, json};

use crate::accept;
use crate::discovery::{fingerprint, tagged};
use crate::events;
use crate::failure::Failure;
use crate::router::Wire;

mod kubernetes;
mod metadata;
mod second;

/// One document per group and version, by its path such as `apis/example.com/v1`.
pub(crate) struct Documents {
    by_path: BTreeMap<String, Value>,
    /// The same in the older form, made when it is first asked for.
    second: OnceLock<Bytes>,
}

impl Documents {
    /// The documents of every kind a store keeps.
    pub(crate) fn of(store: &Store) -> Self {
        let mut kinds: BTreeMap<String, Vec<&KindInfo>> = BTreeMap::new();
        let events = [events::kind(""), events::kind(events::GROUP)];
        for kind in store.kinds().chain(&events) {
            let place = if kind.group.is_empty() { "api" } else { "apis" };
            kinds.entry(format!("{place}/{}", kind.api_version())).or_default().push(kind);
        }
        Self {
            by_path: kinds
                .into_iter()
                .map(|(path, kinds)| (path.clone(), document_of(&path, &kinds)))
                .collect(),
            second: OnceLock::new(),
        }
    }
}

/// `/openapi/v3`: where the documents are.
pub(crate) async fn index(State(wire): State<Wire>, headers: HeaderMap) -> Response {
    let paths: Map<String, Value> = wire
        .documents
        .by_path
        .iter()
        .map(|(path, document)| {
            let hash = fingerprint(document.to_string().as_bytes());
            (path.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }))
        })
        .collect();
    tagged(&headers, "application/json", &json!({ "paths": paths }))
}

/// `/openapi/v3/...`: one document.
pub(crate) async fn document(
    State(wire): State<Wire>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let document = wire.documents.by_path.get(&path).ok_or_else(Failure::no_such_place)?;
    Ok(tagged(&headers, "application/json", document))
}

/// `/openapi/v2`: the older form, in the one encoding that clients read who ask for it.
pub(crate) async fn second(State(wire): State<Wire>, headers: HeaderMap) -> Response {
    if accept::names(&headers, "proto-openapi") {
        let encoded =
            wire.documents.second.get_or_init(|| second::encoded(wire.documents.by_path.values()).into());
        return (
            [(CONTENT_TYPE, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")],
            encoded.clone(),
        )
            .into_response();
    }
    Json(json!({ "swagger": "2.0", "info": { "title": "hearth", "version": "v1" }, "paths": {}, "definitions": {} }))
        .into_response()
}

fn document_of(path: &str, kinds: &[&KindInfo]) -> Value {
    let mut paths = Map::new();
    let mut schemas = metadata::schemas();
    for kind in kinds {
        let schema = schema_name(kind);
        for (path, mut item) in operations(path, kind, &schema) {
            if let Some(verbs) = item.as_object_mut().filter(|_| kind.kind == "Event") {
                // Events are noted and aged by the server.
                verbs.retain(|verb, _| !["put", "patch", "delete"].contains(&verb.as_str()));
            }
            paths.insert(path, item);
        }
        schemas.insert(schema.clone(), whole(kind));
        schemas.insert(format!("{schema}List"), list_of(kind, &schema));
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "hearth", "version": "v1" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// `dev.hearth.v1.App` for `hearth.dev/v1`, in the manner of the protocol.
fn schema_name(kind: &KindInfo) -> String {
    if kind.group.is_empty() {
        return format!("io.k8s.api.core.{}.{}", kind.version, kind.kind);
    }
    if kind.group == events::GROUP {
        return format!("io.k8s.api.events.{}.{}", kind.version, kind.kind);
    }
    let group: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
}

fn identity(kind: &KindInfo) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

/// The schema of a whole object: the kind's own, with what every object has.
fn whole(kind: &KindInfo) -> Value {
    let mut schema = kind.schema.clone().unwrap_or_else(|| kubernetes::schema_of(kind));
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    // What a kind wants says what it is; the outer form of a schema was made by a program.
    if let Some(said) = schema["properties"]["spec"].get("description").cloned() {
        schema["description"] = said;
    }
    for (name, property) in metadata::outer_properties() {
        schema["properties"][name] = property;
    }
    schema["x-kubernetes-group-version-kind"] = json!([identity(kind)]);
    schema
}

fn list_of(kind: &KindInfo, schema: &str) -> Value {
    let mut identity = identity(kind);
    identity["kind"] = format!("{}List", kind.kind).into();
    json!({
        "type": "object",
        "description": format!("Many objects of kind {}", kind.kind),
        "required": ["items"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "type": "object", "properties": { "resourceVersion": { "type": "string" }, "continue": { "type": "string" } } },
            "items": { "type": "array", "items": { "$ref": format!("#/components/schemas/{schema}") } },
        },
        "x-kubernetes-group-version-kind": [identity],
    })
}

fn operations(place: &str, kind: &KindInfo, schema: &str) -> Vec<(String, Value)> {
    let namespaced = kind.scope == Scope::Namespaced;
    let base = if namespaced {
        format!("/{place}/namespaces/{{namespace}}/{}", kind.plural)
    } else {
        format!("/{place}/{}", kind.plural)
    };
    let maker = Maker { kind, schema };
    let mut paths = vec![
        (
            base.clone(),
            json!({
                "parameters": path_parameters(namespaced, false),
                "get": maker.operation("list", "List", &["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch", "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds"], None),
                "post": maker.operation("post", "", &["dryRun", "fieldManager", "fieldValidation"], Some(&WHOLE)),
                "delete": maker.operation("deletecollection", "List", &["dryRun", "labelSelector", "fieldSelector", "limit", "continue", "propagationPolicy", "orphanDependents"], None),
            }),
        ),
        (
            format!("{base}/{{name}}"),
            json!({
                "parameters": path_parameters(namespaced, true),
                "get": maker.operation("get", "", &[], None),
                "put": maker.operation("put", "", &["dryRun", "fieldManager", "fieldValidation"], Some(&WHOLE)),
                "patch": maker.operation("patch", "", &["dryRun", "fieldManager", "fieldValidation", "force"], Some(&PATCHES)),
                "delete": maker.operation("delete", "", &["dryRun", "propagationPolicy", "orphanDependents"], None),
            }),
        ),
    ];
    if kind.has_status {
        paths.push((format!("{base}/{{name}}/status"), json!({
            "parameters": path_parameters(namespaced, true),
            "get": maker.operation("get", "", &[], None),
            "put": maker.operation("put", "", &["dryRun", "fieldManager", "fieldValidation"], Some(&WHOLE)),
            "patch": maker.operation("patch", "", &["dryRun", "fieldManager", "fieldValidation", "force"], Some(&PATCHES)),
        })));
    }
    if namespaced {
        let all = maker.operation(
            "list",
            "List",
            &["labelSelector", "fieldSelector", "limit", "continue", "watch"],
            None,
        );
        paths.push((format!("/{place}/{}", kind.plural), json!({ "get": all })));
    }
    paths
}

/// The forms of a whole object.
const WHOLE: [&str; 2] = ["application/json", "application/yaml"];

/// The patches that are offered.
const PATCHES: [&str; 3] =
    ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

struct Maker<'a> {
    kind: &'a KindInfo,
    schema: &'a str,
}

impl Maker<'_> {
    fn operation(&self, action: &str, suffix: &str, parameters: &[&str], bodies: Option<&[&str]>) -> Value {
        let reference = json!({ "$ref": format!("#/components/schemas/{}{suffix}", self.schema) });
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|name| json!({ "name": name, "in": "query", "schema": { "type": parameter_type(name) } }))
            .collect();
        let mut operation = json!({
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": identity(self.kind),
            "parameters": parameters,
            "responses": { "200": { "description": "OK", "content": { "application/json": { "schema": reference } } } },
        });
        if let Some(media) = bodies {
            let is_whole = media == WHOLE;
            let shape = if is_whole {
                json!({ "$ref": format!("#/components/schemas/{}", self.schema) })
            } else {
                json!({ "description": "A patch" })
            };
            let content: Map<String, Value> =
                media.iter().map(|media| ((*media).to_owned(), json!({ "schema": shape }))).collect();
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        operation
    }
}

fn parameter_type(name: &str) -> &'static str {
    match name {
        "limit" | "timeoutSeconds" => "integer",
        "watch" | "allowWatchBookmarks" | "sendInitialEvents" | "force" | "orphanDependents" => "boolean",
        _ => "string",
    }
}

fn path_parameters(namespaced: bool, named: bool) -> Value {
    let parameter =
        |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let names = [("namespace", namespaced), ("name", named)];
    names.iter().filter(|(_, wanted)| *wanted).map(|(name, _)| parameter(name)).collect()
}
