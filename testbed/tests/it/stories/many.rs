//! Forty apps at once.

use std::collections::BTreeSet;

use hearth_engine::Query;
use serde_json::json;

use crate::home::{Home, app, on_pretend, on_real};

const APPS: usize = 40;

#[test]
fn pretend_forty_apps_at_once_each_get_a_network_and_a_route_and_the_proxy_runs_on() {
    on_pretend(forty);
}

#[test]
fn real_forty_apps_at_once_each_get_a_network_and_a_route_and_the_proxy_runs_on() {
    on_real(forty);
}

async fn forty(home: &Home) {
    let image = home.world.image("web:1").await;
    let proxy = home.container("system/caddy").await.unwrap();
    let reloads = home.world.reloads().await;
    let names: Vec<String> = (1..=APPS).map(|number| format!("app-{number}")).collect();
    for name in &names {
        let web = json!({
            "image": image, "environment": { "NAME": name }, "expose": ["8080"], "stop_grace_period": "1s",
        });
        home.apply(&app(name, &json!({ "web": web }))).await;
    }
    for name in &names {
        home.until_verdict("App", name, "Ready").await;
    }
    home.settle().await;

    let networks = home.store().list(&Query::of("Network").within("household")).items;
    let subnets: BTreeSet<String> =
        networks.iter().map(|network| network.spec()["subnet"].to_string()).collect();
    assert_eq!(subnets.len(), APPS);
    for name in &names {
        home.until_served(name).await;
        if home.world.real().is_some() {
            let page = home.page(name).await;
            assert!(page.body.starts_with(&format!("Hello from {name}\n")), "{}", page.body);
        }
    }
    let still = home.container("system/caddy").await.unwrap();
    assert_eq!((still.id, still.state.started_at), (proxy.id, proxy.state.started_at));
    // Each route was made with a page of Hearth's, and changed to lead to its app.
    let changes = 2 * APPS;
    let reloads = home.world.reloads().await - reloads;
    assert!(reloads * 5 <= changes * 3, "{reloads} reloads for {changes} changes");
}
