//! What every hand that reaches images promises.

use super::world::{Program, Scene};
use crate::Fault;
use crate::images::ImageFacts;

async fn find(scene: &Scene<'_>, reference: &str) -> Option<ImageFacts> {
    scene.images().inspect(reference).await.expect("an image can be read")
}

async fn pulled(scene: &Scene<'_>) -> (String, ImageFacts) {
    let reference = scene.world.pullable().await;
    scene.pull(&reference).await.0.expect("it can be pulled");
    let facts = find(scene, &reference).await.expect("what was pulled is here");
    (reference, facts)
}

/// `name@digest` for a `name:tag`.
fn exactly(reference: &str, facts: &ImageFacts) -> String {
    let digest = facts.digest.as_deref().expect("what was pulled has a digest");
    let (name, _) = reference.rsplit_once(':').expect("the world gives name:tag");
    format!("{name}@{digest}")
}

pub(super) async fn what_is_not_here_is_none(scene: &Scene<'_>) {
    assert_eq!(find(scene, &scene.world.unknown()).await, None);
    assert_eq!(find(scene, &scene.world.pullable().await).await, None);
    assert_eq!(find(scene, &format!("sha256:{}", "12".repeat(32))).await, None);
}

pub(super) async fn what_is_no_reference_is_refused(scene: &Scene<'_>) {
    for reference in ["", "../containers/json", "a b", "a?all=1", "a@sha256:12"] {
        let answer = scene.images().inspect(reference).await;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{reference:?}: {answer:?}");
        let answer = scene.pull(reference).await.0;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{reference:?}: {answer:?}");
    }
}

pub(super) async fn the_beginning_of_an_id_is_not_a_name(scene: &Scene<'_>) {
    let facts = find(scene, &scene.world.image().await).await.expect("the image is here");
    let beginning = &facts.id["sha256:".len()..][..12];
    assert_eq!(find(scene, beginning).await, None);
    scene.images().remove(beginning).await.expect("what is not here is gone");
    assert!(find(scene, &facts.id).await.is_some());
}

pub(super) async fn a_pull_brings_it_with_its_digest(scene: &Scene<'_>) {
    let (_, facts) = pulled(scene).await;
    assert!(facts.id.starts_with("sha256:") && facts.id.len() == 71, "{}", facts.id);
    let digest = facts.digest.expect("it has a digest");
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    assert!(facts.size_bytes > 0);
}

pub(super) async fn tag_digest_and_id_mean_the_same_image(scene: &Scene<'_>) {
    let (reference, facts) = pulled(scene).await;
    assert_eq!(find(scene, &exactly(&reference, &facts)).await.as_ref(), Some(&facts));
    assert_eq!(find(scene, &facts.id).await.map(|found| found.id), Some(facts.id));
}

pub(super) async fn a_pull_of_what_is_here_is_success(scene: &Scene<'_>) {
    let (reference, facts) = pulled(scene).await;
    scene.pull(&reference).await.0.expect("here already is success");
    assert_eq!(find(scene, &reference).await, Some(facts));
}

pub(super) async fn a_pull_by_digest_brings_exactly_that(scene: &Scene<'_>) {
    let (reference, facts) = pulled(scene).await;
    let exact = exactly(&reference, &facts);
    scene.images().remove(&reference).await.expect("it can be removed");
    assert_eq!(find(scene, &exact).await, None);
    scene.pull(&exact).await.0.expect("it can be pulled by its digest");
    assert_eq!(find(scene, &exact).await, Some(facts));
    assert_eq!(find(scene, &reference).await, None, "a digest brings no tag");
    scene.images().remove(&exact).await.expect("it can be removed");
    assert_eq!(find(scene, &exact).await, None);
}

pub(super) async fn progress_ends_where_it_should(scene: &Scene<'_>) {
    let reference = scene.world.pullable().await;
    let (outcome, reports) = scene.pull(&reference).await;
    outcome.expect("it can be pulled");
    assert!(reports.iter().all(|report| 0 <= report.done_bytes && report.done_bytes <= report.total_bytes));
    let last = reports.last().expect("a pull reports");
    assert!(last.total_bytes > 0 && last.done_bytes == last.total_bytes, "{last:?}");
}

pub(super) async fn a_name_the_registry_does_not_know_is_refused(scene: &Scene<'_>) {
    let answer = scene.pull(&scene.world.unknown()).await.0;
    assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
}

pub(super) async fn no_registry_is_failed(scene: &Scene<'_>) {
    let answer = scene.pull(&scene.world.unreachable()).await.0;
    assert!(matches!(answer, Err(Fault::Failed(_))), "{answer:?}");
}

pub(super) async fn an_id_cannot_be_pulled(scene: &Scene<'_>) {
    let answer = scene.pull(&format!("sha256:{}", "12".repeat(32))).await.0;
    assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
}

pub(super) async fn a_dropped_pull_can_be_done_again(scene: &Scene<'_>) {
    let reference = scene.world.pullable().await;
    let report = |_| {};
    drop(futures::poll!(scene.images().pull(&reference, &report)));
    scene.pull(&reference).await.0.expect("it can be pulled again");
    assert!(find(scene, &reference).await.is_some());
}

pub(super) async fn remove_is_repeatable(scene: &Scene<'_>) {
    let (reference, facts) = pulled(scene).await;
    scene.images().remove(&reference).await.expect("it can be removed");
    assert_eq!(find(scene, &reference).await, None);
    assert_eq!(find(scene, &facts.id).await, None, "the last reference takes the image with it");
    scene.images().remove(&reference).await.expect("gone already is success");
}

pub(super) async fn one_in_use_stays(scene: &Scene<'_>) {
    let (reference, facts) = pulled(scene).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    (wanted.image_id, wanted.image_reference) = (facts.id.clone(), reference.clone());
    let id = scene.create(&wanted).await;
    let answer = scene.images().remove(&reference).await;
    assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
    assert_eq!(find(scene, &reference).await, Some(facts));
    scene.containers().remove(&id).await.expect("it can be removed");
    scene.images().remove(&reference).await.expect("it is in use no longer");
}
