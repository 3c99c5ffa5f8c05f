//! Docker is stopped, killed, or loses all it knew: meanwhile nobody is told that all is well, nothing is forgotten,
//! and once it is back everything is as it was, without a rush.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_engine::Query;
use serde_json::json;

use crate::home::{Home, app, on_own_docker, on_pretend, page, trio};

/// How long Docker is away, in all earnest.
const AWAY: Duration = Duration::from_secs(60);

#[test]
fn real_docker_away_for_a_minute_or_killed_is_told_forgets_nothing_and_comes_back_without_a_rush() {
    on_own_docker(async |home, dockerd| {
        install(home).await;
        let before = standing(home).await;
        let ids = ids(home).await;

        dockerd.stop().await;
        until_unknown(home).await;
        // What is wished meanwhile is taken, and carried out later.
        let mut changed = page(home, "page").await;
        changed["metadata"]["labels"] = json!({ "room": "den" });
        home.apply(&changed).await;
        let turns = turns(home);
        tokio::time::sleep(AWAY).await;
        assert!(self::turns(home) - turns < 400, "{} turns in a minute", self::turns(home) - turns);
        unknown(home).await;
        assert_eq!(standing(home).await, before, "nothing is forgotten");
        come_back(home, async || dockerd.begin()).await;
        assert_eq!(self::ids(home).await, ids, "Docker started what it had stopped");

        dockerd.kill().await;
        until_unknown(home).await;
        come_back(home, async || dockerd.begin()).await;
        assert_eq!(standing(home).await, before);
        assert_eq!(self::ids(home).await, ids);
        let folder = home.data("trio", "migrations");
        assert_eq!(home.world.runs(&home.engine_name("trio-migrate"), &folder).await, 1);
    });
}

#[test]
fn real_a_docker_that_lost_all_it_knew_is_given_it_again_and_no_data_is_touched() {
    on_own_docker(async |home, dockerd| {
        install(home).await;
        let before = standing(home).await;
        let ids = ids(home).await;
        let kept = home.data("trio", "rows").join("kept-by-a-person");
        std::fs::write(&kept, "kept").unwrap();

        dockerd.stop().await;
        dockerd.lose_data();
        until_unknown(home).await;
        come_back(home, async || dockerd.begin()).await;

        assert_eq!(standing(home).await, before, "the objects are those from before");
        let now = self::ids(home).await;
        assert!(now.iter().all(|(name, id)| ids[name] != *id), "everything was made anew");
        let missing: Vec<&String> = ids.keys().filter(|name| !now.contains_key(*name)).collect();
        // Done is done, for ever.
        assert_eq!(missing, [&home.engine_name("trio-migrate")]);
        let folder = home.data("trio", "migrations");
        assert_eq!(home.world.runs(&home.engine_name("trio-migrate"), &folder).await, 1);
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
        assert_eq!(home.count("Container", "trio-web", "Drifted", "it was gone").await, 1);
    });
}

#[test]
fn pretend_docker_out_of_reach_for_five_minutes_is_told_forgets_nothing_and_comes_back_without_a_rush() {
    on_pretend(async |home| {
        install(home).await;
        let before = standing(home).await;
        let ids = ids(home).await;
        home.world.mark().await;
        let machine = home.world.pretend().unwrap();
        machine.unreachable_backend(hearth_pretend::Backend::Engine, true);
        until_unknown(home).await;
        let since = home.get("Container", "trio-web")["status"]["conditions"].clone();
        let turns = turns(home);
        home.pass(5).await;
        // Each key is tried ever more seldom, at last every five minutes.
        assert!(self::turns(home) - turns < 300, "{} turns in five minutes", self::turns(home) - turns);
        unknown(home).await;
        assert_eq!(home.get("Container", "trio-web")["status"]["conditions"], since, "since when it is so");
        assert_eq!(standing(home).await, before);
        come_back(home, async || machine.unreachable_backend(hearth_pretend::Backend::Engine, false)).await;
        assert_eq!(home.world.changes().await, Vec::<String>::new(), "there was nothing to do");
        assert_eq!(standing(home).await, before);
        assert_eq!(self::ids(home).await, ids);
    });
}

async fn install(home: &Home) {
    home.install(&app("trio", &trio(home).await)).await;
    home.install(&page(home, "page").await).await;
    home.until_served("trio").await;
    home.until_served("page").await;
    home.settle().await;
}

/// Within moments nobody is told any more that what cannot be seen is well.
async fn until_unknown(home: &Home) {
    let began = std::time::Instant::now();
    for (kind, name) in EVERYTHING {
        home.until(&format!("{kind} {name} is not known"), async || {
            (home.verdict(kind, name) == "Degraded").then_some(())
        })
        .await;
    }
    assert!(began.elapsed() < Duration::from_secs(20), "people were told after {:?}", began.elapsed());
    unknown(home).await;
}

const EVERYTHING: [(&str, &str); 8] = [
    ("Container", "trio-web"),
    ("Container", "trio-db"),
    ("Container", "page-web"),
    ("Network", "trio"),
    ("Network", "page"),
    ("Container", "system/caddy"),
    ("App", "trio"),
    ("App", "page"),
];

/// Nothing is said to be well that cannot be seen, and it is said since when and why.
async fn unknown(home: &Home) {
    for (kind, name) in EVERYTHING {
        assert_ne!(home.verdict(kind, name), "Ready", "{kind} {name}");
    }
    let status = home.get("Container", "trio-web")["status"].clone();
    assert_eq!(status["reason"], "CannotSee");
    let ready = status["conditions"].as_array().unwrap().iter().find(|each| each["type"] == "Ready");
    let ready = ready.unwrap();
    assert_eq!(ready["status"], "Unknown");
    assert!(ready["lastTransitionTime"].is_string());
    assert!(status["nextTryAt"].is_string());
    let said = home.why("app/trio").await;
    assert!(said.contains("Tried again by itself") && !said.contains("is Ready"), "{said}");
}

/// Docker comes back; everything is well again, and it took no more turns than it needs.
async fn come_back(home: &Home, begin: impl AsyncFnOnce()) {
    let turns = turns(home);
    begin().await;
    for app in ["trio", "page"] {
        home.until_verdict("App", app, "Ready").await;
    }
    for (kind, name) in EVERYTHING {
        home.until_verdict(kind, name, "Ready").await;
    }
    home.settle().await;
    for app in ["trio", "page"] {
        home.until_served(app).await;
    }
    let turns = self::turns(home) - turns;
    let objects = home.store().all().len() as u64;
    assert!(turns < 25 * objects, "{turns} turns for {objects} objects");
}

/// Every object, by its uid.
async fn standing(home: &Home) -> Vec<String> {
    let objects = home.store().list(&Query::of(Query::EVERY_KIND)).items;
    objects.iter().map(|object| format!("{} {}", object.key(), object.uid())).collect()
}

async fn ids(home: &Home) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    for name in home.world.names().await.0 {
        let seen = home.hands.containers.inspect(&name).await.unwrap().unwrap();
        ids.insert(name, seen.id);
    }
    ids
}

fn turns(home: &Home) -> u64 {
    home.engine().diagnostics().iter().map(|each| each.turns).sum()
}
