//! The model as JSON, in the shape Docker Compose prints.

use serde_json::{Map as JsonMap, Number, Value as Json};

use super::printed;
use crate::node::{Node, Value};

/// A tree as plain JSON.
pub(crate) fn plain(node: &Node) -> Json {
    convert(node, &|text: &str| text.to_owned())
}

/// The model as it is printed: a dollar is doubled, so that the output can be read again.
pub(crate) fn printed(node: &Node) -> Json {
    convert(node, &|text: &str| if text.contains('$') { text.replace('$', "$$") } else { text.to_owned() })
}

fn convert(node: &Node, write: &dyn Fn(&str) -> String) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Large(value) => Json::from(*value),
        Value::Float(value) => number(*value),
        // The shortest text of the single number, not of the double it widens to.
        Value::Single(value) => number(value.to_string().parse().unwrap_or(f64::from(*value))),
        Value::Text(text) | Value::Time(text) => Json::String(write(text)),
        Value::Bytes(value) => Json::String(value.to_string()),
        Value::Duration(value) => Json::String(printed::duration(*value)),
        Value::Mode(value) => Json::String(octal(*value)),
        Value::List(items) => Json::Array(items.iter().map(|item| convert(item, write)).collect()),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|(key, value)| (write(key), convert(value, write)));
            Json::Object(pairs.collect::<JsonMap<String, Json>>())
        }
    }
}

fn octal(mode: i64) -> String {
    if mode < 0 { format!("0-{:o}", mode.unsigned_abs()) } else { format!("0{mode:o}") }
}

/// Whole numbers are printed without a point.
fn number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 9.0e15 {
        return Json::from(value as i64);
    }
    Number::from_f64(value).map_or(Json::Null, Json::Number)
}
