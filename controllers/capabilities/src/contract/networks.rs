//! What every hand that reaches networks promises.

use std::time::Duration;

use super::world::{Program, Scene};
use crate::Fault;
use crate::containers::{JoinedNetwork, NetworkPlace};
use crate::networks::NetworkFacts;

async fn facts(scene: &Scene<'_>, name: &str) -> NetworkFacts {
    scene.networks().inspect(name).await.expect("a network can be read").expect("the network is there")
}

pub(super) async fn what_is_not_there_is_none(scene: &Scene<'_>) {
    assert_eq!(scene.networks().inspect(&scene.name("nothing")).await, Ok(None));
}

pub(super) async fn an_id_is_not_a_name(scene: &Scene<'_>) {
    let id = scene.networks().create(&scene.network("net")).await.expect("it can be made");
    assert_eq!(scene.networks().inspect(&id[..10]).await, Ok(None));
    assert_eq!(scene.networks().inspect(&id).await, Ok(None));
}

pub(super) async fn a_name_that_reaches_elsewhere_is_refused(scene: &Scene<'_>) {
    for name in ["", "..", "../containers/json", "a?x=1"] {
        let answer = scene.networks().inspect(name).await;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{name:?}: {answer:?}");
    }
}

pub(super) async fn what_is_asked_for_comes_back(scene: &Scene<'_>) {
    for internal in [false, true] {
        let mut wanted = scene.network(if internal { "inside" } else { "outside" });
        wanted.internal = internal;
        let id = scene.networks().create(&wanted).await.expect("it can be made");
        let seen = facts(scene, &wanted.name).await;
        assert_eq!((seen.id, seen.name, seen.driver.as_str()), (id, wanted.name, "bridge"));
        assert_eq!((seen.subnet, seen.internal, seen.labels), (wanted.subnet, internal, wanted.labels));
        assert_eq!((seen.attached, seen.foreign), (Vec::<String>::new(), Vec::<String>::new()));
    }
}

pub(super) async fn a_name_is_taken_once(scene: &Scene<'_>) {
    let mut wanted = scene.network("net");
    let id = scene.networks().create(&wanted).await.expect("it can be made");
    wanted.subnet = scene.world.subnet();
    let again = scene.networks().create(&wanted).await;
    assert!(matches!(again, Err(Fault::Conflict(_))), "{again:?}");
    assert_eq!(facts(scene, &wanted.name).await.id, id);
}

pub(super) async fn a_subnet_is_taken_once(scene: &Scene<'_>) {
    let first = scene.network("one");
    scene.networks().create(&first).await.expect("it can be made");
    let mut second = scene.network("two");
    second.subnet = first.subnet;
    let answer = scene.networks().create(&second).await;
    let Err(Fault::Conflict(said)) = answer else { panic!("it is a conflict: {answer:?}") };
    assert!(said.contains(&first.name), "people are told which network is in the way: {said}");
    assert_eq!(scene.networks().inspect(&second.name).await, Ok(None));
}

pub(super) async fn a_subnet_that_is_none_is_refused(scene: &Scene<'_>) {
    for subnet in ["", "10.1.2.0", "10.1/24", "10.1.2.0/33", "here"] {
        let mut wanted = scene.network("net");
        wanted.subnet = subnet.to_owned();
        let answer = scene.networks().create(&wanted).await;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{subnet:?}: {answer:?}");
    }
}

pub(super) async fn remove_is_repeatable(scene: &Scene<'_>) {
    let wanted = scene.network("net");
    let id = scene.networks().create(&wanted).await.expect("it can be made");
    scene.networks().remove(&id).await.expect("it can be removed");
    assert_eq!(scene.networks().inspect(&wanted.name).await, Ok(None));
    scene.networks().remove(&id).await.expect("gone already is success");
}

pub(super) async fn made_again_it_has_another_id(scene: &Scene<'_>) {
    let wanted = scene.network("net");
    let first = scene.networks().create(&wanted).await.expect("it can be made");
    scene.networks().remove(&first).await.expect("it can be removed");
    let second = scene.networks().create(&wanted).await.expect("it can be made again");
    assert_ne!(first, second);
}

pub(super) async fn one_that_is_in_use_stays(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(network.clone());
    scene.run(&wanted).await;
    let id = facts(scene, &network.name).await.id;
    let answer = scene.networks().remove(&id).await;
    assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
    assert_eq!(facts(scene, &network.name).await.id, id);
}

pub(super) async fn list_tells_what_carries_the_uid_label(scene: &Scene<'_>) {
    let (ours, mut nobodys) = (scene.network("ours"), scene.network("nobodys"));
    nobodys.labels.clear();
    let id = scene.networks().create(&ours).await.expect("it can be made");
    scene.networks().create(&nobodys).await.expect("it can be made");
    let listed = scene.networks().list().await.expect("networks can be listed");
    let entry = listed.iter().find(|entry| entry.name == ours.name).expect("ours is listed");
    assert_eq!((&entry.id, &entry.labels), (&id, &ours.labels));
    assert!(!listed.iter().any(|entry| entry.name == nobodys.name), "one without the label is not listed");
}

pub(super) async fn attached_names_those_that_run(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    for (what, runs) in [("b", true), ("a", true), ("c", false)] {
        let mut wanted = scene.container(what, Program::Serve).await;
        wanted.network = Some(network.clone());
        if runs {
            scene.run(&wanted).await
        } else {
            scene.create(&wanted).await
        };
    }
    let attached = facts(scene, &network.name).await.attached;
    assert_eq!(attached, [scene.name("a"), scene.name("b")]);
}

pub(super) async fn a_running_container_can_join_and_leave(scene: &Scene<'_>) {
    let (first, second) = (scene.join("one", &["web"]).await, scene.join("two", &["api"]).await);
    let mut wanted = scene.container("box", Program::Serve).await;
    wanted.network = Some(first.clone());
    scene.run(&wanted).await;
    for _ in 0..2 {
        scene.networks().connect(&second, &wanted.name).await.expect("attached already is success");
    }
    let seen = scene.facts(&wanted.name).await;
    let places: Vec<(&str, &[String], bool)> = seen
        .networks
        .iter()
        .map(|place| (place.name.as_str(), &*place.aliases, place.ip.is_empty()))
        .collect();
    let expected =
        [(first.name.as_str(), &*first.aliases, false), (second.name.as_str(), &*second.aliases, false)];
    assert_eq!(places, expected);
    assert_eq!(seen.foreign, Vec::<String>::new());
    for _ in 0..2 {
        scene.networks().disconnect(&second.name, &wanted.name).await.expect("not attached is success");
    }
    let left: Vec<String> =
        scene.facts(&wanted.name).await.networks.into_iter().map(|place| place.name).collect();
    assert_eq!(left, [first.name]);
}

pub(super) async fn a_container_can_join_before_it_starts(scene: &Scene<'_>) {
    let (first, second) = (scene.join("one", &[]).await, scene.join("two", &["api"]).await);
    let mut wanted = scene.container("box", Program::Serve).await;
    wanted.network = Some(first.clone());
    let id = scene.create(&wanted).await;
    for _ in 0..2 {
        scene.networks().connect(&second, &wanted.name).await.expect("one that does not run can join");
    }
    let names = |places: Vec<NetworkPlace>| -> Vec<(String, Vec<String>)> {
        places.into_iter().map(|place| (place.name, place.aliases)).collect()
    };
    let expected = [(first.name, first.aliases), (second.name, second.aliases)];
    assert_eq!(names(scene.facts(&wanted.name).await.networks), expected);
    scene.containers().start(&id).await.expect("it can start");
    let seen = scene.facts(&wanted.name).await;
    assert!(seen.networks.iter().all(|place| !place.ip.is_empty() && !place.network_id.is_empty()));
    assert_eq!(names(seen.networks), expected);
}

pub(super) async fn a_stopped_container_keeps_its_place(scene: &Scene<'_>) {
    let network = scene.join("net", &["web"]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(network.clone());
    let id = scene.serve(&wanted).await;
    scene.stop(&id, Duration::from_secs(10)).await;
    assert_eq!(facts(scene, &network.name).await.attached, Vec::<String>::new());
    let place = scene.facts(&wanted.name).await.networks.remove(0);
    assert_eq!((place.name, place.aliases), (network.name, network.aliases));
}

pub(super) async fn joining_what_is_not_there_is_missing(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(network.clone());
    scene.create(&wanted).await;
    let nowhere = JoinedNetwork { name: scene.name("nowhere"), aliases: Vec::new() };
    for (network, container) in [(&network, &scene.name("nobody")), (&nowhere, &wanted.name)] {
        let answer = scene.networks().connect(network, container).await;
        assert!(matches!(answer, Err(Fault::Missing(_))), "{answer:?}");
    }
}

pub(super) async fn leaving_what_is_not_there_is_success(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    let wanted = scene.container("one", Program::Serve).await;
    scene.create(&wanted).await;
    for (network, container) in [
        (&network.name, &scene.name("nobody")),
        (&scene.name("nowhere"), &wanted.name),
        (&network.name, &wanted.name),
    ] {
        scene.networks().disconnect(network, container).await.expect("gone is success");
    }
}
