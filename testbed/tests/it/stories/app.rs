//! An app of three services: it comes up in order, answers at its address, and its one-shot runs once.

use serde_json::json;

use crate::home::{Home, app, on_pretend, on_real, trio};

#[test]
fn pretend_an_app_of_three_services_comes_up_in_order_and_its_one_shot_runs_once() {
    on_pretend(comes_up_in_order);
}

#[test]
fn real_an_app_of_three_services_comes_up_in_order_and_its_one_shot_runs_once() {
    on_real(comes_up_in_order);
}

async fn comes_up_in_order(home: &Home) {
    let mut services = trio(home).await;
    home.apply(&app("trio", &services)).await;
    // Until it is ready people are told what it waits for, and its address shows a page of Hearth's.
    home.until_why("app/trio", "trio-").await;
    assert!(!home.page("trio").await.is_the_apps());
    home.until_ready("trio").await;
    home.until_served("trio").await;
    let status = &home.get("App", "trio")["status"];
    assert_eq!(status["url"], "http://trio.local");
    let services_told = status["services"].as_array().unwrap();
    assert!(services_told.len() == 3 && services_told.iter().all(|service| service["summary"] == "Ready"));
    assert_eq!(home.page("nobody").await.status, 404);

    let started = |name: &str| {
        let name = format!("trio-{name}");
        async move { home.container(&name).await.unwrap().state.started_at.unwrap() }
    };
    let (web, db, migrate) = (started("web").await, started("db").await, started("migrate").await);
    assert!(db < migrate && migrate < web, "db {db}, migrate {migrate}, web {web}");

    let runs = async || {
        let folder = home.data("trio", "migrations");
        home.world.runs(&home.engine_name("trio-migrate"), &folder).await
    };
    assert_eq!(runs().await, 1);
    for _ in 0..100 {
        home.look_again().await;
    }
    assert_eq!(runs().await, 1, "after a hundred looks");

    home.world.prune().await;
    home.until("the one-shot's container is pruned", async || {
        home.container("trio-migrate").await.is_none().then_some(())
    })
    .await;
    home.look_again().await;
    home.until_ready("trio").await;
    assert_eq!(runs().await, 1, "after its container was pruned");
    assert_eq!(home.container("trio-migrate").await.map(|container| container.id), None);

    let before = home.id("trio-db").await;
    services["db"]["environment"] = json!({ "LEVEL": "2" });
    home.apply(&app("trio", &services)).await;
    home.until("the new environment is in force", async || {
        let level = home.container("trio-db").await?.env.get("LEVEL").cloned();
        (level.as_deref() == Some("2")).then_some(())
    })
    .await;
    home.until_ready("trio").await;
    assert_ne!(home.id("trio-db").await, before);
    assert_eq!(runs().await, 1, "after another service's environment changed");
    home.until_served("trio").await;
}
