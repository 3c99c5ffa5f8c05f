//! The command line against a whole home on the pretend machine: what a person does in their first hour.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;
use hearth::config::Config;
use hearth::serve::Running;
use hearth_engine::{Clock, Engine, SystemClock};
use hearth_kinds::network::Pool;
use hearth_pretend::Machine;
use tempfile::TempDir;

use super::home::Said;

pub(crate) const PHOTOS: &str = r#"
apiVersion: hearth.dev/v1
kind: App
metadata: { name: photos }
spec:
  slug: photos
  mainService: web
  compose: |
    services:
      web:
        image: ghcr.io/example/photos:2.1
        expose: ["8080"]
        depends_on: { db: { condition: service_healthy }, migrate: { condition: service_completed_successfully } }
      db:
        image: postgres:17
        volumes: ["./pgdata:/var/lib/postgresql/data"]
        healthcheck: { test: [CMD, /ok], interval: 1s }
      migrate:
        image: ghcr.io/example/photos:2.1
        command: [migrate]
"#;

/// A whole home over a pretend machine that a test can break.
pub(crate) struct Whole {
    pub(crate) running: Running,
    pub(crate) folder: TempDir,
    pub(crate) machine: Machine,
}

impl Whole {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// One that keeps a folder of manifests, by its name in the home's folder.
    pub(crate) async fn start_with(manifests: Option<&str>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        Self::serve(tempfile::tempdir().unwrap(), Machine::new(clock), manifests).await
    }

    /// One whose folder and machine are there already.
    pub(crate) async fn serve(folder: TempDir, machine: Machine, manifests: Option<&str>) -> Self {
        let config = Config {
            data_dir: folder.path().join("data"),
            listen: "127.0.0.1:0".parse().unwrap(),
            lan_listen: None,
            docker: String::new(),
            edge_http_port: 18080,
            edge_https_port: 18443,
            caddy_image: None,
            network_pool: Pool::DEFAULT,
            name_prefix: "hearth".into(),
            pretend: true,
            manifests: manifests.map(|name| folder.path().join(name)),
            log: "error".into(),
        };
        if let Some(folder) = &config.manifests {
            std::fs::create_dir(folder).unwrap();
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let running = Running::start_with(&config, clock, machine.clone().into()).await.unwrap();
        Self { running, folder, machine }
    }

    pub(crate) async fn run(&self, words: &[&str]) -> Said {
        self.run_wide(None, words).await
    }

    /// As if on a terminal of this width.
    pub(crate) async fn run_wide(&self, width: Option<usize>, words: &[&str]) -> Said {
        let (out, kept) = Output::kept(width);
        let kubeconfig = self.running.server.kubeconfig().display().to_string();
        let is_of_bundle = words.first() == Some(&"--from");
        let first = if is_of_bundle { vec!["hearth"] } else { vec!["hearth", "--kubeconfig", &kubeconfig] };
        let args = first.iter().chain(words).map(OsString::from);
        let exit = hearth::cli::run_kept(args, &out).await;
        Said { exit, out: kept.out(), err: kept.err() }
    }

    /// On a terminal where lines are drawn anew in place.
    pub(crate) async fn run_live(&self, words: &[&str]) -> Said {
        let (out, kept) = Output::kept_live(100, 40);
        let kubeconfig = self.running.server.kubeconfig().display().to_string();
        let args = ["hearth", "--kubeconfig", &kubeconfig].into_iter().chain(words.iter().copied());
        let exit = hearth::cli::run_kept(args.map(OsString::from), &out).await;
        Said { exit, out: kept.out(), err: kept.err() }
    }

    /// Writes a file and applies it.
    pub(crate) async fn apply(&self, text: &str, more: &[&str]) -> Said {
        let file = self.folder.path().join("applied.yaml");
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let words: Vec<&str> = ["apply", "-f", &file].into_iter().chain(more.iter().copied()).collect();
        self.run(&words).await
    }

    /// Runs a command until it says something, however busy the machine is.
    pub(crate) async fn until(&self, words: &[&str], part: &str) -> Said {
        let mut said = self.run(words).await;
        for _ in 0..600 {
            if said.out.contains(part) {
                return said;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            said = self.run(words).await;
        }
        panic!("it never said {part:?}: {said:?}");
    }
}

/// Goes on until nothing is under way, and for a moment longer, since what a backend has to tell may be on its way yet.
pub(crate) async fn come_to_rest(engine: &Engine) {
    let mut calm = 0;
    while calm < 10 {
        calm = if engine.is_idle() { calm + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_declared_looked_at_stopped_and_deleted() {
    let home = Whole::start().await;
    let file = home.folder.path().join("photos.yaml");
    std::fs::write(&file, PHOTOS).unwrap();
    let file = file.display().to_string();

    let said = home.run(&["apply", "-f", &file, "--wait", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.contains("app/photos ✓ Ready after "), "{said:?}");
    let said = home.run(&["apply", "-f", &file, "--wait", "--timeout", "60s"]).await;
    assert!(said.exit == Exit::Done && said.out.starts_with("app/photos unchanged\n"), "{said:?}");

    let said = home.run(&["get", "app/photos", "-o", "jsonpath={.status.summary} {.status.url}"]).await;
    assert_eq!(said.out, "Ready http://photos.local\n");
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, ""), "{said:?}");
    let said = home.run(&["tree", "app/photos"]).await;
    assert!(said.out.contains("container/photos-web") && said.out.contains("route/photos"), "{said:?}");

    let said = home.run(&["logs", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    for lead in ["web     | ", "db      | ", "migrate | "] {
        assert!(said.out.lines().any(|line| line.starts_with(lead)), "{lead} in {said:?}");
    }
    let said = home.run(&["logs", "app/photos", "--service", "web", "--tail", "1"]).await;
    assert!(said.out.lines().count() == 1 && !said.out.contains('|'), "{said:?}");
    let said = home.run(&["logs", "app/photos", "--service", "wbe"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("it has "), "{said:?}");

    let said = home.run(&["stop", "app/photos", "--wait", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let said = home.run(&["get", "container/photos-web", "-o", "jsonpath={.spec.power}"]).await;
    assert_eq!(said.out, "Stopped\n");
    let said = home.run(&["start", "app/photos", "--wait", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");

    let said = home.run(&["delete", "app/photos", "--timeout", "60s"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "app/photos deleted\n"), "{said:?}");
    assert_eq!(home.run(&["get", "containers", "-o", "name"]).await.out, "");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_is_the_root_cause_until_it_is_declared() {
    let home = Whole::start().await;
    let file = home.folder.path().join("vault.yaml");
    std::fs::write(
        &file,
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: vault }\nspec:\n  compose: |\n    services: { web: { image: \"x/y:1\", expose: [\"80\"], environment: { PW: \"${PW}\" } } }\n  values: [{ name: PW, valueFrom: { secretKeyRef: { name: vault, key: pw } } }]\n",
    )
    .unwrap();
    let file = file.display().to_string();
    let said = home.run(&["apply", "-f", &file, "--wait", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Unwell, "{said:?}");
    let said = home.run(&["why", "app/vault"]).await;
    assert!(
        said.out.contains("Secret vault does not exist") && said.out.contains("← root cause"),
        "{said:?}"
    );
    assert!(said.out.contains("You can: Create the secret named in the message"), "{said:?}");
    let secret = home.folder.path().join("secret.yaml");
    std::fs::write(
        &secret,
        "apiVersion: v1\nkind: Secret\nmetadata: { name: vault }\nstringData: { pw: x }\n",
    )
    .unwrap();
    assert_eq!(home.run(&["apply", "-f", &secret.display().to_string()]).await.exit, Exit::Done);
    let said = home.run(&["wait", "app/vault", "--for=Ready", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_waits_sees_the_parts_as_a_tree_and_a_pipe_sees_plain_lines() {
    let home = Whole::start().await;
    let web = "hearth_household_photos-web";
    let slowly = hearth_pretend::Behaviour::HealthyAfter { after: Duration::from_secs(4) };
    home.machine.behave(web, slowly);
    let with_check = PHOTOS.replace(
        "expose: [\"8080\"]",
        "expose: [\"8080\"]\n        healthcheck: { test: [CMD, /ok], interval: 1s }",
    );
    let file = home.folder.path().join("live.yaml");
    std::fs::write(&file, &with_check).unwrap();
    let file = file.display().to_string();
    let said = home.run_live(&["apply", "-f", &file, "--wait", "--timeout", "60s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.contains("container/photos-web  ") && said.out.contains("└─ "), "{said:?}");
    assert!(said.out.contains("\x1b[") && said.out.trim_end().ends_with('s'), "{said:?}");
    let said = home
        .apply(&with_check.replace("[migrate]", "[migrate, again]"), &["--wait", "--timeout", "60s"])
        .await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(!said.err.contains('\x1b') && !said.out.contains('\x1b'), "{said:?}");
    assert!(said.err.contains("undo: hearth rollback app/photos --to 1"), "{said:?}");
    home.running.stop().await;
}
