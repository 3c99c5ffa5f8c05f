//! A client that writes all the time and keeps book of what was acknowledged.
//!
//! It declares small objects that nothing hangs on (images that may not be pulled), notes a number on them again and
//! again, and deletes them. What it was not told the end of may or may not be there; what it was told must be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_engine::Key;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Home;

const IMAGES: &str = "/apis/hearth.dev/v1/images";
/// How many write at once.
const WRITERS: usize = 3;
/// How often each object is noted on before it goes.
const NOTES: u64 = 4;

/// What one writer was told.
#[derive(Debug, Default)]
struct Book {
    /// Declared and acknowledged.
    created: BTreeSet<String>,
    /// The newest number acknowledged, and the newest that was sent.
    notes: BTreeMap<String, (u64, u64)>,
    /// The versions of acknowledged notes.
    versions: Vec<u64>,
    /// Deleted and acknowledged.
    deleted: BTreeSet<String>,
    /// Sent to be deleted, whatever came of it.
    maybe_deleted: BTreeSet<String>,
}

/// Writers that write until they are told to stop.
pub(crate) struct Ledger {
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<Book>>,
}

impl Ledger {
    /// Begins to write. The home's credentials must be there.
    pub(crate) async fn open(home: &Home) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let client = client(home).await;
            writers.push(tokio::spawn(write(client, writer, Arc::clone(&stop))));
        }
        Self { stop, writers }
    }

    /// Ends the writing.
    pub(crate) async fn close(self) -> Books {
        self.stop.store(true, Ordering::Relaxed);
        let mut books = Vec::new();
        for writer in self.writers {
            books.push(writer.await.unwrap());
        }
        Books(books)
    }
}

/// What all writers were told.
pub(crate) struct Books(Vec<Book>);

impl Books {
    /// Holds what was acknowledged against the store of what serves now. Returns how many writes were acknowledged.
    pub(crate) async fn check(&self, home: &Home) -> usize {
        let mut versions = Vec::new();
        let mut acknowledged = 0;
        for book in &self.0 {
            acknowledged += book.created.len() + book.versions.len() + book.deleted.len();
            book.check(home).await;
            versions.extend(&book.versions);
        }
        let distinct: BTreeSet<u64> = versions.iter().copied().collect();
        assert_eq!(distinct.len(), versions.len(), "a version was given out twice");
        let newest = home.store().resource_version();
        assert!(distinct.iter().all(|version| *version <= newest), "the store is behind what it gave out");
        acknowledged
    }
}

impl Book {
    async fn check(&self, home: &Home) {
        for name in &self.created {
            let key = Key::new("Image", "", name.clone());
            let history = home.store().history(&key).await.unwrap();
            let of = |verb: &str| history.iter().filter(|row| row.verb == verb).count();
            assert_eq!(of("create"), 1, "{name}: the record of its creation");
            assert_eq!(history[0].spec["reference"], reference(name), "{name}");
            let object = home.store().get(&key);
            if self.deleted.contains(name) {
                assert!(object.is_none(), "{name} was deleted, and is there");
                assert_eq!(of("delete"), 1, "{name}: the record of its deletion");
                continue;
            }
            let Some(object) = object else {
                assert!(self.maybe_deleted.contains(name), "{name} was declared, and is not there");
                continue;
            };
            assert_eq!(object.spec()["reference"], reference(name));
            let (told, sent) = self.notes.get(name).copied().unwrap_or_default();
            let noted = object.metadata.annotations.as_ref().and_then(|all| all.get("ledger"));
            let noted: u64 = noted.map_or(0, |number| number.parse().unwrap());
            assert!((told..=sent).contains(&noted), "{name}: {noted} is noted, {told} was acknowledged");
        }
    }
}

/// The admin's own way to a home, whoever serves it.
async fn client(home: &Home) -> kube::Client {
    let path = home.config.data_dir.join("admin.kubeconfig");
    let file = Kubeconfig::read_from(path).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(Duration::from_secs(20));
    kube::Client::try_from(config).unwrap()
}

async fn write(client: kube::Client, writer: usize, stop: Arc<AtomicBool>) -> Book {
    let mut book = Book::default();
    for round in 0_u64.. {
        let name = format!("ledger-{writer}-{round}");
        let path = format!("{IMAGES}/{name}");
        let image = json!({
            "apiVersion": "hearth.dev/v1", "kind": "Image", "metadata": { "name": name },
            "spec": { "reference": reference(&name), "pull": "Never" },
        });
        // Until it is acknowledged, as a client does; what was written without a word is declared already.
        let declare = format!("{path}?fieldManager=ledger");
        while ask(&client, "PATCH", &declare, Some(("application/apply-patch+yaml", &image))).await.is_none()
        {
            if stop.load(Ordering::Relaxed) {
                return book;
            }
        }
        book.created.insert(name.clone());
        for number in 1..=NOTES {
            let note = json!({ "metadata": { "annotations": { "ledger": number.to_string() } } });
            book.notes.entry(name.clone()).or_default().1 = number;
            let noted = ask(&client, "PATCH", &path, Some(("application/merge-patch+json", &note))).await;
            if let Some(noted) = noted {
                book.notes.entry(name.clone()).or_default().0 = number;
                let version = noted["metadata"]["resourceVersion"].as_str().unwrap();
                book.versions.push(version.parse().unwrap());
            }
        }
        // Every other one goes again.
        if round % 2 == 1 {
            book.maybe_deleted.insert(name.clone());
            if ask(&client, "DELETE", &path, None).await.is_some() {
                book.deleted.insert(name);
            }
        }
        if stop.load(Ordering::Relaxed) {
            return book;
        }
    }
    book
}

fn reference(name: &str) -> String {
    format!("registry.home/ledger/{name}:1")
}

/// Sends one request. `None` where nobody answered that it was carried out.
async fn ask(client: &kube::Client, method: &str, path: &str, body: Option<(&str, &Value)>) -> Option<Value> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some((form, _)) = body {
        request = request.header("Content-Type", form);
    }
    let bytes = body.map(|(_, body)| body.to_string().into_bytes()).unwrap_or_default();
    match client.request::<Value>(request.body(bytes).unwrap()).await {
        Ok(answer) => Some(answer),
        // Carried out and not acknowledged, or not carried out: nobody can tell.
        Err(error) => {
            if let kube::Error::Api(status) = &error {
                assert!(status.code >= 500 || status.code == 404, "{method} {path}: {error}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}
