//! A look at everything now, which no resource could ask for: it is about all objects at once, and keeps nothing.

use std::time::Duration;

use axum::Json;
use hearth_engine::diagnostics::Diagnostics;
use serde_json::{Value, json};

use super::places::Allowed;

/// How long one request waits for the end; clients give up after a minute.
const LIMIT: Duration = Duration::from_secs(50);

/// How often it is asked whether all is done: short beside the look of a small home.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// Makes every key of every controller due, waits until nothing is due or under way, and answers what it took.
pub(super) async fn at_everything(Allowed(inside): Allowed) -> Json<Value> {
    let Some(engine) = &inside.behind().engine else {
        return Json(json!({ "isIdle": true, "turns": 0, "steps": 0, "millis": 0 }));
    };
    let clock = inside.store().clock();
    let (began, before) = (clock.elapsed(), engine.diagnostics());
    engine.wake_all();
    let mut is_idle = engine.is_idle();
    while !is_idle && clock.elapsed().saturating_sub(began) < LIMIT {
        clock.sleep(ASK_AGAIN).await;
        is_idle = engine.is_idle();
    }
    let (after, took) = (engine.diagnostics(), clock.elapsed().saturating_sub(began));
    let since = |count: fn(&Diagnostics) -> u64| -> u64 {
        after.iter().map(count).sum::<u64>().saturating_sub(before.iter().map(count).sum())
    };
    Json(json!({
        "isIdle": is_idle,
        "turns": since(|each| each.turns),
        "steps": since(|each| each.steps),
        "millis": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }))
}
