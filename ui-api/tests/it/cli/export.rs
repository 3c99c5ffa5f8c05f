//! What people declared, exported: clean, whole, and applied again without a change.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hearth::cli::exit::Exit;
use hearth_engine::Key;

use super::home::{Home, part_of};
use super::whole::{PHOTOS, Whole};

/// An example of every kind that people write, as it is published.
fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/examples/valid");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| {
        (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap())
    };
    files.map(of).filter(|(name, _)| !["case", "token", "revision"].contains(&name.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_that_people_write_is_exported_clean_and_applied_again_changes_nothing() {
    let home = Home::start().await;
    let mut names = Vec::new();
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: { name: anna, labels: { room: attic } }\n";
    for (name, text) in examples().into_iter().chain([("namespace".into(), namespace.into())]) {
        let file = home.file(&format!("{name}.yaml"), &text);
        let said = home.run(&["apply", "-f", &file]).await;
        assert_eq!(said.exit, Exit::Done, "{name}: {said:?}");
        names.push(name);
    }
    let folder = home.folder.path().join("out").display().to_string();
    let said = home.run(&["export", "--with-secrets", "--to", &folder]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    for name in names.iter().map(String::as_str).chain(["secret"]) {
        assert!(said.out.contains(&format!("out/{name}.")), "{name} in {said:?}");
    }
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for made in
            ["\nstatus:", "\n  uid:", "resourceVersion:", "managedFields:", "finalizers:", "\n  generation:"]
        {
            assert!(!text.contains(made), "{made} in {text}");
        }
    }
    let said = home.run(&["diff", "-f", &folder]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, ""), "{said:?}");
    let said = home.run(&["apply", "-f", &folder]).await;
    assert!(said.exit == Exit::Done && said.out.lines().all(|line| line.ends_with(" unchanged")), "{said:?}");
    let many = home.run(&["export", "volumes,routes", "-o", "json"]).await.out;
    assert!(many.contains("\"kind\": \"List\""), "{many}");
    let said = home.run(&["apply", "-f", &home.file("many.json", &many)]).await;
    assert_eq!(said.out, "volume/photos-pgdata unchanged\nroute/photos unchanged\n", "{said:?}");
    let bad = home.file("bad.json", &many.replace("\"pgdata\"", "7"));
    let said = home.run(&["apply", "-f", &bad]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("spec.path"), "{said:?}");
    assert!(said.err.contains("\"path\": 7"), "at its place in the list: {said:?}");
    // In another home it declares the same.
    let other = Home::start().await;
    assert_eq!(other.run(&["apply", "-f", &folder]).await.exit, Exit::Done);
    let again = other.run(&["export", "--with-secrets"]).await.out;
    assert_eq!(again, home.run(&["export", "--with-secrets"]).await.out);
    // What the server chose is not written where nobody wrote it.
    let text = std::fs::read_to_string(Path::new(&folder).join("app.household.photos.yaml")).unwrap();
    assert!(!text.contains("slug:") && text.contains("preferredSlugs:"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_home_is_exported_without_what_apps_and_the_server_make() {
    let home = Whole::start().await;
    assert_eq!(home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let said = home.run(&["export", "-A"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(said.out.matches("\nkind: ").count(), 1, "the app alone: {}", said.out);
    assert!(said.err.contains("secrets are left out"), "{said:?}");
    let file = home.folder.path().join("exported.yaml");
    std::fs::write(&file, &said.out).unwrap();
    let said = home.run(&["diff", "-f", &file.display().to_string()]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, ""), "{said:?}");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_exported_says_why_and_no_file_is_written_over() {
    let home = Home::start().await;
    let owner = home.app("photos").await;
    home.make(part_of(&owner, "Volume", "photos-data", serde_json::json!({ "instance": "x", "path": "d" })))
        .await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: mail }\nstringData: { pw: hunter2 }\n";
    assert_eq!(home.run(&["apply", "-f", &home.file("s.yaml", secret)]).await.exit, Exit::Done);
    assert_eq!(home.run(&["token", "create", "ci", "--role", "admin"]).await.exit, Exit::Done);
    let cases: [(&[&str], Exit, &str); 8] = [
        (&["volume/photos-data"], Exit::Rejected, "hearth export app/photos"),
        (&["secret/mail"], Exit::Usage, "--with-secrets"),
        (&["secrets"], Exit::Usage, "--with-secrets"),
        (&["token/ci"], Exit::Rejected, "hearth token create"),
        (&["events"], Exit::Rejected, "not declared"),
        (&["app/photo"], Exit::NotFound, "did you mean app/photos?"),
        (&["aps"], Exit::Usage, "did you mean"),
        (&["app/photos", "--force"], Exit::Usage, "--to"),
    ];
    for (words, exit, part) in cases {
        let said = home.run(&[&["export"][..], words].concat()).await;
        assert!(said.exit == exit && said.err.contains(part) && said.out.is_empty(), "{words:?}: {said:?}");
    }
    let said = home.run(&["export", "secret/mail", "--with-secrets"]).await;
    assert!(said.out.contains("pw: aHVudGVyMg=="), "{said:?}");
    let said = home.run(&["export"]).await;
    assert!(!said.out.contains("aHVudGVyMg") && said.out.contains("name: photos"), "{said:?}");
    let said = home.run(&["export", "app/photos", "-o", "json"]).await;
    let read: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((read["kind"].as_str(), read["status"].is_null()), (Some("App"), true));
    let folder = home.folder.path().join("out");
    let to = folder.display().to_string();
    assert_eq!(home.run(&["export", "app/photos", "--to", &to]).await.exit, Exit::Done);
    let file = folder.join("app.household.photos.yaml");
    std::fs::write(&file, "mine").unwrap();
    let said = home.run(&["export", "--with-secrets", "--to", &to]).await;
    assert!(said.exit == Exit::Conflict && said.err.contains("exists already"), "{said:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "all of it or nothing");
    // The last file cannot be written: what it would be written beside its place as is a folder.
    let other = home.folder.path().join("other");
    let way = other.join(format!(".secret.household.mail.yaml.{}", std::process::id()));
    std::fs::create_dir_all(&way).unwrap();
    let other = other.display().to_string();
    let words = ["export", "app/photos", "secret/mail", "--with-secrets", "--to", &other];
    let said = home.run(&words).await;
    assert!(said.exit == Exit::Rejected && said.out.is_empty(), "{said:?}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1, "nothing of it is left");
    let said = home.run(&[&words[..], &["--force"]].concat()).await;
    assert!(said.err.contains("app.household.photos.yaml was written"), "{said:?}");
    assert_eq!(home.run(&["export", "app/photos", "--to", &to, "--force"]).await.exit, Exit::Done);
    assert!(std::fs::read_to_string(&file).unwrap().contains("name: photos"));
    assert!(home.store.get(&Key::new("App", "household", "photos")).is_some());
}
