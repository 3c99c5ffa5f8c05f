//! JSON patch (RFC 6902): a list of operations, all or none.
//!
//! One deviation, which clients rely on: `test` against null holds where there is nothing.

use serde::Deserialize;
use serde_json::Value;

/// The most operations in one patch, as the Kubernetes API has it.
const MOST_OPERATIONS: usize = 10_000;

/// The most that all copies of one patch may take together, in bytes of JSON, as the Kubernetes API has it.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// How deep an object may become, as deep as one can be read.
const DEEPEST: usize = 128;

/// What the copies of one patch have taken.
#[derive(Default)]
pub(crate) struct Copied(usize);

impl Copied {
    /// Counts before anything is copied, since each copy may double what the next one takes.
    fn count(&mut self, value: &Value) -> Result<(), String> {
        self.0 += value.to_string().len();
        if self.0 > MOST_COPIED {
            return Err(format!("its copies take over {MOST_COPIED} bytes; send what is meant instead"));
        }
        Ok(())
    }
}

/// One operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Operation {
    Add {
        path: String,
        value: Value,
    },
    Remove {
        path: String,
    },
    Replace {
        path: String,
        value: Value,
    },
    Move {
        from: String,
        path: String,
    },
    Copy {
        from: String,
        path: String,
    },
    Test {
        path: String,
        #[serde(default)]
        value: Value,
    },
}

impl Operation {
    /// Reads a patch.
    pub(crate) fn read_all(value: Value) -> Result<Vec<Self>, String> {
        let operations: Vec<Self> = serde_json::from_value(value)
            .map_err(|error| format!("the body is not a JSON patch: {error}"))?;
        if operations.len() > MOST_OPERATIONS {
            return Err(format!(
                "the patch has {} operations; at most {MOST_OPERATIONS} are allowed",
                operations.len()
            ));
        }
        Ok(operations)
    }

    /// Applies all of them; the caller drops the value where one fails.
    pub(crate) fn apply_all(operations: &[Self], value: &mut Value) -> Result<(), String> {
        let mut copied = Copied::default();
        operations.iter().try_for_each(|operation| operation.apply(value, &mut copied))
    }

    fn apply(&self, value: &mut Value, all: &mut Copied) -> Result<(), String> {
        match self {
            Self::Add { path, value: added } => add(value, path, added.clone()),
            Self::Remove { path } => remove(value, path).map(drop),
            Self::Replace { path, value: new } => match value.pointer_mut(path) {
                Some(place) => {
                    check_depth(path, new)?;
                    *place = new.clone();
                    Ok(())
                }
                None => Err(missing(path)),
            },
            Self::Move { from, path } if path.starts_with(&format!("{from}/")) => {
                Err(format!("{from:?} cannot be moved into itself"))
            }
            Self::Move { from, path } => {
                let moved = remove(value, from)?;
                add(value, path, moved)
            }
            Self::Copy { from, path } => {
                let copied = value.pointer(from).ok_or_else(|| missing(from))?;
                all.count(copied)?;
                let copied = copied.clone();
                add(value, path, copied)
            }
            Self::Test { path, value: wanted } => {
                let found = value.pointer(path).unwrap_or(&Value::Null);
                if found == wanted {
                    Ok(())
                } else {
                    Err(format!("the test of {path:?} found {found}, not {wanted}"))
                }
            }
        }
    }
}

fn missing(path: &str) -> String {
    format!("there is nothing at {path:?}")
}

/// Splits a pointer into its parent and the unescaped last part.
fn split(path: &str) -> Result<(&str, String), String> {
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| format!("{path:?} does not start with /"))?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// Refuses what would make an object deeper than one that is sent may be.
fn check_depth(path: &str, added: &Value) -> Result<(), String> {
    if path.matches('/').count() + depth(added) > DEEPEST {
        return Err(format!("{path:?} would lie deeper than {DEEPEST} levels"));
    }
    Ok(())
}

/// How many maps and lists lie within each other at most; no value here is deeper than can be walked.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn add(value: &mut Value, path: &str, added: Value) -> Result<(), String> {
    check_depth(path, &added)?;
    if path.is_empty() {
        *value = added;
        return Ok(());
    }
    let (parent, last) = split(path)?;
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.insert(last, added);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let index = if last == "-" { Some(items.len()) } else { index_of(&last) };
            match index.filter(|index| *index <= items.len()) {
                Some(index) => {
                    items.insert(index, added);
                    Ok(())
                }
                None => Err(format!("{path:?} is outside the list")),
            }
        }
        Some(_) => Err(format!("{parent:?} is neither a map nor a list")),
        None => Err(missing(parent)),
    }
}

fn remove(value: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = split(path)?;
    let removed = match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields.remove(&last),
        Some(Value::Array(items)) => {
            index_of(&last).filter(|index| *index < items.len()).map(|index| items.remove(index))
        }
        _ => None,
    };
    removed.ok_or_else(|| missing(path))
}

/// Indexes have no sign and no leading zero.
fn index_of(part: &str) -> Option<usize> {
    let is_plain =
        part.chars().all(|digit| digit.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    if is_plain { part.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Operation;

    fn patched(mut value: Value, patch: Value) -> Result<Value, String> {
        Operation::apply_all(&Operation::read_all(patch)?, &mut value)?;
        Ok(value)
    }

    #[test]
    fn copies_that_double_each_other_are_refused_before_they_are_made() {
        let copies = |count: usize| -> Value {
            (0..count)
                .map(|n| json!({"op": "copy", "from": "/spec", "path": format!("/spec/a{n}")}))
                .collect()
        };
        let object = json!({"spec": {"text": "x".repeat(100)}});
        assert!(patched(object.clone(), copies(10)).is_ok());
        assert!(patched(object, copies(30)).unwrap_err().contains("bytes"));
    }

    #[test]
    fn no_patch_makes_an_object_deeper_than_one_that_can_be_sent() {
        let mut path = "/spec".to_owned();
        let deeper = (0..12).map(|_| {
            let copy = json!({"op": "copy", "from": "/spec", "path": format!("{path}/a")});
            path = format!("{path}{}", path.replace("/spec", "/a"));
            copy
        });
        let deeper: Value = deeper.collect();
        let refused = patched(json!({"spec": {"a": {}}}), deeper).unwrap_err();
        assert!(refused.contains("128 levels") || refused.contains("nothing at"), "{refused}");
        let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        for op in ["add", "replace"] {
            let patch = |levels| json!([{"op": op, "path": "/spec/a/b", "value": deep(levels)}]);
            let object = json!({"spec": {"a": {"b": 1}}});
            assert!(patched(object.clone(), patch(125)).is_ok());
            assert!(patched(object, patch(126)).unwrap_err().contains("128 levels"));
        }
    }

    #[test]
    fn behaves_as_the_standard_shows() {
        for (value, patch, wanted) in [
            (json!({"a": 1}), json!([{"op": "add", "path": "/b", "value": 2}]), json!({"a": 1, "b": 2})),
            (
                json!({"a": [1, 3]}),
                json!([{"op": "add", "path": "/a/1", "value": 2}]),
                json!({"a": [1, 2, 3]}),
            ),
            (json!({"a": [1]}), json!([{"op": "add", "path": "/a/-", "value": 2}]), json!({"a": [1, 2]})),
            (json!({"a": 1, "b": 2}), json!([{"op": "remove", "path": "/b"}]), json!({"a": 1})),
            (
                json!({"a/b": 1, "c~d": 2}),
                json!([{"op": "replace", "path": "/a~1b", "value": 3}, {"op": "remove", "path": "/c~0d"}]),
                json!({"a/b": 3}),
            ),
            (
                json!({"a": {"x": 1}, "b": {}}),
                json!([{"op": "move", "from": "/a/x", "path": "/b/y"}]),
                json!({"a": {}, "b": {"y": 1}}),
            ),
            (
                json!({"a": [1]}),
                json!([{"op": "copy", "from": "/a", "path": "/b"}]),
                json!({"a": [1], "b": [1]}),
            ),
            (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 1}]), json!({"a": 1})),
            (
                json!({}),
                json!([{"op": "test", "path": "/f", "value": null}, {"op": "add", "path": "/f", "value": ["x"]}]),
                json!({"f": ["x"]}),
            ),
        ] {
            assert_eq!(patched(value, patch.clone()), Ok(wanted), "{patch}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (value, patch) in [
            (json!({}), json!([{"op": "replace", "path": "/a", "value": 1}])),
            (json!({}), json!([{"op": "add", "path": "/a/b", "value": 1}])),
            (json!({"a": [1]}), json!([{"op": "add", "path": "/a/3", "value": 1}])),
            (json!({"a": [1]}), json!([{"op": "remove", "path": "/a/01"}])),
            (json!({"a": {}}), json!([{"op": "move", "from": "/a", "path": "/a/b"}])),
            (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 2}])),
            (json!({}), json!([{"op": "invent", "path": "/a"}])),
            (json!({}), json!([{"op": "remove", "path": ""}])),
        ] {
            assert!(patched(value, patch.clone()).is_err(), "{patch}");
        }
    }
}
