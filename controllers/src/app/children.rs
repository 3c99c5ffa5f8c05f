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
///
/// What a container was declared with stays, though the tag has come to mean another image on this machine; an
/// update is another reference. Only where that image is lost for good does the tag count again.
pub(super) fn pins(
    rendering: &Rendering<'_>,
    facts: &AppSeen,
) -> Result<BTreeMap<String, String>, Vec<Arc<Object>>> {
    let (pins, missing) = known_pins(rendering, facts);
    if pins.len() == rendering.services().len() { Ok(pins) } else { Err(missing) }
}

/// The pins of the services whose image is known, and the images that are waited for.
pub(super) fn known_pins(
    rendering: &Rendering<'_>,
    facts: &AppSeen,
) -> (BTreeMap<String, String>, Vec<Arc<Object>>) {
    let mut pins = BTreeMap::new();
    let mut missing = Vec::new();
    for service in rendering.services() {
        let name = rendering.image_name(service);
        let image = facts.child("Image", &name);
        let found =
            image.and_then(|image| image.status()["digest"].as_str().or(image.status()["imageId"].as_str()));
        let declared = facts
            .child("Container", &rendering.container_name(&service.name))
            .filter(|container| container.spec()["image"]["ref"] == name.as_str())
            .filter(|container| !has_lost_its_image(container, image))
            .and_then(|container| container.spec()["image"]["digest"].as_str());
        let pin = declared.or(found);
        match (image, pin) {
            (_, Some(pin)) => {
                pins.insert(service.name.clone(), pin.to_owned());
            }
            (Some(image), None) => missing.push(image.clone()),
            (None, None) => {}
        }
    }
    (pins, missing)
}

/// Whether a container waits for an image of a tag that is here: then the one it was pinned to is not.
fn has_lost_its_image(container: &Object, image: Option<&Arc<Object>>) -> bool {
    let Some(image) = image.filter(|image| verdict(image) == Some(Verdict::Ready)) else { return false };
    verdict(container) == Some(Verdict::Waiting)
        && blockers(container).iter().any(|blocker| blocker.kind == "Image" && blocker.name == image.name())
}

/// The children without which the app is not ready: those that are not themselves, and those that are wanted and on
/// their way out. An image that goes is nobody's concern, since none is let go that is needed.
pub(super) fn unready<'a>(rendering: &Rendering<'_>, facts: &'a AppSeen) -> Vec<&'a Object> {
    let counts = |child: &&Object| match child.kind.as_str() {
        "Revision" => false,
        "Image" if child.is_going() => false,
        _ if child.is_going() => rendering.means(child),
        _ => verdict(child) != Some(Verdict::Ready),
    };
    facts.children.iter().map(AsRef::as_ref).filter(counts).collect()
}

/// Whether a child is as it should be. A subnet that the store chose is not asked for, and stays.
pub(super) fn is_as_wanted(wanted: &Object, seen: &Object) -> bool {
    let mut spec = wanted.spec().clone();
    if wanted.kind == "Network"
        && let (Some(fields), Some(subnet)) = (spec.as_object_mut(), seen.spec().get("subnet"))
    {
        fields.insert("subnet".into(), subnet.clone());
    }
    let mut owners = wanted.metadata.owner_references.iter().flatten();
    let is_owned = owners.all(|owner| seen.metadata.owner_references.iter().flatten().any(|o| o == owner));
    spec == *seen.spec() && wanted.metadata.labels == seen.metadata.labels && is_owned
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
