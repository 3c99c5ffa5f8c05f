//! What a person answers about things without an object: remove just these, or keep them.
//!
//! The answer is an annotation on the Namespace of the home, so that it lasts, is on record, and can be given with any
//! client; this place only checks that it is about what stands now.

use std::collections::BTreeSet;

use axum::Json;
use axum::body::Bytes;
use hearth_engine::driver::{OrphanSet, Orphans};
use hearth_engine::{Key, Object};
use hearth_meta::labels::{SYSTEM, keep_orphans, remove_orphans};
use hearth_wire::Failure;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::places::Allowed;

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Answer {
    /// Remove them.
    Remove,
    /// Keep them, and do not ask about them again.
    Keep,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    /// The kind they were made for.
    kind: String,
    answer: Answer,
    /// The id of the set that is meant.
    set: String,
}

/// Takes an answer.
pub(super) async fn answer(Allowed(inside): Allowed, sent: Bytes) -> Result<Json<Value>, Failure> {
    let asked: Asked = serde_json::from_slice(&sent)
        .map_err(|error| Failure::bad_request(format!("the answer cannot be read: {error}")))?;
    let all = inside.behind().engine.as_ref().map(|engine| engine.orphans()).unwrap_or_default();
    let orphans = all.into_iter().find(|orphans| orphans.kind == asked.kind);
    let set = orphans.as_ref().and_then(|orphans| meant(orphans, &asked.set));
    let Some(set) = set.cloned() else { return Err(another(&asked, orphans.as_ref())) };
    let options = inside.write_options(false);
    let ids: Vec<String> = set.items.iter().map(|item| item.id.clone()).collect();
    let change = move |old: &Object| {
        let mut new = old.clone();
        let annotations = new.metadata.annotations.get_or_insert_default();
        let (remove, keep) = (remove_orphans(&asked.kind), keep_orphans(&asked.kind));
        let mut kept: BTreeSet<String> = annotations
            .get(&keep)
            .map(|ids| ids.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default();
        match asked.answer {
            Answer::Remove => {
                kept.retain(|id| !ids.contains(id));
                annotations.insert(remove, asked.set.clone());
            }
            Answer::Keep => kept.extend(ids),
        }
        let kept = kept.into_iter().collect::<Vec<_>>().join(",");
        if kept.is_empty() {
            drop(annotations.remove(&keep))
        } else {
            drop(annotations.insert(keep, kept))
        }
        Ok(new)
    };
    let written = inside.store().update(&Key::new("Namespace", "", SYSTEM), &options, change).await;
    let kind =
        inside.store().kinds().find(|kind| kind.kind == "Namespace").ok_or_else(Failure::no_such_place)?;
    written.map_err(|error| Failure::of_write(error, kind, SYSTEM))?;
    Ok(Json(json!({ "items": set.items })))
}

fn meant<'a>(orphans: &'a Orphans, set: &str) -> Option<&'a OrphanSet> {
    [&orphans.asked, &orphans.kept].into_iter().flatten().find(|each| each.id == set)
}

fn another(asked: &Asked, orphans: Option<&Orphans>) -> Failure {
    let sets = orphans.into_iter().flat_map(|orphans| [&orphans.asked, &orphans.kept]).flatten();
    let stand: Vec<String> = sets.map(|set| format!("{} of {}", set.id, set.items.len())).collect();
    let message = if stand.is_empty() {
        format!("nothing is asked about what was made for {}", asked.kind)
    } else {
        format!(
            "set {} is not what stands now ({}); look at `hearth recover status` first",
            asked.set,
            stand.join(", ")
        )
    };
    Failure::new(StatusCode::CONFLICT, "Conflict", message)
}
