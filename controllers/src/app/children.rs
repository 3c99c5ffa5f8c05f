//! What the children of an app say, together: which are missing or different, and how they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hearth_engine::Object;
use hearth_meta::{ObjectRef, Verdict};

use super::observe::AppSeen;
use super::render::Rendering;

/// How an object stands, as its status says; `None` where the status is of an older spec, or there is none yet.
pub(super) fn verdict(object: &Object) -> Option<Verdict> {
    let current = object.status()["observedGeneration"].as_i64() == object.metadata.generation;
    serde_json::from_value(object.status()["summary"].clone()).ok().filter(|_| current)
}

/// What each service's image was resolved to, where all of them are.
pub(super) fn pins(
    rendering: &Rendering<'_>,
    facts: &AppSeen,
) -> Result<BTreeMap<String, String>, Vec<Arc<Object>>> {
    let mut pins = BTreeMap::new();
    let mut missing = Vec::new();
    for service in rendering.services() {
        let image = facts.child("Image", &rendering.image_name(service));
        let pin =
            image.and_then(|image| image.status()["digest"].as_str().or(image.status()["imageId"].as_str()));
        match (image, pin) {
            (_, Some(pin)) => {
                pins.insert(service.name.clone(), pin.to_owned());
            }
            (Some(image), None) => missing.push(image.clone()),
            (None, None) => {}
        }
    }
    if pins.len() == rendering.services().len() { Ok(pins) } else { Err(missing) }
}

/// Whether a child is as it should be. A subnet that the store chose is not asked for, and stays.
pub(super) fn is_as_wanted(wanted: &Object, seen: &Object) -> bool {
    let mut spec = wanted.spec().clone();
    if wanted.kind == "Network"
        && let (Some(fields), Some(subnet)) = (spec.as_object_mut(), seen.spec().get("subnet"))
    {
        fields.insert("subnet".into(), subnet.clone());
    }
    spec == *seen.spec() && wanted.metadata.labels == seen.metadata.labels
}

/// Whether a container is on its way somewhere, rather than at rest or waiting for what is at rest itself.
pub(super) fn is_moving(container: &Object, facts: &AppSeen) -> bool {
    let mut visited = BTreeSet::new();
    moves(container, facts, &mut visited)
}

fn moves(object: &Object, facts: &AppSeen, visited: &mut BTreeSet<String>) -> bool {
    match verdict(object) {
        None | Some(Verdict::Progressing) => true,
        Some(Verdict::Waiting) => blockers(object).iter().any(|blocker| {
            let child = facts.child(&blocker.kind, &blocker.name);
            visited.insert(blocker.name.clone()) && child.is_none_or(|child| moves(child, facts, visited))
        }),
        Some(_) => false,
    }
}

pub(super) fn blockers(object: &Object) -> Vec<ObjectRef> {
    serde_json::from_value(object.status()["blockedBy"].clone()).unwrap_or_default()
}
