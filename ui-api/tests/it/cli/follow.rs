//! Commands that go on: every change as it happens, on a line of its own where nothing can be drawn anew.

use std::time::Duration;

use hearth_engine::store::EventKind;
use serde_json::json;

use super::home::Home;

const A_WHILE: Duration = Duration::from_millis(1500);

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_table_grows_by_a_line_for_each_change() {
    let home = Home::start().await;
    home.app("album").await;
    home.see("App", "album", json!({ "summary": "Ready" })).await;
    home.see_later(
        Duration::from_millis(300),
        "App",
        "album",
        json!({ "summary": "Failed", "message": "It broke" }),
    );
    home.see_later(
        Duration::from_millis(600),
        "App",
        "album",
        json!({ "summary": "Progressing", "message": "Mending it" }),
    );
    let (out, err) = home.run_for(A_WHILE, &["get", "apps", "-w"]).await;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}{err}");
    assert!(lines[0].starts_with("NAME") && lines[1].contains("✓ Ready"), "{out}");
    assert!(lines[2].starts_with("album  ✗ Failed") && lines[2].contains("It broke"), "{out}");
    assert!(lines[3].starts_with("album  ● Progressing") && lines[3].contains("Mending it"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_one_object_for_programs_gives_a_document_for_each_change() {
    let home = Home::start().await;
    home.app("album").await;
    home.app("other").await;
    home.see_later(Duration::from_millis(300), "App", "album", json!({ "summary": "Ready" }));
    home.see_later(Duration::from_millis(400), "App", "other", json!({ "summary": "Ready" }));
    let (out, err) =
        home.run_for(A_WHILE, &["get", "app/album", "-w", "-o", "jsonpath={.status.summary};"]).await;
    assert_eq!(out, ";\nReady;\n", "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_events_come_as_they_happen() {
    let home = Home::start().await;
    home.app("album").await;
    home.note("album", EventKind::Normal, "Installed", "The app was installed").await;
    let watched = home.run_for(Duration::from_millis(3500), &["events", "app/album", "-w"]);
    let noted = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        home.note("album", EventKind::Warning, "Broke", "A part of it broke").await;
    };
    let ((out, err), ()) = tokio::join!(watched, noted);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}{err}");
    assert!(lines[1].contains("Installed  The app was installed"), "{out}");
    assert!(lines[2].ends_with("app/album  Broke  A part of it broke"), "{out}");
}
