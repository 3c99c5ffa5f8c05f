//! Dokploy's `template.toml`: which service people open, and what the variables of the file are.
//!
//! Its own helpers are understood by what they are for: `${password:32}`, `${hash}`, `${base64}` and
//! `${jwt}` make a secret, `${domain}` is the address the app gets, the rest are settings.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::report::{Entry, Report, ValueKind};
use super::variables::Told;
use crate::compose::template::uses;

/// What a template says.
#[derive(Default)]
pub(super) struct Template {
    /// The service people open, and its port.
    pub domain: Option<(String, Option<u16>)>,
    pub values: Told,
}

/// Reads a template. One that cannot be read is said so and changes nothing.
pub(super) fn read(text: Option<&str>, report: &mut Report) -> Template {
    let Some(text) = text else { return Template::default() };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            report
                .dropped
                .push(Entry::new("template.toml", format!("it cannot be read: {}", error.message())));
            return Template::default();
        }
    };
    let variables = table.get("variables").and_then(Value::as_table).cloned().unwrap_or_default();
    let config = table.get("config").and_then(Value::as_table).cloned().unwrap_or_default();
    if config.get("mounts").and_then(Value::as_array).is_some_and(|mounts| !mounts.is_empty()) {
        let reason =
            "files written at install cannot be carried; build them into the image or set them in the app";
        report.dropped.push(Entry::new("template.toml: config.mounts", reason));
    }
    let values = environment(&config).into_iter().map(|(name, value)| {
        let known = judged(&value, &variables, 0);
        (name, known)
    });
    Template { domain: domain(&config), values: values.collect() }
}

fn domain(config: &Table) -> Option<(String, Option<u16>)> {
    let first = config.get("domains")?.as_array()?.first()?.as_table()?;
    let port = first.get("port").and_then(Value::as_integer).and_then(|port| u16::try_from(port).ok());
    Some((first.get("serviceName")?.as_str()?.to_owned(), port))
}

/// Variables as a table or as a list of `NAME=value`.
fn environment(config: &Table) -> BTreeMap<String, String> {
    match config.get("env") {
        Some(Value::Table(table)) => {
            table.iter().map(|(name, value)| (name.clone(), text_of(value))).collect()
        }
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str()?.split_once('='))
            .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
            .collect(),
        _ => BTreeMap::new(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a value is, by the helpers it is made with.
fn judged(value: &str, variables: &Table, depth: usize) -> (ValueKind, String) {
    const SECRETS: [&str; 5] = ["${password", "${hash", "${base64", "${jwt", "${uuid"];
    if SECRETS.iter().any(|helper| value.contains(helper)) {
        return (ValueKind::Secret, String::new());
    }
    if value.contains("${domain") || value.contains("${email") {
        return (ValueKind::Asked, String::new());
    }
    if let Some(start) = value.find("${randomPort") {
        return (ValueKind::Asked, value[..start].to_owned());
    }
    let kinds = uses(value).into_iter().filter_map(|found| {
        let inner = variables.get(&found.name).filter(|_| depth < 5)?;
        Some(judged(&text_of(inner), variables, depth + 1).0)
    });
    let kinds: Vec<ValueKind> = kinds.collect();
    if kinds.contains(&ValueKind::Secret) {
        (ValueKind::Secret, String::new())
    } else if kinds.contains(&ValueKind::Asked) || value.contains("${") {
        (ValueKind::Asked, String::new())
    } else {
        (ValueKind::Plain, value.to_owned())
    }
}
