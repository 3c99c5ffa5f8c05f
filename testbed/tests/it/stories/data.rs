//! Folders of data: a wrong mode is put right, and nothing is ever started on data that is gone or led elsewhere.

use std::collections::BTreeMap;

use hearth_capabilities::containers::ImageDefaults;
use hearth_capabilities::volumes::{Leaf, LeafState};
use serde_json::{Value, json};

use crate::home::{Home, app, on_pretend, on_real};

#[test]
fn pretend_a_folder_with_a_declared_mode_gets_it_back() {
    on_pretend(mode_is_put_back);
}

#[test]
fn real_a_folder_with_a_declared_mode_gets_it_back() {
    on_real(mode_is_put_back);
}

async fn mode_is_put_back(home: &Home) {
    let volume = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "photos" },
    });
    home.apply(&volume).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    let leaf = Leaf { instance: "shelf".into(), path: "photos".into() };
    let mode = async || match home.leaf_state(&leaf).await {
        LeafState::Present(facts) => facts.mode,
        other => panic!("{other:?}"),
    };

    let mut with_mode = volume.clone();
    with_mode["spec"]["mode"] = "0750".into();
    home.apply(&with_mode).await;
    home.until("the declared mode is set", async || (mode().await == 0o750).then_some(())).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    home.settle().await;
    assert_eq!(home.count("Volume", "shelf", "Drifted", "").await, 0, "a newer wish is nobody's meddling");

    home.world.chmod(&leaf, 0o777).await;
    home.look_again().await;
    home.until_told("Volume", "shelf", "Drifted", "spec.mode: seen 0777, wanted 0750", 0).await;
    home.until("the mode is back", async || (mode().await == 0o750).then_some(())).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
}

#[test]
fn pretend_nothing_is_started_on_a_folder_whose_data_is_gone() {
    on_pretend(data_is_gone);
}

#[test]
fn real_nothing_is_started_on_a_folder_whose_data_is_gone() {
    on_real(data_is_gone);
}

async fn data_is_gone(home: &Home) {
    home.install(&vault(home).await).await;
    let leaf = home.leaf("vault", "rows");
    home.world.remove_leaf(&leaf).await;
    home.look_again().await;
    home.until_verdict("Volume", "vault-rows", "NeedsYou").await;
    assert_eq!(home.get("Volume", "vault-rows")["status"]["reason"], "MarkerMissing");
    home.until_verdict("App", "vault", "NeedsYou").await;
    home.until_why("app/vault", "volume/vault-rows: The data is gone").await;

    nothing_starts(home).await;
    assert_eq!(home.leaf_state(&leaf).await, LeafState::Absent, "no empty folder takes its place");
    home.until_verdict("App", "vault", "NeedsYou").await;
}

#[test]
fn pretend_a_link_in_the_place_of_data_is_refused() {
    on_pretend(data_is_a_link);
}

#[test]
fn real_a_link_in_the_place_of_data_is_refused() {
    on_real(data_is_a_link);
}

async fn data_is_a_link(home: &Home) {
    home.install(&vault(home).await).await;
    let leaf = home.leaf("vault", "rows");
    home.world.link_leaf(&leaf).await;
    home.look_again().await;
    home.until_verdict("Volume", "vault-rows", "NeedsYou").await;
    assert_eq!(home.get("Volume", "vault-rows")["status"]["reason"], "UnsafePath");
    home.until_why("app/vault", "volume/vault-rows").await;

    nothing_starts(home).await;
    assert!(matches!(home.leaf_state(&leaf).await, LeafState::Unsafe(_)));
    home.until_verdict("App", "vault", "NeedsYou").await;
}

#[test]
fn pretend_people_are_told_of_data_that_an_image_keeps_and_nothing_is_mounted_for() {
    on_pretend(async |home| {
        let declares = ImageDefaults {
            volumes: vec!["/cache/tiles".into(), "/data".into(), "/lost".into()],
            ..ImageDefaults::default()
        };
        let image = "registry.home/sample/keeps:1";
        let machine = home.world.pretend().unwrap();
        machine.put_image(image, declares, BTreeMap::new()).unwrap();
        let services = json!({ "web": {
            "image": image, "expose": ["8080"], "volumes": ["./rows:/data"], "tmpfs": ["/cache"],
        } });
        home.install(&app("keeper", &services)).await;
        let warnings = home.get("App", "keeper")["status"]["warnings"].clone();
        let told: Vec<&str> =
            warnings.as_array().unwrap().iter().filter_map(|warning| warning.as_str()).collect();
        let of = |path: &str| told.iter().filter(|warning| warning.contains(path)).count();
        assert_eq!((of("/lost"), of("/data and"), of("/cache")), (1, 0, 0), "{told:?}");
        assert!(home.ask(&["describe", "app/keeper"]).await.contains("give it a volume"));
    });
}

/// Neither one that was stopped nor one that was removed comes back.
async fn nothing_starts(home: &Home) {
    let name = home.engine_name("vault-db");
    let starts = home.count("Container", "vault-db", "Started", "").await;
    home.world.kill(&name).await;
    for remove in [false, true] {
        if remove {
            home.world.remove(&name).await;
        }
        home.until("it is known not to run", async || {
            let status = home.get("Container", "vault-db")["status"].clone();
            (status["state"] != "running" && status["summary"] != "Ready").then_some(())
        })
        .await;
        home.look_again().await;
        home.settle().await;
        assert!(!home.container("vault-db").await.is_some_and(|container| container.state.running));
    }
    assert_eq!(home.count("Container", "vault-db", "Started", "").await, starts);
    assert_eq!(home.container("vault-db").await.map(|container| container.id), None);
}

/// An app that is nothing but data.
async fn vault(home: &Home) -> Value {
    let db = json!({
        "image": home.world.image("db:1").await, "volumes": ["./rows:/data"], "stop_grace_period": "1s",
        "healthcheck": { "test": ["CMD", "check", "db"], "interval": "1s", "timeout": "5s", "retries": 30 },
    });
    app("vault", &json!({ "db": db }))
}
