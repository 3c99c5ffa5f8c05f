//! Who set which field (`metadata.managedFields`), and what follows from it.
//!
//! - [`fields`]: sets of fields, and how they are written down.
//! - [`structure`]: which parts of an object are merged and which are one value, by the kind's schema.
//! - [`apply`]: server-side apply: what a manager says is set, what it no longer says goes, and what another set
//!   otherwise is a conflict.
//! - [`reserved`]: managers that are the server's own.
//!
//! Everything here is pure. What the machine's own controllers write is not tracked: they own status, and whole
//! objects of their own.

use hearth_meta::{Time, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use serde_json::Value;

pub(crate) mod apply;
pub(crate) mod fields;
pub(crate) mod reserved;
pub(crate) mod structure;

use fields::FieldSet;
use structure::Structure;

/// Who writes, which the protocol calls a manager, and when.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) api_version: String,
    pub(crate) now: Timestamp,
}

/// Whether a manager applied its fields, or set them by an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One manager's fields.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) entry: ManagedFieldsEntry,
    pub(crate) fields: FieldSet,
}

impl Owned {
    fn is(&self, name: &str, operation: Operation) -> bool {
        self.entry.manager.as_deref() == Some(name)
            && self.entry.operation.as_deref() == Some(operation.as_str())
            && self.entry.subresource.is_none()
    }
}

/// All managers of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    pub(crate) all: Vec<Owned>,
}

impl Owners {
    /// Reads them from an object. An entry that cannot be read owns nothing.
    pub(crate) fn of(object: &Value) -> Self {
        let entries: Vec<ManagedFieldsEntry> =
            serde_json::from_value(object["metadata"]["managedFields"].clone()).unwrap_or_default();
        let all = entries.into_iter().filter(|entry| entry.manager.is_some()).map(|entry| {
            let fields = entry.fields_v1.as_ref().map(|fields| FieldSet::read(&fields.0)).unwrap_or_default();
            Owned { entry, fields }
        });
        Self { all: all.collect() }
    }

    /// Writes them into an object.
    pub(crate) fn write(&self, object: &mut Value) {
        if !object["metadata"].is_object() {
            return;
        }
        let entries: Vec<&ManagedFieldsEntry> = self.all.iter().map(|owned| &owned.entry).collect();
        object["metadata"]["managedFields"] = match entries.is_empty() {
            true => Value::Null,
            false => serde_json::to_value(entries).unwrap_or_default(),
        };
    }

    /// What a manager owns.
    pub(crate) fn fields_of(&self, name: &str, operation: Operation) -> FieldSet {
        self.all
            .iter()
            .find(|owned| owned.is(name, operation))
            .map(|owned| owned.fields.clone())
            .unwrap_or_default()
    }

    /// Everyone but this manager.
    pub(crate) fn others<'a>(
        &'a self,
        name: &'a str,
        operation: Operation,
    ) -> impl Iterator<Item = &'a Owned> {
        self.all.iter().filter(move |owned| !owned.is(name, operation))
    }

    /// Gives a manager exactly these fields. The time moves only when they change.
    pub(crate) fn give(&mut self, manager: &Author, operation: Operation, fields: FieldSet) {
        let place = self.all.iter().position(|owned| owned.is(&manager.name, operation));
        match place {
            Some(at) if fields.is_empty() => drop(self.all.remove(at)),
            Some(at) if self.all[at].fields == fields => {}
            Some(at) => self.all[at] = owned(manager, operation, fields),
            None if fields.is_empty() => {}
            None => self.all.push(owned(manager, operation, fields)),
        }
    }

    /// Takes fields from everyone but this manager; whoever has none left is forgotten.
    pub(crate) fn take_from_others(&mut self, name: &str, operation: Operation, taken: &FieldSet) {
        for owned in self.all.iter_mut().filter(|owned| !owned.is(name, operation)) {
            let left = owned.fields.without(taken);
            if left != owned.fields {
                owned.entry.fields_v1 = Some(FieldsV1(left.write()));
                owned.fields = left;
            }
        }
        self.all.retain(|owned| !owned.fields.is_empty());
    }
}

fn owned(manager: &Author, operation: Operation, fields: FieldSet) -> Owned {
    let entry = ManagedFieldsEntry {
        manager: Some(manager.name.clone()),
        operation: Some(operation.as_str().to_owned()),
        api_version: Some(manager.api_version.clone()),
        time: Timestamp::from_second(manager.now.as_second()).ok().map(Time),
        fields_type: Some("FieldsV1".to_owned()),
        fields_v1: Some(FieldsV1(fields.write())),
        subresource: None,
    };
    Owned { entry, fields }
}

/// Notes who set what by an update: fields that changed are now this manager's alone.
///
/// A client may write `managedFields` itself, which is how fields pass from one manager to another; an empty list
/// forgets everyone. What it leaves out stays.
pub(crate) fn after_update(old: &Value, new: &mut Value, structure: &Structure<'_>, manager: &Author) {
    let said = new["metadata"]["managedFields"].is_array();
    let mut owners = Owners::of(if said { new } else { old });
    let (before, after) = (structure.fields_of(old), structure.fields_of(new));
    let mut changed = FieldSet::default();
    structure.compare(new, old, &mut |path, part| {
        if part.differs() {
            changed.add(path.clone());
        }
    });
    let gone = before.without(&after);
    owners.take_from_others(&manager.name, Operation::Update, &changed.union(&gone));
    let own = owners.fields_of(&manager.name, Operation::Update).without(&gone).union(&changed);
    owners.give(manager, Operation::Update, own);
    owners.write(new);
}
