//! Single values: numbers, sizes, spans, booleans, texts.

use crate::compose::schema::Read;
use crate::compose::{merge, units};
use crate::node::{Node, Value};

type Outcome = Result<Option<Value>, String>;

/// Reads one value; none when it is what would be understood without it.
pub(super) fn read(read: &Read, node: &Node) -> Outcome {
    if node.is_null() {
        return Ok(None);
    }
    match read {
        Read::Text => text(node),
        Read::Bool => Ok(boolean(node)?.then_some(Value::Bool(true))),
        Read::SetBool => Ok(Some(Value::Bool(boolean(node)?))),
        Read::Int => Ok(Some(integer(node)?).filter(|value| *value != 0).map(Value::Int)),
        Read::SetInt => Ok(Some(Value::Int(integer(node)?))),
        Read::Count => Ok(Some(count(node)?).filter(|value| *value != 0).map(Value::Int)),
        Read::SetCount => Ok(Some(Value::Int(count(node)?))),
        Read::Single => Ok(Some(single(node)?).filter(|value| *value != 0.0).map(Value::Single)),
        Read::Bytes => Ok(Some(bytes(node)?).filter(|value| *value != 0).map(Value::Bytes)),
        Read::Duration => Ok(Some(duration(node)?).filter(|value| *value != 0).map(Value::Duration)),
        Read::SetDuration => Ok(Some(Value::Duration(duration(node)?))),
        Read::Mode => Ok(Some(Value::Mode(mode(node)?))),
        Read::DeviceCount => Ok(Some(device_count(node)?).filter(|value| *value != 0).map(Value::Int)),
        _ => Ok(None),
    }
}

fn differs<T>(expected: &str, node: &Node) -> Result<T, String> {
    Err(format!("expected {expected}, this is {}", node.kind()))
}

fn text(node: &Node) -> Outcome {
    match &node.value {
        Value::Text(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty()).map(Value::Text)),
        Value::Int(value) => Ok(Some(Value::Text(value.to_string()))),
        _ => differs("text", node),
    }
}

fn boolean(node: &Node) -> Result<bool, String> {
    match &node.value {
        Value::Bool(value) => Ok(*value),
        Value::Text(text) => units::boolean(text),
        _ => differs("true or false", node),
    }
}

fn integer(node: &Node) -> Result<i64, String> {
    match &node.value {
        Value::Int(value) => Ok(*value),
        Value::Large(value) => Ok(value.cast_signed()),
        Value::Float(value) => Ok(units::truncated(*value)),
        Value::Single(value) => Ok(units::truncated(f64::from(*value))),
        Value::Text(text) => units::integer(text),
        _ => differs("a whole number", node),
    }
}

/// Counts are numbers, never text: what a variable gave became a number before.
fn count(node: &Node) -> Result<i64, String> {
    if node.as_text().is_some() {
        return Err("expected a whole number, this is text; remove the quotes".to_owned());
    }
    match integer(node)? {
        value if value < 0 => Err("must not be below zero".to_owned()),
        value => Ok(value),
    }
}

fn single(node: &Node) -> Result<f32, String> {
    match &node.value {
        Value::Single(value) => Ok(*value),
        Value::Int(value) => Ok(*value as f32),
        Value::Float(value) => Ok(*value as f32),
        Value::Text(text) => {
            units::float(text).map(|value| value as f32).ok_or(format!("`{text}` is not a number"))
        }
        _ => differs("a number", node),
    }
}

/// Sizes are whole numbers or texts; a fraction without a unit counts as nothing.
fn bytes(node: &Node) -> Result<i64, String> {
    match &node.value {
        Value::Int(value) => Ok(*value),
        Value::Text(text) => units::bytes(text),
        _ => Ok(0),
    }
}

fn duration(node: &Node) -> Result<i64, String> {
    units::duration(&merge::as_printed(node))
}

fn mode(node: &Node) -> Result<i64, String> {
    match &node.value {
        Value::Int(value) => Ok(*value),
        Value::Text(text) => units::octal(text),
        _ => differs("a file mode", node),
    }
}

fn device_count(node: &Node) -> Result<i64, String> {
    match &node.value {
        Value::Int(value) => Ok(*value),
        Value::Text(text) if text.to_lowercase() == "all" => Ok(-1),
        Value::Text(text) => {
            units::integer(text).map_err(|_| format!("`{text}` is neither a number nor `all`"))
        }
        _ => differs("a number or `all`", node),
    }
}
