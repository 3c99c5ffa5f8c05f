//! The schema of what every object has: apiVersion, kind, metadata.

use serde_json::{Map, Value, json};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The properties that stand beside a kind's own.
pub(super) fn outer_properties() -> [(&'static str, Value); 3] {
    let reference = json!({ "$ref": format!("#/components/schemas/{OBJECT_META}") });
    [
        ("apiVersion", json!({ "type": "string", "description": "The group and version of the kind." })),
        ("kind", json!({ "type": "string", "description": "The kind of the object." })),
        (
            "metadata",
            json!({ "description": "What it is called and what is noted of it.", "default": {}, "allOf": [reference] }),
        ),
    ]
}

/// The schemas the others refer to.
pub(super) fn schemas() -> Map<String, Value> {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let time =
        |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    let texts = |description: &str| json!({ "type": "object", "additionalProperties": { "type": "string", "default": "" }, "description": description });
    let owner = json!({
        "type": "object",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": text("The owner's group and version."),
            "kind": text("The owner's kind."),
            "name": text("The owner's name."),
            "uid": text("The owner's uid."),
            "controller": { "type": "boolean", "description": "Whether this owner keeps the object as it is." },
            "blockOwnerDeletion": { "type": "boolean", "description": "Whether the owner waits for the object to go." },
        },
    });
    let meta = json!({
        "type": "object",
        "description": "What every object has.",
        "properties": {
            "name": text("Its name; it cannot be changed."),
            "generateName": text("The start of a name, of which the server makes one that is free."),
            "namespace": text("The namespace it is in; it cannot be changed."),
            "uid": text("Names this object for ever; set by the server."),
            "resourceVersion": text("Changes with every change of the object; set by the server."),
            "generation": { "type": "integer", "format": "int64", "description": "Counts the changes of the spec; set by the server." },
            "creationTimestamp": time("When it was made; set by the server."),
            "deletionTimestamp": time("Since when it is to go; set by the server."),
            "deletionGracePeriodSeconds": { "type": "integer", "format": "int64", "description": "Set by the server." },
            "labels": texts("Names and values to select it by."),
            "annotations": texts("Names and values that are noted of it."),
            "finalizers": { "type": "array", "items": { "type": "string", "default": "" }, "description": "Who has yet to tidy up before it goes.", "x-kubernetes-list-type": "set" },
            "ownerReferences": { "type": "array", "items": owner, "description": "What it goes with.", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"] },
            "managedFields": { "type": "array", "items": { "type": "object" }, "description": "Who set which field; set by the server." },
            "selfLink": text("No longer used."),
        },
    });
    Map::from_iter([(OBJECT_META.to_owned(), meta)])
}
