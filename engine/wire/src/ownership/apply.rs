//! Server-side apply, as a pure function: what stands and what a manager says, to what should stand.

use serde_json::Value;

use super::fields::{FieldSet, Path};
use super::structure::Structure;
use super::{Author, Operation, Owners};

/// A field that another manager set otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The field, as people read it.
    pub(crate) field: String,
    /// Who set it.
    pub(crate) manager: String,
    /// In which version it was set.
    pub(crate) api_version: String,
}

/// What a manager says.
pub(crate) struct Applied<'a> {
    /// Its whole wish.
    pub(crate) config: &'a Value,
    /// Who it is.
    pub(crate) manager: &'a Author,
    /// Whether it takes what others set otherwise.
    pub(crate) force: bool,
}

/// Lays a manager's wish over what stands.
///
/// # Errors
/// Every field that another manager set otherwise, where it may not be taken.
pub(crate) fn apply(
    live: &Value,
    applied: &Applied<'_>,
    structure: &Structure<'_>,
) -> Result<Value, Vec<Conflict>> {
    let Applied { config, manager, force } = applied;
    let mut owners = Owners::of(live);
    let wanted = structure.fields_of(config);
    let mut merged = structure.merged(live, config);
    let mut changed = FieldSet::default();
    structure.compare(config, live, &mut |path, part| {
        if part.would_change() {
            changed.add(path.clone());
        }
    });
    let conflicts = conflicts(&owners, manager, &changed);
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    let taken: FieldSet = owners.all.iter().fold(FieldSet::default(), |taken, owned| {
        taken.union(&owned.fields.filtered(|path| changed.covers(path)))
    });
    owners.take_from_others(&manager.name, Operation::Apply, &taken);
    let before = owners.fields_of(&manager.name, Operation::Apply);
    drop_unsaid(&mut merged, &before.without(&wanted), &wanted, &owners, manager);
    owners.give(manager, Operation::Apply, wanted);
    owners.write(&mut merged);
    Ok(merged)
}

fn conflicts(owners: &Owners, manager: &Author, changed: &FieldSet) -> Vec<Conflict> {
    let mut found = Vec::new();
    for path in changed.iter() {
        for other in owners.others(&manager.name, Operation::Apply).filter(|other| other.fields.touches(path))
        {
            found.push(Conflict {
                field: path.to_string(),
                manager: other.entry.manager.clone().unwrap_or_default(),
                api_version: other.entry.api_version.clone().unwrap_or_default(),
            });
        }
    }
    found
}

/// Takes out what the manager said before and no longer says, where nobody else says it. The outermost goes first: an item
/// goes with all that is in it, and is found by its key as long as that is there.
fn drop_unsaid(merged: &mut Value, unsaid: &FieldSet, wanted: &FieldSet, owners: &Owners, manager: &Author) {
    let is_said = |path: &Path| {
        wanted.touches(path)
            || owners.others(&manager.name, Operation::Apply).any(|other| other.fields.touches(path))
    };
    for path in unsaid.iter().filter(|path| !is_said(path)) {
        path.remove(merged, &is_said);
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
