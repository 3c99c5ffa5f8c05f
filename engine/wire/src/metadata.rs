//! What the protocol asks of metadata before the store sees it: typed objects drop unknown names silently, so a
//! misspelt `lables` would be a wish that nobody hears.

use hearth_meta::problem::nearest;
use hearth_meta::{KindInfo, Problem};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Every field metadata has.
const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The most that all annotations of one object may take, in bytes, as the Kubernetes API has it.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// Makes sure that a body says the kind its path says; what it leaves out is filled in.
pub(crate) fn settle_kind(value: &mut Value, kind: &KindInfo) -> Result<(), Failure> {
    let Some(object) = value.as_object_mut() else {
        return Err(Failure::bad_request("the body must be one object, with apiVersion, kind and metadata"));
    };
    for (field, wanted) in [("apiVersion", kind.api_version()), ("kind", kind.kind.to_owned())] {
        let said = object.entry(field).or_insert_with(|| wanted.clone().into());
        if *said == Value::String(String::new()) || said.is_null() {
            *said = wanted.into();
        } else if said.as_str() != Some(&wanted) {
            let message = format!("{field} is {said}, and this place is for {wanted:?}; change one of them");
            return Err(Failure::bad_request(message));
        }
    }
    Ok(())
}

/// What is wrong with the metadata of an object.
pub(crate) fn check(object: &Value) -> Vec<Problem> {
    let metadata = match &object["metadata"] {
        Value::Object(metadata) => metadata,
        Value::Null => return vec![Problem::new("metadata", "is required")],
        _ => return vec![Problem::new("metadata", "must be a map")],
    };
    let mut problems: Vec<Problem> = metadata.keys().filter_map(|name| unknown(name)).collect();
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if !matches!(metadata.get(field), None | Some(Value::Null | Value::String(_))) {
            problems.push(Problem::new(format!("metadata.{field}"), "must be a text (put it in quotes)"));
        }
    }
    problems.extend(check_texts(metadata, "labels", check_label_value));
    problems.extend(check_texts(metadata, "annotations", |_| None));
    let size: usize = metadata.get("annotations").map_or(0, |annotations| annotations.to_string().len());
    if size > MOST_ANNOTATIONS {
        problems.push(Problem::new(
            "metadata.annotations",
            format!("take {size} bytes; at most {MOST_ANNOTATIONS} are allowed"),
        ));
    }
    problems
}

fn unknown(name: &str) -> Option<Problem> {
    if FIELDS.contains(&name) {
        return None;
    }
    let hint = nearest(name, FIELDS).map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
    Some(Problem::new(format!("metadata.{name}"), format!("unknown field {name:?}{hint}")))
}

fn check_texts(
    metadata: &Map<String, Value>,
    field: &str,
    check_value: fn(&str) -> Option<String>,
) -> Vec<Problem> {
    let entries = match metadata.get(field) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(entries)) => entries,
        Some(_) => return vec![Problem::new(format!("metadata.{field}"), "must be a map of texts")],
    };
    entries
        .iter()
        .flat_map(|(name, value)| {
            let message = match value.as_str() {
                None => Some("must be a text (put it in quotes)".to_owned()),
                Some(text) => check_value(text),
            };
            check_name(name).into_iter().chain(message).map(move |message| (name, message))
        })
        .map(|(name, message)| Problem::new(format!("metadata.{field}[{name}]"), message))
        .collect()
}

/// A name such as `app` or `example.com/app`.
fn check_name(name: &str) -> Option<String> {
    let (prefix, own) = name.rsplit_once('/').map_or((None, name), |(prefix, own)| (Some(prefix), own));
    if let Some(problem) = prefix.and_then(|prefix| hearth_meta::name::check_subdomain(prefix).err()) {
        return Some(format!("the part before / {problem}"));
    }
    if own.is_empty() { Some("has no name after its /".into()) } else { check_word(own) }
}

fn check_label_value(value: &str) -> Option<String> {
    if value.is_empty() { None } else { check_word(value) }
}

fn check_word(word: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let allowed = |letter: char| is_plain(letter) || "-_.".contains(letter);
    if word.chars().count() > 63 {
        return Some(format!("{word:?} is longer than 63 characters"));
    }
    if !word.chars().all(allowed) || !word.starts_with(is_plain) || !word.ends_with(is_plain) {
        return Some(format!(
            "{word:?} may have letters, digits, -, _ and . and must start and end with a letter or digit"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn every_problem_of_metadata_is_told_with_its_field() {
        let found = check(&json!({"metadata": {
            "name": 3,
            "lables": {},
            "labels": {"ok": "yes", "number": 1, "bad value": "x", "v": "-x"},
            "annotations": {"example.com/any text": "free & easy"},
        }}));
        let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "metadata.lables",
                "metadata.name",
                "metadata.labels[bad value]",
                "metadata.labels[number]",
                "metadata.labels[v]",
                "metadata.annotations[example.com/any text]",
            ]
        );
        assert!(found[0].message.contains("did you mean \"labels\""), "{}", found[0].message);
    }

    #[test]
    fn ordinary_metadata_is_left_alone() {
        let object = json!({"metadata": {
            "name": "photos", "creationTimestamp": null, "labels": {"app.kubernetes.io/name": "photos", "empty": ""},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}\n"},
        }});
        assert_eq!(check(&object), []);
    }
}
