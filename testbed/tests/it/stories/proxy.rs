//! The proxy: whatever is done to it by hand, every app answers at its address in the end, and nobody else.

use crate::home::{Home, on_pretend, on_real, page};

#[test]
fn pretend_a_proxy_that_was_emptied_or_edited_by_hand_is_put_right_and_told() {
    on_pretend(edited_by_hand);
}

#[test]
fn real_a_proxy_that_was_emptied_or_edited_by_hand_is_put_right_and_told() {
    on_real(edited_by_hand);
}

async fn edited_by_hand(home: &Home) {
    home.install(&page(home, "page").await).await;
    home.until_served("page").await;
    home.settle().await;
    let proxy = home.container("system/caddy").await.unwrap();

    home.world.edit_route("page.local").await;
    assert_eq!(home.page("page").await.status, 418);
    put_right(home, "RoutesWritten").await;

    home.world.catch_all_first().await;
    assert_eq!(home.page("page").await.status, 404);
    put_right(home, "RoutesWritten").await;
    assert!(home.count("Route", "page", "RoutesWritten", "the catch-all was not last").await > 0);

    home.world.empty_proxy().await;
    assert!(!home.page("page").await.is_the_apps());
    put_right(home, "ProxyReset").await;

    assert!(home.count("Route", "page", "Drifted", "").await >= 2);
    let still = home.container("system/caddy").await.unwrap();
    assert_eq!((still.id, still.state.started_at), (proxy.id, proxy.state.started_at));
}

async fn put_right(home: &Home, reason: &str) {
    let before = home.count("Route", "page", reason, "").await;
    home.look_again().await;
    home.until_told("Route", "page", reason, "", before).await;
    home.until_ready("page").await;
    home.until_served("page").await;
    assert_eq!(home.page("nobody").await.status, 404);
}

#[test]
fn pretend_a_proxy_that_was_removed_is_back_with_every_route() {
    on_pretend(removed);
}

#[test]
fn real_a_proxy_that_was_removed_is_back_with_every_route() {
    on_real(removed);
}

async fn removed(home: &Home) {
    home.install(&page(home, "page").await).await;
    home.until_served("page").await;
    let (id, app) = (home.id("system/caddy").await, home.id("page-web").await);
    home.world.remove(&home.engine_name("system/caddy")).await;
    home.until_told("Container", "system/caddy", "Drifted", "it was gone", 0).await;
    home.until_verdict("Container", "system/caddy", "Ready").await;
    home.until_served("page").await;
    home.until_ready("page").await;
    assert_ne!(home.id("system/caddy").await, id);
    assert_eq!(home.id("page-web").await, app);
    assert_eq!(home.page("nobody").await.status, 404);
}
