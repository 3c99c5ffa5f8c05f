//! Changing one thing: start, stop, pause, resume; and the history that comes of it.

use hearth::cli::exit::Exit;
use hearth_engine::Key;

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn stop_and_start_write_the_state_and_can_show_it() {
    let home = Home::start().await;
    home.app("photos").await;
    let key = Key::new("App", "household", "photos");
    let said = home.run(&["stop", "app/photos", "--show"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(
        said.out,
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata:\n  name: photos\n  namespace: household\nspec:\n  state: Stopped\n"
    );
    assert_eq!(home.store.get(&key).unwrap().spec()["state"], "Stopped");
    let said = home.run(&["start", "app", "photos"]).await;
    assert_eq!((said.exit, said.err.as_str()), (Exit::Done, "app/photos: state Running set\n"));
    assert_eq!(home.store.get(&key).unwrap().spec()["state"], "Running");
    assert_eq!(home.run(&["stop", "volume/x"]).await.exit, Exit::Usage);
    assert_eq!(home.run(&["stop", "app/nothing"]).await.exit, Exit::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_and_resume_write_the_annotation() {
    let home = Home::start().await;
    home.app("photos").await;
    let key = Key::new("App", "household", "photos");
    let said = home.run(&["pause", "app/photos", "--for", "30m"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.err.starts_with("app/photos is paused for 30m (until 2"), "{}", said.err);
    let until = home.store.get(&key).unwrap().annotation("hearth.dev/paused-until").unwrap().to_owned();
    assert!(until.ends_with('Z') && until.contains('T'), "{until}");
    assert_eq!(home.run(&["resume", "app/photos"]).await.err, "app/photos goes on\n");
    assert_eq!(home.store.get(&key).unwrap().annotation("hearth.dev/paused-until"), None);
    assert_eq!(home.run(&["resume", "app/photos"]).await.err, "app/photos is not paused\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_writes_when_it_was_asked_for() {
    let home = Home::start().await;
    home.app("photos").await;
    let key = Key::new("App", "household", "photos");
    let said = home.run(&["reconcile", "app/photos", "--show"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let poked = home.store.get(&key).unwrap().annotation("hearth.dev/poked-at").unwrap().to_owned();
    assert!(said.out.contains(&format!("hearth.dev/poked-at: \"{poked}\"")), "{}", said.out);
    assert_eq!(home.run(&["reconcile", "app/nothing"]).await.exit, Exit::NotFound);
    assert_eq!(home.run(&["reconcile"]).await.exit, Exit::Usage);
    assert_eq!(home.run(&["reconcile", "app/photos", "--all"]).await.exit, Exit::Usage);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_can_be_paused_and_every_answer_says_so() {
    let home = Home::start().await;
    home.app("photos").await;
    let system = Key::new("Namespace", "", "system");
    let said = home.run(&["pause", "--all", "--for", "2h"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.err.contains("everything is paused for 120m (until 2"), "{}", said.err);
    assert!(said.err.contains("end it with `hearth resume --all`"), "{}", said.err);
    assert!(home.store.get(&system).unwrap().annotation("hearth.dev/paused-until").is_some());
    let said = home.run(&["get", "apps"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(said.err.matches("everything is paused until 2").count(), 1, "{}", said.err);
    assert!(!said.out.contains("paused"), "what programs read is as ever: {}", said.out);
    home.run(&["resume", "--all"]).await;
    assert_eq!(home.run(&["get", "apps"]).await.err, "");
    assert!(home.run(&["resume", "--all"]).await.err.contains("everything is not paused"));
    let said = home.run(&["pause", "namespace/household"]).await;
    assert!(said.err.contains("everything in namespace/household is paused for 30m"), "{}", said.err);
    let said = home.run(&["get", "apps"]).await;
    assert!(said.err.contains("everything in namespace household is paused until"), "{}", said.err);
    assert_eq!(home.run(&["pause"]).await.exit, Exit::Usage);
    assert_eq!(home.run(&["pause", "app/photos", "--all"]).await.exit, Exit::Usage);
    let history = home.run(&["history", "namespace/system"]).await;
    assert_eq!(history.out.matches("changed by admin (api)").count(), 2, "{}", history.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_from_outside_is_shown_with_its_answers() {
    let home = Home::start().await;
    home.app("photos").await;
    let said = home.run(&["drift", "put-back", "app/photos", "--yes"]).await;
    assert_eq!((said.exit, said.err.contains("nothing that was changed")), (Exit::Done, true), "{said:?}");
    assert!(home.run(&["drift", "list"]).await.err.contains("nothing that was changed from outside stands"));
    let status = serde_json::json!({
        "summary": "NeedsYou", "reason": "Drifted", "message": "It was changed from outside",
        "differences": [{ "field": "spec.slug", "wanted": "photos", "seen": "pictures", "state": "Drifted" }],
        "drift": { "id": "0a1b2c3d4e5f", "since": "2026-11-29T12:00:00Z", "count": 1 },
    });
    home.see("App", "photos", status).await;
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Differs, "{said:?}");
    for verb in ["put-back", "keep"] {
        let command = format!("hearth drift {verb} app/photos --seen 0a1b2c3d4e5f");
        assert!(said.err.contains(&command), "{said:?}");
    }
    let said = home.run(&["drift", "put-back", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Usage, "{said:?}");
    assert!(said.err.contains("add --seen 0a1b2c3d4e5f"), "{said:?}");
    let said = home.run(&["drift", "put-back", "app/photos", "--seen", "ffffffffffff"]).await;
    assert_eq!(said.exit, Exit::Conflict, "{said:?}");
    assert!(said.err.contains("spec.slug: seen pictures, wanted photos"), "{said:?}");
    let said = home.run(&["drift", "put-back", "app/photos", "--seen", "0a1b2c3d4e5f"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let order = home.store.get(&Key::new("App", "household", "photos")).unwrap();
    let order = order.annotation("hearth.dev/put-back-at").unwrap().to_owned();
    assert!(order.starts_with("20") && order.ends_with(" 0a1b2c3d4e5f"), "{order}");
    // Nothing runs in this home that could tell how a field becomes a wish.
    assert_eq!(home.run(&["drift", "keep", "app/photos", "--yes"]).await.exit, Exit::Conflict);
    assert!(home.run(&["describe", "app/photos"]).await.out.contains("Drift "));
}

#[tokio::test(flavor = "multi_thread")]
async fn history_tells_who_changed_what_newest_first() {
    let home = Home::start().await;
    let file = home.file(
        "photos.yaml",
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec: { slug: photos, compose: 'services: { web: { image: x } }' }\n",
    );
    home.run(&["apply", "-f", &file]).await;
    home.run(&["stop", "app/photos"]).await;
    let said = home.run(&["history", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("generation 2  changed by admin (api), "), "{}", said.out);
    assert_eq!(lines[1], "    spec.state  unset → Stopped");
    assert!(lines[2].starts_with("generation 1  created by admin (api), "), "{}", said.out);
    assert!(said.out.contains("    spec.slug  photos\n"), "{}", said.out);
    assert_eq!(home.run(&["history", "app/nothing"]).await.exit, Exit::NotFound);
}
