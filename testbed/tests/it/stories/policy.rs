//! What is changed by hand is put back, or reported and left, as its policy says; a pause leaves it too, and all are
//! told.

use hearth_capabilities::volumes::{Leaf, LeafState};
use serde_json::{Value, json};

use crate::home::{Alteration, Home, on_pretend, on_real, page};

#[test]
fn pretend_a_change_by_hand_is_put_back_or_only_reported_as_the_policy_says() {
    on_pretend(by_policy);
}

#[test]
fn real_a_change_by_hand_is_put_back_or_only_reported_as_the_policy_says() {
    on_real(by_policy);
}

async fn by_policy(home: &Home) {
    let mut declared = page(home, "page").await;
    declared["spec"]["driftPolicy"] = "Report".into();
    home.install(&declared).await;
    home.until_served("page").await;
    let shelf = |policy: &str| {
        json!({
            "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
            "spec": { "instance": "shelf", "path": "photos", "mode": "0750", "driftPolicy": policy },
        })
    };
    home.apply(&shelf("Report")).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    let leaf = Leaf { instance: "shelf".into(), path: "photos".into() };

    home.world.replace(&home.engine_name("page-web"), &Alteration::Env).await;
    home.world.chmod(&leaf, 0o777).await;
    home.look_again().await;
    for (kind, name, field) in
        [("Container", "page-web", "spec.env[BY_HAND]"), ("Volume", "shelf", "spec.mode")]
    {
        home.until_verdict(kind, name, "NeedsYou").await;
        let status = home.get(kind, name)["status"].clone();
        assert_eq!(status["reason"], "Drifted", "{kind} {name}");
        let told = &status["differences"][0];
        assert_eq!((&told["field"], &told["state"]), (&Value::from(field), &Value::from("Drifted")));
        assert!(told["since"].is_string());
        let said = home.why(&format!("{}/{name}", kind.to_lowercase())).await;
        assert!(said.contains(field), "{said}");
    }
    let id = home.id("page-web").await;
    home.world.mark().await;
    home.look_again().await;
    // One whole round of looks.
    home.pass(11).await;
    assert_eq!(home.world.changes().await, Vec::<String>::new(), "what is only reported is left");
    assert_eq!(home.id("page-web").await, id);
    assert_eq!(mode(home, &leaf).await, 0o777);

    // Paused, even what should be put back is left.
    for object in ["container/page-web", "volume/shelf"] {
        home.ask(&["pause", object, "--for", "30m"]).await;
    }
    declared["spec"]["driftPolicy"] = "Enforce".into();
    home.apply(&declared).await;
    home.apply(&shelf("Enforce")).await;
    home.until_verdict("Container", "page-web", "Paused").await;
    home.look_again().await;
    assert_eq!(home.id("page-web").await, id);
    assert_eq!(mode(home, &leaf).await, 0o777);

    for object in ["container/page-web", "volume/shelf"] {
        home.ask(&["resume", object]).await;
    }
    home.until("the folder is as declared", async || (mode(home, &leaf).await == 0o750).then_some(())).await;
    home.until("the container is as declared", async || {
        let seen = home.container("page-web").await?;
        (seen.state.running && !seen.env.contains_key("BY_HAND")).then_some(())
    })
    .await;
    home.until_ready("page").await;
    home.until_served("page").await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    assert_eq!(home.get("Container", "page-web")["status"]["differences"], Value::Null);
}

async fn mode(home: &Home, leaf: &Leaf) -> u32 {
    match home.leaf_state(leaf).await {
        LeafState::Present(facts) => facts.mode,
        other => panic!("{other:?}"),
    }
}
