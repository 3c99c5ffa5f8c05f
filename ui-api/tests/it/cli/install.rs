//! An app from its source to its end: installed, upgraded, uninstalled.

use hearth::cli::exit::Exit;
use hearth_engine::Key;
use serde_json::json;

use super::home::Home;
use super::whole::Whole;

const COMPOSE: &str = "services:\n  web:\n    image: ghcr.io/example/photos:2.1\n    expose: [\"8080\"]\n    environment: { TZ: \"${TZ}\" }\n    volumes: [\"./pictures:/photos\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_installed_upgraded_and_uninstalled_and_its_data_is_told() {
    let home = Whole::start().await;
    let file = home.folder.path().join("compose.yml");
    std::fs::write(&file, COMPOSE).unwrap();
    let file = file.display().to_string();
    let install = ["install", "photos", "--compose", &file, "--set", "TZ=UTC"];
    let said = home.run(&[&install[..], &["--wait", "--timeout", "60s"][..]].concat()).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.starts_with("app/photos created\napp/photos ✓ Ready after "), "{said:?}");
    let said = home.run(&install).await;
    assert!(said.exit == Exit::Conflict && said.err.contains("hearth upgrade photos"), "{said:?}");

    std::fs::write(&file, COMPOSE.replace("2.1", "2.2")).unwrap();
    let upgrade = ["upgrade", "photos", "--compose", &file, "--set", "EXTRA=1"];
    let said = home.run(&upgrade).await;
    assert!(said.exit == Exit::Usage && said.err.contains("--yes"), "nobody can be asked: {said:?}");
    let said = home.run(&[&upgrade[..], &["--dry-run"][..]].concat()).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    for part in ["+     image: ghcr.io/example/photos:2.2", "spec.values[EXTRA].value", "→ ", "tried only"]
    {
        assert!(said.out.contains(part), "{part} in {said:?}");
    }
    let said = home.run(&[&upgrade[..], &["--yes", "--wait", "--timeout", "60s"][..]].concat()).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.err.contains("undo: hearth rollback app/photos --to 1"), "{said:?}");
    let values = home.run(&["get", "app/photos", "-o", "jsonpath={.spec.values[*].name}"]).await.out;
    assert_eq!(values, "TZ EXTRA\n", "values that were not given stay");
    let said = home.run(&[&upgrade[..], &["--yes"][..]].concat()).await;
    assert!(said.exit == Exit::Done && said.err.contains("nothing changes"), "{said:?}");

    let said = home.run(&["uninstall", "photos", "--timeout", "60s"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "app/photos deleted\n"), "{said:?}");
    let kept = said.err.lines().find(|line| line.contains("its data is kept")).unwrap_or_default();
    assert!(kept.contains("volume/photos-pictures at /srv/pretend/instances/"), "{said:?}");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_install_writes_can_be_shown_tried_and_refused_before_it_is_written() {
    let home = Home::start().await;
    let file = home.file("compose.yml", COMPOSE);
    let said =
        home.run(&["install", "photos", "--compose", &file, "--set", "TZ=UTC", "--show", "--dry-run"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.err.contains("app/photos created (tried only; nothing was changed)"), "{said:?}");
    let key = Key::new("App", "household", "photos");
    assert!(home.store.get(&key).is_none());
    let shown = home.file("photos.yaml", &said.out);
    assert_eq!(home.run(&["apply", "-f", &shown]).await.out, "app/photos created\n");
    assert_eq!(home.store.get(&key).unwrap().spec()["values"], json!([{ "name": "TZ", "value": "UTC" }]));
    let cases: [(&[&str], Exit, &str); 10] = [
        (&["install", "notes"], Exit::Usage, "--compose FILE"),
        (&["install", "No_Name", "--compose", &file], Exit::Usage, "cannot be an app's name"),
        (&["install", "notes", "--compose", "/nowhere.yml"], Exit::NotFound, "/nowhere.yml cannot be read"),
        (&["install", "notes", "--compose", &file, "--package", "/x"], Exit::Usage, "cannot be used with"),
        (&["install", "notes", "--compose", &file, "--set", "TZ"], Exit::Usage, "--set NAME=VALUE"),
        (
            &["install", "notes", "--compose", &file, "--set", "T-Z=1"],
            Exit::Rejected,
            "letters, digits and _",
        ),
        (&["install", "volume/notes", "--compose", &file], Exit::Usage, "is no app"),
        (&["upgrade", "photo", "--compose", &file], Exit::NotFound, "did you mean app/photos?"),
        (&["upgrade", "photos"], Exit::Usage, "give the new one with --compose FILE"),
        (&["uninstall", "photo"], Exit::NotFound, "did you mean app/photos?"),
    ];
    for (words, exit, part) in cases {
        let said = home.run(words).await;
        assert!(said.exit == exit && said.err.contains(part), "{words:?}: {said:?}");
    }
    let said = home.run(&["uninstall", "photos", "--data"]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("--yes"), "data goes only with consent: {said:?}");
    assert!(home.store.get(&key).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_app_of_a_name_never_takes_the_place_of_the_first() {
    let home = Home::start().await;
    let first = home.file("compose.yml", COMPOSE);
    assert_eq!(home.run(&["install", "photos", "--compose", &first]).await.exit, Exit::Done);
    let key = Key::new("App", "household", "photos");
    let before = home.store.get(&key).unwrap();
    let second = home.file("second.yml", "services: { web: { image: other } }\n");
    for more in [&[][..], &["--dry-run"]] {
        let said = home.run(&[&["install", "photos", "--compose", &second][..], more].concat()).await;
        assert!(
            said.exit == Exit::Conflict && said.err.contains("app/photos is installed already"),
            "{said:?}"
        );
    }
    assert_eq!(home.store.get(&key).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_named_where_the_server_has_it_and_read_again_at_an_upgrade() {
    let home = Home::start().await;
    let said =
        home.run(&["install", "vault", "--package", "/srv/packages/vault", "--set", "ADMIN=ana"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let key = Key::new("App", "household", "vault");
    assert_eq!(home.store.get(&key).unwrap().spec()["package"], json!({ "path": "/srv/packages/vault" }));
    let said = home.run(&["upgrade", "vault", "--yes"]).await;
    assert!(said.exit == Exit::Done && said.err.contains("/srv/packages/vault is read again"), "{said:?}");
    assert!(home.store.get(&key).unwrap().annotation("hearth.dev/poked-at").is_some());
    // From a package to a file of its own.
    let file = home.file("compose.yml", COMPOSE);
    let said = home.run(&["upgrade", "vault", "--compose", &file, "--yes"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let spec = home.store.get(&key).unwrap().spec().clone();
    assert!(spec["package"].is_null() && spec["compose"].is_string(), "{spec}");
    // Where nothing changes, what stands is waited for all the same.
    home.see("App", "vault", json!({ "summary": "Failed", "reason": "x" })).await;
    let again = ["upgrade", "vault", "--compose", &file, "--yes", "--wait", "--timeout", "20s"];
    let said = home.run(&again).await;
    assert!(said.exit == Exit::Unwell && said.err.contains("nothing changes"), "{said:?}");
    assert_eq!(home.run(&[&again[..], &["--dry-run"]].concat()).await.exit, Exit::Done);
}
