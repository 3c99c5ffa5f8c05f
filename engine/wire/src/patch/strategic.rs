//! Strategic merge patch, as clients send it for the kinds of the core group: a merge patch with directives, in which the
//! lists of metadata are merged by what their items are known by.

use serde_json::{Map, Value};

/// Says that a map or an item is replaced or taken away.
const DIRECTIVE: &str = "$patch";
/// Takes items out of a list of words.
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
/// Only says in which order a list is to be shown.
const ORDER: &str = "$setElementOrder/";
/// Names the fields of a map that are kept.
const RETAIN: &str = "$retainKeys";

/// Merges a patch into an object.
pub(super) fn apply(value: &mut Value, patch: &Value) -> Result<(), String> {
    merge(value, patch, "")
}

fn merge(value: &mut Value, patch: &Value, path: &str) -> Result<(), String> {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return Ok(());
    };
    match changes.get(DIRECTIVE).map(|said| said.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => *value = Value::Object(Map::new()),
        Some("delete") => {
            *value = Value::Null;
            return Ok(());
        }
        Some(other) => return Err(format!("{DIRECTIVE} {other:?} is not one of replace, merge, delete")),
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(fields) = value else { return Ok(()) };
    if let Some(kept) = changes.get(RETAIN).and_then(Value::as_array) {
        fields.retain(|name, _| kept.iter().any(|keep| keep == name));
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            let taken = change.as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(items) = fields.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !taken.contains(item));
            }
        } else if change.is_null() {
            fields.remove(name);
        } else if name != DIRECTIVE && name != RETAIN && !name.starts_with(ORDER) {
            let path = format!("{path}.{name}");
            let place = fields.entry(name.clone()).or_insert(Value::Null);
            match (path.as_str(), change) {
                (".metadata.finalizers", Value::Array(words)) => join(place, words),
                (".metadata.ownerReferences", Value::Array(items)) => merge_by_uid(place, items, &path)?,
                _ => merge(place, change, &path)?,
            }
            if place.is_null() {
                fields.remove(name);
            }
        }
    }
    Ok(())
}

/// Puts the words into a list that are not in it.
fn join(place: &mut Value, words: &[Value]) {
    let mut items = place.as_array().cloned().unwrap_or_default();
    items
        .extend(words.iter().filter(|word| !place.as_array().is_some_and(|all| all.contains(word))).cloned());
    *place = Value::Array(items);
}

fn merge_by_uid(place: &mut Value, changes: &[Value], path: &str) -> Result<(), String> {
    let mut items = place.as_array().cloned().unwrap_or_default();
    for change in changes {
        if change.get(DIRECTIVE).is_some_and(|said| said == "replace") {
            items.clear();
            continue;
        }
        let uid =
            change.get("uid").filter(|uid| uid.is_string()).ok_or("an owner in the patch has no uid")?;
        let found = items.iter().position(|item| item.get("uid") == Some(uid));
        let at = found.unwrap_or_else(|| {
            items.push(Value::Null);
            items.len() - 1
        });
        merge(&mut items[at], change, path)?;
        items.retain(|item| !item.is_null());
    }
    *place = Value::Array(items);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply;

    fn patched(value: Value, patch: Value) -> Value {
        let mut value = value;
        apply(&mut value, &patch).unwrap();
        value
    }

    #[test]
    fn maps_are_merged_and_the_lists_of_metadata_by_what_their_items_are_known_by() {
        let object = json!({"metadata": {
            "labels": {"a": "1", "b": "2"}, "finalizers": ["x", "y"],
            "ownerReferences": [{"uid": "u", "name": "one"}, {"uid": "v", "name": "two"}],
        }, "data": {"k": "v"}, "list": [1, 2]});
        let patch = json!({"metadata": {
            "labels": {"a": null, "c": "3"},
            "finalizers": ["z", "x"], "$deleteFromPrimitiveList/finalizers": ["y"], "$setElementOrder/finalizers": ["x", "z"],
            "ownerReferences": [{"uid": "u", "$patch": "delete"}, {"uid": "v", "name": "other"}, {"uid": "w"}],
        }, "data": {"$patch": "replace", "n": "w"}, "list": [3]});
        let wanted = json!({"metadata": {
            "labels": {"b": "2", "c": "3"}, "finalizers": ["x", "z"],
            "ownerReferences": [{"uid": "v", "name": "other"}, {"uid": "w"}],
        }, "data": {"n": "w"}, "list": [3]});
        assert_eq!(patched(object, patch), wanted);
    }

    #[test]
    fn directives_take_away_keep_and_are_never_stored() {
        let object = json!({"spec": {"a": 1, "b": 2}, "data": {"k": "v"}});
        let patch = json!({"spec": {"$retainKeys": ["b"], "b": 3}, "data": {"$patch": "delete"}});
        assert_eq!(patched(object, patch), json!({"spec": {"b": 3}}));
        apply(&mut json!({}), &json!({"data": {"$patch": "sideways"}})).unwrap_err();
        apply(&mut json!({}), &json!({"metadata": {"ownerReferences": [{"name": "x"}]}})).unwrap_err();
    }
}
