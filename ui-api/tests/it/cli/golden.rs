//! What every verb that reads prints, as it was accepted, on narrow and wide terminals and into a pipe.
//!
//! A home is made in made-up time, so that all of it is the same in every run, and then served as it stands with its
//! clock stopped. `HEARTH_ACCEPT=1 cargo nextest run -p hearth golden` writes the files in `tests/golden` anew.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hearth::cli::output::Output;
use hearth::config::Config;
use hearth::serve::Running;
use hearth::world::World;
use hearth_capabilities::volumes::Leaf;
use hearth_engine::{Clock, ManualClock};
use hearth_kinds::network::Pool;
use hearth_pretend::Machine;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::whole::come_to_rest;

/// The verbs that read, each with what is asked of it.
const READING: [(&str, &[&str]); 26] = [
    (
        "get",
        &[
            "get apps",
            "get apps -o wide",
            "get all",
            "get containers,volumes -A",
            "get app photos vault",
            "get app/photos -o yaml",
            "get volume/shelf -o json",
            "get apps -o name",
            "get apps -o jsonpath={.items[*].metadata.name}",
            "get apps -o custom-columns=NAME:.metadata.name,STATUS:.status.summary,URL:.status.url",
            "get secret/mail -o yaml",
            "get shares",
            "get app/nothing",
        ],
    ),
    (
        "describe",
        &[
            "describe app/photos",
            "describe app/vault",
            "describe volume/shelf",
            "describe container/photos-web",
        ],
    ),
    ("tree", &["tree app/photos", "tree app/vault"]),
    ("why", &["why app/photos", "why app/vault", "why volume/shelf", "why app/notes"]),
    ("status", &["status"]),
    ("doctor", &["doctor"]),
    ("diff", &["diff app/photos", "diff volume/shelf", "diff -f changed.yaml"]),
    ("drift", &["drift list"]),
    ("events", &["events app/vault", "events volume/shelf", "events -A"]),
    ("history", &["history app/photos", "history app/photos -o json"]),
    ("logs", &["logs app/photos", "logs container/photos-web --tail 1"]),
    (
        "explain",
        &["explain volume.spec", "explain app.spec.values", "explain route", "explain markermissing"],
    ),
    ("api-resources", &["api-resources"]),
    (
        "support",
        &[
            "support bundle --out photos.tar --yes",
            "support open photos.tar",
            "--from photos.tar why app/vault",
        ],
    ),
    ("recover", &["recover status"]),
    ("top", &["top", "top -A --sort memory"]),
    (
        "set",
        &[
            "set app/photos state=Stopped mainPort=80 --dry-run",
            "set app/photos metadata.labels.room=attic --show --dry-run",
            "set app/photos stat=Stopped mainPort=http",
            "set app/photos slug-",
            "set container/photos-web power=Stopped",
            "set -h",
        ],
    ),
    (
        "install",
        &[
            "install album --compose page.yaml --set TITLE=two --show --dry-run",
            "install photos --compose page.yaml",
            "install album",
            "install -h",
        ],
    ),
    (
        "upgrade",
        &[
            "upgrade notes --compose page.yaml --set TITLE=two --dry-run",
            "upgrade notes",
            "upgrade note --compose page.yaml",
        ],
    ),
    ("uninstall", &["uninstall photos --data", "uninstall phtos"]),
    (
        "export",
        &["export -A", "export app/notes -o json", "export secret/mail", "export container/photos-web"],
    ),
    ("login", &["login https://127.0.0.1:9 --token-file page.yaml", "login -h"]),
    ("context", &["context", "context use home", "context delete nothing"]),
    ("schema", &["schema", "schema shelf"]),
    ("token", &["token list", "get tokens -o name"]),
    ("backup", &["backup list"]),
];

/// On which terminals: so many columns, or none where it is a pipe.
const TERMINALS: [(&str, Option<usize>); 3] = [("80", Some(80)), ("200", Some(200)), ("pipe", None)];

/// A home that stands still.
struct Still {
    running: Running,
    clock: ManualClock,
    folder: TempDir,
}

impl Still {
    async fn start() -> Self {
        // A world turns a runtime of its own, and is of one thread.
        let (folder, clock, machine) = std::thread::spawn(made).join().unwrap();
        let config = Config {
            data_dir: folder.path().join("data"),
            listen: "127.0.0.1:0".parse().unwrap(),
            lan_listen: None,
            docker: String::new(),
            edge_http_port: 80,
            edge_https_port: 443,
            caddy_image: Some("hearth/caddy:local".into()),
            network_pool: Pool::DEFAULT,
            name_prefix: "hearth".into(),
            pretend: true,
            manifests: None,
            log: "error".into(),
        };
        let running = Running::start_with(&config, Arc::new(clock.clone()), machine.into()).await.unwrap();
        let changed = photos("postgres:18").to_string();
        std::fs::write(folder.path().join("changed.yaml"), changed).unwrap();
        std::fs::write(folder.path().join("page.yaml"), PAGE.replace("TEXT", "${TITLE}")).unwrap();
        // What a new server looks at once is looked at.
        come_to_rest(&running.engine()).await;
        Self { running, clock, folder }
    }

    /// What a command prints, without what differs from run to run.
    async fn printed(&self, words: &str, width: Option<usize>) -> String {
        let (out, kept) = Output::kept(width);
        let kubeconfig = self.running.server.kubeconfig().display().to_string();
        let mut args = vec!["hearth".to_owned()];
        if !words.starts_with("--from") {
            args.extend(["--kubeconfig".to_owned(), kubeconfig]);
        }
        args.extend(words.split(' ').map(|word| self.placed(word)));
        let args = args.into_iter().map(OsString::from);
        let exit = hearth::cli::run_kept_at(args, Some(self.clock.now()), &out).await;
        let shown = |text: &str| self.settled(text);
        let (said, beside) = (shown(&kept.out()), shown(&kept.err()));
        let beside = if beside.is_empty() { beside } else { format!("--- beside\n{beside}") };
        format!("$ hearth {words}\n{said}{beside}--- exit {}\n\n", exit as u8)
    }

    /// A file is in the home's folder.
    fn placed(&self, word: &str) -> String {
        let is_file = word.ends_with(".yaml") || word.ends_with(".tar");
        if is_file { self.folder.path().join(word).display().to_string() } else { word.to_owned() }
    }

    fn settled(&self, text: &str) -> String {
        let text = text.replace(&format!("{}/", self.folder.path().display()), "");
        let text = text.replace(&self.running.server.address().to_string(), "127.0.0.1:PORT");
        // How many writes it took is not what is printed for people; some share a commit one day and not the next.
        let version = regex::Regex::new(r#"(?m)(\bversion |resourceVersion"?: ")\d+(\)|"|$)"#).unwrap();
        let text = version.replace_all(&text, "${1}N${2}");
        let copies = regex::Regex::new(r"daily +\d+ +\d+ KiB|VERSION +SIZE|-at-\d+").unwrap();
        let text = copies.replace_all(&text, |found: &regex::Captures<'_>| match &found[0] {
            head if head.starts_with('V') => "VERSION  SIZE".to_owned(),
            name if name.starts_with('-') => "-at-N".to_owned(),
            _ => "daily  N  SIZE".to_owned(),
        });
        let (mut settled, mut is_real) = (String::new(), false);
        for line in text.lines() {
            is_real = REAL.iter().any(|part| line.contains(part)) || (is_real && line.starts_with("   "));
            if !is_real {
                settled.push_str(line);
                settled.push('\n');
            }
        }
        settled
    }
}

/// What is real though the home is not: the disk and how fast it answers, the certificate, and what a bundle takes.
const REAL: [&str; 7] =
    ["✓ server", "✓ disk", "✓ docker", "✓ proxy", "✓ certificates", "  size      ", "failures, "];

/// Of each kind of thing one, and of each kind of trouble as well.
fn made() -> (TempDir, ManualClock, Machine) {
    let mut world = World::new(7).unwrap();
    world.start().unwrap();
    for object in [
        mail(),
        photos("postgres:17"),
        shelf(),
        page("notes", "Stopped", "one"),
        page("vault", "Running", "${DOOR}"),
    ] {
        world.apply(&object).unwrap();
        world.wait(Duration::from_secs(90)).unwrap();
    }
    world.apply(&token("anna-laptop", "Member", "anna")).unwrap();
    world.apply(&token("screen", "Viewer", "*")).unwrap();
    world.settle().unwrap();
    world.machine.chmod_leaf(&Leaf { instance: "shelf".into(), path: "films".into() }, 0o777);
    world.settle().unwrap();
    let folder = tempfile::tempdir().unwrap();
    world.crash();
    let (from, to) = (&world.config.data_dir, folder.path().join("data"));
    // The store's own threads close its files a moment after the crash.
    while !is_at_rest(from) || copy(from, &to).is_err() {
        let _ = std::fs::remove_dir_all(&to);
    }
    (folder, world.clock.clone(), world.machine.clone())
}

/// Whether nothing in a folder comes, goes or changes for a while.
fn is_at_rest(folder: &Path) -> bool {
    let seen = || -> std::io::Result<BTreeSet<(OsString, u64)>> {
        std::fs::read_dir(folder)?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?.len()))))
            .collect()
    };
    let before = seen().ok();
    std::thread::sleep(Duration::from_millis(200));
    before.is_some() && before == seen().ok()
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

fn mail() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "mail", "namespace": "household" },
        "stringData": { "password": "hunter2hunter2" },
    })
}

fn shelf() -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "films", "mode": "0750", "driftPolicy": "Report" },
    })
}

fn token(name: &str, role: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": name },
        "spec": { "user": name, "role": role, "namespaces": [namespace], "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" },
    })
}

/// The file of an app, but for the image of its store.
const PHOTOS: &str = r#"services:
  web:
    image: ghcr.io/example/photos:2.1
    expose: ["8080"]
    depends_on: [db]
  db:
    volumes: ["./pgdata:/var/lib/postgresql/data"]
    healthcheck: { test: [CMD, /ok], interval: 1s }
"#;

fn app(name: &str, state: &str, compose: &str, values: &Value) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": name, "namespace": "household" },
        "spec": {
            "slug": name, "state": state, "mainService": "web", "values": values, "compose": compose,
        },
    })
}

fn photos(store: &str) -> Value {
    let compose = format!("{PHOTOS}    image: {store}\n");
    app("photos", "Running", &compose, &json!([]))
}

const PAGE: &str = r#"services:
  web:
    image: ghcr.io/example/page:1
    expose: ["8080"]
    environment: { TITLE: "TEXT" }
"#;

fn page(name: &str, state: &str, title: &str) -> Value {
    let compose = PAGE.replace("TEXT", title);
    let door =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    let values = if title == "one" { json!([]) } else { door };
    app(name, state, &compose, &values)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_that_reads_prints_as_accepted_on_narrow_and_wide_terminals_and_into_a_pipe() {
    let still = Still::start().await;
    let is_accepted = std::env::var_os("HEARTH_ACCEPT").is_some();
    let mut wrong = Vec::new();
    for (verb, asked) in READING {
        for (terminal, width) in TERMINALS {
            let mut printed = String::new();
            for words in asked {
                printed.push_str(&still.asked(words, width).await);
            }
            let file = kept(terminal, verb);
            if is_accepted {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, &printed).unwrap();
            }
            let accepted = std::fs::read_to_string(&file).unwrap_or_default();
            if printed != accepted {
                wrong.push(format!("{}:\n{}", file.display(), difference(&accepted, &printed)));
            }
        }
    }
    still.running.stop().await;
    assert!(wrong.is_empty(), "HEARTH_ACCEPT=1 accepts this:\n{}", wrong.join("\n"));
}

impl Still {
    async fn asked(&self, words: &str, width: Option<usize>) -> String {
        if words.starts_with("support bundle") {
            let _ = std::fs::remove_file(self.folder.path().join("photos.tar"));
        }
        if !words.starts_with("top") {
            return self.printed(words, width).await;
        }
        // How busy something is comes of two looks, between which time has to pass.
        for _ in 0..20 {
            let (printed, ()) = tokio::join!(self.printed(words, width), async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                self.clock.advance(Duration::from_secs(1));
            });
            if !printed.contains('?') {
                return printed;
            }
        }
        panic!("the first look was never taken in time");
    }
}

fn kept(terminal: &str, verb: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(terminal).join(format!("{verb}.out"))
}

/// The lines that only one of them has.
fn difference(accepted: &str, printed: &str) -> String {
    let only = |sign: &str, of: &str, other: &str| -> String {
        let other: Vec<&str> = other.lines().collect();
        of.lines().filter(|line| !other.contains(line)).map(|line| format!("{sign} {line}\n")).collect()
    };
    only("-", accepted, printed) + &only("+", printed, accepted)
}
