//! *Keep this*: from a field in which what is seen differs to a wish for what is seen.
//!
//! A difference holds values as people are shown them, so each is read back by what stands in its place in the spec.
//! What cannot be read back without guessing is refused, and a person writes it down instead.

use hearth_meta::FieldDiff;
use hearth_meta::difference::SECRET;
use serde_json::{Map, Value};

/// Why a field cannot be taken over that the machine knows by other names than the spec.
pub const NOT_A_WISH: &str = "what is seen there cannot be told as a wish; write what you want into the spec";

/// Takes over a field that the spec names by a plain path, such as `spec.owner.uid`.
///
/// # Errors
/// Why it cannot be taken over, in one sentence about the field.
pub fn plain(spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
    let seen = seen_of(difference)?;
    let path = difference.field.strip_prefix("spec.").filter(|path| !path.contains(['[', ' ']));
    let Some(path) = path else {
        return Err(NOT_A_WISH.into());
    };
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut place = spec;
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        place = fields_of(place)?.entry(parent).or_insert(Value::Null);
    }
    let fields = fields_of(place)?;
    match seen {
        Some(seen) => {
            let value = read(fields.get(name).unwrap_or(&Value::Null), seen)?;
            fields.insert(name.to_owned(), value);
        }
        None => drop(fields.remove(name)),
    }
    Ok(())
}

/// Takes over one entry of a list of names and values, such as `spec.env[TZ]`.
///
/// # Errors
/// Why it cannot be taken over, in one sentence about the field.
pub fn entry(spec: &mut Value, list: &str, difference: &FieldDiff) -> Result<(), String> {
    let seen = seen_of(difference)?;
    let named = difference.field.strip_prefix("spec.").and_then(|path| path.strip_prefix(list));
    let Some(name) = named.and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']')) else {
        return plain(spec, difference);
    };
    let entries = fields_of(spec)?.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(entries) = entries else { return Err("the spec has no list there".into()) };
    let at = entries.iter().position(|entry| entry["name"] == name);
    match (at, seen) {
        (Some(at), Some(_)) if entries[at].get("value").is_none() => {
            Err("its value comes from elsewhere; change it there".into())
        }
        (Some(at), Some(seen)) => {
            entries[at]["value"] = seen.into();
            Ok(())
        }
        (Some(at), None) => {
            entries.remove(at);
            Ok(())
        }
        (None, Some(seen)) => {
            entries.push(serde_json::json!({ "name": name, "value": seen }));
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

fn seen_of(difference: &FieldDiff) -> Result<Option<&str>, String> {
    let seen = difference.seen.as_deref();
    if seen.is_some_and(|seen| seen.contains(SECRET)) {
        return Err("it is a secret, which is never copied; change the Secret it comes from".into());
    }
    Ok(seen)
}

/// The fields of a place, which is made where it is missing.
fn fields_of(place: &mut Value) -> Result<&mut Map<String, Value>, String> {
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    place.as_object_mut().ok_or_else(|| "the spec has no place for it".to_owned())
}

/// The value that is shown as `seen`, of the type that stands in its place.
fn read(stands: &Value, seen: &str) -> Result<Value, String> {
    let unreadable = || format!("{seen:?} cannot be read back; write what you want into the spec");
    match stands {
        Value::String(_) => Ok(seen.into()),
        Value::Bool(_) => seen.parse().map(Value::Bool).map_err(|_| unreadable()),
        Value::Null => Ok(serde_json::from_str(seen).unwrap_or_else(|_| seen.into())),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let value: Value = serde_json::from_str(seen).map_err(|_| unreadable())?;
            let is_alike = std::mem::discriminant(&value) == std::mem::discriminant(stands);
            if is_alike { Ok(value) } else { Err(unreadable()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_meta::FieldDiff;
    use serde_json::json;

    use super::{entry, plain};

    fn difference(field: &str, seen: Option<&str>) -> FieldDiff {
        FieldDiff::new(field, None, seen.map(str::to_owned))
    }

    #[test]
    fn what_is_seen_is_read_back_by_what_stands_in_its_place() {
        let mut spec =
            json!({"mode": "0755", "owner": {"uid": 1}, "init": true, "command": ["a"], "user": "x"});
        let seen = [("mode", "0700"), ("owner.uid", "7"), ("init", "false"), ("command", r#"["b","c"]"#)];
        for (field, seen) in seen {
            plain(&mut spec, &difference(&format!("spec.{field}"), Some(seen))).unwrap();
        }
        plain(&mut spec, &difference("spec.user", None)).unwrap();
        plain(&mut spec, &difference("spec.limits.memory", Some("64Mi"))).unwrap();
        let kept = json!({"mode": "0700", "owner": {"uid": 7}, "init": false, "command": ["b", "c"],
            "limits": {"memory": "64Mi"}});
        assert_eq!(spec, kept);
    }

    #[test]
    fn what_cannot_be_told_as_a_wish_is_refused_and_changes_nothing() {
        let spec = json!({"owner": {"uid": 1}, "init": true, "path": "x"});
        let refused = [
            ("spec.owner.uid", "many"),
            ("spec.init", "often"),
            ("spec.mounts[a]", "b"),
            ("sandbox", "host"),
            ("spec.path.deeper", "x"),
            ("spec.owner.uid", "(secret), another one"),
        ];
        for (field, seen) in refused {
            let mut tried = spec.clone();
            assert!(plain(&mut tried, &difference(field, Some(seen))).is_err(), "{field}");
            assert_eq!(tried, spec, "{field}");
        }
    }

    #[test]
    fn an_entry_of_a_list_is_changed_added_and_taken_out() {
        let mut spec = json!({"env": [{"name": "TZ", "value": "UTC"}, {"name": "OLD", "value": "1"},
            {"name": "PW", "valueFrom": {}}]});
        entry(&mut spec, "env", &difference("spec.env[TZ]", Some("Europe/Paris"))).unwrap();
        entry(&mut spec, "env", &difference("spec.env[NEW]", Some("2"))).unwrap();
        entry(&mut spec, "env", &difference("spec.env[OLD]", None)).unwrap();
        assert!(entry(&mut spec, "env", &difference("spec.env[PW]", Some("x"))).is_err());
        let kept = json!([{"name": "TZ", "value": "Europe/Paris"}, {"name": "PW", "valueFrom": {}},
            {"name": "NEW", "value": "2"}]);
        assert_eq!(spec["env"], kept);
    }
}
