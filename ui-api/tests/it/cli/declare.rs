//! Declaring, listing, waiting, deleting.

use std::time::Duration;

use hearth::cli::exit::Exit;
use hearth_engine::Key;
use serde_json::json;

use super::home::Home;

const PHOTOS: &str = "apiVersion: hearth.dev/v1\nkind: App\nmetadata:\n  name: photos\nspec:\n  compose: |\n    services: { web: { image: x } }\n  slug: photos\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: { name: photos }\nstringData: { password: hunter2 }\n";

#[tokio::test(flavor = "multi_thread")]
async fn apply_creates_changes_and_leaves_alone() {
    let home = Home::start().await;
    let file = home.file("photos.yaml", &format!("{PHOTOS}---\n{SECRET}"));
    let said = home.run(&["apply", "-f", &file]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Exit::Done, "secret/photos created\napp/photos created\n"),
        "{}",
        said.err
    );
    let said = home.run(&["apply", "-f", &file]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Exit::Done, "secret/photos unchanged\napp/photos unchanged\n"),
        "{}",
        said.err
    );
    home.file("photos.yaml", &PHOTOS.replace("spec:\n", "spec:\n  state: Stopped\n"));
    let said = home.run(&["apply", "--dry-run", "-f", &file]).await;
    assert_eq!(said.out, "app/photos changed (tried only; nothing was changed)\n");
    let key = Key::new("App", "household", "photos");
    assert_eq!(home.store.get(&key).unwrap().metadata.generation, Some(1));
    let said = home.run(&["apply", "-f", &file]).await;
    assert_eq!(said.out, "app/photos changed\n");
    assert_eq!(home.store.get(&key).unwrap().spec()["state"], "Stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_set_is_applied_when_the_server_would_refuse_a_part() {
    let home = Home::start().await;
    home.app("album").await;
    let file =
        home.file("home.yaml", &format!("{SECRET}---\n{}", PHOTOS.replace("slug: photos", "slug: album")));
    let said = home.run(&["apply", "-f", &file]).await;
    assert_eq!(said.exit, Exit::Rejected);
    assert!(said.err.contains("\"album\" is taken by App household/album"), "{}", said.err);
    assert!(said.err.contains("--> home.yaml:13:"), "{}", said.err);
    assert!(said.err.contains("13 |   slug: album"), "{}", said.err);
    assert!(said.err.ends_with("error: 1 problem in home.yaml; nothing was changed\n"), "{}", said.err);
    assert!(home.store.get(&Key::new("Secret", "household", "photos")).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_its_own_namespace_is_applied_in_order() {
    let home = Home::start().await;
    std::fs::create_dir(home.folder.path().join("ana")).unwrap();
    home.file("ana/a-app.yaml", &PHOTOS.replace("name: photos\n", "name: photos\n  namespace: ana\n"));
    home.file("ana/b-namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: ana }\n");
    home.file("ana/notes.txt", "not a manifest");
    let folder = home.folder.path().join("ana").display().to_string();
    let said = home.run(&["apply", "-f", &folder]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Exit::Done, "namespace/ana created\napp/photos created\n"),
        "{}",
        said.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_can_wait_until_ready_or_say_why_not() {
    let home = Home::start().await;
    let file = home.file("photos.yaml", PHOTOS);
    home.see_later(
        Duration::from_millis(200),
        "App",
        "photos",
        json!({ "summary": "Progressing", "message": "Pulling images" }),
    );
    home.see_later(Duration::from_millis(500), "App", "photos", json!({ "summary": "Ready" }));
    let said = home.run(&["apply", "-f", &file, "--wait", "--timeout", "20s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.starts_with("app/photos created\napp/photos ✓ Ready after "), "{}", said.out);
    assert!(said.err.contains("app/photos  ● Progressing  Pulling images\n"), "{}", said.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_early_when_a_person_is_needed() {
    let home = Home::start().await;
    home.app("photos").await;
    home.see_later(
        Duration::from_millis(100),
        "App",
        "photos",
        json!({ "summary": "NeedsYou", "message": "The disk is gone" }),
    );
    let said = home.run(&["wait", "app/photos", "--for=ready", "--timeout", "20s"]).await;
    assert_eq!(said.exit, Exit::Unwell, "{said:?}");
    assert!(
        said.err.contains(
            "app/photos ✗ NeedsYou: The disk is gone\n  see what to do with `hearth why app/photos`"
        ),
        "{}",
        said.err
    );
    let said = home.run(&["wait", "app/photos", "--for=NeedsYou"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let said = home.run(&["wait", "app/nothing", "--for=ready"]).await;
    assert_eq!(said.exit, Exit::NotFound, "{said:?}");
    home.see("App", "photos", json!({ "summary": "Waiting", "message": "Waits for its image" })).await;
    let said = home.run(&["wait", "app/photos", "--timeout", "1s"]).await;
    assert_eq!(said.exit, Exit::TimedOut, "{said:?}");
    assert!(
        said.err.contains("app/photos is not Ready after 1s; it is Waiting: Waits for its image"),
        "{}",
        said.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_waits_until_it_is_gone_and_says_what_becomes_of_data() {
    let home = Home::start().await;
    home.app("photos").await;
    home.take_down_later("App", "photos");
    let said = home.run(&["delete", "app/photos"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "app/photos deleted\n"), "{said:?}");
    assert!(said.err.contains("app/photos: its data is kept"), "{}", said.err);
    assert_eq!(home.run(&["delete", "app/photos"]).await.exit, Exit::NotFound);
    assert_eq!(home.run(&["delete", "app/photos", "--ignore-not-found"]).await.exit, Exit::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_data_needs_consent() {
    let home = Home::start().await;
    home.app("photos").await;
    let said = home.run(&["delete", "app/photos", "--data", "--wait=false"]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("the data of app/photos would be deleted for ever"), "{}", said.err);
    let key = Key::new("App", "household", "photos");
    assert!(!home.store.get(&key).unwrap().is_going());
    let said = home.run(&["delete", "app/photos", "--data", "--yes", "--wait=false"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "app/photos deletion asked for\n"), "{said:?}");
    let object = home.store.get(&key).unwrap();
    assert!(object.is_going() && object.spec()["dataPolicy"] == "Delete");
}

#[tokio::test(flavor = "multi_thread")]
async fn get_lists_problems_first_and_speaks_to_programs() {
    let home = Home::start().await;
    for name in ["album", "photos", "vault"] {
        home.app(name).await;
    }
    home.see("App", "album", json!({ "summary": "Ready", "url": "http://album.local" })).await;
    home.see(
        "App",
        "photos",
        json!({ "summary": "Waiting", "message": "Waits for volume photos-data: its disk was not found" }),
    )
    .await;
    let said = home.run_wide(200, &["get", "apps"]).await;
    assert_eq!(
        said.out,
        "NAME    STATUS     VERSION  ADDRESS             WHY                                                   AGE\n\
         photos  ● Waiting                               Waits for volume photos-data: its disk was not found  0s\n\
         album   ✓ Ready             http://album.local                                                        0s\n\
         vault                                                                                                 0s\n"
            .replace("0s", &said.out[said.out.len() - 3..said.out.len() - 1]),
    );
    let said = home.run_wide(80, &["get", "apps"]).await;
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    assert_eq!(home.run(&["get", "apps", "-o", "name"]).await.out, "app/album\napp/photos\napp/vault\n");
    assert_eq!(
        home.run(&["get", "app/album", "-o", "jsonpath={.status.url}"]).await.out,
        "http://album.local\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.run(&["get", "apps", "-o", "json"]).await.out).unwrap();
    assert_eq!((&json["kind"], json["items"].as_array().unwrap().len()), (&json!("List"), 3));
    let yaml = home.run(&["get", "app/album", "-o", "yaml"]).await.out;
    assert!(yaml.starts_with("apiVersion: hearth.dev/v1\nkind: App\nmetadata:\n"), "{yaml}");
    let said = home.run(&["get", "app", "album", "missing"]).await;
    assert!(said.exit == Exit::NotFound && said.out.contains("album"), "{said:?}");
    let said = home.run(&["get", "routes"]).await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no routes in namespace household\n"));
    let said = home.run(&["get", "all"]).await;
    assert!(said.out.contains("app/photos"), "{}", said.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_removed_is_not_applied_over() {
    let home = Home::start().await;
    let file = home.file("photos.yaml", PHOTOS);
    home.run(&["apply", "-f", &file]).await;
    home.run(&["delete", "app/photos", "--wait=false"]).await;
    let said = home.run(&["apply", "-f", &file]).await;
    assert_eq!(said.exit, Exit::Conflict, "{said:?}");
    assert!(
        said.err.contains("app/photos is being removed\n  wait with `hearth wait app/photos --for=deleted`"),
        "{}",
        said.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_a_new_namespace_and_what_is_in_it_changes_nothing() {
    let home = Home::start().await;
    let app = PHOTOS.replace("name: photos\n", "name: photos\n  namespace: ana\n");
    let file = home
        .file("ana.yaml", &format!("{app}---\napiVersion: v1\nkind: Namespace\nmetadata: {{ name: ana }}\n"));
    let said = home.run(&["apply", "-f", &file, "--dry-run"]).await;
    let tried = "created (tried only; nothing was changed)";
    assert_eq!(
        (said.exit, said.out),
        (Exit::Done, format!("namespace/ana {tried}\napp/photos {tried}\n")),
        "{}",
        said.err
    );
    assert!(home.store.get(&Key::new("Namespace", "", "ana")).is_none());
    let said = home.run(&["diff", "-f", &file]).await;
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Exit::Differs, "+ namespace/ana  new\n+ app/photos  new\n"),
        "{}",
        said.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_kept_is_not_waited_for() {
    let home = Home::start().await;
    let file = home.file("s.yaml", SECRET);
    let said = home.run(&["apply", "-f", &file, "--wait"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "secret/photos created\n"), "{}", said.err);
    assert_eq!(home.run(&["wait", "secret/photos"]).await.exit, Exit::Usage);
}
