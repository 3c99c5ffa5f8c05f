//! What every hand that reaches containers promises of their logs.

use std::time::Duration;

use hearth_meta::{SignedDuration, Timestamp};

use super::world::{Program, Scene};
use crate::Fault;
use crate::containers::{LogLine, LogOptions};

/// A running container that has written its three lines; its id.
async fn written(scene: &Scene<'_>) -> String {
    let id = scene.run(&scene.container("one", Program::Write).await).await;
    scene
        .until("it has written", async || {
            (read(scene, &id, LogOptions::default()).await.len() == 3).then_some(())
        })
        .await;
    id
}

pub(super) async fn read(scene: &Scene<'_>, id: &str, options: LogOptions) -> Vec<LogLine> {
    let mut log = scene.containers().logs(id, &options).await.expect("a log can be read");
    let mut lines = Vec::new();
    while let Some(line) = scene.next_or_end("the end of the log", &mut log).await {
        lines.push(line.expect("a log can be read to its end"));
    }
    lines
}

pub(super) async fn lines_come_oldest_first_with_time_and_origin(scene: &Scene<'_>) {
    let id = written(scene).await;
    let lines = read(scene, &id, LogOptions::default()).await;
    let told: Vec<(&str, bool)> = lines.iter().map(|line| (line.text.as_str(), line.is_error)).collect();
    assert_eq!(told, [("one", false), ("two", false), ("three", true)]);
    let times: Vec<Timestamp> = lines.iter().filter_map(|line| line.at).collect();
    assert!(times.len() == 3 && times.is_sorted(), "{times:?}");
}

pub(super) async fn only_the_last_lines_where_asked(scene: &Scene<'_>) {
    let id = written(scene).await;
    let lines = read(scene, &id, LogOptions { tail: Some(1), ..LogOptions::default() }).await;
    assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["three"]);
}

pub(super) async fn only_lines_since_a_time_where_asked(scene: &Scene<'_>) {
    let id = written(scene).await;
    let last = read(scene, &id, LogOptions::default()).await[2].at.expect("lines have a time");
    let since_last = read(scene, &id, LogOptions { since: Some(last), ..LogOptions::default() }).await;
    assert_eq!(since_last.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["three"]);
    let later = last.checked_add(SignedDuration::from_nanos(1)).expect("the end of time is far");
    assert_eq!(read(scene, &id, LogOptions { since: Some(later), ..LogOptions::default() }).await, []);
}

pub(super) async fn a_followed_log_ends_with_its_container(scene: &Scene<'_>) {
    let id = written(scene).await;
    let mut log = scene
        .containers()
        .logs(&id, &LogOptions { follow: true, ..LogOptions::default() })
        .await
        .expect("a log can be followed");
    for text in ["one", "two", "three"] {
        assert_eq!(scene.next("a line", &mut log).await.text, text);
    }
    scene.stop(&id, Duration::from_secs(10)).await;
    assert_eq!(scene.next_or_end("the end of the log", &mut log).await, None);
}

pub(super) async fn following_a_silent_container_begins_at_once(scene: &Scene<'_>) {
    let id = scene.run(&scene.container("one", Program::Stubborn).await).await;
    let options = LogOptions { follow: true, ..LogOptions::default() };
    let log = scene.during(scene.containers().logs(&id, &options)).await;
    assert!(log.is_ok(), "{:?}", log.err());
}

pub(super) async fn what_is_gone_has_no_log(scene: &Scene<'_>) {
    let answer = scene.containers().logs(&"12".repeat(32), &LogOptions::default()).await;
    assert!(matches!(answer, Err(Fault::Missing(_))), "{:?}", answer.err());
}
