//! What is done to containers and networks by hand is put right, and told.

use std::collections::BTreeMap;

use hearth::cli::exit::Exit;
use hearth_capabilities::containers::{ContainerFacts, JoinedNetwork, RunState};
use hearth_capabilities::networks::{NetworkFacts, NewNetwork};
use hearth_engine::Query;
use hearth_meta::labels;

use crate::home::{Alteration, Home, app, on_pretend, on_real, page, trio};

#[test]
fn pretend_a_container_that_is_killed_stopped_or_removed_by_hand_is_back_and_told() {
    on_pretend(stopped_by_hand);
}

#[test]
fn real_a_container_that_is_killed_stopped_or_removed_by_hand_is_back_and_told() {
    on_real(stopped_by_hand);
}

async fn stopped_by_hand(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let web = home.engine_name("trio-web");
    let drifted = async |part: &str| home.count("Container", "trio-web", "Drifted", part).await;
    let started = async || home.count("Container", "trio-web", "Started", "").await;
    let id = home.id("trio-web").await;

    for stop_it in [true, false] {
        let (before, starts) = (drifted("spec.power").await, started().await);
        // Meanwhile people are told which part it hangs on.
        tokio::join!(home.until_why("app/trio", "trio-web"), async {
            if stop_it { home.world.stop(&web).await } else { home.world.kill(&web).await }
        });
        home.until_told("Container", "trio-web", "Drifted", "spec.power", before).await;
        home.until_told("Container", "trio-web", "Started", "", starts).await;
        home.until_ready("trio").await;
        home.until_served("trio").await;
        assert_eq!(home.id("trio-web").await, id, "it is started, not made anew");
    }

    let before = drifted("it was gone").await;
    let made = home.count("Container", "trio-web", "Created", "").await;
    tokio::join!(home.until_why("app/trio", "trio-web"), home.world.remove(&web));
    home.until_told("Container", "trio-web", "Drifted", "it was gone", before).await;
    home.until_told("Container", "trio-web", "Created", "", made).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert_ne!(home.id("trio-web").await, id);
}

#[test]
fn pretend_a_process_that_dies_is_started_by_the_engine_alone() {
    on_pretend(dies_by_itself);
}

#[test]
fn real_a_process_that_dies_is_started_by_the_engine_alone() {
    on_real(dies_by_itself);
}

async fn dies_by_itself(home: &Home) {
    home.install(&page(home, "page").await).await;
    let before = home.container("page-web").await.unwrap();
    let starts = home.count("Container", "page-web", "Started", "").await;
    home.world.crash(&home.engine_name("page-web")).await;
    home.until("the engine has started it again", async || {
        let state = home.container("page-web").await?.state;
        (state.running && state.restarts == before.state.restarts + 1).then_some(())
    })
    .await;
    home.until_ready("page").await;
    home.until_served("page").await;
    assert_eq!(home.id("page-web").await, before.id);
    assert_eq!(
        home.count("Container", "page-web", "Started", "").await,
        starts,
        "two supervisors would fight"
    );
}

#[test]
fn pretend_networks_that_are_cut_by_hand_are_whole_again_and_told() {
    on_pretend(networks_cut);
}

#[test]
fn real_networks_that_are_cut_by_hand_are_whole_again_and_told() {
    on_real(networks_cut);
}

async fn networks_cut(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let (network, caddy) = (home.engine_name("trio"), home.engine_name("system/caddy"));
    let id = home.id("trio-web").await;
    let proxy = home.container("system/caddy").await.unwrap();
    told_meanwhile(home).await;

    home.world.disconnect(&network, &home.engine_name("trio-web")).await;
    let before = home.count("Container", "trio-web", "Attached", "network trio").await;
    home.until_told("Container", "trio-web", "Drifted", "spec.networks[trio]", 0).await;
    home.until_told("Container", "trio-web", "Attached", "network trio", before).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;

    let attached = home.count("Network", "trio", "Attached", &caddy).await;
    home.world.disconnect(&network, &caddy).await;
    home.until_told("Network", "trio", "Drifted", "spec.guests", 0).await;
    home.until_told("Network", "trio", "Attached", &caddy, attached).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;

    let before = home.hands.networks.inspect(&network).await.unwrap().unwrap();
    let made = home.count("Network", "trio", "Created", "").await;
    // Docker removes only what nobody is on: who takes everybody off it while each is put back at once is one of two
    // that fight, and is told so.
    home.ask(&["pause", "app/trio", "--for", "10m"]).await;
    home.world.remove_network(&network).await;
    home.ask(&["resume", "app/trio"]).await;
    home.until_told("Network", "trio", "Created", "", made).await;
    home.until("everybody is on the new network", async || {
        let now = home.hands.networks.inspect(&network).await.unwrap()?;
        (now.id != before.id && now.attached == before.attached).then_some(())
    })
    .await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert!(home.count("Network", "trio", "Drifted", "it was gone").await > 0);
    let after = home.hands.networks.inspect(&network).await.unwrap().unwrap();
    let declared = |mut network: NetworkFacts| {
        network.labels.remove(labels::MADE_AT);
        (network.subnet, network.labels)
    };
    assert_eq!(declared(after), declared(before));
    assert_eq!(home.id("trio-web").await, id, "a network is mended without making its containers anew");
    let still = home.container("system/caddy").await.unwrap();
    assert_eq!((still.id, still.state.started_at), (proxy.id, proxy.state.started_at));
}

/// Paused, so that there is time to ask, people are told what is wrong for as long as it is.
async fn told_meanwhile(home: &Home) {
    let (network, web) = (home.engine_name("trio"), home.engine_name("trio-web"));
    let pause = async |object: &str| drop(home.ask(&["pause", object, "--for", "10m"]).await);
    let resume = async |object: &str| {
        home.ask(&["resume", object]).await;
        home.until_ready("trio").await;
        home.until_served("trio").await;
    };
    pause("container/trio-web").await;
    home.world.disconnect(&network, &web).await;
    home.until_why("container/trio-web", "spec.networks[trio]").await;
    home.until_why("app/trio", "because of container/trio-web").await;
    resume("container/trio-web").await;

    pause("network/trio").await;
    home.world.disconnect(&network, &home.engine_name("system/caddy")).await;
    home.until_why("network/trio", "spec.guests").await;
    home.until_why("app/trio", "because of network/trio").await;
    resume("network/trio").await;

    pause("app/trio").await;
    home.world.remove_network(&network).await;
    home.until_why("network/trio", "it is not there").await;
    resume("app/trio").await;
}

#[test]
fn pretend_a_network_that_somebody_joins_to_a_container_is_found_at_once_and_left_again() {
    on_pretend(joined_by_hand);
}

#[test]
fn real_a_network_that_somebody_joins_to_a_container_is_found_at_once_and_left_again() {
    on_real(joined_by_hand);
}

async fn joined_by_hand(home: &Home) {
    home.install(&page(home, "page").await).await;
    home.until_served("page").await;
    let id = home.id("page-web").await;
    // Far from those that are given out.
    let foreign = foreign_network(home, 200).await;
    let joined = JoinedNetwork { name: foreign.clone(), aliases: Vec::new() };
    home.hands.networks.connect(&joined, &id).await.unwrap();
    home.until_told("Container", "page-web", "Drifted", "networks", 0).await;
    home.until("it has left", async || {
        let networks = home.container("page-web").await?.networks;
        (networks.len() == 1).then_some(())
    })
    .await;
    home.until_ready("page").await;
    home.until_served("page").await;
    assert_eq!(home.id("page-web").await, id);
    let still = home.hands.networks.inspect(&foreign).await.unwrap().unwrap();
    home.hands.networks.remove(&still.id).await.unwrap();
}

#[test]
fn pretend_a_network_in_the_way_of_an_apps_addresses_is_told_by_its_name() {
    on_pretend(addresses_taken);
}

#[test]
fn real_a_network_in_the_way_of_an_apps_addresses_is_told_by_its_name() {
    on_real(addresses_taken);
}

async fn addresses_taken(home: &Home) {
    // The first that the next app is given.
    let next = home.store().list(&Query::of("Network")).items.len();
    let foreign = foreign_network(home, next).await;
    home.apply(&page(home, "page").await).await;
    home.until_why("app/page", &format!("overlaps network {foreign}")).await;
    let in_the_way = home.hands.networks.inspect(&foreign).await.unwrap().unwrap();
    home.hands.networks.remove(&in_the_way.id).await.unwrap();
    home.until_ready("page").await;
    home.until_served("page").await;
}

/// Makes a network that is nobody's, of one of the subnets of this home's pool.
async fn foreign_network(home: &Home, number: usize) -> String {
    let pool = home.config.network_pool.to_string();
    let name = format!("{}-by-hand", home.config.name_prefix);
    let subnet = pool.replace(".0.0/16", &format!(".{number}.0/24"));
    let new = NewNetwork { name: name.clone(), subnet, internal: false, labels: BTreeMap::default() };
    home.hands.networks.create(&new).await.unwrap();
    name
}

#[test]
fn pretend_a_container_that_was_replaced_by_a_look_alike_is_told_from_it_and_replaced() {
    on_pretend(impostors);
}

#[test]
fn real_a_container_that_was_replaced_by_a_look_alike_is_told_from_it_and_replaced() {
    on_real(impostors);
}

async fn impostors(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let other_image = home.world.image("web:2").await;
    let before = home.container("trio-web").await.unwrap();
    let alterations = [
        (Alteration::Env, "spec.env[BY_HAND]"),
        (Alteration::Image(other_image), "spec.image"),
        (Alteration::Mount, "spec.mounts"),
        (Alteration::Capability, "spec.capabilities"),
    ];
    for (alteration, field) in alterations {
        // Paused, so that it is the look-alike that is found, and not a gap between the two.
        home.ask(&["pause", "container/trio-web", "--for", "10m"]).await;
        home.world.replace(&home.engine_name("trio-web"), &alteration).await;
        home.until(&format!("diff names {field}"), async || {
            let said = home.hearth(&["diff", "container/trio-web"]).await;
            (said.exit == Exit::Differs && said.out.contains(field)).then_some(())
        })
        .await;
        home.until_why("app/trio", "container/trio-web").await;
        home.ask(&["resume", "container/trio-web"]).await;
        home.until_told("Container", "trio-web", "Drifted", field, 0).await;
        home.until(&format!("{field} is as declared"), async || {
            let now = home.container("trio-web").await?;
            (now.state.running && shape(now) == shape(before.clone())).then_some(())
        })
        .await;
        home.until_ready("trio").await;
        home.until_served("trio").await;
    }
}

/// Everything of a container that was declared.
fn shape(mut facts: ContainerFacts) -> ContainerFacts {
    facts.id = String::new();
    facts.state = RunState::default();
    facts.labels.remove(labels::MADE_AT);
    for place in &mut facts.networks {
        (place.ip, place.network_id) = Default::default();
    }
    facts
}
