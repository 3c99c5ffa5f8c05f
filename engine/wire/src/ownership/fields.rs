//! Sets of fields of an object, and how they are written down.
//!
//! A field is a path; each step of it is spelt as `managedFields` spells it: `f:name` is a field of a map,
//! `k:{"name":"x"}` the item of a list that has this key, `v:"x"` an item of a set.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// A path to a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<String>);

// Steps are ordered as the path is, so that a set finds a path by them.
impl Borrow<[String]> for Path {
    fn borrow(&self) -> &[String] {
        &self.0
    }
}

impl Path {
    /// The path to a field of the map this one leads to.
    pub(crate) fn field(&self, name: &str) -> Self {
        self.step(format!("f:{name}"))
    }

    /// The path to the item with this key.
    pub(crate) fn item(&self, key: &Map<String, Value>) -> Self {
        self.step(format!("k:{}", Value::Object(key.clone())))
    }

    /// The path to an item of a set.
    pub(crate) fn member(&self, value: &Value) -> Self {
        self.step(format!("v:{value}"))
    }

    fn step(&self, step: String) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// Whether this path lies within another, or is it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Whether it leads into what every kind has.
    pub(crate) fn is_of_metadata(&self) -> bool {
        self.0.first().is_some_and(|step| step == "f:metadata")
    }

    /// How many steps it has.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What it leads to.
    #[cfg(test)]
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match (step.split_at(2), value) {
            (("f:", name), _) => value.get(name),
            (_, Value::Array(items)) => items.iter().find(is_meant(step)),
            _ => None,
        })
    }

    /// Takes out what it leads to, and every map that is left empty by that, but for those to be kept.
    pub(crate) fn remove(&self, value: &mut Value, keep: &impl Fn(&Self) -> bool) {
        let Some((last, parents)) = self.0.split_last() else { return };
        // An item without its key would be another one.
        if parents.last().is_some_and(|parent| is_key_of(last, parent)) {
            return;
        }
        let parent = Self(parents.to_vec());
        let Some(place) = parent.find_mut(value) else { return };
        match place {
            Value::Object(fields) => {
                fields.remove(last.strip_prefix("f:").unwrap_or(last));
            }
            Value::Array(items) => {
                let is_gone = is_meant(last);
                items.retain(|item| !is_gone(&item));
            }
            _ => return,
        }
        let is_empty = match place {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        // The outermost parts of an object stay, empty or not.
        if is_empty && parent.len() > 1 && !keep(&parent) {
            parent.remove(value, keep);
        }
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.0.iter().try_fold(value, |value, step| match (step.split_at(2), value) {
            (("f:", name), value) => value.get_mut(name),
            (_, Value::Array(items)) => {
                let is_next = is_meant(step);
                items.iter_mut().find(|item| is_next(&&**item))
            }
            _ => None,
        })
    }
}

/// Tells whether an item of a list is the one a step names.
fn is_meant(step: &str) -> impl Fn(&&Value) -> bool {
    let (kind, text) = step.split_at(2);
    let said = serde_json::from_str::<Value>(text).ok();
    let is_key = kind == "k:";
    move |item| match &said {
        Some(Value::Object(key)) if is_key => key.iter().all(|(name, value)| item.get(name) == Some(value)),
        Some(value) => !is_key && *item == value,
        None => false,
    }
}

/// Whether a field is part of the key by which its item is told apart.
fn is_key_of(field: &str, item: &str) -> bool {
    let key = item.strip_prefix("k:").and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    key.is_some_and(|key| key.contains_key(field.strip_prefix("f:").unwrap_or(field)))
}

/// As people read it: `.spec.env[name="TZ"].value`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step.split_at(2) {
                ("f:", name) => write!(f, ".{name}")?,
                ("k:", text) => {
                    let key: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
                    let parts: Vec<String> =
                        key.iter().map(|(name, value)| format!("{name}={value}")).collect();
                    write!(f, "[{}]", parts.join(","))?;
                }
                (_, text) => write!(f, "[={text}]")?,
            }
        }
        Ok(())
    }
}

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeSet<Path>);

impl FieldSet {
    /// Reads a set; what is not spelt as it should be is left out.
    pub(crate) fn read(value: &Value) -> Self {
        let mut set = Self::default();
        if let Value::Object(steps) = value {
            set.read_at(&Path::default(), steps);
        }
        set
    }

    fn read_at(&mut self, path: &Path, steps: &Map<String, Value>) {
        for (step, inner) in steps {
            match inner {
                _ if step == "." => self.add(path.clone()),
                Value::Object(inner) if ["f:", "k:", "v:"].iter().any(|kind| step.starts_with(kind)) => {
                    let path = path.step(step.clone());
                    if inner.is_empty() { self.add(path) } else { self.read_at(&path, inner) }
                }
                _ => {}
            }
        }
    }

    /// Writes the set: nested, a field that has others within it marked by a dot.
    pub(crate) fn write(&self) -> Value {
        let mut root = Map::new();
        for path in &self.0 {
            let mut place = &mut root;
            for step in &path.0 {
                let inner = place.entry(step.clone()).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(inner) = inner else { return Value::Null };
                place = inner;
            }
            if self.has_within(path) {
                place.insert(".".into(), Value::Object(Map::new()));
            }
        }
        Value::Object(root)
    }

    /// Whether a field lies within this path, and is not it.
    pub(crate) fn has_within(&self, path: &Path) -> bool {
        // A path is followed by those within it.
        self.0
            .range::<Path, _>(path..)
            .find(|other| *other != path)
            .is_some_and(|other| other.is_within(path))
    }

    /// Whether the field, or one within it, is in the set.
    pub(crate) fn touches(&self, path: &Path) -> bool {
        self.0.contains::<Path>(path) || self.has_within(path)
    }

    /// Adds a field.
    pub(crate) fn add(&mut self, path: Path) {
        self.0.insert(path);
    }

    /// Adds a field; whether it was not there yet.
    pub(crate) fn is_new(&mut self, path: &Path) -> bool {
        self.0.insert(path.clone())
    }

    /// How many fields it has.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the field, or one that it lies within, is in the set.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        (0..=path.0.len()).any(|steps| self.0.contains::<[String]>(&path.0[..steps]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter()
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    pub(crate) fn filtered(&self, keep: impl Fn(&Path) -> bool) -> Self {
        Self(self.0.iter().filter(|path| keep(path)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FieldSet;

    #[test]
    fn sets_are_read_and_written_alike() {
        let written = json!({
            "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x\"": {}}},
            "f:spec": {"f:env": {"k:{\"name\":\"TZ\"}": {".": {}, "f:name": {}, "f:value": {}}}},
        });
        let set = FieldSet::read(&written);
        assert_eq!(set.write(), written);
        let shown: Vec<String> = set.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                ".metadata.finalizers[=\"x\"]",
                ".metadata.labels.a",
                ".spec.env[name=\"TZ\"]",
                ".spec.env[name=\"TZ\"].name",
                ".spec.env[name=\"TZ\"].value"
            ]
        );
    }

    #[test]
    fn nonsense_owns_nothing() {
        for nonsense in [json!(3), json!({"x": 1}), json!({"é": {}}), json!({"f:a": 3}), json!([])] {
            assert!(FieldSet::read(&nonsense).is_empty(), "{nonsense}");
        }
    }
}
