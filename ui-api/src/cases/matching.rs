//! Whether something is as a case says: in the fields that it names, and whatever else there is.
//!
//! Maps are looked into field by field. Of a list whose items have names (`name`, `type`, ...) the item of that name
//! is looked at; any other list must have the same items, or is looked into by number (`{ 0: ... }`). Null means that
//! nothing is there. A map of one word with a `$` before it says more than equality can.

use hearth_meta::problem::nearest;
use serde_json::Value;

/// What tells one item of a list from another, first one first.
const NAMES: [&str; 7] = ["name", "type", "path", "field", "container", "volume", "network"];

/// A field that is not as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Which field.
    pub field: String,
    /// What it should be.
    pub wanted: Value,
    /// What it is; null where there is nothing.
    pub seen: Value,
    /// More to say.
    pub hint: Option<String>,
}

/// Every field of `wanted` that is otherwise in `seen`.
pub fn mismatches(wanted: &Value, seen: &Value) -> Vec<Mismatch> {
    let mut found = Vec::new();
    compare("", wanted, seen, &mut found);
    found
}

/// Whether a thing that a case names is as it says; `absent: true` where it is not to be there.
pub fn mismatches_of(wanted: &Value, seen: Option<&Value>) -> Vec<Mismatch> {
    let is_to_be_absent = wanted["absent"] == true;
    match (is_to_be_absent, seen) {
        (true, None) => Vec::new(),
        (true, Some(_)) => vec![told("", "absent".into(), "it is there".into())],
        (false, None) => vec![told("", "it is there".into(), "absent".into())],
        (false, Some(seen)) => mismatches(wanted, seen),
    }
}

fn told(field: &str, wanted: Value, seen: Value) -> Mismatch {
    Mismatch { field: field.to_owned(), wanted, seen, hint: None }
}

fn compare(at: &str, wanted: &Value, seen: &Value, found: &mut Vec<Mismatch>) {
    if let Some((word, with)) = word_of(wanted) {
        if !holds(word, with, seen) {
            found.push(told(at, wanted.clone(), seen.clone()));
        }
        return;
    }
    match (wanted, seen) {
        (Value::Object(fields), Value::Object(there)) => {
            for (name, wanted) in fields {
                let seen = there.get(name).unwrap_or(&Value::Null);
                let before = found.len();
                compare(&join(at, name), wanted, seen, found);
                if found.len() > before && !there.contains_key(name) {
                    let meant = nearest(name, there.keys().map(String::as_str));
                    let hint = meant.map(|meant| format!("there is a field {meant:?}"));
                    found[before..].iter_mut().for_each(|mismatch| mismatch.hint.clone_from(&hint));
                }
            }
        }
        (Value::Object(fields), Value::Array(items))
            if fields.keys().all(|key| key.parse::<usize>().is_ok()) =>
        {
            for (number, wanted) in fields {
                let seen = number.parse().ok().and_then(|number: usize| items.get(number));
                compare(&format!("{at}[{number}]"), wanted, seen.unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(wanted), Value::Array(seen)) => lists(at, wanted, seen, found),
        (wanted, seen) if alike(wanted, seen) => {}
        _ => found.push(told(at, wanted.clone(), seen.clone())),
    }
}

fn lists(at: &str, wanted: &[Value], seen: &[Value], found: &mut Vec<Mismatch>) {
    let named = |item: &Value| NAMES.iter().find(|name| item[**name].is_string()).copied();
    if !wanted.is_empty() && wanted.iter().all(|item| named(item).is_some()) {
        for item in wanted {
            let key = named(item).unwrap_or_default();
            let at = format!("{at}[{key}={}]", item[key].as_str().unwrap_or_default());
            let there = seen.iter().find(|other| other[key] == item[key]);
            let mut inner = mismatches_of(item, there);
            inner.iter_mut().for_each(|mismatch| mismatch.field = join(&at, &mismatch.field));
            found.append(&mut inner);
        }
    } else if wanted.len() == seen.len() {
        for (number, (wanted, seen)) in wanted.iter().zip(seen).enumerate() {
            compare(&format!("{at}[{number}]"), wanted, seen, found);
        }
    } else {
        let mut mismatch = told(at, Value::from(wanted), Value::from(seen));
        mismatch.hint = Some(format!("{} wanted, {} seen", wanted.len(), seen.len()));
        found.push(mismatch);
    }
}

/// Equal, and numbers by what they count.
fn alike(wanted: &Value, seen: &Value) -> bool {
    wanted == seen
        || wanted.as_f64().is_some_and(|number| seen.as_f64() == Some(number))
        // What is empty is often left out.
        || seen.is_null() && (wanted.as_array().is_some_and(Vec::is_empty) || wanted == false)
}

/// The word of a map such as `{ $contains: text }`.
fn word_of(wanted: &Value) -> Option<(&str, &Value)> {
    let (word, with) = wanted.as_object().filter(|fields| fields.len() == 1)?.iter().next()?;
    Some((word.strip_prefix('$')?, with))
}

/// Every word there is.
pub const WORDS: [&str; 5] = ["contains", "not", "oneOf", "atLeast", "atMost"];

fn holds(word: &str, with: &Value, seen: &Value) -> bool {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    match word {
        "contains" => match seen {
            Value::String(text) => with.as_str().is_some_and(|part| text.contains(part)),
            Value::Array(items) => items.iter().any(|item| mismatches(with, item).is_empty()),
            _ => false,
        },
        "not" => !mismatches(with, seen).is_empty(),
        "oneOf" => with.as_array().into_iter().flatten().any(|one| mismatches(one, seen).is_empty()),
        "atLeast" => number(seen) >= number(with),
        "atMost" => number(seen) <= number(with),
        _ => false,
    }
}

/// What is said with a `$` that means nothing, each with its field.
pub fn unknown_words(wanted: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    look_for_words("", wanted, &mut found);
    found
}

fn look_for_words(at: &str, wanted: &Value, found: &mut Vec<(String, String)>) {
    match wanted {
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = join(at, name);
                if name.strip_prefix('$').is_some_and(|word| !WORDS.contains(&word) || fields.len() > 1) {
                    let words: Vec<String> = WORDS.iter().map(|word| format!("${word}")).collect();
                    found.push((place.clone(), format!("stands alone and is one of {}", words.join(", "))));
                }
                look_for_words(&place, value, found);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                look_for_words(&format!("{at}[{number}]"), item, found);
            }
        }
        _ => {}
    }
}

fn join(at: &str, name: &str) -> String {
    match (at, name) {
        ("", name) => name.to_owned(),
        (at, "") => at.to_owned(),
        (at, name) if name.starts_with('[') => format!("{at}{name}"),
        (at, name) => format!("{at}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{mismatches, mismatches_of};

    fn fields(wanted: Value, seen: Value) -> Vec<String> {
        mismatches(&wanted, &seen).into_iter().map(|mismatch| mismatch.field).collect()
    }

    #[test]
    fn only_the_fields_that_are_named_count_and_each_that_differs_is_told() {
        let seen = json!({ "spec": { "a": 1, "b": "x" }, "status": { "summary": "Ready" } });
        assert_eq!(fields(json!({ "spec": { "a": 1 } }), seen.clone()), [""; 0]);
        let wanted = json!({ "spec": { "a": 2, "b": "y", "c": null }, "status": { "summary": "Ready" } });
        assert_eq!(fields(wanted, seen), ["spec.a", "spec.b"]);
    }

    #[test]
    fn items_with_names_are_found_by_them_and_others_by_their_place() {
        let seen = json!({ "conditions": [{ "type": "Admitted", "status": "True" }, { "type": "Ready", "status": "False" }] });
        let wanted = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        assert_eq!(fields(wanted, seen.clone()), ["conditions[type=Ready].status"]);
        assert_eq!(
            fields(json!({ "conditions": [{ "type": "Drifted" }] }), seen.clone()),
            ["conditions[type=Drifted]"]
        );
        assert_eq!(
            fields(json!({ "conditions": [{ "type": "Drifted", "absent": true }] }), seen.clone()),
            [""; 0]
        );
        assert_eq!(
            fields(json!({ "conditions": { "1": { "status": "True" } } }), seen),
            ["conditions[1].status"]
        );
        assert_eq!(fields(json!([1, 2]), json!([1, 3])), ["[1]"]);
        assert_eq!(fields(json!([1]), json!([1, 3])), [""]);
        assert_eq!(fields(json!([]), json!([1])), [""]);
        assert_eq!(fields(json!({ "differences": [] }), json!({})), [""; 0]);
    }

    #[test]
    fn words_say_more_than_equality() {
        let seen = json!({ "text": "port 8080 is taken", "n": 3, "list": [{ "a": 1 }] });
        let holds = |wanted: Value| mismatches(&wanted, &seen).is_empty();
        assert!(holds(
            json!({ "text": { "$contains": "8080" }, "n": { "$atLeast": 3 }, "list": { "$contains": { "a": 1 } } })
        ));
        assert!(holds(json!({ "text": { "$not": "x" }, "n": { "$oneOf": [1, 3] } })));
        assert!(!holds(json!({ "text": { "$contains": "8081" } })));
        assert!(!holds(json!({ "n": { "$atMost": 2 } })));
        assert!(!holds(json!({ "n": { "$nearly": 3 } })));
    }

    #[test]
    fn a_thing_that_is_not_to_be_there_is_told_when_it_is() {
        assert!(mismatches_of(&json!({ "absent": true }), None).is_empty());
        assert_eq!(mismatches_of(&json!({ "absent": true }), Some(&json!({}))).len(), 1);
        assert_eq!(mismatches_of(&json!({}), None).len(), 1);
    }

    #[test]
    fn a_misspelt_field_is_told_the_one_that_is_there() {
        let found = mismatches(&json!({ "summry": "Ready" }), &json!({ "summary": "Ready" }));
        assert_eq!(found[0].hint.as_deref(), Some("there is a field \"summary\""));
    }
}
