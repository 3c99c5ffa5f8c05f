//! What a person answers to a change from outside: put it back once, or keep it.
//!
//! No resource would do: the answer is about what was seen, and is only taken while just that is still seen.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use hearth_engine::store::{EventKind, EventNote};
use hearth_engine::{Key, Object, WriteError, WriteOptions};
use hearth_meta::labels::PUT_BACK_AT;
use hearth_meta::{Drift, FieldDiff, KindInfo, Problem};
use hearth_wire::{Actor, Asked, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::places::{Door, Inside};

/// What is answered.
#[derive(Clone, Copy, Debug, Deserialize)]
enum Answer {
    /// Put it back, once.
    PutBack,
    /// Make what is seen the wish.
    Keep,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Answered {
    answer: Answer,
    /// The id of the change that is answered.
    seen: String,
    /// Only say what would come of it.
    #[serde(default)]
    dry_run: bool,
}

/// Who answers, and what about.
struct Call<'a> {
    inside: &'a Inside,
    kind: &'a KindInfo,
    key: Key,
    asked: Answered,
    options: WriteOptions,
}

/// About an object of the whole machine.
pub(super) async fn of_machine(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((plural, name)): Path<(String, String)>,
    sent: Bytes,
) -> Result<Json<Value>, Failure> {
    answer(&door, &actor, (&plural, String::new(), name), &sent).await
}

/// About an object that lives in a namespace.
pub(super) async fn of_namespace(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    Path((plural, namespace, name)): Path<(String, String, String)>,
    sent: Bytes,
) -> Result<Json<Value>, Failure> {
    answer(&door, &actor, (&plural, namespace, name), &sent).await
}

async fn answer(
    door: &Door,
    actor: &Actor,
    (plural, namespace, name): (&str, String, String),
    sent: &[u8],
) -> Result<Json<Value>, Failure> {
    let asked: Answered = serde_json::from_slice(sent)
        .map_err(|error| Failure::bad_request(format!("the answer cannot be read: {error}")))?;
    let kind = door.kinds().find(|kind| kind.plural == plural).ok_or_else(Failure::no_such_place)?;
    let inside = door.open(actor, &Asked::of("update", kind, &namespace, &name).part("drift"))?;
    let options = inside.write_options(asked.dry_run);
    let call = Call { inside: &inside, kind, key: Key::new(kind.kind, namespace, name), asked, options };
    let object = inside.store().get(&call.key).ok_or_else(|| call.not_found())?;
    let (_, differences) = standing(&object, &call.asked.seen).map_err(|error| call.failure(error))?;
    let changed = match call.asked.answer {
        Answer::PutBack => call.put_back().await?,
        Answer::Keep => call.keep(&object, &differences).await?,
    };
    Ok(Json(json!({ "differences": differences, "object": changed.to_value() })))
}

/// The change that stands, if it is the one that is meant.
fn standing(object: &Object, seen: &str) -> Result<(Drift, Vec<FieldDiff>), WriteError> {
    let status = object.status();
    let read = |field: &str| status[field].clone();
    let drift: Option<Drift> = serde_json::from_value(read("drift")).unwrap_or_default();
    let differences: Vec<FieldDiff> = serde_json::from_value(read("differences")).unwrap_or_default();
    if status["observedGeneration"].as_i64() != object.metadata.generation {
        let message = "it was changed and has not been looked at since; look again in a moment";
        return Err(WriteError::Conflict(message.into()));
    }
    let Some(drift) = drift else {
        return Err(WriteError::Conflict(
            "what is seen is what is wanted; there is nothing to answer".into(),
        ));
    };
    if drift.id != seen {
        let now: Vec<_> = differences.iter().map(ToString::to_string).collect();
        let now = if now.is_empty() { "it is gone".to_owned() } else { now.join("; ") };
        let message = format!("what is seen now is another change ({}): {now}; look at it first", drift.id);
        return Err(WriteError::Conflict(message));
    }
    Ok((drift, differences))
}

impl Call<'_> {
    async fn put_back(&self) -> Result<std::sync::Arc<Object>, Failure> {
        let seen = self.asked.seen.clone();
        let order = format!("{} {seen}", self.inside.store().clock().now());
        let change = move |old: &Object| {
            standing(old, &seen)?;
            let mut new = old.clone();
            new.metadata.annotations.get_or_insert_default().insert(PUT_BACK_AT.into(), order);
            Ok(new)
        };
        let changed = self.inside.store().update(&self.key, &self.options, change).await;
        changed.map_err(|error| self.failure(error))
    }

    async fn keep(
        &self,
        object: &Object,
        differences: &[FieldDiff],
    ) -> Result<std::sync::Arc<Object>, Failure> {
        if let Some(problem) = self.made_by_another(object) {
            return Err(self.refused(&[problem]));
        }
        if differences.is_empty() {
            let message = "it is gone, so there is nothing to keep; delete the object if that is right";
            return Err(self.refused(&[Problem::new("spec", message)]));
        }
        let engine = self.inside.behind().engine.as_ref();
        let kept = engine.and_then(|engine| engine.keep(object, differences)).ok_or_else(|| {
            self.failure(WriteError::Conflict("no controller makes its kind true here".into()))
        })?;
        let spec = kept.map_err(|problems| self.refused(&problems))?;
        let (seen, generation) = (self.asked.seen.clone(), object.metadata.generation);
        let change = move |old: &Object| {
            standing(old, &seen)?;
            if old.metadata.generation != generation {
                return Err(WriteError::Conflict("its spec was changed meanwhile; look at it again".into()));
            }
            let mut new = old.clone();
            new.body.insert("spec".into(), spec);
            Ok(new)
        };
        let changed = self.inside.store().update(&self.key, &self.options, change).await;
        let changed = changed.map_err(|error| self.failure(error))?;
        if !self.asked.dry_run {
            self.tell_kept(&changed, differences).await;
        }
        Ok(changed)
    }

    /// What another object makes is set back by that, so keeping it here would keep nothing.
    fn made_by_another(&self, object: &Object) -> Option<Problem> {
        let owners = object.metadata.owner_references.iter().flatten();
        let owner = owners
            .filter(|owner| owner.controller == Some(true))
            .find_map(|owner| self.inside.store().by_uid(&owner.uid))?;
        let word = format!("{}/{}", owner.kind.to_lowercase(), owner.name());
        let message = format!(
            "{word} makes it and would set it back; change {word} instead (`hearth explain {}`), or put this back",
            owner.kind.to_lowercase()
        );
        Some(Problem::new("metadata.ownerReferences", message))
    }

    async fn tell_kept(&self, object: &Object, differences: &[FieldDiff]) {
        let kept: Vec<_> = differences.iter().map(ToString::to_string).collect();
        let note = EventNote {
            about: self.key.reference(),
            uid: object.uid().to_owned(),
            kind: EventKind::Normal,
            reason: "Kept".to_owned(),
            message: format!(
                "{} kept what was changed from outside: {}",
                self.options.actor,
                kept.join("; ")
            ),
            reporter: "api".to_owned(),
        };
        self.inside.store().note(note).await;
    }

    fn not_found(&self) -> Failure {
        Failure::not_found(self.kind, &self.key.name)
    }

    fn refused(&self, problems: &[Problem]) -> Failure {
        Failure::invalid(self.kind, &self.key.name, problems)
    }

    fn failure(&self, error: WriteError) -> Failure {
        Failure::of_write(error, self.kind, &self.key.name)
    }
}
