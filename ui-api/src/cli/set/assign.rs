//! Putting values into an object, each of the type that the schema says, at a field that the schema knows.

use hearth_charts::yaml::parse_documents;
use hearth_meta::problem::nearest;
use hearth_meta::schema::check;
use hearth_meta::{KindInfo, Problem};
use serde_json::{Map, Value, json};

use super::super::exit::Exit;
use super::path::{Assignment, Part};
use crate::written::key_of;

/// What is wrong with an assignment.
#[derive(Debug)]
pub(super) struct Fault {
    /// How the command ends for it.
    pub(super) exit: Exit,
    /// The field and what is wrong.
    pub(super) problem: Problem,
}

/// An object with every assignment carried out, in their order.
///
/// # Errors
/// Every assignment that cannot be.
pub(super) fn assigned(
    kind: &KindInfo,
    object: &Value,
    assignments: &[Assignment],
) -> Result<Value, Vec<Fault>> {
    let schema = settable(kind);
    let (mut wanted, mut faults) = (object.clone(), Vec::new());
    for assignment in assignments {
        let parts = from_root(&assignment.parts, &schema);
        let mut place = Place { at: String::new(), value: assignment.value.as_deref() };
        if let Err(fault) = place.put(&mut wanted, &schema, &parts) {
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(wanted) } else { Err(faults) }
}

/// What of an object is set by field: its spec, its labels and its annotations.
fn settable(kind: &KindInfo) -> Value {
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let metadata = json!({ "type": "object", "properties": { "labels": texts, "annotations": texts } });
    let mut properties = json!({ "metadata": metadata });
    if let Some(spec) = kind.schema.as_ref().map(|schema| &schema["properties"]["spec"]) {
        properties["spec"] = spec.clone();
    }
    json!({ "type": "object", "properties": properties })
}

/// `spec.` may be left out.
fn from_root(parts: &[Part], schema: &Value) -> Vec<Part> {
    let outer = &schema["properties"];
    let is_outer =
        matches!(parts.first(), Some(Part::Field(name)) if !outer[name].is_null() || name == "status");
    let lead = (!is_outer && !outer["spec"].is_null()).then(|| Part::Field("spec".into()));
    lead.into_iter().chain(parts.iter().cloned()).collect()
}

/// Where an assignment has come to.
struct Place<'a> {
    at: String,
    value: Option<&'a str>,
}

impl Place<'_> {
    fn put(&mut self, node: &mut Value, schema: &Value, parts: &[Part]) -> Result<(), Fault> {
        let Some((part, rest)) = parts.split_first() else {
            // Whoever takes away does it from without.
            if let Some(text) = self.value {
                *node = self.valued(text, schema, None)?;
            }
            return Ok(());
        };
        match (part, schema["type"] == "array") {
            (Part::Field(name), false) | (Part::Pick(name), false) => {
                self.put_field(node, schema, name, rest)
            }
            (Part::Pick(word), true) => self.put_item(node, schema, word, rest),
            (Part::Field(_), true) => {
                let how = match key_of(schema) {
                    Some(key) => format!("[{}]", key.to_uppercase()),
                    None => "[0]".into(),
                };
                Err(self.no_place(format!("is a list; choose one of it, as in {}{how}", self.at)))
            }
        }
    }

    fn put_field(
        &mut self,
        node: &mut Value,
        schema: &Value,
        name: &str,
        rest: &[Part],
    ) -> Result<(), Fault> {
        let known = schema["properties"].as_object();
        let inner = known.and_then(|known| known.get(name)).or_else(|| schema.get("additionalProperties"));
        let Some(inner) = inner else { return Err(self.no_field(schema, known, name)) };
        let step = if name.contains(['.', '/']) { format!("[{name}]") } else { format!(".{name}") };
        self.at = format!("{}{step}", self.at).trim_start_matches('.').to_owned();
        if self.value.is_none() {
            match node.as_object_mut() {
                Some(fields) if rest.is_empty() => drop(fields.remove(name)),
                Some(fields) => {
                    return fields.get_mut(name).map_or(Ok(()), |node| self.put(node, inner, rest));
                }
                None => {}
            }
            return Ok(());
        }
        if !node.is_object() {
            *node = json!({});
        }
        self.put(&mut node[name], inner, rest)
    }

    fn no_field(&self, schema: &Value, known: Option<&Map<String, Value>>, name: &str) -> Fault {
        if self.at.is_empty() && name == "status" {
            return self.no_place("a status is only seen; nobody sets it".into());
        }
        let place = if self.at.is_empty() { "it" } else { &self.at };
        let Some(known) = known else {
            let what =
                if schema["type"] == "object" { "has no fields" } else { "is one value, without fields" };
            return self.no_place(format!("{place} {what}; there is no {name:?} in it"));
        };
        let names = || known.keys().map(String::as_str);
        let hint = match nearest(name, names()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None if self.at == "spec" && ["labels", "annotations"].contains(&name) => {
                format!("did you mean \"metadata.{name}\"?")
            }
            None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.no_place(format!("{place} has no field {name:?}; {hint}"))
    }

    fn put_item(&mut self, node: &mut Value, schema: &Value, word: &str, rest: &[Part]) -> Result<(), Fault> {
        let empty = Vec::new();
        let items = node.as_array().unwrap_or(&empty);
        let (known_by, place) = self.find(items, schema, word)?;
        self.at = format!("{}[{word}]", self.at);
        let inner = &schema["items"];
        if self.value.is_none() {
            let items = node.as_array_mut().filter(|items| place < items.len());
            return match items {
                Some(items) if rest.is_empty() => {
                    items.remove(place);
                    Ok(())
                }
                Some(items) => self.put(&mut items[place], inner, rest),
                None => Ok(()),
            };
        }
        if !node.is_array() {
            *node = json!([]);
        }
        let Some(items) = node.as_array_mut() else { return Ok(()) };
        if place == items.len() {
            items.push(known_by.as_ref().map_or(Value::Null, |(key, name)| json!({ key.as_str(): name })));
        }
        if let (Some(text), true) = (self.value, rest.is_empty()) {
            items[place] = self.valued(text, inner, known_by)?;
            return Ok(());
        }
        self.put(&mut items[place], inner, rest)
    }

    /// A value that the schema takes; a whole item is still the one that was named.
    fn valued(&self, text: &str, schema: &Value, known_by: Option<(String, String)>) -> Result<Value, Fault> {
        let mut value = read(text, schema).map_err(|why| self.bad_value(why))?;
        if let (Some((key, name)), Some(fields)) = (known_by, value.as_object_mut()) {
            fields.insert(key, name.into());
        }
        match check(&value, schema).into_iter().next() {
            None => Ok(value),
            Some(problem) => Err(Fault { exit: Exit::Rejected, problem: problem.under(&self.at) }),
        }
    }

    /// What an item is known by, where it is, and its place; one that is not there yet comes after the last.
    fn find(
        &self,
        items: &[Value],
        schema: &Value,
        word: &str,
    ) -> Result<(Option<(String, String)>, usize), Fault> {
        let named = word.split_once('=');
        if let Some(key) = key_of(schema) {
            let name = match named {
                Some((field, _)) if field != key => {
                    return Err(self.no_place(format!("{} is known by {key}, not by {field}", self.at)));
                }
                Some((_, name)) => name,
                None => word,
            };
            let place = items.iter().position(|item| item[key] == name).unwrap_or(items.len());
            return Ok((Some((key.to_owned(), name.to_owned())), place));
        }
        if let Some((field, name)) = named {
            let place = items.iter().position(|item| item[field] == name);
            return place
                .map(|place| (None, place))
                .ok_or_else(|| self.no_place(format!("{} has no item whose {field} is {name:?}", self.at)));
        }
        match word.parse::<usize>() {
            Ok(place) if place <= items.len() => Ok((None, place)),
            Ok(_) => Err(self.no_place(format!(
                "{} has {} items; [{}] would add one",
                self.at,
                items.len(),
                items.len()
            ))),
            Err(_) => Err(self.no_place(format!(
                "items of {} are chosen by their place, as in [0], or by a field, as in [name={word}]",
                self.at
            ))),
        }
    }

    fn no_place(&self, message: String) -> Fault {
        // It says where by itself.
        Fault { exit: Exit::Usage, problem: Problem::new("", message) }
    }

    fn bad_value(&self, message: String) -> Fault {
        Fault { exit: Exit::Rejected, problem: Problem::new(&self.at, message) }
    }
}

/// A value of the type that the schema says.
fn read(text: &str, schema: &Value) -> Result<Value, String> {
    if schema["x-kubernetes-int-or-string"] == true {
        return Ok(text.parse::<i64>().map_or_else(|_| text.into(), Value::from));
    }
    match schema["type"].as_str() {
        Some("string") => Ok(text.into()),
        Some("boolean") => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(format!("must be true or false, not {text:?}")),
        },
        Some("integer") => {
            text.parse::<i64>().map(Value::from).map_err(|_| format!("must be a whole number, not {text:?}"))
        }
        Some("number") => {
            text.parse::<f64>().map(Value::from).map_err(|_| format!("must be a number, not {text:?}"))
        }
        Some("array") if schema["items"]["type"] != "object" && !text.starts_with('[') => {
            text.split(',').map(|item| read(item.trim(), &schema["items"])).collect()
        }
        Some("array" | "object") => yaml(text),
        _ => Ok(yaml(text).unwrap_or_else(|_| text.into())),
    }
}

/// What is more than one value is written as in a file, in one line.
fn yaml(text: &str) -> Result<Value, String> {
    let read = parse_documents("value", text)
        .map_err(|problems| problems.first().map(|problem| problem.message.clone()).unwrap_or_default())?;
    match read.as_slice() {
        [one] => Ok(one.value.clone()),
        _ => Err("must be one value, written as in a file, such as {internet: true}".into()),
    }
}

#[cfg(test)]
mod tests;
