//! Pulls that never get an answer, in every place of the pool for slow work.

use crate::home::{Home, app, on_pretend, on_real};
use serde_json::{Value, json};

/// As many as there are places, and one more.
const HUNG: usize = 4;

#[test]
fn pretend_hung_pulls_hold_up_nobody_else_and_end_with_their_wish() {
    on_pretend(hung);
}

#[test]
fn real_hung_pulls_hold_up_nobody_else_and_end_with_their_wish() {
    on_real(hung);
}

async fn hung(home: &Home) {
    let (here, too) = (home.world.image_here("web:1").await, home.world.image_here("web:2").await);
    for number in 1..=HUNG {
        let image = home.world.hanging_image(&format!("hung{number}:1")).await;
        home.apply(&one(&format!("hung{number}"), &image)).await;
    }
    let pulls = || {
        let diagnostics = home.engine().diagnostics();
        diagnostics.iter().find(|each| each.controller == "image").map_or(0, |each| each.slow_steps)
    };
    home.until("every place is taken", async || (pulls() >= HUNG - 1).then_some(())).await;
    home.until_why("app/hung1", "Pull image").await;

    home.apply(&one("here", &here)).await;
    home.until_verdict("App", "here", "Ready").await;
    home.until_served("here").await;

    let before = pulls();
    home.apply(&one("hung1", &too)).await;
    home.until_verdict("App", "hung1", "Ready").await;
    home.until_served("hung1").await;
    home.until("its pull is given up", async || (pulls() < before).then_some(())).await;
    let images = home.store().list(&hearth_engine::Query::of("Image")).items;
    assert!(!images.iter().any(|image| image.spec()["reference"].to_string().contains("hung1")));
    assert_ne!(home.verdict("App", "hung2"), "Ready");

    home.ask(&["delete", "app/hung2", "--yes", "--timeout", "60s"]).await;
    assert!(home.find("App", "hung2").is_none(), "one that hangs can be deleted");
}

fn one(name: &str, image: &str) -> Value {
    let web = json!({
        "image": image, "environment": { "NAME": name }, "expose": ["8080"], "stop_grace_period": "1s",
    });
    app(name, &json!({ "web": web }))
}
