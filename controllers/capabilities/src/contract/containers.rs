//! What every hand that reaches containers promises: being made, run, stopped and removed. How a container comes
//! back is in [`container_facts`](super::container_facts), its log in [`logs`](super::logs).

use std::time::Duration;

use hearth_kinds::container::Restart;

use super::world::{Check, Program, Scene};
use crate::Fault;
use crate::containers::{BoundFolder, Health, MemoryFolder, NewContainer};

pub(super) async fn what_is_not_there_is_none(scene: &Scene<'_>) {
    assert_eq!(scene.containers().inspect(&scene.name("nobody")).await, Ok(None));
}

pub(super) async fn the_beginning_of_an_id_is_not_a_name(scene: &Scene<'_>) {
    let id = scene.create(&scene.container("one", Program::Serve).await).await;
    assert_eq!(scene.containers().inspect(&id[..10]).await, Ok(None));
}

pub(super) async fn a_name_that_reaches_elsewhere_is_refused(scene: &Scene<'_>) {
    for name in ["", "..", "../images/json", "a?all=1"] {
        let answer = scene.containers().inspect(name).await;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{name:?}: {answer:?}");
    }
    let wanted = NewContainer { name: "a/b".to_owned(), ..scene.container("x", Program::Serve).await };
    let answer = scene.containers().create(&wanted).await;
    assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
}

pub(super) async fn a_created_container_does_not_run(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.id, facts.state.status.as_str(), facts.state.running), (id, "created", false));
    assert_eq!((facts.state.started_at, facts.state.finished_at, facts.state.restarts), (None, None, 0));
}

pub(super) async fn a_name_is_taken_once(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.create(&wanted).await;
    let again = scene.containers().create(&wanted).await;
    assert!(matches!(again, Err(Fault::Conflict(_))), "{again:?}");
    assert_eq!(scene.facts(&wanted.name).await.id, id);
}

pub(super) async fn made_again_it_has_another_id(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let first = scene.create(&wanted).await;
    scene.containers().remove(&first).await.expect("it can be removed");
    assert_ne!(scene.create(&wanted).await, first);
}

pub(super) async fn an_image_that_is_not_here_is_missing(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.image_id = format!("sha256:{}", "12".repeat(32));
    let answer = scene.containers().create(&wanted).await;
    assert!(matches!(answer, Err(Fault::Missing(_))), "{answer:?}");
    assert_eq!(scene.containers().inspect(&wanted.name).await, Ok(None));
}

pub(super) async fn a_folder_that_is_not_there_is_missing_and_not_made(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    let host_path = format!("{}/{}", scene.world.folder(), wanted.name);
    wanted.mounts = vec![BoundFolder { host_path, path: "/data".to_owned(), read_only: false }];
    for _ in 0..2 {
        let answer = scene.containers().create(&wanted).await;
        assert!(matches!(answer, Err(Fault::Missing(_))), "{answer:?}");
    }
}

pub(super) async fn every_problem_of_a_bad_request_is_told_at_once(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.env.insert("A=B".to_owned(), "very secret".to_owned());
    wanted.tmpfs = vec![MemoryFolder { path: "scratch".to_owned(), size_bytes: None, mode: None }];
    let Err(Fault::Refused(said)) = scene.containers().create(&wanted).await else {
        panic!("a bad request is refused");
    };
    assert!(said.contains("env") && said.contains("scratch"), "{said}");
    assert!(!said.contains("very secret"), "{said}");
}

pub(super) async fn start_is_repeatable(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.run(&wanted).await;
    let first = scene.facts(&wanted.name).await;
    assert_eq!((first.state.status.as_str(), first.state.running), ("running", true));
    scene.containers().start(&id).await.expect("running already is success");
    let second = scene.facts(&wanted.name).await;
    assert_eq!(second.state.started_at, first.state.started_at);
}

pub(super) async fn what_is_gone_cannot_start(scene: &Scene<'_>) {
    let answer = scene.containers().start(&"12".repeat(32)).await;
    assert!(matches!(answer, Err(Fault::Missing(_))), "{answer:?}");
}

pub(super) async fn a_program_that_is_not_there_does_not_start(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Nonsense).await;
    let id = scene.create(&wanted).await;
    let answer = scene.containers().start(&id).await;
    assert!(matches!(answer, Err(Fault::Refused(_) | Fault::Failed(_))), "{answer:?}");
    assert!(!scene.facts(&wanted.name).await.state.running);
}

pub(super) async fn without_its_network_it_does_not_start(scene: &Scene<'_>) {
    let network = scene.join("net", &[]).await;
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(network.clone());
    let id = scene.create(&wanted).await;
    let seen = scene.networks().inspect(&network.name).await.expect("it can be read").expect("it is there");
    scene.networks().remove(&seen.id).await.expect("nothing runs on it");
    let answer = scene.containers().start(&id).await;
    assert!(matches!(answer, Err(Fault::Missing(_))), "{answer:?}");
}

pub(super) async fn a_container_on_no_network_has_none(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    scene.run(&wanted).await;
    assert_eq!(scene.facts(&wanted.name).await.networks, []);
}

pub(super) async fn once_started_it_has_an_address_and_its_networks_id(scene: &Scene<'_>) {
    let network = scene.join("net", &["web"]).await;
    let wanted =
        NewContainer { network: Some(network.clone()), ..scene.container("one", Program::Serve).await };
    let id = scene.serve(&wanted).await;
    let seen = scene.networks().inspect(&network.name).await.expect("it can be read").expect("it is there");
    let place = scene.facts(&wanted.name).await.networks.remove(0);
    assert_eq!((place.network_id, place.aliases), (seen.id, vec!["web".to_owned()]));
    assert!(!place.ip.is_empty());
    scene.stop(&id, Duration::from_secs(10)).await;
    let place = scene.facts(&wanted.name).await.networks.remove(0);
    assert_eq!((place.name, place.ip.as_str()), (network.name, ""));
}

pub(super) async fn stop_waits_until_it_has_ended(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.serve(&wanted).await;
    scene.stop(&id, Duration::from_secs(20)).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!(
        (facts.state.status.as_str(), facts.state.running, facts.state.exit_code),
        ("exited", false, 0)
    );
    assert!(facts.state.finished_at.is_some());
}

pub(super) async fn stop_is_repeatable(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.create(&wanted).await;
    scene.stop(&id, Duration::from_secs(5)).await;
    scene.containers().start(&id).await.expect("it can start");
    scene.stop(&id, Duration::from_secs(5)).await;
    scene.stop(&id, Duration::from_secs(5)).await;
    scene.containers().remove(&id).await.expect("it can be removed");
    scene.stop(&id, Duration::from_secs(5)).await;
}

pub(super) async fn what_ignores_the_signal_is_killed_after_the_grace(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Stubborn).await;
    let id = scene.run(&wanted).await;
    scene.stop(&id, Duration::from_secs(1)).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.state.status.as_str(), facts.state.exit_code), ("exited", 137));
}

pub(super) async fn what_was_stopped_can_start_again(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.restart = Restart::UnlessStopped;
    let id = scene.serve(&wanted).await;
    scene.stop(&id, Duration::from_secs(10)).await;
    assert!(!scene.facts(&wanted.name).await.state.running);
    scene.containers().start(&id).await.expect("it can start again");
    assert!(scene.facts(&wanted.name).await.state.running);
}

pub(super) async fn remove_takes_a_running_one_and_is_repeatable(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.run(&wanted).await;
    scene.containers().remove(&id).await.expect("a running one can be removed");
    assert_eq!(scene.containers().inspect(&wanted.name).await, Ok(None));
    scene.containers().remove(&id).await.expect("gone already is success");
}

pub(super) async fn the_exit_code_is_told(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Exit(3)).await;
    scene.run(&wanted).await;
    let facts = scene.facts_when(&wanted.name, "it has ended", |facts| facts.state.status == "exited").await;
    assert_eq!((facts.state.exit_code, facts.state.running, facts.state.restarts), (3, false, 0));
    // Not which came first: an engine may note the end of a short life before its start.
    assert!(facts.state.started_at.is_some() && facts.state.finished_at.is_some());
}

pub(super) async fn one_that_failed_is_started_again_where_asked(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Exit(1)).await;
    wanted.restart = Restart::OnFailure;
    scene.run(&wanted).await;
    scene.facts_when(&wanted.name, "it was started again", |facts| facts.state.restarts >= 1).await;
}

pub(super) async fn one_that_succeeded_is_not_started_again_after_failures_only(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Exit(0)).await;
    wanted.restart = Restart::OnFailure;
    scene.run(&wanted).await;
    let facts = scene.facts_when(&wanted.name, "it has ended", |facts| facts.state.status == "exited").await;
    assert_eq!((facts.state.exit_code, facts.state.restarts), (0, 0));
}

pub(super) async fn one_that_waits_to_be_started_again_does_not_run(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Exit(1)).await;
    wanted.restart = Restart::UnlessStopped;
    let id = scene.run(&wanted).await;
    let facts = scene.facts_when(&wanted.name, "it waits", |facts| facts.state.status == "restarting").await;
    assert_eq!((facts.state.running, facts.state.exit_code), (false, 1));
    scene.stop(&id, Duration::from_secs(1)).await;
    assert_eq!(scene.facts(&wanted.name).await.state.status, "exited");
}

pub(super) async fn without_a_check_there_is_no_health(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.health_check, facts.state.health), (None, None));
}

pub(super) async fn a_passing_check_makes_it_healthy(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.health = Some(scene.health(Check::Passes));
    let id = scene.serve(&wanted).await;
    let healthy = Some(Health::Healthy);
    scene.facts_when(&wanted.name, "it is healthy", |facts| facts.state.health == healthy).await;
    scene.stop(&id, Duration::from_secs(10)).await;
    assert_eq!(scene.facts(&wanted.name).await.state.health, None, "an ended one has no health");
}

pub(super) async fn a_failing_check_makes_it_unhealthy(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.health = Some(scene.health(Check::Fails));
    scene.run(&wanted).await;
    let health = scene.facts(&wanted.name).await.state.health;
    assert!(matches!(health, Some(Health::Starting | Health::Unhealthy)), "{health:?}");
    let unhealthy = Some(Health::Unhealthy);
    let facts =
        scene.facts_when(&wanted.name, "it is unhealthy", |facts| facts.state.health == unhealthy).await;
    assert!(facts.state.running, "an unhealthy one runs on");
}

pub(super) async fn list_tells_what_carries_the_uid_label_running_or_not(scene: &Scene<'_>) {
    let (still, running) =
        (scene.container("a", Program::Serve).await, scene.container("b", Program::Serve).await);
    let mut nobodys = scene.container("c", Program::Serve).await;
    nobodys.labels.clear();
    let ids = [scene.create(&still).await, scene.run(&running).await];
    scene.create(&nobodys).await;
    let listed = scene.containers().list().await.expect("containers can be listed");
    for (wanted, id, state) in [(&still, &ids[0], "created"), (&running, &ids[1], "running")] {
        let entry = listed.iter().find(|entry| entry.name == wanted.name).expect("it is listed");
        assert_eq!((&entry.id, entry.state.as_str()), (id, state));
        assert!(wanted.labels.iter().all(|(name, value)| entry.labels.get(name) == Some(value)));
    }
    assert!(!listed.iter().any(|entry| entry.name == nobodys.name), "one without the label is not listed");
}

pub(super) async fn what_runs_uses_memory_and_time_that_never_runs_back(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.memory_bytes = Some(64 << 20);
    let id = scene.run(&wanted).await;
    let read = async || scene.containers().usage(&id).await.expect("it can be read").expect("it runs");
    let first = read().await;
    assert!((1..64 << 20).contains(&first.memory_bytes), "{first:?}");
    let second = read().await;
    assert!(second.processor >= first.processor, "{first:?} {second:?}");
}

pub(super) async fn what_does_not_run_uses_nothing(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    let id = scene.create(&wanted).await;
    assert_eq!(scene.containers().usage(&id).await, Ok(None), "it was never started");
    scene.containers().start(&id).await.expect("it starts");
    scene.containers().stop(&id, Duration::from_secs(5)).await.expect("it stops");
    assert_eq!(scene.containers().usage(&id).await, Ok(None), "it was stopped");
    assert_eq!(scene.containers().usage(&"12".repeat(32)).await, Ok(None), "it is gone");
}

pub(super) async fn the_engine_tells_its_version(scene: &Scene<'_>) {
    let facts = scene.containers().engine().await.expect("it tells");
    assert!(facts.version.starts_with(|c: char| c.is_ascii_digit()), "{facts:?}");
    assert!(facts.root_folder.starts_with('/'), "{facts:?}");
    let host = &facts.host;
    assert!(host.processors > Some(0) && host.memory_bytes > Some(0), "{facts:?}");
    assert!(host.system.is_some(), "{facts:?}");
}
