//! An object of any kind, as the store keeps it: typed metadata, everything else as JSON.

use hearth_meta::{ObjectMeta, ObjectRef, Resource};
use serde::Serialize;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};

mod read;

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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
        let metadata = serde_json::to_value(&self.metadata).expect("metadata always serialises");
        let mut fields = self.body.clone();
        fields.insert("apiVersion".into(), self.api_version.as_str().into());
        fields.insert("kind".into(), self.kind.as_str().into());
        fields.insert("metadata".into(), metadata);
        Value::Object(fields)
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
        // Each turn reads its object this way, so nothing is copied that the type does not keep: metadata is typed
        // already, and the rest is read where it lies.
        let outer = [
            ("apiVersion", Value::from(self.api_version.as_str())),
            ("kind", Value::from(self.kind.as_str())),
            ("metadata", Value::Object(Map::new())),
        ];
        let outer = outer.iter().map(|(name, value)| (*name, value));
        let fields = outer.chain(self.body.iter().map(|(name, value)| (name.as_str(), value)));
        let mut typed = K::deserialize(MapDeserializer::<_, serde_json::Error>::new(fields))
            .map_err(|error| format!("{} does not fit its kind: {error}", self.key()))?;
        *typed.meta_mut() = self.metadata.clone();
        Ok(typed)
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
