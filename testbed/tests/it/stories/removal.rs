//! An app that is deleted: everything Hearth made for it goes, and its data by policy alone.

use hearth_capabilities::volumes::LeafState;
use hearth_engine::Query;
use hearth_engine::store::ChangeKind;

use crate::home::{Home, app, on_pretend, on_real, trio};

#[test]
fn pretend_a_deleted_app_keeps_its_data_unless_its_policy_says_otherwise() {
    on_pretend(deleted);
}

#[test]
fn real_a_deleted_app_keeps_its_data_unless_its_policy_says_otherwise() {
    on_real(deleted);
}

async fn deleted(home: &Home) {
    for policy in ["Retain", "Delete"] {
        let mut trio = app("trio", &trio(home).await);
        trio["spec"]["dataPolicy"] = policy.into();
        home.install(&trio).await;
        home.until_served("trio").await;
        let leaves = [home.leaf("trio", "rows"), home.leaf("trio", "migrations")];
        let folder = home.data("trio", "rows");

        home.ask(&["delete", "app/trio", "--yes", "--timeout", "140s"]).await;
        for kind in ["App", "Container", "Network", "Volume", "Route", "Revision"] {
            let query = Query { namespace: Some("household".into()), ..Query::of(kind) };
            home.until(&format!("no {kind} is left"), async || {
                home.store().list(&query).items.is_empty().then_some(())
            })
            .await;
        }
        home.settle().await;
        for name in ["trio-web", "trio-db", "trio-migrate"] {
            assert!(home.container(name).await.is_none(), "{name}");
        }
        assert_eq!(home.hands.networks.inspect(&home.engine_name("trio")).await.unwrap(), None);
        assert_eq!(home.page("trio").await.status, 404);
        for leaf in &leaves {
            let is_there = home.leaf_state(leaf).await != LeafState::Absent;
            assert_eq!(is_there, policy == "Retain", "{policy}: {leaf:?}");
        }
        if home.world.real().is_some() {
            assert_eq!(folder.join("born").exists(), policy == "Retain");
            let instance = folder.parent().and_then(|data| data.parent()).unwrap();
            assert_eq!(instance.exists(), policy == "Retain", "{}", instance.display());
        }
    }
}

#[test]
fn pretend_an_app_deleted_in_the_foreground_goes_after_all_it_is_made_of() {
    on_pretend(foreground);
}

#[test]
fn real_an_app_deleted_in_the_foreground_goes_after_all_it_is_made_of() {
    on_real(foreground);
}

async fn foreground(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    home.until_served("trio").await;
    let mut watch = home.store().watch(Query::of(Query::EVERY_KIND), None).unwrap();
    home.ask(&["delete", "app/trio", "--cascade", "foreground", "--timeout", "140s"]).await;
    assert!(home.find("App", "trio").is_none());
    let mut gone = Vec::new();
    while let Some(Some((kind, object))) = futures::FutureExt::now_or_never(watch.next()) {
        if kind == ChangeKind::Deleted && object.kind != "Image" {
            gone.push(object.kind.clone());
        }
    }
    assert_eq!(gone.last().map(String::as_str), Some("App"), "{gone:?}");
    for kind in ["Container", "Network", "Volume", "Route", "Revision"] {
        assert!(gone.iter().any(|one| one == kind), "{kind}: {gone:?}");
    }
}

#[test]
fn pretend_what_an_app_is_made_of_stands_on_its_own_once_it_is_let_go_of() {
    on_pretend(let_go);
}

#[test]
fn real_what_an_app_is_made_of_stands_on_its_own_once_it_is_let_go_of() {
    on_real(let_go);
}

async fn let_go(home: &Home) {
    let mut trio = app("trio", &trio(home).await);
    // Also where the data would go with the app: it does not go with the app's parts.
    trio["spec"]["dataPolicy"] = "Delete".into();
    home.install(&trio).await;
    home.until_served("trio").await;
    let (web, db, leaf) = (home.id("trio-web").await, home.id("trio-db").await, home.leaf("trio", "rows"));
    let said = home.hearth(&["delete", "app/trio", "--cascade", "orphan"]).await;
    assert!(said.err.contains("stays and runs on"), "{said:?}");
    home.until_gone("App", "trio").await;
    home.settle().await;
    home.look_again().await;
    home.settle().await;
    assert_eq!((home.id("trio-web").await, home.id("trio-db").await), (web, db), "nothing was made anew");
    for (kind, name) in [("Container", "trio-web"), ("Route", "trio"), ("Network", "trio")] {
        assert_eq!(home.get(kind, name)["metadata"].get("ownerReferences"), None, "{kind}");
        assert_eq!(home.verdict(kind, name), "Ready", "{kind}");
    }
    home.until_served("trio").await;
    assert!(home.leaf_state(&leaf).await != LeafState::Absent);
    // Each is kept true as before, and goes when somebody deletes it.
    home.restart().await;
    home.until_served("trio").await;
    home.ask(&["delete", "container/trio-web"]).await;
    home.until_gone("Container", "trio-web").await;
    assert!(home.container("trio-web").await.is_none());
    assert!(home.container("trio-db").await.is_some());
}
