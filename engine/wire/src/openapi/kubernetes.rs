//! How the kinds of the core group look, for which a store has no schema of its own: as upstream has them, as far as they
//! mean anything here.

use hearth_meta::KindInfo;
use serde_json::{Value, json};

/// The schema of a kind that has none; open where nothing better is known.
pub(super) fn schema_of(kind: &KindInfo) -> Value {
    match (kind.group, kind.kind) {
        ("", "Secret") => secret(),
        ("", "Namespace") => json!({
            "type": "object", "description": "A place for objects: one for each person, and one that all share.",
        }),
        (_, "Event") => event(kind),
        _ => json!({
            "type": "object",
            "description": format!("A {} as in the Kubernetes core group", kind.kind),
            "x-kubernetes-preserve-unknown-fields": true,
        }),
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn secret() -> Value {
    let values = |format: &str, description: &str| {
        let mut value = json!({ "type": "string", "default": "" });
        if !format.is_empty() {
            value["format"] = format.into();
        }
        json!({ "type": "object", "additionalProperties": value, "description": description })
    };
    json!({
        "type": "object",
        "description": "Values that nobody should read by the way: encrypted where they are kept, and never shown in histories.",
        "properties": {
            "data": values("byte", "Each value under its name, in base64."),
            "stringData": values("", "The same as plain text, for writing; it is kept as data."),
            "type": text("What programs take it for; Opaque where nothing is said."),
            "immutable": { "type": "boolean", "description": "Whether its values can no longer be changed." },
        },
    })
}

fn event(kind: &KindInfo) -> Value {
    let about = json!({
        "type": "object",
        "description": "What it happened to.",
        "properties": {
            "apiVersion": text("Its group and version."),
            "kind": text("Its kind."),
            "namespace": text("Its namespace; none for what is of the whole machine."),
            "name": text("Its name."),
            "uid": text("Its uid."),
        },
    });
    let source = json!({
        "type": "object", "description": "Who says so.", "properties": { "component": text("The part that says so.") },
    });
    let time =
        |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    let count = json!({ "type": "integer", "format": "int32", "description": "How often it happened." });
    let mut properties = json!({
        "type": text("Normal, or Warning where it calls for attention."),
        "reason": text("Why, in one word."),
        "reportingInstance": text("Which of several says so; not used."),
        "eventTime": time("Not used; see when it first and last happened."),
    });
    let own = if kind.group.is_empty() {
        json!({
            "involvedObject": about, "message": text("What happened, in a sentence."), "source": source,
            "firstTimestamp": time("When it first happened."), "lastTimestamp": time("When it last happened."),
            "count": count, "reportingComponent": text("The part that says so."),
        })
    } else {
        json!({
            "regarding": about, "note": text("What happened, in a sentence."), "action": text("What was being done."),
            "deprecatedFirstTimestamp": time("When it first happened."),
            "deprecatedLastTimestamp": time("When it last happened."),
            "deprecatedCount": count, "deprecatedSource": source, "reportingController": text("The part that says so."),
        })
    };
    if let (Some(all), Value::Object(own)) = (properties.as_object_mut(), own) {
        all.extend(own);
    }
    json!({
        "type": "object",
        "description": "Something that happened to an object. Equal ones are one event that is counted; they are kept for 30 days.",
        "properties": properties,
    })
}
