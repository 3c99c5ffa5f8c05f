//! What dies again and again is told, and left to the engine; what is done stays done.

use serde_json::{Value, json};

use crate::home::{Home, app, on_pretend, on_real, page, trio};

/// Nothing else contains it.
const WORD: &str = "swordfish-51d0";

#[test]
fn pretend_a_service_that_dies_again_and_again_is_told_with_its_last_lines_until_it_is_mended() {
    on_pretend(dies_at_once);
}

#[test]
fn real_a_service_that_dies_again_and_again_is_told_with_its_last_lines_until_it_is_mended() {
    on_real(dies_at_once);
}

async fn dies_at_once(home: &Home) {
    home.apply(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "household" },
        "stringData": { "word": WORD },
    }))
    .await;
    let mut services = trio(home).await;
    services["web"]["environment"]["DOOR"] = "${DOOR}".into();
    services["web"]["command"] = json!(["sh", "-c", "echo cannot open db with $$DOOR; exit 3"]);
    home.apply(&with_secret(&services)).await;
    home.until("the loop is told", async || {
        (home.find("App", "trio")?.status()["reason"] == "CrashLooping").then_some(())
    })
    .await;
    assert_eq!(home.verdict("App", "trio"), "Degraded");
    let status = home.get("Container", "trio-web")["status"].clone();
    assert!(status["restarts"].as_i64() > Some(4), "{status}");
    assert_eq!(status["exitCode"], 3);
    for verb in ["why", "describe"] {
        for object in ["app/trio", "container/trio-web"] {
            let said = home.ask(&[verb, object]).await;
            assert!(said.contains("cannot open db with (secret)"), "{said}");
            assert!(said.contains("again and again") && !said.contains(WORD), "{said}");
        }
    }
    let everything: Vec<Value> = home.store().all().iter().map(|object| object.to_value()).collect();
    let open = |object: &&Value| object["kind"] != "Secret" && object.to_string().contains(WORD);
    assert_eq!(everything.iter().find(open), None);

    // A restart of the server tells nothing twice, and starts nothing.
    home.restart().await;
    home.look_again().await;
    assert_eq!(home.verdict("App", "trio"), "Degraded");
    let told = async |reason: &str| home.count("Container", "trio-web", reason, "").await;
    assert_eq!((told("CrashLooping").await, told("CrashLoopOver").await), (1, 0));
    assert_eq!(told("Started").await, 1, "two supervisors would fight");

    services["web"].as_object_mut().unwrap().remove("command");
    home.apply(&with_secret(&services)).await;
    home.until_ready("trio").await;
    home.until_served("trio").await;
    assert_eq!((told("CrashLooping").await, told("CrashLoopOver").await), (1, 1));
    assert!(home.get("Container", "trio-web")["status"]["crashLoop"].is_null());
}

fn with_secret(services: &Value) -> Value {
    let mut app = app("trio", services);
    app["spec"]["values"] =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    app
}

#[test]
fn pretend_a_crash_loop_that_passes_by_itself_serves_at_once_and_is_over_after_five_minutes() {
    on_pretend(passes);
}

#[test]
fn real_a_crash_loop_that_passes_by_itself_serves_at_once_and_is_over_after_five_minutes() {
    on_real(passes);
}

async fn passes(home: &Home) {
    home.install(&page(home, "page").await).await;
    let name = home.engine_name("page-web");
    let id = home.id("page-web").await;
    for death in 1..=6 {
        home.world.crash(&name).await;
        home.until("the engine has started it again", async || {
            let state = home.container("page-web").await?.state;
            (state.running && state.restarts == death).then_some(())
        })
        .await;
    }
    home.until("the loop is told", async || {
        (home.find("App", "page")?.status()["reason"] == "CrashLooping").then_some(())
    })
    .await;
    // It has a problem, and it works.
    home.until_served("page").await;
    assert_eq!(home.verdict("App", "page"), "Degraded");
    for _ in 0..3 {
        home.pass(1).await;
        assert_eq!(home.verdict("App", "page"), "Degraded");
    }
    home.pass(2).await;
    home.until_ready("page").await;
    home.until_served("page").await;
    home.pass(3).await;
    let told = async |reason: &str| home.count("Container", "page-web", reason, "").await;
    assert_eq!((told("CrashLooping").await, told("CrashLoopOver").await), (1, 1));
    assert_eq!(home.id("page-web").await, id);
}

#[test]
fn pretend_a_one_shot_that_is_done_is_not_run_again_though_its_object_and_container_are_gone() {
    on_pretend(stays_done);
}

#[test]
fn real_a_one_shot_that_is_done_is_not_run_again_though_its_object_and_container_are_gone() {
    on_real(stays_done);
}

async fn stays_done(home: &Home) {
    let services = trio(home).await;
    home.install(&app("trio", &services)).await;
    let folder = home.data("trio", "migrations");
    let runs = async || home.world.runs(&home.engine_name("trio-migrate"), &folder).await;
    assert_eq!(runs().await, 1);
    let before = home.get("Container", "trio-migrate");
    home.ask(&["delete", "container/trio-migrate", "--yes"]).await;
    home.until("its object is made anew", async || {
        let now = home.find("Container", "trio-migrate")?;
        (now.uid() != before["metadata"]["uid"]).then_some(())
    })
    .await;
    home.until_ready("trio").await;
    assert!(home.container("trio-migrate").await.is_none(), "its container went with the object");
    let now = home.get("Container", "trio-migrate");
    assert_eq!(now["status"]["completedAt"], before["status"]["completedAt"]);
    assert_eq!(runs().await, 1);
    // Another spec is other work.
    let mut changed = services.clone();
    changed["migrate"]["environment"] = json!({ "WORK_SECONDS": "0" });
    home.apply(&app("trio", &changed)).await;
    home.until("it ran for its new spec", async || (runs().await == 2).then_some(())).await;
    home.until_ready("trio").await;
}
