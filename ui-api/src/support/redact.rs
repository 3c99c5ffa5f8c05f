//! Taking secrets out of what is given away.
//!
//! Three ways, one over the other: what is known to be secret (the values of Secrets, and every value that stands
//! under a name that says so) goes wherever it is repeated, in a log or a message as well; what looks like a secret
//! goes by its form; and of variables only what cannot be one stays. What nobody can tell for a secret remains.

use k8s_openapi::ByteString;
use serde_json::{Map, Value};

mod text;
mod known;

pub use text::REDACTED;

use known::Known;

/// Names under which the objects of the API hold a variable's value beside its name.
const VALUES: [&str; 2] = ["value", "content"];
/// Values of fields that only name a secret, or are ours.
const PLAIN_FIELDS: [&str; 9] =
    ["secretKeyRef", "secretName", "resourceVersion", "uid", "lineage", "digest", "name", "kind", "continue"];
/// The annotation in which `kubectl apply` keeps the whole of what it sent, the values of a Secret as well.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Takes secrets out, and counts what it took.
#[derive(Default)]
pub struct Redactor {
    known: Known,
    count: usize,
}

impl Redactor {
    /// Remembers a text that is secret wherever it stands.
    pub fn learn(&mut self, secret: &str) {
        self.known.learn(secret);
    }

    /// Remembers a value of a Secret, and what is within it where it is JSON or lines of `NAME=value`.
    pub fn learn_value(&mut self, secret: &str) {
        self.known.learn(secret);
        match within(secret) {
            Some(inner) => self.learn_leaves(&inner),
            None => {
                let values = secret.lines().filter_map(|line| line.split_once('='));
                values.for_each(|(_, value)| self.known.learn(value.trim().trim_matches(['"', '\''])));
            }
        }
    }

    fn learn_leaves(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.values().for_each(|inner| self.learn_leaves(inner)),
            Value::Array(items) => items.iter().for_each(|inner| self.learn_leaves(inner)),
            Value::String(secret) => self.known.learn(secret),
            Value::Number(secret) => self.known.learn(&secret.to_string()),
            _ => {}
        }
    }

    /// Remembers what a Secret holds: `data` is in base64, `stringData` as it is.
    pub fn learn_secret(&mut self, fields: &Map<String, Value>) {
        let values = |field: &str| fields.get(field).and_then(Value::as_object).into_iter().flatten();
        for (_, value) in values("stringData") {
            self.learn_value(value.as_str().unwrap_or_default());
        }
        for (_, value) in values("data") {
            self.known.learn(value.as_str().unwrap_or_default());
            if let Ok(ByteString(bytes)) = serde_json::from_value(value.clone()) {
                self.learn_value(&String::from_utf8_lossy(&bytes));
            }
        }
    }

    /// Remembers every value of an object or a list that stands under a name that says it is secret. Done for
    /// everything before anything is taken out, so that a log is cleaned of what only a spec gives away.
    pub fn study(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                if fields.get("kind").is_some_and(|kind| kind == "Secret") {
                    self.learn_secret(fields);
                }
                let own_name = fields.get("name").and_then(Value::as_str);
                for (name, inner) in fields {
                    let is_value = VALUES.contains(&name.as_str());
                    let says_so = match own_name {
                        Some(own) if is_value => text::is_secret_name(own),
                        _ => text::is_secret_name(name) && !PLAIN_FIELDS.contains(&name.as_str()),
                    };
                    match inner {
                        Value::String(secret) if says_so => self.known.learn(secret),
                        // What is taken out where it is declared is taken out where a log repeats it.
                        Value::String(secret)
                            if is_value
                                && own_name.is_some()
                                && !secret.contains('\n')
                                && !text::is_harmless(secret) =>
                        {
                            self.known.learn(secret);
                        }
                        inner => self.study(inner),
                    }
                }
            }
            Value::Array(items) => {
                text::flags(items).into_iter().for_each(|secret| self.known.learn(&secret));
                items.iter().for_each(|item| self.study(item));
            }
            Value::String(said) => match within(said) {
                Some(inner) => self.study(&inner),
                None => text::secrets(said).into_iter().for_each(|secret| self.known.learn(&secret)),
            },
            _ => {}
        }
    }

    /// How many texts were taken out so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// An object, a list or an answer without its secrets.
    pub fn value(&mut self, value: &Value) -> Value {
        self.clean(value, None)
    }

    /// A text without its secrets.
    pub fn text(&mut self, said: &str) -> String {
        let known = self.known.without(said);
        let clean = text::without(&known);
        self.count += usize::from(clean != said);
        clean
    }

    /// `name` is what the value stands under, or what stands beside it as its name.
    fn clean(&mut self, value: &Value, name: Option<&str>) -> Value {
        match value {
            Value::Object(fields) => Value::Object(self.object(fields)),
            Value::Array(items) => {
                let secrets = text::flags(items);
                let clean = |item: &Value| match item.as_str() {
                    Some(said) if secrets.contains(said) => self.taken(),
                    _ => self.clean(item, name),
                };
                Value::Array(items.iter().map(clean).collect())
            }
            Value::String(said) => self.string(said, name),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        let is_secret = fields.get("kind").is_some_and(|kind| kind == "Secret");
        let own_name = fields.get("name").and_then(Value::as_str).map(str::to_owned);
        // A difference says which field it is of.
        let field = fields.get("field").and_then(Value::as_str).map(str::to_owned);
        let mut clean = Map::new();
        for (name, value) in fields {
            let new = match (name.as_str(), value) {
                ("data" | "stringData", Value::Object(data)) if is_secret => {
                    Value::Object(data.keys().map(|key| (key.clone(), self.taken())).collect())
                }
                // One of a Secret holds the Secret; one that cannot be read may hold anything.
                (LAST_APPLIED, Value::String(said)) => match within(said) {
                    Some(applied) if applied["kind"] != "Secret" => self.value(&applied).to_string().into(),
                    _ => self.taken(),
                },
                // Who set which field is told by names alone.
                ("managedFields", other) => other.clone(),
                ("value" | "content", value) if own_name.is_some() => {
                    self.variable(own_name.as_deref(), value)
                }
                ("wanted" | "seen", value) if field.is_some() => self.clean(value, field.as_deref()),
                (name, Value::String(_)) if PLAIN_FIELDS.contains(&name) => self.clean(value, None),
                (name, value) => self.clean(value, Some(name)),
            };
            clean.insert(self.known.without(name), new);
        }
        clean
    }

    fn variable(&mut self, name: Option<&str>, value: &Value) -> Value {
        match value {
            Value::String(said) if name.is_some_and(text::is_secret_name) || !text::is_harmless(said) => {
                if said.is_empty() {
                    value.clone()
                } else {
                    self.taken()
                }
            }
            other => self.clean(other, None),
        }
    }

    fn string(&mut self, said: &str, name: Option<&str>) -> Value {
        if let Some(inner) = within(said) {
            return self.value(&inner).to_string().into();
        }
        match name {
            Some(name) if !said.is_empty() && text::is_secret_name(name) && !said.contains('\n') => {
                self.taken()
            }
            Some(name) if is_variable(name) && !text::is_harmless(said) => self.taken(),
            _ => self.text(said).into(),
        }
    }

    fn taken(&mut self) -> Value {
        self.count += 1;
        REDACTED.into()
    }
}

/// Whether a field of a difference is the value of a variable.
fn is_variable(field: &str) -> bool {
    ["spec.env", "spec.values", "env."].iter().any(|start| field.starts_with(start))
}

/// JSON that is written as a text, as differences hold lists. Some end it with a new line.
fn within(said: &str) -> Option<Value> {
    let said = said.trim();
    let is_one = said.starts_with(['[', '{']) && said.ends_with([']', '}']);
    let value: Value = is_one.then(|| serde_json::from_str(said).ok()).flatten()?;
    (value.is_array() || value.is_object()).then_some(value)
}

#[cfg(test)]
mod tests;
