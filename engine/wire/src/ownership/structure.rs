//! Which parts of an object are merged field by field and which are one value, by the kind's schema: maps are
//! merged, lists are one value unless the schema gives them keys (`map`) or says that order means nothing (`set`).

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
        let root = Path::default();
        for (name, value) in object.as_object().into_iter().flatten() {
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "status" if self.has_status => {}
                "metadata" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        if !UNOWNED.contains(&name.as_str()) {
                            let schema = METADATA["properties"].get(name);
                            collect(value, schema, &root.field("metadata").field(name), &mut fields);
                        }
                    }
                }
                _ => collect(value, self.part(name), &root.field(name), &mut fields),
            }
        }
        fields
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

fn collect(value: &Value, schema: Option<&Value>, path: &Path, fields: &mut FieldSet) {
    match (make(value, schema), value) {
        (Make::Map, Value::Object(inner)) if !inner.is_empty() => {
            for (name, value) in inner {
                collect(value, field_schema(schema, name), &path.field(name), fields);
            }
        }
        (Make::Keyed(keys), Value::Array(items)) if !items.is_empty() => {
            for item in items {
                let path = path.item(&key_of(item, &keys));
                fields.add(path.clone());
                collect(item, schema.and_then(|schema| schema.get("items")), &path, fields);
            }
        }
        (Make::Set, Value::Array(items)) if !items.is_empty() => {
            for item in items {
                fields.add(path.member(item));
            }
        }
        _ => fields.add(path.clone()),
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
            for item in items {
                let key = key_of(item, &keys);
                match place.iter_mut().find(|known| key_of(known, &keys) == key) {
                    Some(known) => lay_over(known, item, schema.and_then(|schema| schema.get("items"))),
                    None => place.push(item.clone()),
                }
            }
        }
        (Make::Set, Value::Array(items)) if below.is_array() => {
            let Value::Array(place) = below else { return };
            for item in items {
                if !place.contains(item) {
                    place.push(item.clone());
                }
            }
        }
        _ => *below = above.clone(),
    }
}
