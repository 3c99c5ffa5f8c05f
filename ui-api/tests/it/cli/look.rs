//! Looking: how things stand, why, what differs, what happened, who changed what.

use hearth::cli::exit::Exit;
use hearth_engine::store::EventKind;
use serde_json::json;

use super::home::{Home, part_of};

/// An app that waits for a volume whose data is gone.
async fn broken_photos() -> Home {
    let home = Home::start().await;
    let app = home.app("photos").await;
    let image = json!({ "ref": "web", "digest": "sha256:aa" });
    home.make(part_of(
        &app,
        "Container",
        "photos-web",
        json!({ "image": image, "networks": [{ "name": "photos" }] }),
    ))
    .await;
    home.make(part_of(&app, "Volume", "photos-data", json!({ "path": "data", "instance": "photos" }))).await;
    let blocked_by =
        |kind: &str, name: &str| json!([{ "kind": kind, "namespace": "household", "name": name }]);
    home.see(
        "App",
        "photos",
        json!({
            "summary": "Waiting", "reason": "DependencyNotReady", "message": "Waits for its service web",
            "blockedBy": blocked_by("Container", "photos-web"), "url": "http://photos.local",
            "conditions": [{ "type": "Ready", "status": "False", "reason": "DependencyNotReady", "message": "Waits for its service web", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        }),
    )
    .await;
    home.see(
        "Container",
        "photos-web",
        json!({
            "summary": "Waiting", "reason": "DependencyNotReady", "message": "Waits for its volume",
            "blockedBy": blocked_by("Volume", "photos-data"),
            "differences": [{ "field": "state", "wanted": "Running", "seen": "Absent", "state": "Blocked", "since": "2026-01-01T00:00:00Z" }],
        }),
    )
    .await;
    home.see(
        "Volume",
        "photos-data",
        json!({ "summary": "NeedsYou", "reason": "MarkerMissing", "message": "Its data is gone from the disk" }),
    )
    .await;
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn why_walks_to_the_root_and_says_what_to_do() {
    let home = broken_photos().await;
    let said = home.run(&["why", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(
        said.out,
        "app/photos is ● Waiting because of volume/photos-data: Its data is gone from the disk\n\
         \n\
         \x20 app/photos                ● Waiting  Waits for its service web\n\
         \x20 └─ container/photos-web   ● Waiting  Waits for its volume\n\
         \x20    └─ volume/photos-data  ✗ NeedsYou  Its data is gone from the disk   ← root cause\n\
         \n\
         You can: Bring the disk or the data back; `hearth recover status` says how it is taken up\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn why_of_a_ready_app_says_so() {
    let home = Home::start().await;
    home.app("album").await;
    home.see("App", "album", json!({ "summary": "Ready", "reason": "AllServicesHealthy" })).await;
    assert_eq!(home.run(&["why", "app/album"]).await.out, "app/album is ✓ Ready\n");
    home.app("new").await;
    assert_eq!(
        home.run(&["why", "app/new"]).await.out,
        "app/new is declared and has not been looked at yet\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn why_finds_unwell_parts_where_nothing_is_named_and_notices_what_is_missing() {
    let home = Home::start().await;
    let app = home.app("photos").await;
    home.make(part_of(&app, "Volume", "photos-data", json!({ "path": "data", "instance": "photos" }))).await;
    home.see("App", "photos", json!({ "summary": "Degraded", "message": "One part is unwell" })).await;
    home.see(
        "Volume",
        "photos-data",
        json!({
            "summary": "Waiting", "message": "Waits for its secret",
            "blockedBy": [{ "kind": "Secret", "namespace": "household", "name": "photos" }],
        }),
    )
    .await;
    let said = home.run(&["why", "app/photos"]).await;
    assert!(
        said.out.starts_with("app/photos is ✗ Degraded because secret/photos does not exist\n"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("└─ secret/photos") && said.out.contains("missing   ← root cause"),
        "{}",
        said.out
    );
    assert!(said.out.contains("You can: declare secret/photos, or change what refers to it"), "{}", said.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_answers_first_and_shows_parts_and_events() {
    let home = broken_photos().await;
    home.note("photos", EventKind::Warning, "Blocked", "The data of a volume was found missing").await;
    let said = home.run_wide(200, &["describe", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let mut lines = said.out.lines();
    assert_eq!(lines.next(), Some("app/photos is ● Waiting: Waits for its service web"));
    for part in [
        "  Address        http://photos.local\n",
        "  Reason         DependencyNotReady\n",
        "\nConditions\n  CONDITION  STATUS  REASON              SINCE",
        "\nWaits for\n  container/photos-web\n",
        "\nParts\n  app/photos",
        "  ├─ container/photos-web  ● Waiting  Waits for its volume\n",
        "  └─ volume/photos-data    ✗ NeedsYou  Its data is gone from the disk\n",
        "\nEvents\n  LAST",
        "Warning  app/photos  Blocked  The data of a volume was found missing",
    ] {
        assert!(said.out.contains(part), "{part:?} in\n{}", said.out);
    }
    assert_eq!(home.run(&["describe", "app/nothing"]).await.exit, Exit::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_of_an_object_covers_its_parts() {
    let home = broken_photos().await;
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Differs, "{said:?}");
    assert!(said.out.starts_with("container/photos-web is ● Waiting: Waits for its volume\n  FIELD  WANTED   SEEN    STATE    SINCE"), "{}", said.out);
    assert!(said.out.contains("  state  Running  Absent  Blocked  "), "{}", said.out);
    home.see("Container", "photos-web", json!({ "summary": "Ready" })).await;
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, ""), "{said:?}");
    assert_eq!(said.err, "app/photos: no differences; what is seen is what is wanted\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_looked_at_is_not_taken_for_in_sync() {
    let home = Home::start().await;
    home.app("photos").await;
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Exit::Differs, "app/photos is declared and has not been looked at yet\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_of_files_shows_fields_and_changes_nothing() {
    let home = Home::start().await;
    let file = home.file(
        "photos.yaml",
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec:\n  slug: photos\n  compose: |\n    services:\n      web: { image: x }\n",
    );
    let said = home.run(&["diff", "-f", &file]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Differs, "+ app/photos  new\n"), "{said:?}");
    assert_eq!(said.err, "1 object: 0 to change, 1 to add. Nothing was changed.\n");
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    let said = home.run(&["diff", "-f", &file]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, ""), "{said:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("image: x", "image: y").replace("slug: photos\n", "slug: photos\n  state: Stopped\n"),
    )
    .unwrap();
    let said = home.run(&["diff", "-f", &file]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (
            Exit::Differs,
            "~ app/photos\n    spec.compose\n        services:\n      -   web: { image: x }\n      +   web: { image: y }\n    spec.state    unset → Stopped\n"
        ),
        "{said:?}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.run(&["diff", "-f", &file, "-o", "json"]).await.out).unwrap();
    assert_eq!(json["items"][0]["differences"][1]["field"], "spec.state");
    std::fs::write(&file, text.replace("slug:", "slgu:")).unwrap();
    assert_eq!(home.run(&["diff", "-f", &file]).await.exit, Exit::Rejected);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_those_of_an_object_and_its_parts() {
    let home = broken_photos().await;
    home.app("album").await;
    home.note("album", EventKind::Normal, "Installed", "The app was installed").await;
    home.note("photos", EventKind::Warning, "Blocked", "The data was found missing").await;
    let said = home.run(&["events", "app/photos"]).await;
    assert!(
        said.out.contains("Blocked  The data was found missing") && !said.out.contains("album"),
        "{said:?}"
    );
    let said = home.run(&["events", "-A"]).await;
    assert!(said.out.starts_with("NAMESPACE  LAST") && said.out.contains("app/album"), "{said:?}");
    let said = home.run(&["events", "volume/photos-data"]).await;
    assert_eq!((said.exit, said.err.as_str()), (Exit::Done, "nothing has happened\n"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_explains_itself_without_a_server() {
    let home = Home::start().await;
    let said = home.run_with("/nowhere", &["explain", "app.spec.state"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(
        said.out.contains("app.spec.state  text\n  Whether it should run\n")
            || said.out.contains("Whether it should run"),
        "{}",
        said.out
    );
    assert!(said.out.contains("One of Running, Stopped"), "{}", said.out);
    let said = home.run_with("/nowhere", &["explain", "app.spec.stat"]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("did you mean \"state\"?"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_shown_by_name_only_unless_asked_to_reveal_it() {
    let home = Home::start().await;
    let file = home
        .file("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { pw: hunter2 }\n");
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    for form in ["yaml", "json", "jsonpath={.data.pw}"] {
        for words in [["get", "secret/s"], ["get", "secrets"]] {
            let said = home.run(&[words[0], words[1], "-o", form]).await;
            assert!(said.exit == Exit::Done && !said.out.contains("aHVudGVyMg"), "{said:?}");
        }
    }
    let said = home.run(&["get", "secret/s", "--reveal", "-o", "jsonpath={.data.pw}"]).await;
    assert_eq!(said.out, "aHVudGVyMg==\n");
    for words in
        [vec!["describe", "secret/s"], vec!["history", "secret/s", "--full"], vec!["diff", "-f", &file]]
    {
        let said = home.run(&words).await;
        assert!(
            !format!("{said:?}").contains("hunter2") && !format!("{said:?}").contains("aHVudGVyMg"),
            "{said:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_fits_80_columns() {
    let home = broken_photos().await;
    let said = home.run_wide(80, &["describe", "app/photos"]).await;
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let said = home.run_wide(80, &["get", "all"]).await;
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn why_draws_each_branch_and_leaves_out_what_is_well() {
    let home = Home::start().await;
    let app = home.app("photos").await;
    for (name, summary) in [("a", "Waiting"), ("b", "Ready"), ("c", "Failed")] {
        home.make(part_of(&app, "Volume", name, json!({ "path": name, "instance": "photos" }))).await;
        home.see("Volume", name, json!({ "summary": summary, "message": format!("{name} it is") })).await;
    }
    home.see("App", "photos", json!({ "summary": "Degraded", "message": "Two parts are unwell" })).await;
    let said = home.run(&["why", "app/photos"]).await;
    let tree: Vec<&str> = said.out.lines().skip(2).take(3).collect();
    assert_eq!(
        tree,
        [
            "  app/photos   ✗ Degraded  Two parts are unwell",
            "  ├─ volume/a  ● Waiting  a it is",
            "  └─ volume/c  ✗ Failed  c it is   ← root cause",
        ],
        "{}",
        said.out
    );
}
