//! Which parts of an object are merged field by field and which are one value, by the kind's schema: maps are
//! merged, lists are one value unless the schema gives them keys (`map`) or says that order means nothing (`set`).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::fields::{FieldSet, Path};

/// What metadata is made of, whatever the kind.
static METADATA: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| {
    json!({ "properties": {
        "ownerReferences": { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"] },
        "finalizers": { "x-kubernetes-list-type": "set" },
    } })
});

/// The parts of metadata that nobody owns: what the object is, and what the server says of it.
const UNOWNED: [&str; 12] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
    "clusterName",
];

/// How a kind's objects are put together.
pub(crate) struct Structure<'a> {
    schema: Option<&'a Value>,
    has_status: bool,
}

/// A field that can be owned, and what another object has in its place.
pub(crate) struct Part<'v> {
    pub(crate) value: &'v Value,
    pub(crate) beside: Option<&'v Value>,
    /// Whether it is an item of a list whose items are told apart.
    pub(crate) is_item: bool,
    /// Whether it is one value, and not a place for others.
    pub(crate) is_whole: bool,
}

impl Part<'_> {
    /// Whether it is not the same in the other object.
    pub(crate) fn differs(&self) -> bool {
        self.beside != Some(self.value)
    }

    /// Whether laying it over the other object would change that. An item that is there already is not changed by what
    /// is said within it, nor is a map or list by an empty one.
    pub(crate) fn would_change(&self) -> bool {
        match self.beside {
            None => true,
            Some(_) if self.is_item => false,
            Some(beside) if self.is_whole => beside != self.value,
            Some(beside) => {
                beside.is_object() != self.value.is_object() || beside.is_array() != self.value.is_array()
            }
        }
    }
}

/// How one value is put together.
enum Make<'a> {
    /// Field by field.
    Map,
    /// Item by item, told apart by these keys.
    Keyed(Vec<&'a str>),
    /// Item by item, told apart by their values.
    Set,
    /// As one.
    Whole,
}

impl<'a> Structure<'a> {
    /// Of a kind, by its schema; one without is made of maps and whole lists.
    pub(crate) fn new(schema: Option<&'a Value>, has_status: bool) -> Self {
        Self { schema, has_status }
    }

    /// Every field of an object that can be owned.
    pub(crate) fn fields_of(&self, object: &Value) -> FieldSet {
        let mut fields = FieldSet::default();
        self.compare(object, &Value::Null, &mut |path, _| fields.add(path.clone()));
        fields
    }

    /// Every item of a list of an object that is there more than once.
    pub(crate) fn doubled(&self, object: &Value) -> Vec<Path> {
        let (mut fields, mut doubled) = (FieldSet::default(), Vec::new());
        self.compare(object, &Value::Null, &mut |path, part| {
            if !fields.is_new(path) && part.is_item {
                doubled.push(path.clone());
            }
        });
        doubled
    }

    /// Visits every field of an object that can be owned, beside what another object has in its place. One walk, since
    /// an object may have thousands.
    pub(crate) fn compare<'v>(
        &self,
        object: &'v Value,
        other: &'v Value,
        visit: &mut impl FnMut(&Path, &Part<'v>),
    ) {
        let root = Path::default();
        for (name, value) in object.as_object().into_iter().flatten() {
            let beside = other.get(name);
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "status" if self.has_status => {}
                "metadata" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        if !UNOWNED.contains(&name.as_str()) {
                            let schema = METADATA["properties"].get(name);
                            let beside = beside.and_then(|beside| beside.get(name));
                            walk((value, beside), schema, &root.field("metadata").field(name), visit);
                        }
                    }
                }
                _ => walk((value, beside), self.part(name), &root.field(name), visit),
            }
        }
    }

    /// Lays one object over another: what the second says holds, what it does not say stays.
    pub(crate) fn merged(&self, below: &Value, above: &Value) -> Value {
        let mut merged = below.clone();
        let Value::Object(parts) = &mut merged else { return above.clone() };
        for (name, value) in above.as_object().into_iter().flatten() {
            let schema = if name == "metadata" { Some(&*METADATA) } else { self.part(name) };
            lay_over(parts.entry(name.clone()).or_insert(Value::Null), value, schema);
        }
        merged
    }

    fn part(&self, name: &str) -> Option<&'a Value> {
        self.schema.and_then(|schema| schema["properties"].get(name))
    }
}

fn make<'a>(value: &Value, schema: Option<&'a Value>) -> Make<'a> {
    let word = |name: &str| schema.and_then(|schema| schema[name].as_str());
    match value {
        Value::Object(_) if word("x-kubernetes-map-type") != Some("atomic") => Make::Map,
        Value::Array(items) => match word("x-kubernetes-list-type") {
            Some("set") => Make::Set,
            Some("map") => {
                let keys = schema.and_then(|schema| schema["x-kubernetes-list-map-keys"].as_array());
                let keys: Vec<&str> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
                // An item without its key can only be taken with the whole list; the schema's check will say so.
                let has_keys = |item: &Value| keys.iter().any(|key| item.get(key).is_some());
                if items.iter().all(has_keys) { Make::Keyed(keys) } else { Make::Whole }
            }
            _ => Make::Whole,
        },
        _ => Make::Whole,
    }
}

fn field_schema<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let schema = schema?;
    schema["properties"].get(name).or_else(|| schema.get("additionalProperties"))
}

fn key_of(item: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(key)?.clone()))).collect()
}

/// What an item with this key is found by.
fn word_of(key: &Map<String, Value>) -> String {
    Value::Object(key.clone()).to_string()
}

fn walk<'v>(
    (value, beside): (&'v Value, Option<&'v Value>),
    schema: Option<&Value>,
    path: &Path,
    visit: &mut impl FnMut(&Path, &Part<'v>),
) {
    let beside_items = beside.and_then(Value::as_array).into_iter().flatten();
    match (make(value, schema), value) {
        (Make::Map, Value::Object(inner)) if !inner.is_empty() => {
            for (name, value) in inner {
                let beside = beside.and_then(|beside| beside.get(name));
                walk((value, beside), field_schema(schema, name), &path.field(name), visit);
            }
        }
        (Make::Keyed(keys), Value::Array(items)) if !items.is_empty() => {
            // Of several with one key the first is meant.
            let known: HashMap<String, &Value> =
                beside_items.rev().map(|item| (word_of(&key_of(item, &keys)), item)).collect();
            for item in items {
                let key = key_of(item, &keys);
                let (path, beside) = (path.item(&key), known.get(&word_of(&key)).copied());
                visit(&path, &Part { value: item, beside, is_item: true, is_whole: false });
                walk((item, beside), schema.and_then(|schema| schema.get("items")), &path, visit);
            }
        }
        (Make::Set, Value::Array(items)) if !items.is_empty() => {
            let known: HashMap<String, &Value> = beside_items.map(|item| (item.to_string(), item)).collect();
            for item in items {
                let beside = known.get(&item.to_string()).copied();
                visit(&path.member(item), &Part { value: item, beside, is_item: true, is_whole: true });
            }
        }
        (make, _) => {
            let is_whole = matches!(make, Make::Whole);
            visit(path, &Part { value, beside, is_item: false, is_whole });
        }
    }
}

fn lay_over(below: &mut Value, above: &Value, schema: Option<&Value>) {
    match (make(above, schema), above) {
        (Make::Map, Value::Object(fields)) => {
            if !below.is_object() {
                *below = json!({});
            }
            let Value::Object(place) = below else { return };
            for (name, value) in fields {
                lay_over(place.entry(name.clone()).or_insert(Value::Null), value, field_schema(schema, name));
            }
        }
        (Make::Keyed(keys), Value::Array(items)) if below.is_array() => {
            let Value::Array(place) = below else { return };
            let word = |item: &Value| word_of(&key_of(item, &keys));
            let mut known: HashMap<String, usize> =
                place.iter().enumerate().rev().map(|(index, item)| (word(item), index)).collect();
            for item in items {
                match known.get(&word(item)) {
                    Some(at) => {
                        lay_over(&mut place[*at], item, schema.and_then(|schema| schema.get("items")))
                    }
                    None => {
                        known.insert(word(item), place.len());
                        place.push(item.clone());
                    }
                }
            }
        }
        (Make::Set, Value::Array(items)) if below.is_array() => {
            let Value::Array(place) = below else { return };
            let mut known: HashSet<String> = place.iter().map(Value::to_string).collect();
            let new = items.iter().filter(|item| known.insert(item.to_string()));
            place.extend(new.cloned().collect::<Vec<_>>());
        }
        _ => *below = above.clone(),
    }
}
