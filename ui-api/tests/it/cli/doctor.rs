//! The doctor, each of whose findings comes of something that is really wrong.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hearth::cli::exit::Exit;
use hearth::server::{Server, ServerOptions};
use hearth_engine::{Clock, Key, ManualClock, Object, OpenOptions, Store, WriteOptions};
use hearth_meta::Timestamp;
use hearth_pretend::Op;
use hearth_pretend::faults::Backend;
use serde_json::{Value, json};

use super::home::Home;
use super::whole::{PHOTOS, Whole};

/// A home whose proxy stands, so that nothing is wrong with it.
async fn well() -> Whole {
    let home = Whole::start_with(Some("manifests")).await;
    home.until(&["doctor"], "✓ edge").await;
    home.until(&["doctor"], "✓ manifests").await;
    home
}

/// What is said of a part, and what to do.
fn of<'a>(told: &'a Value, name: &str) -> (&'a str, &'a str, &'a str) {
    let mut checks = told["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {told:#}"));
    let word = |field: &str| check[field].as_str().unwrap_or_default();
    (word("standing"), word("message"), word("next"))
}

#[tokio::test(flavor = "multi_thread")]
async fn advice_about_what_is_elsewhere_says_where() {
    let home = Home::start().await;
    home.make(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kids" } })).await;
    let next = |told: &Value| of(told, "objects").2.to_owned();
    for (place, wanted) in
        [("kids", "`hearth why app/page -n kids`"), ("household", "`hearth why app/album`")]
    {
        let name = if place == "kids" { "page" } else { "album" };
        let app = home
            .make(json!({
                "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": name, "namespace": place },
                "spec": { "compose": "services: { web: { image: x } }" },
            }))
            .await;
        let (key, uid) = (Key::new("App", place, name), app["metadata"]["uid"].as_str().unwrap());
        let status = |word: &str| json!({ "summary": word, "reason": "X", "observedGeneration": 1 });
        home.store.update_status(&key, uid, status("Failed")).await.unwrap();
        let said = home.run(&["doctor", "-o", "json"]).await;
        let told: Value = serde_json::from_str(&said.out).unwrap();
        assert!(next(&told).contains(wanted), "{told:#}");
        home.store.update_status(&key, uid, status("Ready")).await.unwrap();
    }
}

async fn examined(home: &Whole) -> (Exit, Value) {
    let said = home.run(&["doctor", "-o", "json"]).await;
    (said.exit, serde_json::from_str(&said.out).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_is_well_ends_with_0_and_shows_what_was_looked_at() {
    let home = well().await;
    let said = home.run_wide(Some(80), &["doctor"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    for part in [
        "✓ server",
        "✓ docker",
        "✓ proxy",
        "✓ edge",
        "✓ disk",
        "✓ time",
        "✓ store",
        "✓ copies",
        "✓ certificates",
    ] {
        assert!(said.out.contains(part), "{part} in {said:?}");
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let (exit, told) = examined(&home).await;
    assert_eq!((exit, &told["isHealthy"]), (Exit::Done, &json!(true)));
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_does_not_answer_is_told_part_by_part() {
    let home = well().await;
    home.machine.unreachable_backend(Backend::Engine, true);
    let (exit, told) = examined(&home).await;
    assert_eq!((exit, &told["isHealthy"]), (Exit::Differs, &json!(false)));
    let (standing, message, next) = of(&told, "docker");
    assert!(
        standing == "Failure" && message.contains("connection refused") && next.contains("systemctl"),
        "{told:#}"
    );
    assert_eq!(of(&told, "proxy").0, "Ok");
    home.machine.unreachable_backend(Backend::Engine, false);
    home.machine.unreachable_backend(Backend::Proxy, true);
    let (_, told) = examined(&home).await;
    assert_eq!((of(&told, "docker").0, of(&told, "proxy").0), ("Ok", "Failure"));
    assert!(of(&told, "proxy").2.contains("hearth why container/caddy -n system"), "{told:#}");
    home.machine.unreachable_backend(Backend::Proxy, false);
    // It hangs, which is worse than a refusal.
    home.machine.hang(Op::ReadEngine);
    let (_, told) = examined(&home).await;
    assert!(of(&told, "docker").1.contains("no answer within"), "{told:#}");
    home.machine.release(Op::ReadEngine);
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_of_the_proxy_that_is_not_ours_is_told() {
    let home = well().await;
    // Controllers would put it right within a moment; paused, they leave it.
    assert_eq!(home.run(&["pause", "--all", "--for", "1h"]).await.exit, Exit::Done);
    home.machine.break_proxy_base("it listens on port 99");
    let (exit, told) = examined(&home).await;
    let (standing, message, _) = of(&told, "proxy");
    assert!(exit == Exit::Differs && standing == "Failure" && message.contains("port 99"), "{told:#}");
    let (standing, message, next) = of(&told, "paused");
    assert!(standing == "Warning" && message.contains("everything is paused until"), "{told:#}");
    assert!(next.contains("hearth resume --all"), "{told:#}");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_fails_a_manifest_and_a_file_that_others_may_read_are_told() {
    let home = well().await;
    let bad = "kind: App\nspec: {}\n";
    std::fs::write(home.folder.path().join("manifests/bad.yaml"), bad).unwrap();
    home.until(&["doctor"], "✗ manifests").await;
    let said = home.run(&["doctor"]).await;
    assert!(said.out.contains("bad.yaml") && said.out.contains("hearth recover status"), "{said:?}");
    let key = home.folder.path().join("data/pki/ca.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    home.machine.unknown_image("ghcr.io/example/photos:2.1", true);
    home.apply(PHOTOS, &[]).await;
    home.until(&["get", "app/photos"], "✗").await;
    let (exit, told) = examined(&home).await;
    let (standing, message, next) = of(&told, "keys");
    assert_eq!((exit, standing), (Exit::Differs, "Failure"));
    assert!(message.contains("ca.key") && next.starts_with("chmod 600 "), "{told:#}");
    std::fs::remove_file(&key).unwrap();
    let (_, told) = examined(&home).await;
    assert!(of(&told, "certificates").1.contains("ca.key, cannot be read"), "{told:#}");
    home.running.stop().await;
}

fn namespace(name: &str) -> Object {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    Object::from_value(namespace).unwrap()
}

/// A server without a machine over a store that a test can break, and by a clock that it can set.
async fn served(folder: &Path, clock: &ManualClock) -> (Store, Server) {
    let options = OpenOptions {
        data_dir: folder.join("data"),
        kinds: hearth_kinds::all(&hearth_kinds::Settings::default()),
        clock: Arc::new(clock.clone()),
    };
    let store = Store::open(options).await.unwrap();
    store.create(namespace("household"), &WriteOptions::default()).await.unwrap();
    let server = ServerOptions::alone(store.clone(), folder.join("data"));
    (store, Server::start(server).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumped_a_store_that_only_looks_and_copies_that_fail_are_told() {
    let home = Home::start().await;
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new(Timestamp::now());
    let (store, server) = served(folder.path(), &clock).await;
    let kubeconfig = server.kubeconfig().display().to_string();
    let examined = async || {
        let said = home.run_with(&kubeconfig, &["doctor", "-o", "json"]).await;
        (said.exit, serde_json::from_str::<Value>(&said.out).unwrap())
    };
    let (exit, told) = examined().await;
    assert_eq!(exit, Exit::Done, "{told:#}");
    let hour = |hours: i64| clock.now().checked_add(hearth_meta::SignedDuration::from_hours(hours)).unwrap();
    clock.set_wall(hour(3));
    let (exit, told) = examined().await;
    let (standing, message, _) = of(&told, "time");
    assert!(
        exit == Exit::Done && standing == "Warning" && message.contains("jumped forwards by 10800 s"),
        "{told:#}"
    );
    clock.set_wall(hour(-48));
    let (_, told) = examined().await;
    let (standing, message, next) = of(&told, "time");
    assert!(
        standing == "Failure" && message.contains("was made at") && next.contains("timedatectl"),
        "{told:#}"
    );
    clock.set_wall("2001-01-01T00:00:00Z".parse().unwrap());
    let (_, told) = examined().await;
    assert!(of(&told, "time").1.contains("this program was made later"), "{told:#}");
    clock.set_wall(Timestamp::now());
    store.distrust("This store is an older copy", 5).await.unwrap();
    let (_, told) = examined().await;
    let (standing, message, next) = of(&told, "store");
    assert!(
        standing == "Failure" && message.contains("an older copy") && next.contains("recover status"),
        "{told:#}"
    );
    std::fs::write(folder.path().join("data/copies"), "no folder").unwrap();
    store.copy_if_due().await;
    let (_, told) = examined().await;
    let (standing, message, _) = of(&told, "copies");
    assert!(standing == "Warning" && message.contains("the last copy of the store failed"), "{told:#}");
    clock.set_wall(hour(500 * 24));
    let (_, told) = examined().await;
    assert!(of(&told, "certificates").1.contains("certificate ended at"), "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_the_data_and_the_machine_are_looked_at_all_the_same() {
    let home = Home::start().await;
    let said = home.run_with("/nowhere/admin.kubeconfig", &["doctor"]).await;
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("hearth doctor --data-dir DIR"), "{said:?}");
    let data = home.folder.path().join("data").display().to_string();
    let socket = home.folder.path().join("no.sock").display().to_string();
    let docker = format!("unix://{socket}");
    let words = ["doctor", "--data-dir", &data, "--docker", &docker, "-o", "json"];
    let said = home.run(&words).await;
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said.exit, Exit::Differs, "{told:#}");
    assert_eq!((of(&told, "docker").0, of(&told, "proxy").0), ("Failure", "Failure"), "{told:#}");
    let (standing, _, next) = of(&told, "store");
    assert!(standing == "Warning" && next.contains("ask it with `hearth doctor`"), "{told:#}");
    // A store that is damaged is what this is for.
    let broken = tempfile::tempdir().unwrap();
    std::fs::write(broken.path().join("store.db"), vec![7; 8192]).unwrap();
    let data = broken.path().display().to_string();
    let said = home.run(&["doctor", "--data-dir", &data, "--docker", &docker]).await;
    assert_eq!(said.exit, Exit::Differs, "{said:?}");
    assert!(said.out.contains("✗ store") && said.out.contains("hearth restore BACKUP"), "{said:?}");
}

/// A disk of its own in memory, which takes root to mount. With `HEARTH_REAL=1` it must be had.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the disk is what is tested")]
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=48m", "tmpfs"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|ended| ended.status.success()) {
            return Some(Self(folder));
        }
        assert!(std::env::var("HEARTH_REAL").as_deref() != Ok("1"), "no small disk can be mounted");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "the disk is what is tested")]
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_really_full_is_told() {
    let Some(disk) = SmallDisk::mount() else { return };
    let home = Home::start().await;
    let (_store, server) = served(disk.0.path(), &ManualClock::new(Timestamp::now())).await;
    let kubeconfig = server.kubeconfig().display().to_string();
    let mut film = std::fs::File::create(disk.0.path().join("film")).unwrap();
    while film.write_all(&[7; 65_536]).is_ok() {}
    let told = async || {
        let said = home.run_with(&kubeconfig, &["doctor", "-o", "json"]).await;
        (said.exit, serde_json::from_str::<Value>(&said.out).unwrap())
    };
    let (exit, seen) = told().await;
    let (standing, message, next) = of(&seen, "disk");
    assert_eq!((exit, standing), (Exit::Differs, "Failure"), "{seen:#}");
    assert!(
        message.contains("nothing new is taken before") && next.contains("give it more room"),
        "{seen:#}"
    );
    // What is still open takes room for as long.
    drop(film);
    std::fs::remove_file(disk.0.path().join("film")).unwrap();
    let (_, seen) = told().await;
    assert_ne!(of(&seen, "disk").0, "Failure", "{seen:#}");
}
