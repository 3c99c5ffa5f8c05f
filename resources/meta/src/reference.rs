//! How one object names another in a status or an event.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names an object by kind, namespace and name, as in `blockedBy`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The kind in its singular CamelCase form, such as `Container`.
    pub kind: String,
    /// The namespace; absent for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl ObjectRef {
    /// A reference to an object in a namespace.
    pub fn namespaced(kind: &str, namespace: &str, name: &str) -> Self {
        Self { kind: kind.into(), namespace: Some(namespace.into()), name: name.into() }
    }

    /// A reference to an object of a cluster-scoped kind.
    pub fn cluster(kind: &str, name: &str) -> Self {
        Self { kind: kind.into(), namespace: None, name: name.into() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}
