//! The kinds taken from the Kubernetes core group: `Namespace`, `Secret`, `Event`.
//!
//! Their types come from `k8s-openapi`; here stands only what the store and the wire need of them.

use std::collections::BTreeMap;

use hearth_meta::Problem;
use hearth_meta::name::{check_label, check_subdomain};
use serde_json::{Value, json};

pub use k8s_openapi::api::core::v1::{Event, Namespace, Secret};

/// Moves `stringData` into `data`, encoded, as the Kubernetes API does.
pub(crate) fn default_secret(new: &mut Value, _old: Option<&Value>) {
    if new["type"].is_null() {
        new["type"] = "Opaque".into();
    }
    let Some(plain) = new.as_object_mut().and_then(|object| object.remove("stringData")) else { return };
    let Value::Object(plain) = plain else {
        new["stringData"] = plain;
        return;
    };
    if !new["data"].is_object() {
        new["data"] = json!({});
    }
    for (key, value) in plain {
        let encoded = match &value {
            Value::String(text) => {
                serde_json::to_value(k8s_openapi::ByteString(text.clone().into_bytes())).unwrap_or_default()
            }
            other => other.clone(),
        };
        new["data"][key] = encoded;
    }
}

pub(crate) fn validate_secret(new: &Value, _old: Option<&Value>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = new["metadata"]["name"]
        .as_str()
        .and_then(|name| check_subdomain(name).err())
        .map(|message| Problem::new("metadata.name", message))
        .into_iter()
        .collect();
    if let Err(error) =
        serde_json::from_value::<BTreeMap<String, k8s_openapi::ByteString>>(match &new["data"] {
            Value::Null => json!({}),
            data => data.clone(),
        })
    {
        problems.push(Problem::new(
            "data",
            format!("must map names to base64 ({error}); use stringData for plain text"),
        ));
    }
    problems
}

pub(crate) fn validate_namespace(new: &Value, _old: Option<&Value>) -> Vec<Problem> {
    new["metadata"]["name"]
        .as_str()
        .and_then(|name| check_label(name).err())
        .map(|message| Problem::new("metadata.name", message))
        .into_iter()
        .collect()
}
