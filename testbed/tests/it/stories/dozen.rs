//! Twelve apps that a person deletes go without a question; twelve that only a store forgot stay.

use std::collections::BTreeMap;

use hearth_engine::Query;
use serde_json::json;

use crate::home::{Home, app, on_pretend, on_real};

const APPS: usize = 12;

#[test]
fn pretend_twelve_apps_deleted_by_a_person_go_without_a_question() {
    on_pretend(deleted);
}

#[test]
fn real_twelve_apps_deleted_by_a_person_go_without_a_question() {
    on_real(deleted);
}

async fn deleted(home: &Home) {
    let file = install(home).await;
    home.ask(&["delete", "-f", &file, "--yes", "--timeout", "150s"]).await;
    home.settle().await;
    for kind in ["App", "Container", "Network", "Volume", "Route", "Revision"] {
        let left = home.store().list(&Query::of(kind).within("household")).items;
        assert!(left.is_empty(), "{kind}: {}", left.len());
    }
    let (containers, networks) = home.world.names().await;
    assert_eq!((containers.len(), networks.len()), (1, 1), "{containers:?} {networks:?}");
    for name in names() {
        assert_eq!(home.page(&name).await.status, 404);
    }
    home.pass(3).await;
    let tripped: Vec<_> =
        home.engine().diagnostics().iter().filter_map(|each| each.breaker.clone()).collect();
    assert_eq!(tripped, Vec::<String>::new(), "nobody has to be asked about what a person deleted");
}

#[test]
fn pretend_twelve_apps_that_the_store_forgot_stay_as_they_are() {
    on_pretend(forgotten);
}

#[test]
fn real_twelve_apps_that_the_store_forgot_stay_as_they_are() {
    on_real(forgotten);
}

async fn forgotten(home: &Home) {
    home.settle().await;
    home.stop().await;
    let older = copy_of_store(home);
    home.serve().await;
    install(home).await;
    let before = ids(home).await;
    assert_eq!(before.len(), APPS + 1);
    home.stop().await;
    put_back(home, &older);
    home.world.mark().await;
    home.serve().await;
    assert_eq!(home.store().list(&Query::of("App")).items.len(), 0, "the store knows of none");
    for _ in 0..4 {
        home.look_again().await;
        home.pass(1).await;
    }
    assert_eq!(ids(home).await, before, "every container runs on");
    let (_, networks) = home.world.names().await;
    assert_eq!(networks.len(), APPS + 1);
    assert_eq!(home.hands.volumes.list().await.unwrap().len(), APPS + 2);
    let changes = home.world.changes().await;
    assert_eq!(changes, Vec::<String>::new());
}

/// Twelve apps of one page and a folder each; the file that declares them.
async fn install(home: &Home) -> String {
    let image = home.world.image_here("web:1").await;
    let mut objects = Vec::new();
    for name in names() {
        let web = json!({
            "image": image, "environment": { "NAME": name }, "expose": ["8080"], "stop_grace_period": "1s",
            "volumes": ["./pages:/data"],
        });
        objects.push(app(&name, &json!({ "web": web })).to_string());
    }
    let file = home.file("dozen.yaml", &objects.join("\n---\n"));
    home.ask(&["apply", "-f", &file]).await;
    for name in names() {
        home.until_verdict("App", &name, "Ready").await;
    }
    home.settle().await;
    file
}

fn names() -> impl Iterator<Item = String> {
    (1..=APPS).map(|number| format!("app-{number}"))
}

async fn ids(home: &Home) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    for name in home.world.names().await.0 {
        let seen = home.hands.containers.inspect(&name).await.unwrap().unwrap();
        assert!(seen.state.running, "{name}");
        ids.insert(name, seen.id);
    }
    ids
}

/// The store with all that lies beside it, so that nothing tells that it is an older one. It must not be open.
fn copy_of_store(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(&home.config.data_dir).unwrap().map(|entry| entry.unwrap());
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("store."));
    let read = |file: std::fs::DirEntry| {
        (file.file_name().to_string_lossy().into_owned(), std::fs::read(file.path()).unwrap())
    };
    files.map(read).collect()
}

fn put_back(home: &Home, files: &BTreeMap<String, Vec<u8>>) {
    for name in copy_of_store(home).into_keys() {
        std::fs::remove_file(home.config.data_dir.join(name)).unwrap();
    }
    for (name, bytes) in files {
        std::fs::write(home.config.data_dir.join(name), bytes).unwrap();
    }
}
