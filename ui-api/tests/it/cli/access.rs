//! Letting people in, and what they are shown.

use std::os::unix::fs::PermissionsExt;

use hearth::cli::exit::Exit;
use hearth_engine::Key;
use serde_json::json;

use super::home::Home;

/// A home in which Anna and Ben each have a namespace and an app; and Anna's kubeconfig file.
async fn family() -> (Home, String) {
    let home = Home::start().await;
    for name in ["anna", "ben"] {
        home.make(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
        home.make(json!({
            "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": "photos", "namespace": name },
            "spec": { "compose": "services: { web: { image: x } }" },
        }))
        .await;
    }
    home.app("shared").await;
    let file = home.folder.path().join("anna.kubeconfig").display().to_string();
    let made = home
        .run(&[
            "token",
            "create",
            "anna",
            "--role",
            "member",
            "--namespace",
            "anna",
            "--write-kubeconfig",
            &file,
        ])
        .await;
    assert_eq!(made.exit, Exit::Done, "{}", made.err);
    (home, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_printed_once_and_only_its_hash_is_kept() {
    let home = Home::start().await;
    let made = home.run(&["token", "create", "ci", "--role", "admin", "--for", "90d"]).await;
    assert_eq!(made.exit, Exit::Done, "{}", made.err);
    let token = made.out.trim();
    assert!(token.starts_with("hearth_") && token.len() == 71, "{}", made.out);
    assert_eq!(made.err, "this is the only time it is shown; end it with `hearth token revoke ci`\n");
    let object = home.store.get(&Key::new("Token", "", "ci")).unwrap();
    assert_eq!(object.spec()["sha256"].as_str().unwrap().len(), 64);
    assert!(!object.to_value().to_string().contains(token));
    let shown = home.run(&["get", "token/ci", "-o", "yaml"]).await;
    assert!(shown.out.contains("expiresAt: ") && !shown.out.contains("sha256:"), "{}", shown.out);
    let again = home.run(&["token", "create", "ci", "--role", "admin"]).await;
    assert_eq!(again.exit, Exit::Conflict, "{}", again.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_lets_its_holder_in_and_is_for_nobody_else_to_read() {
    let (home, file) = family().await;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let own = home.run_with(&file, &["get", "apps"]).await;
    assert_eq!((own.exit, own.out.lines().count()), (Exit::Done, 2), "{} {}", own.out, own.err);
    let refused = home.run_with(&file, &["get", "apps", "-n", "ben"]).await;
    assert_eq!(refused.exit, Exit::NotAllowed);
    assert!(refused.err.contains("User \"anna\" cannot list resource \"apps\""), "{}", refused.err);
    let twice = home.run(&["token", "create", "b", "--role", "admin", "--write-kubeconfig", &file]).await;
    assert_eq!(twice.exit, Exit::Conflict, "{}", twice.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn everywhere_means_where_one_may_look() {
    let (home, file) = family().await;
    let all = home.run_with(&file, &["get", "apps", "-A", "-o", "name"]).await;
    assert_eq!((all.exit, all.out.as_str()), (Exit::Done, "app/photos\napp/shared\n"), "{}", all.err);
    let table = home.run_with(&file, &["get", "apps", "-A"]).await;
    assert!(table.out.contains("anna") && table.out.contains("household"), "{}", table.out);
    assert!(!table.out.contains("ben"), "{}", table.out);
    let kinds = home.run_with(&file, &["get", "all", "-A"]).await;
    assert_eq!(kinds.exit, Exit::Done, "{}", kinds.err);
    let images = home.run_with(&file, &["get", "images"]).await;
    assert_eq!(images.exit, Exit::NotAllowed, "{}", images.out);
    let admin = home.run(&["get", "apps", "-A", "-o", "name"]).await;
    assert_eq!(admin.out.lines().count(), 3, "{}", admin.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_everywhere_means_what_listing_everywhere_means() {
    let (home, file) = family().await;
    let app = |namespace: &str, name: &str| {
        json!({
            "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": name, "namespace": namespace },
            "spec": { "compose": "services: { web: { image: x } }" },
        })
    };
    let words = ["get", "apps", "-A", "-w", "-o", "name"];
    let watched = home.follow_with(&file, &words, async |said| {
        said.until("app/shared").await;
        for (namespace, name) in [("anna", "later"), ("ben", "hidden"), ("household", "last")] {
            home.make(app(namespace, name)).await;
        }
        for name in ["app/later", "app/last"] {
            said.until(name).await;
        }
    });
    let (told, _) = watched.await;
    assert!(told.contains("app/photos") && !told.contains("hidden"), "{told}");
    let images = home.run_with(&file, &["get", "images", "-A", "-w"]).await;
    assert_eq!(images.exit, Exit::NotAllowed, "{}", images.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_looks_at_their_own_with_every_verb() {
    let (home, file) = family().await;
    for words in [
        &["describe", "app/photos"][..],
        &["why", "app/photos"],
        &["tree", "app/photos"],
        &["events", "app/photos"],
        &["events"],
        &["drift", "list"],
        &["drift", "list", "-A"],
        &["history", "app/photos"],
        &["get", "all"],
        &["stop", "app/photos"],
        &["describe", "app/shared", "-n", "household"],
    ] {
        let said = home.run_with(&file, words).await;
        assert_eq!(said.exit, Exit::Done, "{words:?}: {} {}", said.out, said.err);
        assert!(!said.out.contains("ben"), "{words:?}: {}", said.out);
    }
    for words in
        [&["history", "app/shared", "-n", "household"][..], &["stop", "app/shared", "-n", "household"]]
    {
        let said = home.run_with(&file, words).await;
        assert_eq!(said.exit, Exit::NotAllowed, "{words:?}: {}", said.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_lets_nobody_in() {
    let (home, file) = family().await;
    let listed = home.run(&["token", "list"]).await;
    let row = listed.out.lines().nth(1).unwrap();
    assert!(row.starts_with("anna") && row.contains("Member"), "{}", listed.out);
    assert_eq!(home.run_with(&file, &["get", "apps"]).await.exit, Exit::Done);
    let revoked = home.run(&["token", "revoke", "anna"]).await;
    assert_eq!((revoked.exit, revoked.err.as_str()), (Exit::Done, "token/anna lets nobody in any more\n"));
    let refused = home.run_with(&file, &["get", "apps"]).await;
    assert_eq!(refused.exit, Exit::NotAllowed, "{}", refused.out);
    assert_eq!(home.run(&["token", "revoke", "anna"]).await.exit, Exit::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_said_before_anything_is_made() {
    let home = Home::start().await;
    for (words, part) in [
        (&["token", "create", "x", "--role", "member"][..], "--namespace"),
        (&["token", "create", "x", "--role", "admin", "-n", "anna"], "leave --namespace out"),
        (&["token", "create", "x", "--role", "boss"], "boss"),
        (&["token", "create", "x", "--role", "admin", "--for", "soon"], "soon"),
    ] {
        let said = home.run(words).await;
        assert_eq!(said.exit, Exit::Usage, "{words:?}: {}", said.err);
        assert!(said.err.contains(part), "{words:?}: {}", said.err);
    }
    assert!(home.store.list(&hearth_engine::Query::of("Token")).items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_speaks_over_the_socket() {
    let home = Home::start().await;
    home.app("photos").await;
    let socket = home.folder.path().join("data/hearth.sock").display().to_string();
    let listed = home.run_with(&socket, &["get", "apps", "-o", "name"]).await;
    if !rustix::process::geteuid().is_root() {
        assert_eq!(listed.exit, Exit::NotAllowed, "{}", listed.out);
        return;
    }
    assert_eq!((listed.exit, listed.out.as_str()), (Exit::Done, "app/photos\n"), "{}", listed.err);
    let file = home.folder.path().join("mine.kubeconfig").display().to_string();
    let words = ["token", "create", "mine", "--role", "admin", "--write-kubeconfig", &file];
    let made = home.run_with(&socket, &words).await;
    assert_eq!(made.exit, Exit::Done, "{}", made.err);
    assert_eq!(home.run_with(&file, &["get", "apps", "-o", "name"]).await.out, "app/photos\n");
    let history = home.run(&["history", "token/mine"]).await;
    assert!(history.out.contains("root"), "{}", history.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn root_makes_a_new_way_in_where_the_admins_was_lost() {
    let home = Home::start().await;
    let data_dir = home.folder.path().join("data").display().to_string();
    let taken = home.run(&["token", "create", "mine", "--role", "admin", "--data-dir", &data_dir]).await;
    assert_eq!(taken.exit, Exit::Rejected, "a server has it open: {}", taken.out);
    let home = home.stopped().await;
    let file = home.folder.path().join("mine.kubeconfig").display().to_string();
    let words =
        ["token", "create", "mine", "--role", "admin", "--data-dir", &data_dir, "--write-kubeconfig", &file];
    let made = home.run(&words).await;
    assert_eq!(made.exit, Exit::Done, "{}", made.err);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("server: https://127.0.0.1:") && text.contains("token: hearth_"), "{text}");
    let nowhere = home.run(&["token", "create", "x", "--role", "admin", "--data-dir", "/nonexistent"]).await;
    assert_eq!(nowhere.exit, Exit::NotFound, "{}", nowhere.err);
}
