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
