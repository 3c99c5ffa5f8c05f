//! What is seen of a home, beside what a case says of it: objects, the machine, events.

use hearth_engine::store::{EventQuery, EventRow};
use serde_json::{Value, json};

use super::case::Named;
use super::home::Home;
use super::machine::view;
use super::matching::{Mismatch, mismatches, mismatches_of};
use crate::world::Trouble;

/// What differs, each with the name of what it is of.
pub(super) type Differing = Vec<(String, Mismatch)>;

/// Where objects are not as a case says.
pub(super) fn objects_differ(home: &Home, expected: &[(Named, Value)]) -> Differing {
    let differ = |(named, wanted): &(Named, Value)| {
        let found = mismatches_of(wanted, home.find(named).as_ref());
        found.into_iter().map(|mismatch| (named.written.clone(), mismatch)).collect::<Vec<_>>()
    };
    expected.iter().flat_map(differ).collect()
}

/// Where the machine is not as a case says.
pub(super) fn machine_differs(home: &Home, expected: &Value) -> Differing {
    let seen = view(&home.world.machine, expected, &home.story.names());
    let mut differ = Vec::new();
    for (part, things) in expected.as_object().into_iter().flatten() {
        for (name, wanted) in things.as_object().into_iter().flatten() {
            let there = seen[part].get(name);
            // What was never asked for was asked for no times.
            let zero = json!(0);
            let there = if part == "changes" { there.or(Some(&zero)) } else { there };
            let what = format!("{} {name}", part.trim_end_matches('s'));
            let found = mismatches_of(wanted, there);
            differ.extend(found.into_iter().map(|mismatch| (what.clone(), mismatch)));
        }
    }
    differ
}

/// Which events are not there, or should not be.
pub(super) fn events_differ(home: &mut Home, expected: &[(Named, Vec<Value>)]) -> Result<Differing, Trouble> {
    let mut differ = Vec::new();
    for (named, wanted) in expected {
        let query = EventQuery {
            // What is of no namespace has its events wherever they were told.
            namespace: Some(named.key.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            kind: Some(named.key.kind.to_string()),
            name: Some(named.key.name.to_string()),
            uid: None,
        };
        let store = home.world.store();
        let rows = home.world.answer(async move { store.events(&query).await })?.unwrap_or_default();
        let seen: Vec<Value> = rows.iter().map(event).collect();
        for one in wanted {
            let is_to_be_absent = one["absent"] == true;
            let mut part = one.clone();
            part.as_object_mut().map(|fields| fields.remove("absent"));
            let is_there = seen.iter().any(|event| mismatches(&part, event).is_empty());
            if is_there == is_to_be_absent {
                let told: Vec<Value> = rows
                    .iter()
                    .map(|row| format!("{}: {}", row.note.reason, row.note.message).into())
                    .collect();
                let mismatch = Mismatch {
                    field: "events".into(),
                    wanted: one.clone(),
                    seen: Value::from(told),
                    hint: None,
                };
                differ.push((named.written.clone(), mismatch));
            }
        }
    }
    Ok(differ)
}

fn event(row: &EventRow) -> Value {
    json!({
        "reason": row.note.reason, "message": row.note.message, "type": row.note.kind.as_str(),
        "reporter": row.note.reporter, "count": row.count,
    })
}
