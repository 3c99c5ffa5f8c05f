//! *Makes true*: an image that is wanted is on this machine, and its status says what exactly it is.
//!
//! *Looks at*: the container engine's images.
//! *Owns*: the images it pulled itself; one that was here before is never removed.
//! *Woken by*: its own objects, image events of the engine, Containers that come and go (for the count of users).
//! *Never*: changes a reference, pulls what is here, removes an image that another Image object still means.
//! *When it cannot*: a pull that fails is tried again ever later (`PullFailed`); one that hangs is given up after
//! the stall limit; a pull nobody wants any more is cancelled.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_capabilities::images::{ImageFacts, PullProgress};
use hearth_capabilities::{Events, Fault, Happening, Images};
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Reference, Report, Seen, Step, StepError, Triggers, Wait,
    Wake, Wanted,
};
use hearth_engine::{Key, Object, Query, Store};
use hearth_kinds::image::Pull;
use hearth_kinds::{Image, ImageStatus};
use hearth_meta::{Condition, ObjectRef, Progress, Reason, Time, Unit, labels};

use crate::fault::{blind, failed};
use crate::wakes::wakes;
use canonical::canonical;

pub use crate::naming::image_name;

mod canonical;

/// Keeps images on this machine.
pub struct ImageController {
    store: Store,
    images: Arc<dyn Images>,
    events: Arc<dyn Events>,
}

/// What is seen of one image.
pub struct ImagesSeen {
    here: Option<ImageFacts>,
    /// How many Containers refer to this object.
    users: i64,
    /// Whether a Container refers to this image, through whichever object.
    in_use: bool,
    /// Containers that are still made of it, or may be for all that was told of them, and no longer refer to it: they
    /// are about to be replaced.
    leaving: Vec<ObjectRef>,
    /// Whether another Image object that stays means the same image.
    shared: bool,
    /// When it was pulled for another object.
    pulled_for_another: Option<Time>,
}

impl ImagesSeen {
    fn new(
        here: Option<ImageFacts>,
        wanted: &Wanted<Image>,
        images: &[Arc<Object>],
        containers: &[Arc<Object>],
    ) -> Self {
        let users = |name: &str| containers.iter().filter(|c| c.spec()["image"]["ref"] == name).count();
        let name = canonical(&wanted.object.spec.reference);
        let is_named_so =
            |other: &&Arc<Object>| other.spec()["reference"].as_str().map(canonical) == Some(name.clone());
        // Of two tags one may go and the other holds the image; a digest is held by no name of its own.
        let id = here.as_ref().map(|here| here.id.as_str());
        let is_held_by_none = |other: &Object| {
            let said = other.spec()["reference"].as_str().unwrap_or_default();
            name.contains('@') || said.contains('@')
        };
        let is_same = |other: &&Arc<Object>| {
            let has_same_id = id.is_some() && other.status()["imageId"].as_str() == id;
            is_named_so(other) || has_same_id && is_held_by_none(other)
        };
        let is_other = |other: &&Arc<Object>| other.uid() != wanted.uid();
        let mut others = images.iter().filter(is_named_so).filter(is_other);
        let pulled =
            |other: &Arc<Object>| serde_json::from_value(other.status()["pulledAt"].clone()).ok().flatten();
        Self {
            leaving: leaving(here.as_ref(), wanted, images, containers),
            users: i64::try_from(users(wanted.name())).unwrap_or(i64::MAX),
            in_use: images.iter().filter(is_same).any(|image| users(image.name()) > 0),
            shared: images.iter().filter(is_same).filter(is_other).any(|other| !other.is_going()),
            pulled_for_another: others.find_map(pulled),
            here,
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageStep {
    /// Gets the image.
    Pull {
        /// Its reference.
        reference: String,
    },
    /// Takes it off this machine.
    Remove {
        /// Its reference.
        reference: String,
    },
}

impl ImageController {
    /// A controller with these hands.
    pub fn new(store: Store, images: Arc<dyn Images>, events: Arc<dyn Events>) -> Self {
        Self { store, images, events }
    }
}

#[async_trait]
impl Controller for ImageController {
    type Kind = Image;
    type Facts = ImagesSeen;
    type Step = ImageStep;

    const NAME: &'static str = "image";
    /// More pulls at once only share the line.
    const SLOW_PLACES: usize = 3;

    fn triggers(&self) -> Triggers {
        let users = Reference::to("Container", images_of_container).where_it(|old, new| {
            let changed = |field: &str| old.status()[field] != new.status()[field];
            old.spec()["image"] != new.spec()["image"] || changed("imageId") || changed("observedGeneration")
        });
        Triggers { owned: Vec::new(), referenced: vec![users] }
    }

    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        // An event names an image by id or by one of its names, so all are looked at: that is one cheap call each.
        Some(wakes(&self.events, |happening| match happening {
            Happening::Image { .. } => vec![Wake::All],
            _ => Vec::new(),
        }))
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        let mut found = Vec::new();
        for object in self.store.list(&Query::of("Image")).items {
            let reference = object.spec()["reference"].as_str().unwrap_or_default();
            let facts = self.images.inspect(reference).await.map_err(blind)?;
            found.push(Found {
                uid: object.uid().to_owned(),
                lineage: self.store.lineage().to_owned(),
                name: reference.to_owned(),
                mark: facts.map(|facts| facts.id).unwrap_or_default(),
                made_at: 0,
            });
        }
        Ok(found)
    }

    async fn observe(&self, wanted: &[Wanted<Image>]) -> Result<ImagesSeen, Blind> {
        let Some(wanted) = wanted.first() else { return Err(Blind("no image was asked for".into())) };
        let here = self.images.inspect(&wanted.object.spec.reference).await.map_err(blind)?;
        let images = self.store.list(&Query::of("Image")).items;
        let containers = self.store.list(&Query::of("Container")).items;
        Ok(ImagesSeen::new(here, wanted, &images, &containers))
    }

    fn diff(&self, wanted: &Wanted<Image>, facts: &ImagesSeen) -> Seen {
        let ours = !wanted.gone || is_ours_to_remove(wanted, facts);
        if facts.here.is_some() && ours { Seen::Ours(Vec::new()) } else { Seen::Absent }
    }

    fn plan(&self, wanted: &[Wanted<Image>], facts: &ImagesSeen) -> Plan<ImageStep> {
        wanted.first().map_or_else(Plan::nothing, |wanted| plan(wanted, facts))
    }

    async fn act(&self, step: &ImageStep, _wanted: &[Wanted<Image>], cx: &Act) -> Result<(), StepError> {
        match step {
            ImageStep::Pull { reference } => {
                let tell = |progress: PullProgress| (cx.progress)(pulling(progress));
                self.images.pull(reference, &tell).await.map_err(|fault| pull_failed(reference, fault))
            }
            ImageStep::Remove { reference } => self.images.remove(reference).await.map_err(removal_failed),
        }
    }

    fn status(
        &self,
        wanted: &Wanted<Image>,
        seen: Result<&ImagesSeen, &Blind>,
        outcome: &Outcome<ImageStep>,
    ) -> Report<Image> {
        report(wanted, seen, outcome)
    }
}

fn plan(wanted: &Wanted<Image>, facts: &ImagesSeen) -> Plan<ImageStep> {
    let spec = &wanted.object.spec;
    let reference = spec.reference.clone();
    if wanted.gone {
        if facts.here.is_none() || !is_ours_to_remove(wanted, facts) {
            return Plan::nothing();
        }
        if !facts.leaving.is_empty() {
            // The engine would refuse, and it would look as if somebody else had come to need it.
            let wait = Wait::new(Reason::Removing, "Waiting until the containers made of it are replaced");
            return Plan::wait(wait.on(facts.leaving.clone()));
        }
        return Plan::steps(vec![ImageStep::Remove { reference }]);
    }
    match (&facts.here, spec.pull) {
        (Some(_), _) => Plan::nothing(),
        (None, Pull::IfAbsent) => Plan::steps(vec![ImageStep::Pull { reference }]),
        (None, Pull::Never) => Plan::stuck(
            Reason::ImageMissing,
            format!("Image {reference} is not on this machine and may not be pulled"),
        ),
    }
}

fn report(
    wanted: &Wanted<Image>,
    seen: Result<&ImagesSeen, &Blind>,
    outcome: &Outcome<ImageStep>,
) -> Report<Image> {
    let before = wanted.object.status.clone().unwrap_or_default();
    let mut common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
    if matches!(outcome, Outcome::Working { step: ImageStep::Pull { .. }, .. }) {
        common.reason = Some(Reason::Pulling);
    }
    let Ok(facts) = seen else {
        return Report { status: ImageStatus { common, ..before }, conditions: Vec::new() };
    };
    let here = facts.here.as_ref();
    let status = ImageStatus {
        digest: here.and_then(|facts| facts.digest.clone()),
        image_id: here.map(|facts| facts.id.clone()),
        size_bytes: here.map(|facts| facts.size_bytes),
        present: here.is_some(),
        volumes: here.map(|facts| facts.volumes.clone()).unwrap_or_default(),
        used_by: Some(facts.users),
        pulled_at: pulled_at(&before, facts, wanted, outcome),
        common,
    };
    let pulled = Condition::new("Pulled", here.is_some(), status.common.reason.unwrap_or(Reason::InSync), "");
    Report { status, conditions: vec![pulled] }
}

impl Step for ImageStep {
    fn doing(&self) -> String {
        match self {
            Self::Pull { reference } => format!("Pull image {reference}"),
            Self::Remove { reference } => format!("Remove image {reference}"),
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::Pull { reference } => ("Pulled", format!("Pulled image {reference}")),
            Self::Remove { reference } => ("Removed", format!("Removed image {reference}")),
        }
    }

    fn is_slow(&self) -> bool {
        matches!(self, Self::Pull { .. })
    }
}

/// Only what Hearth pulled is removed, and only with the last object that means it.
fn is_ours_to_remove(wanted: &Wanted<Image>, facts: &ImagesSeen) -> bool {
    let pulled = wanted.object.status.as_ref().is_some_and(|status| status.pulled_at.is_some());
    pulled && !facts.shared && !facts.in_use
}

/// When Hearth pulled it; none where it is a person's own.
fn pulled_at(
    before: &ImageStatus,
    facts: &ImagesSeen,
    wanted: &Wanted<Image>,
    outcome: &Outcome<ImageStep>,
) -> Option<Time> {
    if is_used_by_others(outcome) {
        // Somebody else has come to need it; from now on it is theirs.
        return None;
    }
    // An image that was not here while it was wanted, and is here now, was pulled for it. Only a look that could see
    // counts users: one that failed has not seen that it was not here.
    let was_seen_absent = before.used_by.is_some() && !before.present;
    let is_here = facts.here.is_some();
    if is_here && was_seen_absent {
        return Some(Time(wanted.now));
    }
    let carried = facts.pulled_for_another.clone().filter(|_| is_here && !wanted.gone);
    before.pulled_at.clone().or(carried)
}

fn is_used_by_others(outcome: &Outcome<ImageStep>) -> bool {
    matches!(
        outcome,
        Outcome::Failed { step: ImageStep::Remove { .. }, error, .. } if error.reason == Reason::NotOurs
    )
}

/// An image that a container of somebody's uses stays on this machine, and its object goes without it.
fn removal_failed(fault: Fault) -> StepError {
    match fault {
        Fault::Conflict(message) => StepError::new(Reason::NotOurs, format!("it is still in use: {message}")),
        fault => failed(fault),
    }
}

fn pulling(progress: PullProgress) -> Progress {
    Progress {
        step: "Pulling".into(),
        index: 1,
        total: 1,
        unit: Some(Unit::Bytes),
        done: Some(progress.done_bytes),
        of: Some(progress.total_bytes),
        started_at: None,
        last_advance_at: None,
    }
}

fn pull_failed(reference: &str, fault: Fault) -> StepError {
    StepError::new(Reason::PullFailed, format!("{reference}: {fault}"))
}

/// The image a container refers to, and whichever goes and may be what it is made of: that one waits for it.
fn images_of_container(container: &Object, store: &Store) -> Vec<Key> {
    let referred = container.spec()["image"]["ref"].as_str().map(|name| Key::new("Image", "", name));
    let made_of = &container.status()["imageId"];
    let owner = owner_of(container);
    let is_made_of = |image: &&Arc<Object>| {
        let is_made_of_it = made_of.is_string() && image.status()["imageId"] == *made_of;
        image.is_going() && (is_made_of_it || owner.is_some() && owner_of(image) == owner)
    };
    let images = store.list(&Query::of("Image")).items;
    referred.into_iter().chain(images.iter().filter(is_made_of).map(|image| image.key())).collect()
}

fn leaving(
    here: Option<&ImageFacts>,
    wanted: &Wanted<Image>,
    images: &[Arc<Object>],
    containers: &[Arc<Object>],
) -> Vec<ObjectRef> {
    let Some(here) = here else { return Vec::new() };
    let is_here = |object: &Object| object.status()["imageId"] == here.id.as_str();
    // What was told of an older wish does not say what it is made of by now; it matters where it is of the same app.
    let owner = wanted.object.metadata.labels.as_ref().and_then(|labels| labels.get(labels::OWNER_UID));
    let may_be = |container: &Object| {
        let told = container.status()["observedGeneration"].as_i64() == container.metadata.generation;
        !told && owner.is_some() && owner_of(container) == owner
    };
    // One that wants the very same image by another name stays.
    let stays = |container: &Object| {
        let wanted = images.iter().find(|image| container.spec()["image"]["ref"] == image.name());
        !container.is_going() && wanted.is_some_and(|image| is_here(image))
    };
    let leaves =
        containers.iter().filter(|container| (is_here(container) && !stays(container)) || may_be(container));
    leaves.map(|container| container.key().reference()).collect()
}

fn owner_of(object: &Object) -> Option<&String> {
    object.metadata.labels.as_ref()?.get(labels::OWNER_UID)
}

#[cfg(test)]
mod tests;
