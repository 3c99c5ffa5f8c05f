//! What other programs note. Unlike our own events, which are cut, theirs are refused where they are too long.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hearth_engine::store::{EventKind, EventNote};
use hearth_engine::{Store, WriteError};
use hearth_meta::{ObjectRef, Problem};
use serde_json::Value;

use super::{Asked, NAMESPACE_OF_MACHINE};
use crate::failure::Failure;

/// The longest name of an object, its kind and its uid, in bytes, as names are everywhere.
const LONGEST_NAME: usize = 253;

/// Notes an event of another program. It is answered as sent: the store merges it with equal ones.
pub(super) async fn answer(asked: &Asked, sent: &Value, actor: &str) -> Result<Response, Failure> {
    let note = read(sent, actor);
    let mut problems = problems(&note);
    problems.extend(misplaced(&note, sent, asked.target.namespace.as_deref()));
    problems.extend(of_another(&note, &asked.store));
    if !problems.is_empty() {
        return Err(Failure::of_write(WriteError::Invalid(problems), &asked.kind, ""));
    }
    // What is left of a disk is not for what other programs have to tell.
    if let Some(why) = asked.store.room().trouble() {
        return Err(Failure::of_write(WriteError::NoRoom(why.to_owned()), &asked.kind, ""));
    }
    if !asked.parameters.dry_run {
        asked.store.note(note).await;
    }
    Ok((StatusCode::CREATED, Json(sent.clone())).into_response())
}

/// Reads either form of an event.
fn read(sent: &Value, actor: &str) -> EventNote {
    let about = if sent["regarding"].is_object() { &sent["regarding"] } else { &sent["involvedObject"] };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let either = |one: &str, other: &str| text(if sent[one].is_string() { &sent[one] } else { &sent[other] });
    EventNote {
        about: ObjectRef {
            kind: text(&about["kind"]),
            namespace: about["namespace"].as_str().filter(|said| !said.is_empty()).map(str::to_owned),
            name: text(&about["name"]),
        },
        uid: text(&about["uid"]),
        kind: if sent["type"] == "Warning" { EventKind::Warning } else { EventKind::Normal },
        reason: text(&sent["reason"]),
        message: either("note", "message"),
        reporter: Some(either("reportingController", "reportingComponent"))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| actor.into()),
    }
}

/// What is missing and what is too long.
fn problems(note: &EventNote) -> Vec<Problem> {
    let (message, word) = (EventNote::LONGEST_MESSAGE, EventNote::LONGEST_WORD);
    let parts = [
        ("involvedObject.kind", &note.about.kind, LONGEST_NAME, true),
        ("involvedObject.name", &note.about.name, LONGEST_NAME, true),
        ("involvedObject.uid", &note.uid, LONGEST_NAME, false),
        ("reason", &note.reason, word, true),
        ("message", &note.message, message, false),
        ("reportingComponent", &note.reporter, word, false),
    ];
    let wrong = |(field, said, most, is_required): (&str, &String, usize, bool)| match said.len() {
        0 if is_required => Some(Problem::new(field, "is required")),
        length if length > most => {
            Some(Problem::new(field, format!("is {length} bytes long, and may have {most}; say it shorter")))
        }
        _ => None,
    };
    parts.into_iter().filter_map(wrong).collect()
}

/// An event lies where its object lies, so that who may write in one namespace says nothing of another's things.
fn misplaced(note: &EventNote, sent: &Value, place: Option<&str>) -> Vec<Problem> {
    // Who may write in every namespace may also name none.
    let Some(place) = place else { return Vec::new() };
    let about = note.about.namespace.as_deref().unwrap_or(NAMESPACE_OF_MACHINE);
    let own = sent["metadata"]["namespace"].as_str().filter(|said| !said.is_empty()).unwrap_or(place);
    let fits = |field: &str, said: &str| {
        let message = format!("is {said:?}, and the request went to namespace {place:?}; change one of them");
        (said != place).then(|| Problem::new(field, message))
    };
    [fits("metadata.namespace", own), fits("involvedObject.namespace", about)].into_iter().flatten().collect()
}

/// A uid tells whose event it is, so it must be that of the object that is named, or of one that is gone.
fn of_another(note: &EventNote, store: &Store) -> Option<Problem> {
    let owner = store.by_uid(&note.uid)?.key();
    let about = &note.about;
    // What the store does not keep, such as a Pod, is another look at something it keeps, with its name and uid.
    let is_kind = owner.kind == about.kind || store.kind(&about.kind).is_none();
    let is_meant = is_kind
        && (owner.namespace.as_str(), owner.name.as_str())
            == (about.namespace.as_deref().unwrap_or_default(), about.name.as_str());
    let message = "is not that of the object that is named; leave it out, or name that one";
    (!is_meant).then(|| Problem::new("involvedObject.uid", message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{misplaced, problems, read};

    fn wrong(sent: &Value, place: Option<&str>) -> Vec<String> {
        let note = read(sent, "ana");
        let found = problems(&note).into_iter().chain(misplaced(&note, sent, place));
        found.map(|problem| problem.field).collect()
    }

    #[test]
    fn what_is_missing_too_long_or_in_another_namespace_is_told_at_once() {
        let about = json!({"kind": "App", "namespace": "den", "name": "a", "uid": "u"});
        let event = json!({"involvedObject": about, "reason": "Tried", "message": "m".repeat(1024)});
        assert!(wrong(&event, Some("den")).is_empty());
        assert_eq!(wrong(&event, Some("ana")), ["involvedObject.namespace"]);
        assert!(wrong(&event, None).is_empty());
        let machine = json!({"regarding": {"kind": "Node", "name": "n"}, "reason": "Tried"});
        assert!(wrong(&machine, Some("default")).is_empty());
        assert_eq!(wrong(&machine, Some("den")), ["involvedObject.namespace"]);
        let long = json!({
            "metadata": {"namespace": "other"},
            "regarding": {"namespace": "den", "name": "n".repeat(254), "uid": "u".repeat(254)},
            "reason": "R".repeat(129), "note": "é".repeat(513), "reportingController": "c".repeat(129),
        });
        let wanted = [
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "message",
            "reportingComponent",
            "metadata.namespace",
        ];
        assert_eq!(wrong(&long, Some("den")), wanted);
    }
}
