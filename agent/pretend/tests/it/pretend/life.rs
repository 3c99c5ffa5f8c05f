//! What containers do by themselves, and what people do to them.

use std::time::Duration;

use futures::StreamExt as _;
use hearth_capabilities::containers::{Health, JoinedNetwork};
use hearth_capabilities::networks::NewNetwork;
use hearth_capabilities::proxy::{Answer, ProxyRoute};
use hearth_capabilities::{Containers, Events, Fault, Happening, Images, Networks, Proxy};
use hearth_kinds::container::{HealthCheck, Restart};
use hearth_pretend::{Behaviour, Machine};

use super::faults::{machine, run, status, wanted};

async fn network(machine: &Machine, name: &str, subnet: &str) -> JoinedNetwork {
    let wanted = NewNetwork {
        name: name.into(),
        subnet: subnet.into(),
        internal: false,
        labels: [(hearth_meta::labels::UID.to_owned(), "uid".to_owned())].into(),
    };
    Networks::create(machine, &wanted).await.unwrap();
    JoinedNetwork { name: name.into(), aliases: vec!["web".into()] }
}

fn check(retries: i64) -> HealthCheck {
    HealthCheck {
        test: vec!["CMD".into(), "/healthz".into()],
        interval_seconds: 2,
        timeout_seconds: 1,
        retries,
        start_period_seconds: 0,
    }
}

/// As seen with a real Docker: each action of each thing, in this order.
#[tokio::test]
async fn events_come_as_dockers_do() {
    let (machine, clock) = machine();
    let mut wanted = wanted(&machine, "web").await;
    let mut events = machine.subscribe();
    assert_eq!(events.next().await, Some(Ok(Happening::Listening)));
    wanted.network = Some(network(&machine, "net", "10.90.0.0/24").await);
    let id = Containers::create(&machine, &wanted).await.unwrap();
    machine.start(&id).await.unwrap();
    machine.kill("web");
    clock.advance(Duration::from_millis(100));
    machine.stop(&id, Duration::ZERO).await.unwrap();
    machine.remove_network("net");
    Containers::remove(&machine, &id).await.unwrap();
    let mut told = Vec::new();
    for _ in 0..13 {
        told.push(match events.next().await.unwrap().unwrap() {
            Happening::Container { action, .. } => format!("container {action}"),
            Happening::Network { action, .. } => format!("network {action}"),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(
        told,
        [
            "network create",
            "container create",
            "network connect",
            "container start",
            "container die",
            "network disconnect",
            "network connect",
            "container start",
            "container die",
            "network disconnect",
            "container stop",
            "network destroy",
            "container destroy",
        ]
    );
}

#[tokio::test]
async fn a_killed_service_comes_back_ever_more_slowly() {
    let (machine, clock) = machine();
    run(&machine, "web").await;
    for wait in [100, 200, 400, 800] {
        machine.kill("web");
        assert_eq!(status(&machine, "web").await, "restarting");
        clock.advance(Duration::from_millis(wait - 1));
        assert_eq!(status(&machine, "web").await, "restarting", "before {wait} ms");
        clock.advance(Duration::from_millis(1));
        assert_eq!(status(&machine, "web").await, "running");
    }
    clock.advance(Duration::from_secs(11));
    machine.exit("web", 0);
    clock.advance(Duration::from_millis(100));
    assert_eq!(status(&machine, "web").await, "running", "who ran well begins anew");
    assert_eq!(Containers::inspect(&machine, "web").await.unwrap().unwrap().state.restarts, 5);
}

#[tokio::test]
async fn a_listener_hears_of_it_without_anybody_looking() {
    let (machine, clock) = machine();
    run(&machine, "web").await;
    let mut events = machine.subscribe();
    assert_eq!(events.next().await, Some(Ok(Happening::Listening)));
    machine.behave("web", Behaviour::Exits { after: Duration::from_secs(3), code: 1 });
    machine.kill("web");
    let mut heard = Vec::new();
    while heard.len() < 4 {
        match futures::poll!(events.next()) {
            std::task::Poll::Ready(Some(Ok(Happening::Container { action, .. }))) => heard.push(action),
            std::task::Poll::Ready(other) => panic!("{other:?}"),
            std::task::Poll::Pending => assert!(clock.advance_to_next().is_some(), "nothing is due"),
        }
    }
    assert_eq!(heard, ["die", "start", "die", "start"]);
}

#[tokio::test]
async fn stopped_by_hand_it_stays_stopped() {
    let (machine, clock) = machine();
    run(&machine, "web").await;
    machine.stop_by_hand("web");
    clock.advance(Duration::from_secs(100));
    assert_eq!(status(&machine, "web").await, "exited");
    machine.start_by_hand("web").unwrap();
    assert_eq!(status(&machine, "web").await, "running");
    machine.remove_by_hand("web");
    assert_eq!(status(&machine, "web").await, "gone");
}

#[tokio::test]
async fn a_job_ends_well_and_is_pruned() {
    let (machine, clock) = machine();
    let mut wanted = wanted(&machine, "migrate").await;
    wanted.restart = Restart::OnFailure;
    let id = Containers::create(&machine, &wanted).await.unwrap();
    machine.start(&id).await.unwrap();
    clock.advance(Duration::from_secs(1));
    let state = Containers::inspect(&machine, "migrate").await.unwrap().unwrap().state;
    assert_eq!((state.status.as_str(), state.exit_code, state.restarts), ("exited", 0, 0));
    run(&machine, "web").await;
    machine.prune_containers();
    assert_eq!(status(&machine, "migrate").await, "gone");
    assert_eq!(status(&machine, "web").await, "running");
}

#[tokio::test]
async fn health_follows_what_it_does() {
    let (machine, clock) = machine();
    let mut wanted = wanted(&machine, "web").await;
    wanted.health = Some(check(2));
    let id = Containers::create(&machine, &wanted).await.unwrap();
    machine.start(&id).await.unwrap();
    let health = async || Containers::inspect(&machine, "web").await.unwrap().unwrap().state.health;
    assert_eq!(health().await, Some(Health::Starting));
    clock.advance(Duration::from_secs(2));
    assert_eq!(health().await, Some(Health::Healthy));
    machine.behave("app:1", Behaviour::Unhealthy);
    clock.advance(Duration::from_secs(2));
    assert_eq!(health().await, Some(Health::Healthy), "one failure is not enough");
    clock.advance(Duration::from_secs(2));
    assert_eq!(health().await, Some(Health::Unhealthy));
    machine.behave_as_usual("app:1");
    clock.advance(Duration::from_secs(2));
    assert_eq!(health().await, Some(Health::Healthy));
    machine.behave("web", Behaviour::HealthyAfter { after: Duration::from_secs(60) });
    machine.kill("web");
    clock.advance(Duration::from_secs(30));
    assert_eq!(health().await, Some(Health::Unhealthy));
    clock.advance(Duration::from_secs(40));
    assert_eq!(health().await, Some(Health::Healthy));
    assert_eq!(clock.advance_to_next(), None, "a steady machine waits for nothing");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let (machine, clock) = machine();
    machine.behave("web", Behaviour::CannotStart { why: "no such device".into() });
    let id = Containers::create(&machine, &wanted(&machine, "web").await).await.unwrap();
    assert!(matches!(machine.start(&id).await, Err(Fault::Failed(_))));
    let state = Containers::inspect(&machine, "web").await.unwrap().unwrap().state;
    assert_eq!((state.status.as_str(), state.running), ("created", false));
    assert!(state.error.contains("no such device"));
    machine.behave_as_usual("web");
    machine.start(&id).await.unwrap();
    machine.behave("web", Behaviour::Exits { after: Duration::ZERO, code: 4 });
    machine.kill("web");
    clock.advance(Duration::from_millis(100));
    assert_eq!(status(&machine, "web").await, "restarting", "it ends as soon as it has started");
}

/// Seen: after its first start a container looks for its network by id.
#[tokio::test]
async fn a_container_does_not_find_its_network_made_anew() {
    let (machine, _) = machine();
    let mut wanted = wanted(&machine, "web").await;
    wanted.network = Some(network(&machine, "net", "10.90.0.0/24").await);
    let id = Containers::create(&machine, &wanted).await.unwrap();
    machine.start(&id).await.unwrap();
    machine.remove_network("net");
    assert_eq!(Containers::inspect(&machine, "web").await.unwrap().unwrap().networks, []);
    let joined = network(&machine, "net", "10.90.0.0/24").await;
    machine.connect(&joined, "web").await.unwrap();
    machine.stop(&id, Duration::ZERO).await.unwrap();
    let seen = Networks::inspect(&machine, "net").await.unwrap().unwrap();
    Networks::remove(&machine, &seen.id).await.unwrap();
    network(&machine, "net", "10.90.0.0/24").await;
    assert!(matches!(machine.start(&id).await, Err(Fault::Missing(_))));
}

#[tokio::test]
async fn an_edited_container_differs_where_it_was_edited() {
    let (machine, _) = machine();
    run(&machine, "web").await;
    let before = Containers::inspect(&machine, "web").await.unwrap().unwrap();
    machine.edit("web", |facts| facts.foreign.push("privileged".into()));
    let mut after = Containers::inspect(&machine, "web").await.unwrap().unwrap();
    assert_eq!(std::mem::take(&mut after.foreign), ["privileged"]);
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_published_version_is_another_image_and_the_old_one_stays_while_used() {
    let (machine, _) = machine();
    run(&machine, "web").await;
    let old = Images::inspect(&machine, "app:1").await.unwrap().unwrap();
    machine.publish("app:1").unwrap();
    Images::pull(&machine, "app:1", &|_| ()).await.unwrap();
    let new = Images::inspect(&machine, "app:1").await.unwrap().unwrap();
    assert_ne!((&old.id, &old.digest), (&new.id, &new.digest));
    assert!(Images::inspect(&machine, &old.id).await.unwrap().is_some());
    machine.prune_images();
    assert!(Images::inspect(&machine, &old.id).await.unwrap().is_some());
    assert_eq!(Images::inspect(&machine, &new.id).await, Ok(None));
}

#[tokio::test]
async fn a_browser_reaches_a_running_container_through_the_proxy() {
    let (machine, _) = machine();
    assert_eq!((machine.ask("a.local").status, machine.ask("a.local").body), (200, String::new()));
    let mut wanted = wanted(&machine, "photos-web").await;
    wanted.network = Some(network(&machine, "net", "10.90.0.0/24").await);
    let id = Containers::create(&machine, &wanted).await.unwrap();
    machine.start(&id).await.unwrap();
    let ip = Containers::inspect(&machine, "photos-web").await.unwrap().unwrap().networks.remove(0).ip;
    assert_eq!(ip, "10.90.0.2");
    for address in ["photos-web:80", "web:8080", &format!("{ip}:80")] {
        let answer = Answer::Forward { address: address.into() };
        let route = ProxyRoute { id: "a".into(), hosts: vec!["a.local".into()], answer };
        machine.reset(&[route]).await.unwrap();
        assert_eq!(machine.ask("a.local").container.as_deref(), Some("photos-web"), "{address}");
    }
    machine.behave("photos-web", Behaviour::Mute);
    assert_eq!(machine.ask("a.local").status, 502);
    machine.behave_as_usual("photos-web");
    machine.stop_by_hand("photos-web");
    assert_eq!(machine.ask("a.local").status, 502);
    assert_eq!(machine.ask("b.local").status, 404);
}

/// CP-50: the proxy reaches an app only while it is on the app's network.
#[tokio::test]
async fn a_proxy_in_a_container_reaches_what_shares_a_network_with_it() {
    let (machine, _) = machine();
    let (control, app) =
        (network(&machine, "control", "10.90.0.0/24").await, network(&machine, "app", "10.90.1.0/24").await);
    for (name, network) in [("caddy", &control), ("photos-web", &app)] {
        let mut wanted = wanted(&machine, name).await;
        wanted.network = Some(network.clone());
        let id = Containers::create(&machine, &wanted).await.unwrap();
        machine.start(&id).await.unwrap();
    }
    machine.proxy_runs_in("caddy");
    let answer = Answer::Forward { address: "photos-web:80".into() };
    let route = ProxyRoute { id: "a".into(), hosts: vec!["a.local".into()], answer };
    machine.reset(std::slice::from_ref(&route)).await.unwrap();
    assert_eq!(machine.ask("a.local").status, 502);
    machine.connect(&app, "caddy").await.unwrap();
    assert_eq!(machine.ask("a.local").container.as_deref(), Some("photos-web"));
    machine.stop_by_hand("caddy");
    assert_eq!(machine.ask("a.local").status, 0);
    assert!(matches!(machine.read().await, Err(Fault::Blind(_))));
    assert!(matches!(machine.reset(&[]).await, Err(Fault::Blind(_))));
    machine.start_by_hand("caddy").unwrap();
    assert!(machine.read().await.unwrap().base_problem.is_some(), "it starts without a configuration");
    machine.reset(&[route]).await.unwrap();
    assert_eq!(machine.ask("a.local").status, 200);
}
