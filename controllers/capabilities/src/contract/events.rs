//! What every hand that hears the container engine promises. Events only wake, so what is promised is that they come,
//! not that they come once.

use std::time::Duration;

use futures::stream::BoxStream;
use hearth_meta::labels;

use super::world::{Check, Program, Scene};
use crate::{Fault, Happening};

type Heard = BoxStream<'static, Result<Happening, Fault>>;

async fn listen(scene: &Scene<'_>) -> Heard {
    let mut heard = scene.world.events().subscribe();
    assert_eq!(scene.next("the first item", &mut heard).await, Happening::Listening);
    heard
}

/// Waits until these actions of one thing have been heard, in this order; others may come between.
async fn hear(scene: &Scene<'_>, heard: &mut Heard, of: &str, actions: &[&str]) {
    for action in actions {
        loop {
            let (name, said) = match scene.next(&format!("{action} of {of}"), heard).await {
                Happening::Listening => panic!("listening is said once"),
                Happening::Container { name, action, .. } | Happening::Network { name, action, .. } => {
                    (name, action)
                }
                Happening::Image { reference, action } => (reference, action),
            };
            if name == of && said == *action {
                break;
            }
        }
    }
}

pub(super) async fn a_container_tells_its_life(scene: &Scene<'_>) {
    let mut heard = listen(scene).await;
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.serve(&wanted).await;
    scene.stop(&id, Duration::from_secs(10)).await;
    scene.containers().remove(&id).await.expect("it can be removed");
    hear(scene, &mut heard, &wanted.name, &["create", "start", "die", "destroy"]).await;
}

pub(super) async fn a_container_tells_whose_it_is(scene: &Scene<'_>) {
    let mut heard = listen(scene).await;
    let wanted = scene.container("one", Program::Exit(1)).await;
    scene.run(&wanted).await;
    loop {
        let Happening::Container { name, uid, action } = scene.next("the end", &mut heard).await else {
            continue;
        };
        if name == wanted.name {
            assert_eq!(uid.as_ref(), wanted.labels.get(labels::UID), "{action}");
            if action == "die" {
                break;
            }
        }
    }
}

pub(super) async fn health_is_told_when_it_changes(scene: &Scene<'_>) {
    let mut heard = listen(scene).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.health = Some(scene.health(Check::Passes));
    scene.run(&wanted).await;
    hear(scene, &mut heard, &wanted.name, &["start", "health_status: healthy"]).await;
}

pub(super) async fn a_network_tells_its_life(scene: &Scene<'_>) {
    let mut heard = listen(scene).await;
    let network = scene.join("net", &[]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(network.clone());
    let id = scene.serve(&wanted).await;
    scene.stop(&id, Duration::from_secs(10)).await;
    let seen = scene.networks().inspect(&network.name).await.expect("it can be read").expect("it is there");
    scene.networks().remove(&seen.id).await.expect("nothing runs on it");
    hear(scene, &mut heard, &network.name, &["create", "connect", "disconnect", "destroy"]).await;
}

pub(super) async fn a_network_tells_who_joins_and_leaves(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(scene.join("first", &[]).await);
    let id = scene.serve(&wanted).await;
    let mut heard = listen(scene).await;
    scene.networks().connect(&network, &id).await.expect("it can join");
    scene.networks().disconnect(&network.name, &id).await.expect("it can leave");
    for expected in ["connect", "disconnect"] {
        loop {
            let Happening::Network { name, container, action } = scene.next(expected, &mut heard).await
            else {
                continue;
            };
            if name == network.name && action == expected {
                assert_eq!(container.as_ref(), Some(&id), "{action}");
                break;
            }
        }
    }
}

pub(super) async fn an_image_tells_that_it_came_and_went(scene: &Scene<'_>) {
    let mut heard = listen(scene).await;
    let reference = scene.world.pullable().await;
    scene.pull(&reference).await.0.expect("it can be pulled");
    hear(scene, &mut heard, &reference, &["pull"]).await;
    scene.images().remove(&reference).await.expect("it can be removed");
    loop {
        if let Happening::Image { action, .. } = scene.next("its end", &mut heard).await
            && matches!(action.as_str(), "untag" | "delete")
        {
            break;
        }
    }
}

pub(super) async fn everybody_who_listens_hears(scene: &Scene<'_>) {
    let (mut one, mut other) = (listen(scene).await, listen(scene).await);
    let wanted = scene.container("one", Program::Serve).await;
    scene.run(&wanted).await;
    hear(scene, &mut one, &wanted.name, &["create", "start"]).await;
    hear(scene, &mut other, &wanted.name, &["create", "start"]).await;
}
