//! An app that is deleted: everything Hearth made for it goes, and its data by policy alone.

use hearth_capabilities::volumes::LeafState;
use hearth_engine::Query;

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
