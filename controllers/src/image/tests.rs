//! Which images are Hearth's own, and when they go.

use std::sync::Arc;

use hearth_capabilities::Fault;
use hearth_capabilities::images::ImageFacts;
use hearth_engine::Object;
use hearth_engine::controller::{Blind, Outcome, Plan, Wanted};
use hearth_kinds::{Image, ImageSpec, ImageStatus};
use hearth_meta::{Time, Timestamp};
use serde_json::json;

use super::{ImageStep, ImagesSeen, plan, removal_failed, report};

fn image(name: &str, status: ImageStatus) -> Wanted<Image> {
    let spec = ImageSpec { reference: "web:1".into(), ..ImageSpec::default() };
    let mut image = Image::new(name, spec);
    image.metadata.uid = Some(format!("uid-{name}"));
    image.status = Some(status);
    Wanted { object: Arc::new(image), gone: false, now: Timestamp::UNIX_EPOCH }
}

fn gone(wanted: Wanted<Image>) -> Wanted<Image> {
    Wanted { gone: true, ..wanted }
}

fn pulled() -> ImageStatus {
    ImageStatus { pulled_at: Some(Time(Timestamp::UNIX_EPOCH)), ..ImageStatus::default() }
}

fn stored(wanted: &Wanted<Image>, going: bool) -> Arc<Object> {
    let mut object = Object::from_typed(&*wanted.object);
    object.metadata.deletion_timestamp = going.then_some(Time(Timestamp::UNIX_EPOCH));
    Arc::new(object)
}

fn container_of(image: &str) -> Arc<Object> {
    let value = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Container", "metadata": {"name": "web"},
        "spec": {"image": {"ref": image}},
    });
    Arc::new(Object::from_value(value).unwrap())
}

fn here() -> Option<ImageFacts> {
    Some(ImageFacts {
        id: "sha256:i".into(),
        digest: Some("sha256:d".into()),
        size_bytes: 1,
        volumes: Vec::new(),
    })
}

/// What is seen with these other images and containers in the store.
fn seen(
    wanted: &Wanted<Image>,
    here: Option<ImageFacts>,
    others: &[Arc<Object>],
    containers: &[Arc<Object>],
) -> ImagesSeen {
    let images: Vec<_> = others.iter().cloned().chain([stored(wanted, wanted.gone)]).collect();
    ImagesSeen::new(here, wanted, &images, containers)
}

/// The status after these looks in turn; `None` is one that failed.
fn after(looks: &[Option<Option<ImageFacts>>], others: &[Arc<Object>]) -> ImageStatus {
    looks.iter().fold(ImageStatus::default(), |status, look| {
        let wanted = image("web", status);
        let (seen, outcome) = match look {
            Some(here) => (Ok(seen(&wanted, here.clone(), others, &[])), Outcome::Steady),
            None => (Err(Blind("no answer".into())), Outcome::Blind { next_try: Timestamp::UNIX_EPOCH }),
        };
        let mut status = report(&wanted, seen.as_ref(), &outcome).status;
        status.common.observed_generation = Some(1);
        status
    })
}

#[test]
fn only_what_came_while_it_was_wanted_counts_as_pulled() {
    let pulled = |looks: &[_]| after(looks, &[]).pulled_at.is_some();
    assert!(pulled(&[Some(None), Some(here())]));
    assert!(!pulled(&[Some(here())]), "a person's own");
    assert!(!pulled(&[None, Some(here())]), "a look that failed has not seen that it was missing");
    assert!(pulled(&[None, Some(None), None, Some(here())]));
    assert!(pulled(&[Some(None), Some(here()), None, Some(here())]), "what is known stays known");
}

#[test]
fn what_was_pulled_for_another_object_is_known_to_each_of_that_reference() {
    let other = stored(&image("other", pulled()), false);
    assert!(after(&[Some(here())], &[other]).pulled_at.is_some());
    let own = stored(&image("other", ImageStatus::default()), false);
    assert!(after(&[Some(here())], &[own]).pulled_at.is_none());
}

#[test]
fn an_image_goes_with_the_last_object_that_means_it_and_not_while_it_is_used() {
    let wanted = gone(image("web", pulled()));
    let plan_with =
        |others: &[_], containers: &[_]| plan(&wanted, &seen(&wanted, here(), others, containers));
    let removal = Plan::steps(vec![ImageStep::Remove { reference: "web:1".into() }]);
    let other = image("other", pulled());
    assert_eq!(plan_with(&[], &[]), removal);
    assert_eq!(plan_with(&[stored(&other, false)], &[]), Plan::nothing(), "another still means it");
    assert_eq!(plan_with(&[stored(&other, true)], &[]), removal, "another that goes as well does not count");
    assert_eq!(plan_with(&[], &[container_of("web")]), Plan::nothing());
    assert_eq!(plan_with(&[stored(&other, true)], &[container_of("other")]), Plan::nothing());
    let theirs = gone(image("web", ImageStatus::default()));
    assert_eq!(plan(&theirs, &seen(&theirs, here(), &[], &[])), Plan::nothing(), "a person's own stays");
}

#[test]
fn a_removal_that_is_refused_because_it_is_in_use_lets_the_object_go() {
    let wanted = gone(image("web", pulled()));
    let facts = seen(&wanted, here(), &[], &[]);
    let failed = |fault| Outcome::Failed {
        step: ImageStep::Remove { reference: "web:1".into() },
        error: removal_failed(fault),
        attempts: 1,
        next_try: Timestamp::UNIX_EPOCH,
    };
    let busy = report(&wanted, Ok(&facts), &failed(Fault::Failed("the disk is full".into()))).status;
    assert!(busy.pulled_at.is_some(), "what failed otherwise is tried again");
    let in_use = report(&wanted, Ok(&facts), &failed(Fault::Conflict("container x".into()))).status;
    let next = gone(image("web", in_use));
    assert_eq!(plan(&next, &seen(&next, here(), &[], &[])), Plan::nothing());
}

#[test]
fn an_image_goes_only_once_the_last_container_made_of_it_is_replaced() {
    let made_of = |id: &str, refers_to: &str, name: &str| {
        let value = json!({
            "apiVersion": "hearth.dev/v1", "kind": "Container", "metadata": {"name": name, "namespace": "h"},
            "spec": {"image": {"ref": refers_to}}, "status": {"imageId": id},
        });
        Arc::new(Object::from_value(value).unwrap())
    };
    let same_by_another_name = || {
        let status = ImageStatus { image_id: Some("sha256:i".into()), ..ImageStatus::default() };
        let mut other = Object::clone(&stored(&image("other", status), false));
        other.body["spec"]["reference"] = json!("web:latest");
        Arc::new(other)
    };
    let old = gone(image("web", pulled()));
    let planned =
        |containers: &[Arc<Object>]| plan(&old, &seen(&old, here(), &[same_by_another_name()], containers));
    let waits = planned(&[made_of("sha256:i", "newer", "web")]);
    assert_eq!(waits.wait.map(|wait| wait.on[0].name.clone()).as_deref(), Some("web"));
    let removes = Plan::steps(vec![ImageStep::Remove { reference: "web:1".into() }]);
    assert_eq!(planned(&[made_of("sha256:j", "newer", "web")]), removes);
    assert_eq!(planned(&[made_of("sha256:i", "other", "web")]), removes, "it wants the same by another name");
}

#[test]
fn an_image_that_another_object_means_by_another_name_stays() {
    let same = |status: ImageStatus| ImageStatus { image_id: Some("sha256:i".into()), ..status };
    let named = |name: &str, reference: &str, status: ImageStatus| {
        let mut wanted = image(name, status);
        Arc::make_mut(&mut wanted.object).spec.reference = reference.into();
        wanted
    };
    let going = gone(named("one", "postgres:17", same(pulled())));
    // No container is made of it yet. Of one that was not looked at yet only its name is known.
    for (other, stays) in [
        (named("two", "docker.io/library/postgres:17", same(ImageStatus::default())), true),
        (named("two", "docker.io/library/postgres:17", ImageStatus::default()), true),
        (named("two", "postgres@sha256:d", same(ImageStatus::default())), true),
        (named("two", "postgres@sha256:d", ImageStatus::default()), false),
        (named("two", "postgres:newest", same(ImageStatus::default())), false),
    ] {
        let facts = seen(&going, here(), &[stored(&other, false)], &[]);
        let steps = vec![ImageStep::Remove { reference: "postgres:17".into() }];
        let wanted = if stays { Plan::nothing() } else { Plan::steps(steps) };
        assert_eq!(plan(&going, &facts), wanted, "{:?}", other.object.spec.reference);
        let used = seen(&going, here(), &[stored(&other, true)], &[container_of("two")]);
        assert_eq!(plan(&going, &used), wanted, "a container is about to be made of it");
    }
}

#[test]
fn what_is_a_persons_own_by_another_name_does_not_become_hearths() {
    let mine = ImageStatus { image_id: Some("sha256:i".into()), ..pulled() };
    let wanted = image("theirs", ImageStatus { used_by: Some(0), present: true, ..ImageStatus::default() });
    let mut other = image("ours", mine);
    Arc::make_mut(&mut other.object).spec.reference = "web:2".into();
    let facts = seen(&wanted, here(), &[stored(&other, false)], &[]);
    assert_eq!(facts.pulled_for_another, None);
}
