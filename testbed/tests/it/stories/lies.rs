//! A Docker that answers nonsense, too little, too late or nothing at all: nothing is believed for longer than until
//! the next look, nothing is removed, nothing is made twice.

use std::time::Duration;

use hearth_engine::Query;

use crate::home::{Dice, Home, Lie, app, on_lied_to, page, trio};

/// As often as it is asked.
const ALWAYS: usize = usize::MAX;
/// Every request.
const ANYTHING: &str = "";

#[test]
fn real_what_docker_says_wrongly_once_removes_nothing_and_makes_nothing_twice() {
    on_lied_to(async |home, liar| {
        home.install(&app("trio", &trio(home).await)).await;
        home.until_served("trio").await;
        home.settle().await;
        let before = standing(home).await;
        let web = format!("GET /containers/{}", home.engine_name("trio-web"));
        let lies: [(&str, Lie); 11] = [
            ("GET /containers/json", Lie::Says(200, "[]")),
            ("GET /networks?", Lie::Says(200, "[]")),
            ("GET /containers/json", Lie::Says(500, r#"{"message":"database is locked"}"#)),
            ("GET /containers/json", Lie::CutShort),
            ("GET /containers/json", Lie::SaysAsBefore),
            ("GET /containers/json", Lie::LosesAnswer),
            (&web, Lie::Says(500, r#"{"message":"database is locked"}"#)),
            (&web, Lie::CutShort),
            (&web, Lie::Says(404, r#"{"message":"No such container"}"#)),
            (&web, Lie::LosesAnswer),
            ("GET /images/*/json", Lie::CutShort),
        ];
        for (request, lie) in lies {
            let (lied, drifted) = (liar.lied(), drifted(home).await);
            home.world.mark().await;
            liar.lie(request, lie.clone(), 1);
            home.look_again().await;
            home.until(&format!("{request} was lied about: {lie:?}"), async || {
                home.pass(1).await;
                (liar.lied() > lied).then_some(())
            })
            .await;
            home.until_ready("trio").await;
            assert_eq!(home.world.changes().await, Vec::<String>::new(), "{request} {lie:?}");
            assert_eq!(self::drifted(home).await, drifted, "{request} {lie:?}: nobody changed anything");
            assert_eq!(standing(home).await, before, "{request} {lie:?}");
        }
    });
}

#[test]
fn real_while_docker_hangs_or_says_nothing_but_errors_nobody_is_told_that_all_is_well() {
    on_lied_to(async |home, liar| {
        home.install(&app("trio", &trio(home).await)).await;
        home.until_served("trio").await;
        home.settle().await;
        let before = standing(home).await;
        for lie in [Lie::Says(500, r#"{"message":"database is locked"}"#), Lie::Hangs] {
            home.world.mark().await;
            // The stream of events stays as it is: only what is asked is not answered.
            liar.lie("GET /containers", lie.clone(), ALWAYS);
            home.pass_on(Duration::from_secs(61));
            for name in ["trio-web", "trio-db"] {
                home.until(&format!("{name} is not known under {lie:?}"), async || {
                    home.pass_on(Duration::from_secs(5));
                    (home.get("Container", name)["status"]["reason"] == "CannotSee").then_some(())
                })
                .await;
            }
            home.until("the app is not called ready", async || {
                (home.verdict("App", "trio") != "Ready").then_some(())
            })
            .await;
            let said = home.why("app/trio").await;
            assert!(said.contains("Docker") || said.contains("backend did not answer"), "{said}");
            liar.be_honest();
            home.until("it is seen again", async || {
                home.pass_on(Duration::from_secs(61));
                (home.verdict("App", "trio") == "Ready").then_some(())
            })
            .await;
            home.until_ready("trio").await;
            assert_eq!(home.world.changes().await, Vec::<String>::new(), "{lie:?}");
            assert_eq!(standing(home).await, before, "{lie:?}");
        }
    });
}

#[test]
fn real_what_was_made_without_an_answer_is_not_made_again() {
    on_lied_to(async |home, liar| {
        home.world.leave().await;
        for request in [
            "POST /images/create",
            "POST /networks/create",
            "POST /containers/create",
            "POST /containers/*/start",
            "POST /networks/*/connect",
        ] {
            liar.lie(request, Lie::LosesAnswer, 1);
        }
        home.install(&app("trio", &trio(home).await)).await;
        home.until_served("trio").await;
        assert_eq!(liar.lied(), 5);
        let mut counts = home.world.made_and_started().await;
        counts.retain(|what, _| !what.contains("caddy"));
        assert!(counts.len() >= 7, "{counts:?}");
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
        assert_eq!(drifted(home).await, 0);

        // And what was stopped and removed without an answer is gone.
        for request in ["POST /containers/*/stop", "DELETE /containers/", "DELETE /networks/"] {
            liar.lie(request, Lie::LosesAnswer, 1);
        }
        home.ask(&["delete", "app/trio", "--yes", "--timeout", "90s"]).await;
        assert_eq!(liar.lied(), 8);
        let (containers, networks) = home.world.names().await;
        assert_eq!((containers.len(), networks.len()), (1, 1), "{containers:?} {networks:?}");
    });
}

#[test]
fn real_without_a_single_event_everything_still_comes_to_be_and_what_is_done_by_hand_is_found() {
    on_lied_to(async |home, liar| {
        home.stop().await;
        liar.lie("GET /events", Lie::Silence, ALWAYS);
        home.serve().await;
        home.apply(&page(home, "page").await).await;
        home.until("it is ready, by looks alone", async || {
            home.pass_on(Duration::from_secs(61));
            tokio::time::sleep(Duration::from_millis(300)).await;
            (home.verdict("App", "page") == "Ready").then_some(())
        })
        .await;
        home.until_served("page").await;
        home.settle().await;
        for remove in [false, true] {
            let (name, starts) = (home.engine_name("page-web"), started(home).await);
            if remove {
                home.world.remove(&name).await
            } else {
                home.world.kill(&name).await
            }
            // One cheap look is enough to find it.
            home.pass_on(Duration::from_secs(61));
            home.until("it is started again", async || (started(home).await > starts).then_some(())).await;
            home.until("it is ready again", async || {
                home.pass_on(Duration::from_secs(61));
                tokio::time::sleep(Duration::from_millis(300)).await;
                (home.verdict("App", "page") == "Ready").then_some(())
            })
            .await;
        }
        assert!(liar.asked("GET /events") >= 3);
    });
}

#[test]
fn real_a_stream_of_events_that_breaks_again_and_again_hides_nothing() {
    on_lied_to(async |home, liar| {
        let mut dice = Dice::seeded(Dice::fresh_seed());
        home.install(&page(home, "page").await).await;
        home.until_served("page").await;
        home.stop().await;
        for _ in 0..200 {
            let after = Duration::from_millis(50) + dice.time_below(Duration::from_millis(1500));
            liar.lie("GET /events", Lie::BreaksAfter(after), 1);
        }
        home.serve().await;
        home.until_ready("page").await;
        home.world.leave().await;
        for round in 0..4 {
            tokio::time::sleep(dice.time_below(Duration::from_millis(1500))).await;
            let (name, starts) = (home.engine_name("page-web"), started(home).await);
            if round % 2 == 0 {
                home.world.kill(&name).await
            } else {
                home.world.remove(&name).await
            }
            home.until("it is started again", async || (started(home).await > starts).then_some(())).await;
            home.until_ready("page").await;
        }
        home.until_served("page").await;
        let counts = home.world.made_and_started().await;
        let of = |what: &str| counts[&format!("{what} container {}", home.engine_name("page-web"))];
        assert_eq!((of("create"), of("start")), (2, 4), "as often as it was removed, and as it was stopped");
        assert!(liar.asked("GET /events") > 6);
    });
}

#[test]
fn real_nothing_is_asked_of_a_docker_that_answers_nothing_faster_and_faster() {
    on_lied_to(async |home, liar| {
        home.install(&app("trio", &trio(home).await)).await;
        home.settle().await;
        liar.lie(ANYTHING, Lie::Says(500, r#"{"message":"broken"}"#), ALWAYS);
        home.pass_on(Duration::from_secs(61));
        home.until("nothing is seen", async || (home.verdict("App", "trio") != "Ready").then_some(())).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let asked = liar.asked(ANYTHING);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let asked = liar.asked(ANYTHING) - asked;
        // Three controllers ask for events once a second; each key looks ever more seldom.
        assert!(asked < 120, "{asked} requests in ten seconds");
        liar.be_honest();
        home.until_ready("trio").await;
        home.until_served("trio").await;
    });
}

async fn started(home: &Home) -> i64 {
    home.count("Container", "page-web", "Started", "").await
}

/// How often people were told that somebody changed something.
async fn drifted(home: &Home) -> i64 {
    let mut count = 0;
    for object in home.store().all() {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let name = format!("{namespace}/{}", object.name());
        count += home.count(&object.kind, &name, "Drifted", "").await;
    }
    count
}

/// Everything that stands, with the ids in Docker and in the store.
async fn standing(home: &Home) -> Vec<String> {
    let mut lines = Vec::new();
    let (containers, networks) = home.world.names().await;
    for name in containers {
        let seen = home.hands.containers.inspect(&name).await.unwrap().unwrap();
        lines.push(format!("{name} {} {:?}", seen.id, seen.state.started_at));
    }
    for name in networks {
        lines.push(format!("{name} {}", home.hands.networks.inspect(&name).await.unwrap().unwrap().id));
    }
    let objects = home.store().list(&Query::of(Query::EVERY_KIND)).items;
    lines.extend(objects.iter().map(|object| format!("{} {}", object.key(), object.uid())));
    lines.sort();
    lines
}
