//! What makes a type an object of Hearth, and what of a kind the rest must know without naming it.

use std::sync::Arc;

use kube::core::object::{HasSpec, HasStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{HasCommon, Problem};

/// A typed object with metadata, spec and status, as `kube`'s derive makes them.
pub trait Resource:
    kube::Resource<DynamicType = ()>
    + HasSpec<Spec: Clone + PartialEq + Serialize + Send + Sync>
    + HasStatus<Status: HasCommon + Clone + Default + PartialEq + Serialize + Send + Sync>
    + Clone
    + std::fmt::Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<T> Resource for T where
    T: kube::Resource<DynamicType = ()>
        + HasSpec<Spec: Clone + PartialEq + Serialize + Send + Sync>
        + HasStatus<Status: HasCommon + Clone + Default + PartialEq + Serialize + Send + Sync>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Whether a kind lives in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its objects belong to a namespace.
    Namespaced,
    /// Its objects belong to the whole machine.
    Cluster,
}

/// A name in a space of names of which each has one holder (DESIGN section 3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The space, such as `slug` or `subnet`.
    pub space: &'static str,
    /// The claimed name within it.
    pub name: String,
    /// The field of the claimant that asks for it, for error messages.
    pub field: &'static str,
}

/// One printed column of a kind's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading, such as `Status`.
    pub name: String,
    /// The OpenAPI type, such as `string` or `date`.
    pub kind: String,
    /// Where the value stands, as a JSON path such as `.status.summary`.
    pub json_path: String,
    /// 0 is always shown, 1 only in wide tables.
    pub priority: i32,
    /// What the column says.
    pub description: String,
}

/// Chooses claims that a person left open, given which are taken.
pub type Choose = Arc<dyn Fn(&mut Value, &dyn Fn(&Claim) -> bool) -> Vec<Problem> + Send + Sync>;

/// Everything the store, the wire and the CLI need of a kind.
#[derive(Clone)]
pub struct KindInfo {
    /// The API group; empty for core kinds.
    pub group: &'static str,
    /// The API version, such as `v1`.
    pub version: &'static str,
    /// The kind, singular and in CamelCase.
    pub kind: &'static str,
    /// The plural, as in URLs.
    pub plural: &'static str,
    /// The singular in lower case.
    pub singular: &'static str,
    /// Short names for the command line.
    pub short_names: &'static [&'static str],
    /// Whether it lives in namespaces.
    pub scope: Scope,
    /// Whether it has a status of its own, written apart from the rest.
    pub has_status: bool,
    /// Whether its payload is secret: kept encrypted, never in history or logs.
    pub is_secret: bool,
    /// Fields that reach beyond the object, as paths such as `spec.package`: whoever may write the object may not for
    /// that reason alone set them.
    pub guarded: &'static [&'static str],
    /// Fields that are taken and never told, as paths such as `spec.sha256`.
    pub hidden: &'static [&'static str],
    /// The columns of its table.
    pub columns: Vec<Column>,
    /// The structural OpenAPI v3 schema of the whole object; absent for core kinds without one.
    pub schema: Option<Value>,
    /// Finalizers every new object of the kind is born with, so that no moment exists without them.
    pub finalizers: Vec<String>,
    /// Stores defaults into an object that a person wrote; what it adds is visible afterwards. On an
    /// update `old` is what stood before, so that what was once chosen is kept.
    pub default: fn(new: &mut Value, old: Option<&Value>),
    /// Rules the schema cannot say, on a defaulted object; `old` is the object before an update.
    pub validate: fn(new: &Value, old: Option<&Value>) -> Vec<Problem>,
    /// The names the object claims by its spec; absent where the kind claims none.
    pub claims: Option<fn(&Value) -> Vec<Claim>>,
    /// Chooses claims the person left open (a free slug, a free subnet), given which are taken.
    pub choose: Choose,
}

impl KindInfo {
    /// A kind of version `v1` without a status, columns, a schema or rules of its own; what it has besides is laid over
    /// it. `names` are its plural and its singular.
    pub fn plain(
        group: &'static str,
        kind: &'static str,
        names: (&'static str, &'static str),
        scope: Scope,
    ) -> Self {
        Self {
            group,
            version: "v1",
            kind,
            plural: names.0,
            singular: names.1,
            short_names: &[],
            scope,
            has_status: false,
            is_secret: false,
            guarded: &[],
            hidden: &[],
            columns: Vec::new(),
            schema: None,
            finalizers: Vec::new(),
            default: |_, _| {},
            validate: |_, _| Vec::new(),
            claims: None,
            choose: Arc::new(|_: &mut Value, _: &dyn Fn(&Claim) -> bool| Vec::new()),
        }
    }

    /// The names an object claims; it is made only where the kind claims any.
    pub fn claims_of(&self, object: impl FnOnce() -> Value) -> Vec<Claim> {
        self.claims.map(|claims| claims(&object())).unwrap_or_default()
    }

    /// `group/version`, or only `version` for core kinds.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Takes out of an object what is never told of it.
    pub fn hide(&self, object: &mut Value) {
        for field in self.hidden {
            let (place, name) = field.rsplit_once('.').unwrap_or(("", field));
            let mut place = place.split('.').filter(|part| !part.is_empty());
            let found = place.try_fold(&mut *object, |value, part| value.get_mut(part));
            if let Some(fields) = found.and_then(Value::as_object_mut) {
                fields.remove(name);
            }
        }
    }

    /// Whether `word` names this kind: plural, singular, kind or short name, in any case.
    pub fn answers_to(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        word == self.plural
            || word == self.singular
            || word == self.kind.to_lowercase()
            || self.short_names.contains(&word.as_str())
    }
}
