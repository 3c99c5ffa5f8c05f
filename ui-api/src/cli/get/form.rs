//! In which form `hearth get` shows objects to people and programs.

use clap::ValueEnum;
use hearth_meta::KindInfo;
use hearth_meta::difference::SECRET;
use serde_json::{Value, json};

use super::super::jsonpath::Template;
use super::super::output::Output;
use super::super::resource::{Target, kind_called};
use super::super::table::Table;
use super::super::yaml;
use crate::support::redact::LAST_APPLIED;

/// In which form objects are shown.
#[derive(Clone, Debug)]
pub(in super::super) enum Form {
    /// A table; `true` with every column.
    Table(bool),
    /// Documents for people and programs.
    Text(Language),
    /// One `kind/name` a line.
    Name,
    /// Parts of it.
    Path(Template),
    /// A table of columns that are asked for, each a heading and a path.
    Columns(Vec<(String, Template)>),
}

/// In which language whole objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum Language {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Form {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(template) = text.strip_prefix("jsonpath=") {
            return Template::parse(template).map(Self::Path);
        }
        if let Some(columns) = text.strip_prefix("custom-columns=") {
            return columns.split(',').map(column).collect::<Result<_, _>>().map(Self::Columns);
        }
        match text {
            "table" => Ok(Self::Table(false)),
            "wide" => Ok(Self::Table(true)),
            "yaml" => Ok(Self::Text(Language::Yaml)),
            "json" => Ok(Self::Text(Language::Json)),
            "name" => Ok(Self::Name),
            _ => Err(
                "write table, wide, yaml, json, name, jsonpath=TEMPLATE or custom-columns=HEADING:.path,..."
                    .into(),
            ),
        }
    }
}

pub(super) fn list_of(items: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items })
}

/// Items of a list need not say their kind; on their own they must.
pub(in super::super) fn named(item: &Value, kind: &KindInfo) -> Value {
    let mut named = json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    for (field, value) in item.as_object().into_iter().flatten() {
        named[field] = value.clone();
    }
    named
}

pub(super) fn show(form: &Form, shown: &Value, out: &Output) {
    match form {
        Form::Table(_) | Form::Name => {
            items_of(shown).iter().filter_map(Target::of).for_each(|target| out.line(&target.to_string()));
        }
        Form::Text(Language::Yaml) => out.data(&yaml::written(shown)),
        Form::Text(Language::Json) => out.line(&format!("{shown:#}")),
        Form::Path(template) => out.line(&template.fill(shown)),
        Form::Columns(columns) => {
            let headings: Vec<&str> = columns.iter().map(|(heading, _)| heading.as_str()).collect();
            let mut table = Table::new(&headings);
            for item in items_of(shown) {
                table.push(columns.iter().map(|(_, path)| cell(path, item)).collect());
            }
            table.lines(out).iter().for_each(|line| out.line(line));
        }
    }
}

/// `HEADING:.path`, as kubectl has it.
fn column(text: &str) -> Result<(String, Template), String> {
    match text.split_once(':') {
        Some((heading, path)) if !heading.is_empty() && !path.is_empty() => {
            Ok((heading.to_owned(), Template::parse(path)?))
        }
        _ => Err(format!("{text:?} is no column; write HEADING:.path, such as NAME:.metadata.name")),
    }
}

fn cell(path: &Template, item: &Value) -> String {
    let found = path.fill(item);
    if found.is_empty() { "<none>".into() } else { found }
}

/// The items of a list, or the one object.
fn items_of(shown: &Value) -> &[Value] {
    shown["items"].as_array().map_or(std::slice::from_ref(shown), Vec::as_slice)
}

/// An object, or a list of them, without what few people want to see.
pub(super) fn cleaned(mut shown: Value, managed_fields: bool, reveal: bool) -> Value {
    let clean = |object: &mut Value| {
        if !managed_fields && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let is_secret = object["kind"].as_str().and_then(kind_called).is_some_and(|kind| kind.is_secret);
        if is_secret && !reveal {
            let data = object.get_mut("data").and_then(Value::as_object_mut);
            data.into_iter().flatten().for_each(|(_, value)| *value = SECRET.into());
            if let Some(applied) =
                object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED))
            {
                *applied = SECRET.into();
            }
        }
    };
    match shown.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(clean),
        None => clean(&mut shown),
    }
    shown
}
