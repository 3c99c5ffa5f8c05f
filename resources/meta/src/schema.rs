//! Checks a JSON value against a structural OpenAPI v3 schema, as CRDs carry them.
//!
//! Covers what the schemas of `resources/kinds` use: types, nullable, enums, required and unknown fields,
//! items, additionalProperties, minimum and maximum, lengths. Every problem is reported at once.

use serde_json::Value;

use crate::Problem;
use crate::problem::nearest;

/// All problems of `value` against `schema`; unknown fields are problems too, with a suggestion.
pub fn check(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    check_at(value, schema, "", &mut problems);
    problems
}

fn check_at(value: &Value, schema: &Value, path: &str, problems: &mut Vec<Problem>) {
    if value.is_null() {
        if schema["nullable"] != Value::Bool(true) && !schema["type"].is_null() {
            problems.push(Problem::new(
                path,
                format!("must not be null; write {} or leave it out", kind_of(schema)),
            ));
        }
        return;
    }
    if !is_of_type(value, schema) {
        let seen = kind_name(value);
        problems.push(Problem::new(path, format!("must be {}, not {seen}", kind_of(schema))));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        problems.push(Problem::new(path, not_allowed(value, allowed)));
    }
    check_bounds(value, schema, path, problems);
    match value {
        Value::Object(fields) => check_fields(fields, schema, path, problems),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_at(item, &schema["items"], &format!("{path}[{index}]"), problems);
            }
        }
        _ => {}
    }
}

fn check_fields(
    fields: &serde_json::Map<String, Value>,
    schema: &Value,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let child = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            problems.push(Problem::new(child(name), "is required"));
        }
    }
    let known = schema["properties"].as_object();
    let open = schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true);
    for (name, value) in fields {
        if let Some(inner) = known.and_then(|known| known.get(name)) {
            check_at(value, inner, &child(name), problems);
        } else if schema["additionalProperties"].is_object() {
            check_at(value, &schema["additionalProperties"], &child(name), problems);
        } else if let Some(known) = known
            && !open
        {
            let hint = match nearest(name, known.keys().map(String::as_str)) {
                Some(meant) => format!("; did you mean {meant:?}?"),
                None => String::new(),
            };
            problems.push(Problem::new(child(name), format!("unknown field {name:?}{hint}")));
        }
    }
}

fn check_bounds(value: &Value, schema: &Value, path: &str, problems: &mut Vec<Problem>) {
    if let (Some(number), Some(least)) = (value.as_f64(), schema["minimum"].as_f64())
        && number < least
    {
        problems.push(Problem::new(path, format!("is {number}; it must be at least {least}")));
    }
    if let (Some(number), Some(most)) = (value.as_f64(), schema["maximum"].as_f64())
        && number > most
    {
        problems.push(Problem::new(path, format!("is {number}; it must be at most {most}")));
    }
    if let (Some(text), Some(least)) = (value.as_str(), schema["minLength"].as_u64())
        && (text.chars().count() as u64) < least
    {
        problems.push(Problem::new(
            path,
            if least == 1 {
                "must not be empty".into()
            } else {
                format!("is shorter than {least} characters")
            },
        ));
    }
}

fn not_allowed(value: &Value, allowed: &[Value]) -> String {
    let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
    let seen = value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"));
    let hint = value.as_str().and_then(|text| nearest(text, words.iter().copied()));
    match hint {
        Some(meant) => format!("{seen} is not one of {}; did you mean {meant}?", words.join(", ")),
        None => format!("{seen} is not one of {}", words.join(", ")),
    }
}

fn is_of_type(value: &Value, schema: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == Value::Bool(true) {
        return value.is_string() || value.is_i64();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    }
}

fn kind_of(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("object") => "a map",
        Some("array") => "a list",
        Some("string") => "a text (put it in quotes)",
        Some("boolean") => "true or false",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        _ => "a value",
    }
}

fn kind_name(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => format!("{s:?}"),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a map".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn reports_every_problem_with_its_path() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "state": {"type": "string", "enum": ["Running", "Stopped"]},
            "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1.0}}}},
        }});
        let value = json!({"state": "Runing", "itms": [], "items": [{"n": 0}, {"n": "x"}]});
        let mut found: Vec<String> = check(&value, &schema).iter().map(ToString::to_string).collect();
        found.sort();
        assert_eq!(
            found,
            [
                "items[0].n: is 0; it must be at least 1",
                "items[1].n: must be a whole number, not \"x\"",
                "itms: unknown field \"itms\"; did you mean \"items\"?",
                "name: is required",
                "state: \"Runing\" is not one of Running, Stopped; did you mean Running?",
            ]
        );
    }
}
