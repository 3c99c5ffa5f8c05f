//! Bundles: nothing secret leaves the home in one, and whoever has one reads it like the home itself.

use std::os::unix::fs::PermissionsExt;

use hearth::cli::exit::Exit;

use super::whole::{Whole, come_to_rest};

/// A secret of its own in every place where a person may put one.
const PLANTED: &str = r##"
apiVersion: v1
kind: Secret
metadata:
  name: vault
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"vault\"},\"stringData\":{\"old\":\"PLANT-applied-18\"}}\n"
stringData:
  pw: "PLANT-secret-0"
  multi: "PLANT-line-1\nPLANT-line-2\n"
  json: '{"deep": ["PLANT-json-19"]}'
  env: "A=1\nB=PLANT-file-20\n"
---
apiVersion: hearth.dev/v1
kind: App
metadata:
  name: photos
  annotations: { note: "admin password: PLANT-note-3", "example.com/api-token": PLANT-annotation-4 }
spec:
  slug: photos
  mainService: web
  values:
    - { name: PW, valueFrom: { secretKeyRef: { name: vault, key: pw } } }
    - { name: DB_PASSWORD, value: "PLANT-value-5" }
    - { name: GREETING, value: "PLANT value 6!" }
  compose: |
    # the root password is PLANT-comment-7
    services:
      web:
        image: ghcr.io/example/photos:2.1  # PLANT-comment-8
        expose: ["8080"]
        command: ["serve", "--admin-password", "PLANT-flag-9", "--token=PLANT-flag-10"]
        environment:
          PW: ${PW}
          DB_PASSWORD: ${DB_PASSWORD}
          DATABASE_URL: postgres://joe:PLANT-url-11@db:5432/x
          TLS_KEY: |
            -----BEGIN PRIVATE KEY-----
            PLANT/pem/12
            -----END PRIVATE KEY-----
          SESSION_SALT: PLANT-env-13
        labels: { "example.basicauth": "joe:PLANT-label-14" }
        healthcheck: { test: ["CMD-SHELL", "curl -H 'Authorization: Bearer PLANT.bearer.15' http://x/"], interval: 1s }
      says:
        image: busybox:1
        command: [sh, -c, "echo logged in with $${PW} and PLANT-value-5, UExBTlQtc2VjcmV0LTA= PLANT-json-19 PLANT-file-20 PLANT-applied-18; exit 0"]
        environment: { PW: "${PW}" }
        restart: "no"
"##;

#[tokio::test(flavor = "multi_thread")]
async fn no_planted_secret_leaves_the_home_and_every_verb_reads_the_bundle() {
    let home = Whole::start().await;
    let said = home.apply(PLANTED, &[]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    home.until(&["logs", "app/photos"], "logged in with").await;
    // A second spec, so that the first lives on in history alone.
    let changed =
        PLANTED.replace("PLANT-value-5", "PLANT-later-16").replace("PLANT-env-13", "PLANT-later-17");
    assert_eq!(home.apply(&changed, &[]).await.exit, Exit::Done);
    home.until(&["history", "app/photos"], "generation 2").await;
    // What is being made anew has no log for a moment; the app is Ready again once all of it was.
    let said = home.run(&["wait", "app/photos", "--for", "ready", "--timeout", "120s"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    come_to_rest(&home.running.engine()).await;
    let logs = home.run(&["logs", "app/photos"]).await.out;
    assert!(logs.contains("PLANT"), "the logs repeat a secret, or this proves nothing: {logs}");

    for part in ["UExBTlQtc2VjcmV0LTA=", "PLANT-json-19", "PLANT-file-20", "PLANT-applied-18"] {
        assert!(logs.contains(part), "{part} in {logs}");
    }
    let said = home.run(&["get", "secret/vault", "-o", "yaml"]).await.out;
    assert!(said.contains("last-applied") && !said.contains("PLANT"), "{said}");
    let said = home.run(&["get", "secrets", "-o", "yaml"]).await.out;
    assert!(said.contains("last-applied") && !said.contains("PLANT"), "{said}");
    let said = home.run(&["get", "secret/vault", "-o", "yaml", "--reveal"]).await.out;
    assert!(said.contains("PLANT-applied-18"), "{said}");

    let file = home.folder.path().join("home.tar").display().to_string();
    let said = home.run(&["support", "bundle", "--out", &file]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("--yes"), "{said:?}");
    assert!(!std::path::Path::new(&file).exists(), "nobody said yes");
    let said = home.run(&["support", "bundle", "--out", &file, "--yes"]).await;
    assert_eq!((said.exit, said.out.trim()), (Exit::Done, file.as_str()), "{said:?}");
    for part in ["In it would be, without secrets", "apps", "logs", "Taken out:"] {
        assert!(said.err.contains(part), "{part} in {said:?}");
    }
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(&file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let leaks: Vec<&str> = text
        .match_indices("PLANT")
        .map(|(at, _)| text.get(at.saturating_sub(80)..at + 40).unwrap_or("PLANT"))
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    for encoded in ["UExBTlQt", "BMQU5UL", "QTEFOVC"] {
        assert!(!text.contains(encoded), "{encoded}");
    }
    let kubeconfig = std::fs::read_to_string(home.running.server.kubeconfig()).unwrap();
    let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();
    assert!(!text.contains(token));
    let said = home.run(&["support", "bundle", "--out", &file, "--yes"]).await;
    assert_eq!(said.exit, Exit::Conflict, "no file is replaced");
    reads_like_the_home(&home, &file).await;
    home.running.stop().await;
}

async fn reads_like_the_home(home: &Whole, file: &str) {
    let said = home.run(&["support", "open", file]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    for part in ["A home at ", "Doctor:", "Unwell:", "hearth --from"] {
        assert!(said.out.contains(part), "{part} in {said:?}");
    }
    for (words, part) in [
        (vec!["get", "apps"], "photos"),
        (vec!["get", "all", "-A"], "container/photos-web"),
        (vec!["get", "containers", "-l", "hearth.dev/app=photos", "-o", "name"], "container/photos-web"),
        (vec!["get", "app/photos", "-o", "yaml"], "slug: photos"),
        (vec!["describe", "app/photos"], "app/photos is"),
        (vec!["why", "app/photos"], "app/photos is"),
        (vec!["tree", "app/photos"], "container/photos-web"),
        (vec!["events", "-A"], "app/photos"),
        (vec!["history", "app/photos"], "generation 2"),
        (vec!["logs", "app/photos"], "and (redacted)"),
        (vec!["recover", "status"], "Store "),
        (vec!["doctor"], "store"),
    ] {
        let said = home.run(&[&["--from", file][..], &words[..]].concat()).await;
        assert!(said.out.contains(part), "{words:?}: {part} in {said:?}");
    }
    let said = home.run(&["--from", file, "get", "app/photo"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("did you mean app/photos?"), "{said:?}");
    let said = home.run(&["--from", file, "stop", "app/photos"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("can only be read"), "{said:?}");
    let said = home.run(&["--from", "/nowhere.tar", "get", "apps"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("cannot be read"), "{said:?}");
}
