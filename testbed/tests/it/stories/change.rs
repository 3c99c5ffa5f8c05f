//! Changes people make: only what has to change does, and nothing of theirs is lost.

use hearth::cli::exit::Exit;
use hearth_capabilities::volumes::LeafState;
use serde_json::json;

use crate::home::{Home, app, on_pretend, on_real, page, trio};

#[test]
fn pretend_a_changed_environment_makes_only_its_own_container_anew() {
    on_pretend(environment);
}

#[test]
fn real_a_changed_environment_makes_only_its_own_container_anew() {
    on_real(environment);
}

async fn environment(home: &Home) {
    let mut services = trio(home).await;
    home.install(&app("trio", &services)).await;
    let (web, db) = (home.id("trio-web").await, home.id("trio-db").await);
    let proxy = home.container("system/caddy").await.unwrap();
    services["web"]["environment"]["NAME"] = "renamed".into();
    let renamed = app("trio", &services);

    let path = home.file("renamed.json", &renamed.to_string());
    let said = home.hearth(&["diff", "-f", &path]).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    assert_eq!(home.id("trio-web").await, web, "a diff changes nothing");

    home.apply(&renamed).await;
    home.until("the new name is in force", async || {
        let container = home.container("trio-web").await?;
        (container.env.get("NAME")? == "renamed").then_some(())
    })
    .await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert_ne!(home.id("trio-web").await, web);
    assert_eq!(home.id("trio-db").await, db);
    let still = home.container("system/caddy").await.unwrap();
    assert_eq!((still.id, still.state.started_at), (proxy.id, proxy.state.started_at));
    assert_eq!(
        home.count("Container", "trio-web", "Drifted", "").await,
        0,
        "a newer wish is nobody's meddling"
    );
}

#[test]
fn pretend_a_service_that_is_no_longer_declared_goes_and_its_data_stays() {
    on_pretend(service_removed);
}

#[test]
fn real_a_service_that_is_no_longer_declared_goes_and_its_data_stays() {
    on_real(service_removed);
}

async fn service_removed(home: &Home) {
    let mut services = trio(home).await;
    home.install(&app("trio", &services)).await;
    let leaf = home.leaf("trio", "rows");
    let LeafState::Present(before) = home.leaf_state(&leaf).await else { panic!("the data is there") };
    let rows = || std::fs::read(home.data("trio", "rows").join("born")).ok();
    let born = rows();
    assert_eq!(born.is_some(), home.world.real().is_some());

    services["web"]["depends_on"] = json!({});
    services.as_object_mut().unwrap().retain(|name, _| name == "web");
    home.apply(&app("trio", &services)).await;
    home.until_gone("Container", "trio-db").await;
    home.until_gone("Container", "trio-migrate").await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert!(home.container("trio-db").await.is_none());
    assert_eq!(home.leaf_state(&leaf).await, LeafState::Present(before));
    assert_eq!(rows(), born);
    home.until_verdict("Volume", "trio-rows", "Ready").await;
}

#[test]
fn pretend_an_app_is_stopped_says_so_at_its_address_and_comes_back() {
    on_pretend(stopped_and_back);
}

#[test]
fn real_an_app_is_stopped_says_so_at_its_address_and_comes_back() {
    on_real(stopped_and_back);
}

async fn stopped_and_back(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    let (web, db) = (home.id("trio-web").await, home.id("trio-db").await);
    home.ask(&["stop", "app/trio"]).await;
    home.until("its page says that it is stopped", async || {
        let page = home.page("trio").await;
        (page.status == 503 && page.body.contains("is stopped")).then_some(())
    })
    .await;
    home.until_ready("trio").await;
    for name in ["trio-web", "trio-db"] {
        assert!(!home.container(name).await.unwrap().state.running, "{name}");
    }
    assert_eq!(home.get("App", "trio")["status"]["reason"], "StoppedAsWanted");
    home.look_again().await;
    assert!(!home.container("trio-web").await.unwrap().state.running, "it stays stopped");

    home.ask(&["start", "app/trio"]).await;
    home.until_served("trio").await;
    home.until_ready("trio").await;
    assert_eq!((home.id("trio-web").await, home.id("trio-db").await), (web, db));
    let folder = home.data("trio", "migrations");
    assert_eq!(home.world.runs(&home.engine_name("trio-migrate"), &folder).await, 1);
}

#[test]
fn pretend_an_address_that_another_app_holds_is_refused_by_the_holders_name() {
    on_pretend(address_taken);
}

async fn address_taken(home: &Home) {
    home.install(&page(home, "first").await).await;
    let mut second = page(home, "second").await;
    second["spec"]["slug"] = "first".into();
    let said = home.try_apply(&second).await;
    assert_eq!(said.exit, Exit::Rejected, "{}{}", said.out, said.err);
    let words = said.out + &said.err;
    assert!(words.contains("spec.slug") && words.contains("household/first"), "{words}");
    assert!(home.find("App", "second").is_none());
    home.until_served("first").await;
}
