//! Our compose file and the App's manifest, as YAML that reads well and reads back the same.

use super::report::{Report, ValueKind};
use crate::compose::merge::as_printed;
use crate::compose::secret::{self, Part};
use crate::node::{Map, Node, Value};

/// The texts of a list, or of a lone text.
pub(super) fn texts_of(node: &Node) -> Vec<String> {
    match &node.value {
        Value::List(items) => items.iter().map(as_printed).collect(),
        Value::Map(entries) => {
            entries.iter().map(|(key, value)| format!("{key}={}", as_printed(value))).collect()
        }
        Value::Text(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Names with their values, from a list or a mapping; a name alone has none.
pub(super) fn pairs_of(node: &Node) -> Vec<(String, Option<String>)> {
    match &node.value {
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), (!value.is_null()).then(|| as_printed(value))))
            .collect(),
        Value::List(items) => items
            .iter()
            .map(|item| {
                let text = as_printed(item);
                match text.split_once('=') {
                    Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                    None => (text, None),
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The compose file of the package.
pub(super) fn compose(services: &Map, sections: &Map) -> String {
    let mut out = String::new();
    for (name, section) in sections {
        entry(&mut out, name, section, 0);
    }
    out.push_str("services:\n");
    for (name, service) in services {
        out.push_str(&format!("  {}:\n", word(name)));
        for (key, value) in service.as_map().into_iter().flatten() {
            entry(&mut out, key, value, 4);
        }
    }
    out
}

fn entry(out: &mut String, key: &str, value: &Node, indent: usize) {
    let pad = " ".repeat(indent);
    match &value.value {
        Value::Map(entries) if !entries.is_empty() => {
            out.push_str(&format!("{pad}{}:\n", word(key)));
            entries.iter().for_each(|(key, value)| entry(out, key, value, indent + 2));
        }
        Value::List(items) if !items.is_empty() => {
            out.push_str(&format!("{pad}{}:\n", word(key)));
            for item in items {
                out.push_str(&format!("{pad}  - {}\n", inline(item)));
            }
        }
        _ => out.push_str(&format!("{pad}{}: {}\n", word(key), inline(value))),
    }
}

/// A value on one line.
fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => quoted(&escaped(text)),
        Value::Time(text) => quoted(text),
        Value::Null => "null".to_owned(),
        Value::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let pairs: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), inline(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        _ => as_printed(node),
    }
}

/// A text with its dollars doubled, and its marks as the variables they stand for.
fn escaped(text: &str) -> String {
    let parts = secret::parts(text).into_iter().map(|part| match part {
        Part::Text(text) => text.replace('$', "$$"),
        Part::Secret(name) => format!("${{{name}}}"),
    });
    parts.collect()
}

fn word(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !matches!(
            text.to_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { text.to_owned() } else { quoted(text) }
}

/// A text in double quotes, which YAML reads as JSON does.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// The App's manifest, with a placeholder for what only a person knows.
pub(super) fn manifest(report: &Report) -> String {
    let mut out = format!(
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: {{ name: {} }}\nspec:\n",
        word(&report.name)
    );
    out.push_str(&format!("  package: {{ path: . }}\n  preferredSlugs: [{}]\n", word(&report.name)));
    if let Some(service) = &report.main_service {
        out.push_str(&format!("  mainService: {}\n", word(service)));
    }
    if let Some(port) = report.main_port {
        out.push_str(&format!("  mainPort: {port}\n"));
    }
    if !report.devices.is_empty() {
        let devices: Vec<String> = report.devices.iter().map(|device| quoted(device)).collect();
        out.push_str(&format!("  permissions: {{ internet: true, devices: [{}] }}\n", devices.join(", ")));
    }
    if !report.values.is_empty() {
        out.push_str("  values:\n");
    }
    for value in &report.values {
        let name = word(&value.name);
        out.push_str(&match value.kind {
            ValueKind::Secret => {
                let key = value.name.to_lowercase().replace('_', "-");
                format!(
                    "    - {{ name: {name}, valueFrom: {{ secretKeyRef: {{ name: {}, key: {} }} }} }}\n",
                    word(&report.name),
                    word(&key)
                )
            }
            ValueKind::Plain | ValueKind::Asked => {
                format!("    - {{ name: {name}, value: {} }}\n", quoted(&value.default))
            }
        });
    }
    out
}
