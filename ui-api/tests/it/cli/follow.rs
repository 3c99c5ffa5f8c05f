//! Commands that go on: every change as it happens, on a line of its own where nothing can be drawn anew.

use hearth_engine::store::EventKind;
use serde_json::json;

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_table_grows_by_a_line_for_each_change() {
    let home = Home::start().await;
    home.app("album").await;
    home.see("App", "album", json!({ "summary": "Ready" })).await;
    let (out, err) = home
        .follow(&["get", "apps", "-w"], async |said| {
            said.until("Ready").await;
            home.see("App", "album", json!({ "summary": "Failed", "message": "It broke" })).await;
            said.until("It broke").await;
            home.see("App", "album", json!({ "summary": "Progressing", "message": "Mending it" })).await;
            said.until("Mending it").await;
        })
        .await;
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
    let words = ["get", "app/album", "-w", "-o", "jsonpath={.status.summary};"];
    let (out, err) = home
        .follow(&words, async |said| {
            said.until(";\n").await;
            home.see("App", "other", json!({ "summary": "Ready" })).await;
            home.see("App", "album", json!({ "summary": "Ready" })).await;
            said.until("Ready;\n").await;
        })
        .await;
    assert_eq!(out, ";\nReady;\n", "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_events_come_as_they_happen() {
    let home = Home::start().await;
    home.app("album").await;
    home.note("album", EventKind::Normal, "Installed", "The app was installed").await;
    let (out, err) = home
        .follow(&["events", "app/album", "-w"], async |said| {
            said.until("The app was installed").await;
            home.note("album", EventKind::Warning, "Broke", "A part of it broke").await;
            said.until("A part of it broke").await;
        })
        .await;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}{err}");
    assert!(lines[1].contains("Installed  The app was installed"), "{out}");
    assert!(lines[2].ends_with("app/album  Broke  A part of it broke"), "{out}");
}
