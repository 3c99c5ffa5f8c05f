//! The command line against a whole home on the pretend machine: what a person does in their first hour.

use std::ffi::OsString;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;
use hearth::config::Config;
use hearth::serve::Running;
use hearth_kinds::network::Pool;
use tempfile::TempDir;

use super::home::Said;

const PHOTOS: &str = r#"
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

struct Whole {
    running: Running,
    folder: TempDir,
}

impl Whole {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            data_dir: folder.path().join("data"),
            listen: "127.0.0.1:0".parse().unwrap(),
            docker: String::new(),
            edge_http_port: 18080,
            edge_https_port: 18443,
            caddy_image: None,
            network_pool: Pool::DEFAULT,
            name_prefix: "hearth".into(),
            pretend: true,
            manifests: None,
            log: "error".into(),
        };
        Self { running: Running::start(&config).await.unwrap(), folder }
    }

    async fn run(&self, words: &[&str]) -> Said {
        let (out, kept) = Output::kept(None);
        let kubeconfig = self.running.server.kubeconfig().display().to_string();
        let first = ["hearth", "--kubeconfig", &kubeconfig];
        let args = first.iter().chain(words).map(OsString::from);
        let exit = hearth::cli::run_kept(args, &out).await;
        Said { exit, out: kept.out(), err: kept.err() }
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
