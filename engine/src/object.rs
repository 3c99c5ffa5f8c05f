//! An object of any kind, as the store keeps it: typed metadata, everything else as JSON.

use hearth_meta::{ObjectMeta, ObjectRef, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Names an object. Namespace is empty for cluster-scoped kinds, so that keys sort and compare plainly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind, such as `App`.
    pub kind: String,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// The key of an object; use an empty namespace for cluster-scoped kinds.
    pub fn new(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The same name as a reference for people.
    pub fn reference(&self) -> ObjectRef {
        let namespace = (!self.namespace.is_empty()).then(|| self.namespace.clone());
        ObjectRef { kind: self.kind.clone(), namespace, name: self.name.clone() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reference().fmt(f)
    }
}

/// An object of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Everything else: `spec`, `status`, `data` ...
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

impl Object {
    /// Reads an object from JSON.
    ///
    /// # Errors
    /// What is wrong with its outer form, in one sentence.
    pub fn from_value(value: Value) -> Result<Self, String> {
        serde_json::from_value(value).map_err(|error| format!("not an object: {error}"))
    }

    /// The object as JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("metadata and JSON values always serialise")
    }

    /// From a typed object.
    pub fn from_typed<K: Serialize>(typed: &K) -> Self {
        let value = serde_json::to_value(typed).expect("kinds always serialise");
        Self::from_value(value).expect("a typed object has kind and metadata")
    }

    /// As a typed object.
    ///
    /// # Errors
    /// Where the stored form does not fit the type, which a newer or older program may have written.
    pub fn typed<K: Resource>(&self) -> Result<K, String> {
        serde_json::from_value(self.to_value())
            .map_err(|error| format!("{} does not fit its kind: {error}", self.key()))
    }

    /// Its key.
    pub fn key(&self) -> Key {
        Key::new(self.kind.clone(), self.metadata.namespace.clone().unwrap_or_default(), self.name())
    }

    /// Its name; empty only before it is stored.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its uid; empty only before it is stored.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Its resourceVersion; 0 only before it is stored.
    pub fn resource_version(&self) -> u64 {
        self.metadata.resource_version.as_deref().and_then(|rv| rv.parse().ok()).unwrap_or(0)
    }

    /// Its spec; null where the kind has none.
    pub fn spec(&self) -> &Value {
        self.body.get("spec").unwrap_or(&Value::Null)
    }

    /// Its status; null where there is none yet.
    pub fn status(&self) -> &Value {
        self.body.get("status").unwrap_or(&Value::Null)
    }

    /// Whether its deletion was asked for.
    pub fn is_going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether it has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.metadata.finalizers.iter().flatten().any(|own| own == finalizer)
    }

    /// The uids of its owners.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.metadata.owner_references.iter().flatten().map(|owner| owner.uid.as_str())
    }

    /// One of its annotations.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }
}
