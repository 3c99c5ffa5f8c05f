//! *Makes true*: an image that is wanted is on this machine, and its status says what exactly it is.
//!
//! *Looks at*: the container engine's images.
//! *Owns*: the images it pulled itself; one that was here before is never removed.
//! *Woken by*: its own objects, image events of the engine, Containers that come and go (for the count of users).
//! *Never*: changes a reference, pulls what is here, removes an image that another Image object still means.
//! *When it cannot*: a pull that fails is tried again ever later (`PullFailed`); one that hangs is given up after
//! the stall limit; a pull nobody wants any more is cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_capabilities::images::{ImageFacts, PullProgress};
use hearth_capabilities::{Events, Fault, Happening, Images};
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Report, Seen, Step, StepError, Triggers, Wake, Wanted,
};
use hearth_engine::{Key, Object, Query, Store};
use hearth_kinds::image::Pull;
use hearth_kinds::{Image, ImageStatus};
use hearth_meta::{Condition, Progress, Reason, Time, Unit};

use crate::fault::{blind, failed};
use crate::wakes::wakes;

/// Keeps images on this machine.
pub struct ImageController {
    store: Store,
    images: Arc<dyn Images>,
    events: Arc<dyn Events>,
}

/// What is seen of one image.
pub struct ImagesSeen {
    here: Option<ImageFacts>,
    users: i64,
    /// Whether another Image object means the same image.
    shared: bool,
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
        Triggers { owned: Vec::new(), referenced: vec![("Container", images_of_container)] }
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
            });
        }
        Ok(found)
    }

    async fn observe(&self, wanted: &[Wanted<Image>]) -> Result<ImagesSeen, Blind> {
        let Some(wanted) = wanted.first() else { return Err(Blind("no image was asked for".into())) };
        let here = self.images.inspect(&wanted.object.spec.reference).await.map_err(blind)?;
        let name = wanted.name();
        let containers = self.store.list(&Query::of("Container")).items;
        let users = containers.iter().filter(|c| c.spec()["image"]["ref"] == name).count();
        let others = self.store.list(&Query::of("Image")).items;
        let same = |other: &Object| other.spec()["reference"] == wanted.object.spec.reference.as_str();
        let shared = others.iter().any(|other| other.uid() != wanted.uid() && same(other));
        Ok(ImagesSeen { here, users: i64::try_from(users).unwrap_or(i64::MAX), shared })
    }

    fn diff(&self, wanted: &Wanted<Image>, facts: &ImagesSeen) -> Seen {
        let ours = !wanted.gone || is_ours_to_remove(wanted, facts);
        if facts.here.is_some() && ours { Seen::Ours(Vec::new()) } else { Seen::Absent }
    }

    fn plan(&self, wanted: &[Wanted<Image>], facts: &ImagesSeen) -> Plan<ImageStep> {
        let Some(wanted) = wanted.first() else { return Plan::nothing() };
        let spec = &wanted.object.spec;
        let reference = spec.reference.clone();
        if wanted.gone {
            let ours = facts.here.is_some() && is_ours_to_remove(wanted, facts);
            return if ours { Plan::steps(vec![ImageStep::Remove { reference }]) } else { Plan::nothing() };
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

    async fn act(&self, step: &ImageStep, _wanted: &[Wanted<Image>], cx: &Act) -> Result<(), StepError> {
        match step {
            ImageStep::Pull { reference } => {
                let tell = |progress: PullProgress| (cx.progress)(pulling(progress));
                self.images.pull(reference, &tell).await.map_err(|fault| pull_failed(reference, fault))
            }
            ImageStep::Remove { reference } => self.images.remove(reference).await.map_err(failed),
        }
    }

    fn status(
        &self,
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
            used_by: Some(facts.users),
            pulled_at: pulled_at(&before, here.is_some(), wanted),
            common,
        };
        let pulled =
            Condition::new("Pulled", here.is_some(), status.common.reason.unwrap_or(Reason::InSync), "");
        Report { status, conditions: vec![pulled] }
    }
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
    pulled && !facts.shared && facts.users == 0
}

/// An image that was not here while it was wanted, and is here now, was pulled for it.
fn pulled_at(before: &ImageStatus, here: bool, wanted: &Wanted<Image>) -> Option<Time> {
    let was_seen_absent = before.common.observed_generation.is_some() && !before.present;
    if here && was_seen_absent { Some(Time(wanted.now)) } else { before.pulled_at.clone() }
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

fn images_of_container(container: &Object, _store: &Store) -> Vec<Key> {
    container.spec()["image"]["ref"].as_str().map(|name| Key::new("Image", "", name)).into_iter().collect()
}

/// A valid object name for the image of a service: readable, and another one for another reference.
pub fn image_name(namespace: &str, app: &str, service: &str, reference: &str) -> String {
    let hash = hearth_engine::controller::spec_hash(&BTreeMap::from([("reference", reference)]));
    let readable = crate::app::dns_label(&format!("{namespace}-{app}-{service}"), 50);
    format!("{readable}-{}", &hash[..8])
}
