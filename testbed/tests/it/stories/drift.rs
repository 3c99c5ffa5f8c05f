//! What somebody changed by hand, where that is only reported: a person puts it back or keeps it. And what two change
//! against each other.

use hearth::cli::exit::Exit;
use hearth_capabilities::volumes::{Leaf, LeafState};
use serde_json::json;

use crate::home::{Alteration, Home, on_pretend, on_real, page};

#[test]
fn pretend_a_folder_changed_by_hand_is_reported_and_then_put_back_or_kept() {
    on_pretend(put_back_or_kept);
}

#[test]
fn real_a_folder_changed_by_hand_is_reported_and_then_put_back_or_kept() {
    on_real(put_back_or_kept);
}

async fn put_back_or_kept(home: &Home) {
    home.apply(&json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "films", "mode": "0750", "driftPolicy": "Report" },
    }))
    .await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    let leaf = Leaf { instance: "shelf".into(), path: "films".into() };
    let mode = async || match home.leaf_state(&leaf).await {
        LeafState::Present(facts) => facts.mode,
        other => panic!("{other:?}"),
    };
    let changed = async |bits: u32| {
        home.world.chmod(&leaf, bits).await;
        home.look_again().await;
        home.until_verdict("Volume", "shelf", "NeedsYou").await;
        let field = format!("spec.mode: seen {bits:04o}, wanted 0750");
        home.until_told("Volume", "shelf", "DriftReported", &field, 0).await;
        home.get("Volume", "shelf")["status"]["drift"]["id"].as_str().unwrap().to_owned()
    };

    let first = changed(0o777).await;
    let said = home.hearth(&["diff", "volume/shelf"]).await;
    assert_eq!(said.exit, Exit::Differs, "{said:?}");
    assert!(said.err.contains(&format!("hearth drift put-back volume/shelf --seen {first}")), "{said:?}");
    assert!(home.ask(&["drift", "list"]).await.contains("volume/shelf"));
    assert_eq!(home.hearth(&["drift", "keep", "volume/shelf"]).await.exit, Exit::Usage, "nobody was asked");
    home.pass(15).await;
    assert_eq!(mode().await, 0o777, "it is left as it is");

    let second = changed(0o700).await;
    for verb in ["put-back", "keep"] {
        let said = home.hearth(&["drift", verb, "volume/shelf", "--seen", &first]).await;
        assert_eq!(said.exit, Exit::Conflict, "{said:?}");
        assert!(said.err.contains("seen 0700, wanted 0750"), "what is seen now is shown: {said:?}");
    }
    home.ask(&["drift", "put-back", "volume/shelf", "--seen", &second]).await;
    home.until("the mode is back", async || (mode().await == 0o750).then_some(())).await;
    home.until_verdict("Volume", "shelf", "Ready").await;

    // The answer was given once, to that change; the same again is another one.
    let third = changed(0o700).await;
    home.pass(15).await;
    assert_eq!(mode().await, 0o700);
    home.ask(&["drift", "keep", "volume/shelf", "--dry-run"]).await;
    assert_eq!(home.get("Volume", "shelf")["spec"]["mode"], "0750");
    home.ask(&["drift", "keep", "volume/shelf", "--seen", &third]).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    assert_eq!((mode().await, &home.get("Volume", "shelf")["spec"]["mode"]), (0o700, &json!("0700")));
    let history = home.ask(&["history", "volume/shelf"]).await;
    for line in ["spec.mode  0750 → 0700", "metadata.annotations[hearth.dev/put-back-at]", "by admin (api)"]
    {
        assert!(history.contains(line), "{line} in {history}");
    }
    home.until_told("Volume", "shelf", "Kept", "admin kept", 0).await;

    // What is done during a pause can be kept too, where it would otherwise be put back afterwards.
    home.apply(&json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "films", "mode": "0700", "driftPolicy": "Enforce" },
    }))
    .await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    home.ask(&["pause", "volume/shelf", "--for", "1h"]).await;
    home.world.chmod(&leaf, 0o711).await;
    home.look_again().await;
    home.until("it is seen", async || {
        (home.get("Volume", "shelf")["status"]["drift"] != json!(null)).then_some(())
    })
    .await;
    home.ask(&["drift", "keep", "volume/shelf", "--yes"]).await;
    home.ask(&["resume", "volume/shelf"]).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    home.settle().await;
    assert_eq!((mode().await, &home.get("Volume", "shelf")["spec"]["mode"]), (0o711, &json!("0711")));
}

#[test]
fn pretend_what_an_app_makes_is_put_back_but_kept_only_through_the_app() {
    on_pretend(child_of_an_app);
}

#[test]
fn real_what_an_app_makes_is_put_back_but_kept_only_through_the_app() {
    on_real(child_of_an_app);
}

async fn child_of_an_app(home: &Home) {
    let mut app = page(home, "page").await;
    app["spec"]["driftPolicy"] = "Report".into();
    home.install(&app).await;
    home.world.replace(&home.engine_name("page-web"), &Alteration::Env).await;
    home.until_verdict("Container", "page-web", "NeedsYou").await;
    home.until_why("app/page", "container/page-web").await;
    let altered = home.id("page-web").await;
    let said = home.hearth(&["drift", "keep", "container/page-web", "--yes"]).await;
    assert_eq!(said.exit, Exit::Rejected, "{said:?}");
    assert!(said.err.contains("app/page makes it and would set it back"), "{said:?}");
    assert_eq!(home.id("page-web").await, altered);
    home.ask(&["drift", "put-back", "container/page-web", "--yes"]).await;
    home.until("it is made as declared", async || {
        let now = home.container("page-web").await?;
        (now.state.running && !now.env.contains_key("BY_HAND")).then_some(())
    })
    .await;
    home.until_ready("page").await;
    home.until_served("page").await;

    // Whether it is there and runs is put right at once, whatever the policy.
    for gone in [false, true] {
        let name = home.engine_name("page-web");
        if gone {
            home.world.remove(&name).await
        } else {
            home.world.stop(&name).await
        }
        home.until_served("page").await;
        home.until_ready("page").await;
    }
}

#[test]
fn pretend_two_who_change_a_container_against_each_other_are_named_and_slowed_down_until_one_gives_in() {
    on_pretend(fight);
}

async fn fight(home: &Home) {
    home.install(&page(home, "page").await).await;
    let name = home.engine_name("page-web");
    let mut held = 0;
    for _ in 0..10 {
        home.world.replace(&name, &Alteration::Env).await;
        home.until("it was looked at", async || {
            let repaired = !home.container("page-web").await?.env.contains_key("BY_HAND");
            let contested = home.get("Container", "page-web")["status"]["reason"] == "Contested";
            (repaired || contested).then_some(())
        })
        .await;
        if home.get("Container", "page-web")["status"]["reason"] == "Contested" {
            held += 1;
        }
        home.pass(6).await;
    }
    // From the eighth repair within the hour on it takes longer than the other one lets go by.
    assert!((1..=3).contains(&held), "held back {held} times of 10");
    home.world.replace(&name, &Alteration::Env).await;
    home.until_why("app/page", "Something else keeps changing spec.env[BY_HAND]").await;
    let status = home.get("Container", "page-web")["status"].clone();
    assert!(status["drift"]["count"].as_i64().unwrap() >= 6, "{status}");
    let rows = home.events("Container", "page-web").await;
    assert_eq!(
        rows.iter().filter(|row| row.note.reason == "Contested").count(),
        1,
        "one event for all of it"
    );

    // What does not run, or is gone, comes back at once all the same.
    home.world.stop(&name).await;
    home.until_served("page").await;
    home.until_ready("page").await;
    home.world.replace(&name, &Alteration::Env).await;
    home.until_verdict("Container", "page-web", "NeedsYou").await;
    home.world.remove(&name).await;
    home.until_served("page").await;
    home.until_ready("page").await;

    // An hour without a fight, and the next change is an ordinary one.
    home.pass(62).await;
    let drifted = home.count("Container", "page-web", "Drifted", "").await;
    home.world.replace(&name, &Alteration::Env).await;
    home.until_told("Container", "page-web", "Drifted", "", drifted).await;
    home.until_ready("page").await;
    assert_eq!(home.get("Container", "page-web")["status"]["drift"], json!(null));
}
