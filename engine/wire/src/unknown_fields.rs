//! Drops the fields a kind does not have, for clients that ask for it with `fieldValidation`.

use hearth_meta::KindInfo;
use serde_json::Value;

/// Drops unknown fields, and says of each that it is not known.
pub(crate) fn drop_from(value: &mut Value, kind: &KindInfo) -> Vec<String> {
    let mut dropped = Vec::new();
    if let Some(schema) = &kind.schema {
        let Some(object) = value.as_object_mut() else { return Vec::new() };
        // The outer form and metadata are typed already, and status is not written here.
        let known = ["apiVersion", "kind", "metadata", "status"];
        for (name, inner) in object.iter_mut().filter(|(name, _)| !known.contains(&name.as_str())) {
            if let Some(schema) = schema["properties"].get(name) {
                drop_at(inner, schema, name, &mut dropped);
            }
        }
        let is_known =
            |name: &String| known.contains(&name.as_str()) || schema["properties"].get(name).is_some();
        drop_where(object, "", is_known, &mut dropped);
    }
    dropped.iter().map(|path| format!("unknown field {path:?}")).collect()
}

fn drop_at(value: &mut Value, schema: &Value, path: &str, dropped: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                drop_at(item, &schema["items"], &format!("{path}[{index}]"), dropped);
            }
        }
        Value::Object(fields) => {
            let is_open = schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true);
            let others = &schema["additionalProperties"];
            let properties = schema["properties"].as_object();
            for (name, inner) in fields.iter_mut() {
                let inner_schema = properties.and_then(|known| known.get(name)).unwrap_or(others);
                drop_at(inner, inner_schema, &format!("{path}.{name}"), dropped);
            }
            if let Some(known) = properties.filter(|_| !is_open && !others.is_object()) {
                drop_where(fields, path, |name| known.contains_key(name), dropped);
            }
        }
        _ => {}
    }
}

fn drop_where(
    fields: &mut serde_json::Map<String, Value>,
    path: &str,
    is_known: impl Fn(&String) -> bool,
    dropped: &mut Vec<String>,
) {
    fields.retain(|name, _| {
        let keep = is_known(name);
        if !keep {
            dropped.push(if path.is_empty() { name.clone() } else { format!("{path}.{name}") });
        }
        keep
    });
}
