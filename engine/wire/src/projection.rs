//! How an object is shown: whole, as rows of a table, or by its metadata alone.

use std::sync::Arc;

use hearth_engine::Object;
use hearth_meta::{KindInfo, Timestamp};
use serde_json::{Value, json};

use crate::accept::Form;
use crate::paging::ListMeta;
use crate::parameters::IncludeObject;
use crate::table;
use crate::target::Call;
use crate::views::Source;

/// The API version of tables and bare metadata.
const META: &str = "meta.k8s.io/v1";

/// Shows objects of one kind in one form.
#[derive(Clone)]
pub(crate) struct Projection {
    form: Form,
    include: IncludeObject,
    kind: KindInfo,
    now: Timestamp,
    source: Option<Source>,
    cells: fn(&Value) -> Vec<Value>,
}

impl Projection {
    /// What a request asks for.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let now = call.store().clock().now();
        let plain = Self::new(call.kind, call.form, call.parameters.include, now);
        match call.source {
            Some(source) => Self { source: Some(source), cells: source.cells, ..plain },
            None => plain,
        }
    }

    /// Objects of `kind` in one form, their ages as of `now`.
    pub(crate) fn new(kind: &KindInfo, form: Form, include: IncludeObject, now: Timestamp) -> Self {
        // The schema is the most of a kind by far, and a watch keeps this for as long as it lasts.
        let (columns, choose) = (kind.columns.clone(), kind.choose.clone());
        let kind = KindInfo { columns, choose, schema: None, finalizers: Vec::new(), ..*kind };
        Self { form, include, kind, now, source: None, cells: |_| Vec::new() }
    }

    /// The same, with cells for the columns without a path.
    pub(crate) fn with_cells(self, cells: fn(&Value) -> Vec<Value>) -> Self {
        Self { cells, ..self }
    }

    /// The same at another time.
    pub(crate) fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// One object.
    pub(crate) fn one(&self, object: &Object) -> Value {
        let object = &*Source::shown(self.source, object);
        match self.form {
            Form::Object => self.whole(object),
            Form::Metadata => metadata_of(object),
            Form::Table => self.row_alone(object, true),
        }
    }

    /// One object of a watch; the columns of a table are told only once.
    pub(crate) fn next(&self, object: &Object, is_first: bool) -> Value {
        match self.form {
            Form::Table => self.row_alone(&Source::shown(self.source, object), is_first),
            _ => self.one(object),
        }
    }

    /// A list of objects, with what is said of it.
    pub(crate) fn many(&self, objects: &[Arc<Object>], meta: &ListMeta) -> Value {
        let objects: Vec<_> = objects.iter().map(|object| Source::shown(self.source, object)).collect();
        let objects = objects.iter().map(AsRef::as_ref);
        let (kind, api_version, items): (String, String, Vec<Value>) = match self.form {
            Form::Table => return self.table(objects, meta.to_value(), true),
            Form::Metadata => {
                ("PartialObjectMetadataList".into(), META.into(), objects.map(metadata_of).collect())
            }
            Form::Object => {
                let items = objects.map(|object| self.whole(object)).collect();
                (format!("{}List", self.kind.kind), self.kind.api_version(), items)
            }
        };
        json!({ "kind": kind, "apiVersion": api_version, "metadata": meta.to_value(), "items": items })
    }

    /// An object that says only how far a watch has come.
    pub(crate) fn bookmark(&self, version: u64, ends_initial_events: bool) -> Value {
        let mut metadata = json!({ "resourceVersion": version.to_string(), "creationTimestamp": null });
        if ends_initial_events {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        match self.form {
            Form::Object => {
                json!({ "kind": self.kind.kind, "apiVersion": self.kind.api_version(), "metadata": metadata })
            }
            Form::Metadata => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": META, "metadata": metadata })
            }
            // A row without cells carries the mark, since a table has no annotations of its own.
            Form::Table => {
                let object =
                    json!({ "kind": "PartialObjectMetadata", "apiVersion": META, "metadata": metadata });
                let rows =
                    if ends_initial_events { json!([{ "cells": [], "object": object }]) } else { json!([]) };
                json!({
                    "kind": "Table", "apiVersion": META, "columnDefinitions": [],
                    "metadata": { "resourceVersion": version.to_string() }, "rows": rows,
                })
            }
        }
    }

    fn row_alone(&self, object: &Object, with_columns: bool) -> Value {
        let meta = ListMeta::whole(object.resource_version()).to_value();
        self.table(std::iter::once(object), meta, with_columns)
    }

    /// All of an object that is ever told.
    fn whole(&self, object: &Object) -> Value {
        let mut value = object.to_value();
        self.kind.hide(&mut value);
        value
    }

    fn table<'o>(&self, objects: impl Iterator<Item = &'o Object>, meta: Value, with_columns: bool) -> Value {
        let rows: Vec<Value> = objects.map(|object| self.row(object)).collect();
        let definitions = if with_columns { table::definitions(&self.kind.columns) } else { Vec::new() };
        json!({
            "kind": "Table",
            "apiVersion": META,
            "metadata": meta,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }

    fn row(&self, object: &Object) -> Value {
        let value = self.whole(object);
        let cells = table::cells(&self.kind.columns, &value, (self.cells)(&value), self.now);
        match self.include {
            IncludeObject::None => json!({ "cells": cells }),
            IncludeObject::Metadata => json!({ "cells": cells, "object": metadata_of(object) }),
            IncludeObject::Object => json!({ "cells": cells, "object": value }),
        }
    }
}

fn metadata_of(object: &Object) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": META, "metadata": object.metadata })
}
