//! How a case file writes things: in short or in full, one or several, and what a step does in a few words.

use serde_json::{Map, Value, json};

use super::schema::BARE;

/// Steps of one word, and verbs with nothing said of them, written in full.
pub(super) fn in_full(value: &Value) -> Value {
    let mut value = value.clone();
    for step in value["steps"].as_array_mut().into_iter().flatten() {
        if let Some(word) = step.as_str().filter(|word| BARE.contains(word)) {
            *step = json!({ word: {} });
        }
        for word in BARE {
            if step.get(word).is_some_and(Value::is_null) {
                step[word] = json!({});
            }
        }
    }
    value
}

/// One thing or a list of things, each with its place.
pub(super) fn listed<'v>(at: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(number, item)| (format!("{at}[{number}]"), item)).collect()
        }
        one => vec![(at.to_owned(), one)],
    }
}

/// A map of nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// A list, or a list of one.
pub(super) fn as_list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// Words in a row.
pub(super) fn joined(words: &[&String]) -> String {
    words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a step does, in a few words.
pub(super) fn summary(verb: &str, value: &Value) -> String {
    let told = match (verb, value) {
        (_, Value::String(text)) => text.clone(),
        ("apply", Value::Object(object)) => name_of(&Value::Object(object.clone())),
        (_, Value::Array(items)) => {
            let item = |item: &Value| item.as_str().map_or_else(|| name_of(item), str::to_owned);
            items.iter().map(item).collect::<Vec<_>>().join(", ")
        }
        ("break" | "others", Value::Object(fields)) => {
            let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.iter().map(|(name, value)| format!("{name} {}", word(value))).collect::<Vec<_>>().join(" ")
        }
        (_, Value::Object(fields)) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    format!("{verb} {told}").trim_end().to_owned()
}

fn name_of(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{}/{}", word(&object["kind"]).to_lowercase(), word(&object["metadata"]["name"]))
}
