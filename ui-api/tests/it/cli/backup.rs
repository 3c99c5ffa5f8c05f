//! Backups and restores as a person makes them, against a running server and beside it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;
use hearth::server::{Server, ServerOptions};
use hearth_capabilities::Containers;
use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Key, OpenOptions, Store, SystemClock, WriteOptions};
use hearth_pretend::Machine;
use serde_json::json;

use super::home::Home;
use super::whole::{PHOTOS, Whole};

impl Home {
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    async fn secret(&self, value: &str) {
        self.make(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "mail", "namespace": "household" },
            "stringData": { "password": value },
        }))
        .await;
    }
}

async fn open(data_dir: &Path) -> Store {
    let options = OpenOptions {
        data_dir: data_dir.to_owned(),
        kinds: hearth_kinds::all(&hearth_kinds::Settings::default()),
        clock: Arc::new(SystemClock::start()),
    };
    Store::open(options).await.unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_the_running_server_restores_the_home_on_a_fresh_machine() {
    let home = Home::start().await;
    home.app("photos").await;
    home.secret("hunter2hunter2").await;
    let file = home.path("home.tar");
    let said = home.run(&["backup", "create", &file]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(
        said.out.starts_with("home.tar is sound: store ") && said.out.contains("at version 4, of 20"),
        "{said:?}"
    );
    assert!(said.err.contains("it holds the key to every secret of this home"), "{said:?}");
    assert!(said.err.contains("the data of apps is not in it"), "{said:?}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(names(home.folder.path()), ["data", "home.tar"], "nothing is left beside it");
    assert!(!names(&home.data()).contains(&"backup.half".to_owned()));
    let said = home.run(&["backup", "create", &file]).await;
    assert!(said.exit == Exit::Conflict && said.err.contains("exists already"), "{said:?}");
    let said = home.run(&["backup", "verify", &file]).await;
    assert!(said.exit == Exit::Done && said.out.contains("is sound"), "{said:?}");
    let said = home.run(&["backup", "list", home.folder.path().to_str().unwrap()]).await;
    assert!(
        said.exit == Exit::Done && said.out.lines().count() == 2 && said.out.contains("home.tar"),
        "{said:?}"
    );

    let fresh = home.path("fresh");
    let said = home.run(&["restore", &file, "--data-dir", &fresh]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("add --yes if that is meant"), "{said:?}");
    let said = home.run(&["restore", &file, "--data-dir", &fresh, "--yes"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.starts_with("fresh is restored from the backup of 20"), "{said:?}");
    assert!(said.err.contains("hearth recover accept"), "{said:?}");
    let fresh = PathBuf::from(fresh);
    let store = open(&fresh).await;
    assert!(store.observe_only().unwrap().starts_with("Restored from a backup of 20"));
    assert_eq!(store.lineage(), home.store.lineage());
    let photos = Key::new("App", "household", "photos");
    assert_eq!(store.get(&photos).unwrap().spec(), home.store.get(&photos).unwrap().spec());
    let mail = Key::new("Secret", "household", "mail");
    assert_eq!(store.get(&mail).unwrap().body, home.store.get(&mail).unwrap().body, "its key came along");

    // The same authority and the same token: clients go on as they are, but for the address.
    let options = ServerOptions::alone(store.clone(), fresh.clone());
    let server = Server::start(options).await.unwrap();
    let old = std::fs::read_to_string(home.kubeconfig()).unwrap();
    let address = |text: &str| text.lines().find(|line| line.contains("server: ")).unwrap().to_owned();
    let new = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let client = home.file("client.kubeconfig", &old.replace(&address(&old), &address(&new)));
    let said = home.run_with(&client, &["recover", "status"]).await;
    assert_eq!(said.exit, Exit::Unwell, "{said:?}");
    assert!(
        said.out.contains("Nothing is changed on this machine: Restored from a backup of 20"),
        "{said:?}"
    );
    let said = home.run_with(&client, &["recover", "accept"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(home.run_with(&client, &["recover", "status"]).await.exit, Exit::Done);
    server.stop().await;
    store.close().await;
    drop(store);
    assert_eq!(open(&fresh).await.observe_only(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_over_a_home_puts_what_stood_aside_and_gives_out_no_version_twice() {
    let home = Home::start().await;
    home.app("photos").await;
    let file = home.path("home.tar");
    assert_eq!(home.run(&["backup", "create", &file]).await.exit, Exit::Done);
    home.app("later").await;
    let given_out = home.store.resource_version();
    let data = home.data().display().to_string();
    let said = home.run(&["restore", &file, "--data-dir", &data, "--yes"]).await;
    assert!(said.exit == Exit::Conflict && said.err.contains("stop the server first"), "{said:?}");
    home.store.close().await;
    let said = home.run(&["restore", &file, "--data-dir", &data, "--yes"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.err.contains("what stood there before is in data/replaced/20"), "{said:?}");
    let aside = home.data().join("replaced");
    let aside = aside.join(&names(&aside)[0]);
    assert_eq!(names(&aside), ["admin.kubeconfig", "pki", "store.db", "store.key"]);
    let store = open(&home.data()).await;
    assert!(store.observe_only().unwrap().starts_with("Restored from a backup of 20"));
    assert!(store.get(&Key::new("App", "household", "later")).is_none());
    assert!(store.resource_version() > given_out);
    store.close().await;

    // Back to what stood before, with a copy of it alone: the key is the same.
    let copy = aside.join("store.db").display().to_string();
    let said = home.run(&["restore", &copy, "--data-dir", &data, "--yes"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let store = open(&home.data()).await;
    assert!(store.observe_only().unwrap().starts_with("Restored from a copy of 20"));
    assert!(store.get(&Key::new("App", "household", "later")).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_a_data_directory_is_backed_up_and_its_copies_are_listed() {
    let home = Home::start().await;
    home.app("photos").await;
    let data = home.data().display().to_string();
    let file = home.path("home.tar");
    let said = home.run(&["backup", "create", &file, "--data-dir", &data]).await;
    assert!(said.exit == Exit::Conflict && said.err.contains("a server has data open"), "{said:?}");
    home.store.copy_if_due().await;
    let said = home.run(&["backup", "list"]).await;
    assert!(said.exit == Exit::Done && said.out.contains("daily"), "{said:?}");
    home.store.close().await;
    let listed = home.run(&["backup", "list", "--data-dir", &data]).await;
    assert_eq!(listed.out, said.out);
    let said = home.run(&["backup", "create", &file, "--data-dir", &data]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(names(home.folder.path()), ["data", "home.tar"]);
    let copy = home.data().join("copies").join(&names(&home.data().join("copies"))[0]).display().to_string();
    let said = home.run(&["restore", &copy, "--data-dir", &data, "--yes"]).await;
    assert!(said.exit == Exit::Done && said.out.contains("from the copy of 20"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_sound_backup_changes_nothing() {
    let home = Home::start().await;
    home.app("photos").await;
    let file = home.path("home.tar");
    assert_eq!(home.run(&["backup", "create", &file]).await.exit, Exit::Done);
    home.store.close().await;
    let whole = std::fs::read(&file).unwrap();
    let before = names(&home.data());
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let data = home.data().display().to_string();
    for (bytes, why) in [
        (&whole[..whole.len() / 2], "cut short"),
        (&flipped[..], "it was changed"),
        (&b"a letter"[..], "it is no backup of Hearth"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        for words in [&["backup", "verify", &file][..], &["restore", &file, "--data-dir", &data, "--yes"]] {
            let said = home.run(words).await;
            assert!(said.exit == Exit::Rejected && said.err.contains(why), "{words:?}: {said:?}");
        }
        assert_eq!(names(&home.data()), before);
    }
    let said = home.run(&["restore", &home.path("none.tar"), "--data-dir", &data, "--yes"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("hearth backup list"), "{said:?}");
    // A copy of another home does not fit the key that stands.
    let other = Home::start().await;
    other.store.copy_if_due().await;
    let copy = other.store.copies().unwrap()[0].path.display().to_string();
    let said = home.run(&["restore", &copy, "--data-dir", &data, "--yes"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("does not fit the store"), "{said:?}");
    assert_eq!(open(&home.data()).await.observe_only(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_app_comes_back_from_a_copy_and_nothing_is_done_before_a_person_says_go() {
    let home = Home::start().await;
    home.make(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "alice" },
    }))
    .await;
    home.store.copy_if_due().await;
    let key = Key::new("Namespace", "", "alice");
    let deletion = Deletion { key: key.clone(), preconditions: Preconditions::default() };
    home.store.delete(deletion, &WriteOptions::default()).await.unwrap();
    let copy = home.store.copies().unwrap()[0].path.display().to_string();
    home.store.close().await;
    let data = home.data().display().to_string();
    let said = home.run(&["restore", &copy, "--data-dir", &data, "--yes"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let store = open(&home.data()).await;
    assert!(store.get(&key).is_some() && store.observe_only().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_revoked_after_the_backup_lets_nobody_in_until_a_person_said_go() {
    let home = Home::start().await;
    let anna = home.path("anna.kubeconfig");
    let words =
        ["token", "create", "anna", "--role", "viewer", "-n", "household", "--write-kubeconfig", &anna];
    assert_eq!(home.run(&words).await.exit, Exit::Done);
    assert_eq!(home.run_with(&anna, &["get", "apps"]).await.exit, Exit::Done);
    let file = home.path("home.tar");
    assert_eq!(home.run(&["backup", "create", &file]).await.exit, Exit::Done);
    assert_eq!(home.run(&["token", "revoke", "anna"]).await.exit, Exit::Done);
    let fresh = home.path("fresh");
    let said = home.run(&["restore", &file, "--data-dir", &fresh, "--yes"]).await;
    assert!(said.err.contains("tokens that were revoked since then are in it again"), "{said:?}");

    let store = open(Path::new(&fresh)).await;
    let options = ServerOptions::alone(store.clone(), PathBuf::from(&fresh));
    let server = Server::start(options).await.unwrap();
    let address = |text: &str| text.lines().find(|line| line.contains("server: ")).unwrap().to_owned();
    let new = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let moved = |name: &str, old: &str| {
        let text = std::fs::read_to_string(old).unwrap();
        home.file(name, &text.replace(&address(&text), &address(&new)))
    };
    let (anna, admin) = (moved("a.kubeconfig", &anna), moved("b.kubeconfig", home.kubeconfig()));
    let said = home.run_with(&anna, &["get", "apps"]).await;
    assert_eq!(said.exit, Exit::NotAllowed, "{said:?}");
    let refused = kube_message(&anna).await;
    assert!(refused.contains("the store was put back"), "{refused}");
    let said = home.run_with(&admin, &["recover", "status"]).await;
    assert!(said.out.contains("revoked since or not: anna"), "{said:?}");
    assert!(said.out.contains("hearth token revoke NAME"), "{said:?}");
    let said = home.run_with(&admin, &["recover", "accept"]).await;
    assert!(said.exit == Exit::Done && said.err.contains("these tokens let in again: anna"), "{said:?}");
    assert_eq!(home.run_with(&anna, &["get", "apps"]).await.exit, Exit::Done);
    assert_eq!(home.run_with(&admin, &["token", "revoke", "anna"]).await.exit, Exit::Done);
    assert_eq!(home.run_with(&anna, &["get", "apps"]).await.exit, Exit::NotAllowed);
    server.stop().await;
}

/// What the server answers to whoever has this file.
async fn kube_message(file: &str) -> String {
    let file = kube::config::Kubeconfig::read_from(file).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let request = http::Request::get("/apis").body(Vec::new()).unwrap();
    client.request::<serde_json::Value>(request).await.unwrap_err().to_string()
}

/// The containers that are there.
async fn ids(machine: &Machine) -> BTreeSet<String> {
    machine.list().await.unwrap().into_iter().map(|container| container.id).collect()
}

/// How everything stands, by what people see of it.
async fn standing(home: &Whole) -> String {
    let columns = "-o=custom-columns=KIND:.kind,NAME:.metadata.name,UID:.metadata.uid,STATUS:.status.summary";
    home.run(&["get", "all", "-A", columns]).await.out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_store_and_key_come_back_and_everything_is_as_before_with_nothing_made_anew() {
    let home = Whole::start().await;
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: { name: mail }\nstringData: { password: hunter2hunter2 }\n";
    home.apply(secret, &[]).await;
    home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await;
    home.until(&["get", "container/caddy", "-n", "system"], "✓ Ready").await;
    let before = standing(&home).await;
    let containers = ids(&home.machine).await;
    let file = home.folder.path().join("home.tar").display().to_string();
    assert_eq!(home.run(&["backup", "create", &file]).await.exit, Exit::Done);
    let Whole { running, folder, machine } = home;
    running.stop().await;
    let data = folder.path().join("data");
    std::fs::remove_dir_all(&data).unwrap();
    let (out, kept) = Output::kept(None);
    let words = ["hearth", "restore", &file, "--yes", "--data-dir", data.to_str().unwrap()];
    let exit = hearth::cli::run_kept(words.map(OsString::from), &out).await;
    assert_eq!(exit, Exit::Done, "{}", kept.err());
    let home = Whole::serve(folder, machine, None).await;
    let said = home.run(&["recover", "status"]).await;
    assert!(said.exit == Exit::Unwell && said.out.contains("Restored from a backup of 20"), "{said:?}");
    assert_eq!(home.run(&["recover", "accept"]).await.exit, Exit::Done);
    assert_eq!(
        home.run(&["wait", "app/photos", "--for", "ready", "--timeout", "60s"]).await.exit,
        Exit::Done
    );
    home.until(&["get", "container/caddy", "-n", "system"], "✓ Ready").await;
    assert_eq!(standing(&home).await, before);
    assert_eq!(ids(&home.machine).await, containers, "what ran goes on");
    let said = home.run(&["get", "secret/mail", "--reveal", "-o", "jsonpath={.data.password}"]).await;
    assert_eq!(said.out, "aHVudGVyMmh1bnRlcjI=\n");
    home.running.stop().await;
}
