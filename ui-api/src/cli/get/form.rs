//! In which form `hearth get` shows objects to people and programs.

use clap::ValueEnum;
use hearth_meta::KindInfo;
use hearth_meta::difference::SECRET;
use serde_json::{Value, json};

use super::super::jsonpath::Template;
use super::super::output::Output;
use super::super::resource::{Target, kind_called};
use super::super::yaml;

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
        match text {
            "table" => Ok(Self::Table(false)),
            "wide" => Ok(Self::Table(true)),
            "yaml" => Ok(Self::Text(Language::Yaml)),
            "json" => Ok(Self::Text(Language::Json)),
            "name" => Ok(Self::Name),
            _ => Err("write table, wide, yaml, json, name or jsonpath=TEMPLATE".into()),
        }
    }
}

pub(super) fn list_of(items: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items })
}

/// Items of a list need not say their kind; on their own they must.
pub(super) fn named(item: &Value, kind: &KindInfo) -> Value {
    let mut named = json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    for (field, value) in item.as_object().into_iter().flatten() {
        named[field] = value.clone();
    }
    named
}

pub(super) fn show(form: &Form, shown: &Value, out: &Output) {
    match form {
        Form::Table(_) | Form::Name => {
            let one = std::slice::from_ref(shown);
            let items = shown["items"].as_array().map_or(one, Vec::as_slice);
            items.iter().filter_map(Target::of).for_each(|target| out.line(&target.to_string()));
        }
        Form::Text(Language::Yaml) => out.data(&yaml::written(shown)),
        Form::Text(Language::Json) => out.line(&format!("{shown:#}")),
        Form::Path(template) => out.line(&template.fill(shown)),
    }
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
        }
    };
    match shown.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(clean),
        None => clean(&mut shown),
    }
    shown
}
