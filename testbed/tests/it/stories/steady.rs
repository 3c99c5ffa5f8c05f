//! A home where nothing is to do does nothing.

use hearth_engine::Query;

use crate::home::{Home, app, on_pretend, on_real, page, trio};

#[test]
fn pretend_a_steady_home_writes_nothing_anywhere_over_three_full_looks() {
    on_pretend(steady);
}

#[test]
fn real_a_steady_home_writes_nothing_anywhere_over_three_full_looks() {
    on_real(steady);
}

async fn steady(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    home.install(&page(home, "page").await).await;
    home.ask(&["stop", "app/page"]).await;
    home.until_ready("page").await;
    home.until_served("trio").await;
    home.settle().await;

    home.world.mark().await;
    let (version, reloads) = (home.store().resource_version(), home.world.reloads().await);
    let events = async || home.store().events(&Default::default()).await.unwrap();
    let before = events().await;
    for _ in 0..3 {
        home.look_again().await;
        home.settle().await;
    }
    let looked = home.hearth(&["reconcile", "--all"]).await;
    assert!(looked.err.starts_with("everything was looked at: "), "{looked:?}");
    assert!(looked.err.contains(" looks and 0 steps in "), "{looked:?}");
    let turns = turns(home);
    // Everything is looked at once in ten minutes at the latest, and cheaply every minute.
    home.pass(33).await;
    assert!(self::turns(home) >= turns + 3 * home.store().list(&Query::of("Container")).items.len() as u64);
    assert_eq!(home.world.changes().await, Vec::<String>::new(), "changes to the machine");
    assert_eq!(home.store().resource_version(), version, "writes to the store");
    assert_eq!(home.world.reloads().await, reloads, "reloads of the proxy");
    assert_eq!(events().await, before, "events");
}

fn turns(home: &Home) -> u64 {
    home.engine()
        .diagnostics()
        .iter()
        .filter(|each| each.controller == "container")
        .map(|each| each.turns)
        .sum()
}
