//! The proxy: whatever is done to it by hand, every app answers at its address in the end, and nobody else.

use hearth::cli::exit::Exit;

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

    let told = async |reason: &str| home.count("Route", "page", reason, "").await;

    // Paused, so that there is time to ask.
    let before = told("RoutesWritten").await;
    home.ask(&["pause", "route/page", "--for", "10m"]).await;
    home.world.edit_route("page.local").await;
    answers(home, 418).await;
    home.look_again().await;
    let said = home.hearth(&["diff", "route/page"]).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    home.until_why("app/page", "route/page").await;
    assert_eq!(home.page("page").await.status, 418, "what is paused is left alone");
    home.ask(&["resume", "route/page"]).await;
    put_right(home, "RoutesWritten", before).await;

    let before = told("RoutesWritten").await;
    home.ask(&["pause", "route/page", "--for", "10m"]).await;
    home.world.catch_all_first().await;
    answers(home, 404).await;
    home.look_again().await;
    home.until_why("route/page", "after the catch-all").await;
    home.until_why("app/page", "because of route/page").await;
    home.ask(&["resume", "route/page"]).await;
    put_right(home, "RoutesWritten", before).await;
    assert!(home.count("Route", "page", "RoutesWritten", "the catch-all was not last").await > 0);

    let before = told("ProxyReset").await;
    home.ask(&["pause", "route/page", "--for", "10m"]).await;
    home.world.empty_proxy().await;
    assert!(!home.page("page").await.is_the_apps());
    home.look_again().await;
    home.until_why("route/page", "it is not there").await;
    home.until_why("app/page", "because of route/page").await;
    home.ask(&["resume", "route/page"]).await;
    put_right(home, "ProxyReset", before).await;

    assert!(home.count("Route", "page", "Drifted", "").await >= 2);
    let still = home.container("system/caddy").await.unwrap();
    assert_eq!((still.id, still.state.started_at), (proxy.id, proxy.state.started_at));
}

async fn put_right(home: &Home, reason: &str, before: i64) {
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
    // Paused, so that there is time to ask.
    home.ask(&["pause", "container/caddy", "-n", "system", "--for", "10m"]).await;
    home.world.remove(&home.engine_name("system/caddy")).await;
    home.look_again().await;
    home.until_why("app/page", "route/page").await;
    home.until_why("route/page", "proxy").await;
    home.ask(&["resume", "container/caddy", "-n", "system"]).await;
    home.until_told("Container", "system/caddy", "Drifted", "it was gone", 0).await;
    home.until_verdict("Container", "system/caddy", "Ready").await;
    home.until_served("page").await;
    home.until_ready("page").await;
    assert_ne!(home.id("system/caddy").await, id);
    assert_eq!(home.id("page-web").await, app);
    assert_eq!(home.page("nobody").await.status, 404);
}

/// The page answers so. A proxy that reloads drops a connection now and then, so it is asked again.
async fn answers(home: &Home, status: u16) {
    home.until("the page answers as it was changed by hand", async || {
        (home.page("page").await.status == status).then_some(())
    })
    .await;
}
