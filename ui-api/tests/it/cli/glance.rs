//! Looks at the whole: `status`, `top`, `version`, `api-resources`, and the help of every verb.

use hearth::cli::exit::Exit;
use hearth_pretend::faults::Backend;

use super::home::Home;
use super::whole::{PHOTOS, Whole};

#[tokio::test(flavor = "multi_thread")]
async fn status_is_one_screen_with_problems_first() {
    let home = Whole::start().await;
    home.until(&["status"], "✓ everything is well").await;
    assert_eq!(home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let said = home.run_wide(Some(80), &["status"]).await;
    assert!(said.out.starts_with("✓ everything is well\n"), "{said:?}");
    assert!(
        said.out.contains("✓ disk") && said.out.contains("✓ copies") && said.out.contains(" Ready"),
        "{said:?}"
    );
    home.machine.unknown_image("ghcr.io/example/photos:3", true);
    home.apply(&PHOTOS.replace("photos:2.1", "photos:3"), &[]).await;
    home.until(&["status"], "✗").await;
    home.run(&["pause", "namespace/household", "--for", "1h"]).await;
    for width in [80, 200] {
        let said = home.run_wide(Some(width), &["status"]).await;
        let lines: Vec<&str> = said.out.lines().collect();
        assert!(lines[0].starts_with("✗ ") && lines[0].contains("not Ready"), "{said:?}");
        assert!(lines.iter().any(|line| line.starts_with("! paused")), "{said:?}");
        assert!(lines.len() <= 24, "one screen: {}", said.out);
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {}", said.out);
        assert!(said.err.contains("see why with `hearth why "), "{said:?}");
    }
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_looked_at_is_not_well() {
    const APP: &str = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec: { slug: photos, compose: 'services: { web: { image: x } }' }\n";
    // No controllers run here.
    let home = Home::start().await;
    let file = home.file("photos.yaml", APP);
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    let said = home.run(&["status"]).await;
    assert!(said.out.starts_with("✗ 1 of the objects is not Ready"), "{said:?}");
    assert!(said.out.contains("app/photos -n household  asked for"), "{said:?}");
    home.see("App", "photos", serde_json::json!({ "summary": "Ready", "reason": "Running" })).await;
    let said = home.run(&["status"]).await;
    assert!(!said.out.contains("app/photos"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn top_tells_what_containers_use_and_says_where_it_cannot() {
    let home = Whole::start().await;
    assert_eq!(home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    for width in [80, 200] {
        let said = home.run_wide(Some(width), &["top"]).await;
        assert_eq!(said.exit, Exit::Done, "{said:?}");
        let lines: Vec<&str> = said.out.lines().collect();
        assert!(
            lines[0].starts_with("NAME") && lines[0].contains("CPU") && lines[0].contains("MEMORY"),
            "{said:?}"
        );
        let web = lines.iter().find(|line| line.starts_with("photos-web")).unwrap();
        assert!(web.contains('%') && web.ends_with("24 MiB"), "{web}");
        assert!(!said.out.contains("photos-migrate"), "a job that is done uses nothing: {said:?}");
    }
    let said = home.run(&["top", "app/photos", "-o", "json"]).await;
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(told["items"].as_array().unwrap().len(), 2, "{told:#}");
    assert!(home.run(&["top", "-A"]).await.out.contains("system     caddy"));
    assert_eq!(home.run(&["top", "app/nothing"]).await.exit, Exit::NotFound);
    assert_eq!(home.run(&["top", "volume/x"]).await.exit, Exit::Usage);
    home.machine.unreachable_backend(Backend::Engine, true);
    let said = home.run(&["top"]).await;
    assert!(said.exit == Exit::Unreachable && said.err.contains("Docker does not answer"), "{said:?}");
    home.machine.unreachable_backend(Backend::Engine, false);
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_and_kinds_are_listed() {
    let home = Home::start().await;
    let said = home.run(&["version"]).await;
    let version = env!("CARGO_PKG_VERSION");
    assert!(said.out.starts_with(&format!("client  {version}\nserver  {version}  at https://")), "{said:?}");
    let said = home.run_with("/nowhere", &["version"]).await;
    assert!(said.exit == Exit::Unreachable && said.out == format!("client  {version}\n"), "{said:?}");
    assert_eq!(home.run_with("/nowhere", &["version", "--client"]).await.exit, Exit::Done);
    let said = home.run_with("/nowhere", &["api-resources"]).await;
    for part in ["NAME", "apps", "ap", "App", "hearth.dev/v1", "events", "yes", "no"] {
        assert!(said.out.contains(part), "{part} in {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_help_of_every_verb_fits_a_screen_and_shows_examples() {
    let home = Home::start().await;
    for verb in [
        "doctor",
        "support",
        "rollback",
        "history",
        "edit",
        "status",
        "top",
        "version",
        "api-resources",
        "diff",
        "apply",
        "why",
        "set",
        "install",
        "upgrade",
        "uninstall",
        "export",
        "login",
        "context",
        "schema",
        "explain",
        "get",
        "delete",
    ] {
        let said = home.run(&[verb, "-h"]).await;
        let lines = said.out.lines().count();
        assert!((5..=40).contains(&lines), "{verb}: {lines} lines\n{}", said.out);
        assert!(said.out.contains("Examples:\n  hearth "), "{verb}: {}", said.out);
        assert!(said.out.find("Examples:") < said.out.find("Usage:"), "{verb}: {}", said.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_is_offered_kinds_and_the_names_there_are() {
    let home = Home::start().await;
    home.app("photos").await;
    home.app("album").await;
    let kubeconfig = home.kubeconfig().to_owned();
    let offered = async |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let kubeconfig = kubeconfig.clone();
        let ended = tokio::task::spawn_blocking(move || offered(&kubeconfig, &words)).await;
        ended.unwrap()
    };
    assert_eq!(offered(&["why", "ap"]).await, ["app/"]);
    assert_eq!(offered(&["why", "app/"]).await, ["app/album", "app/photos"]);
    assert_eq!(offered(&["get", "apps"]).await, ["apps"]);
    assert_eq!(offered(&["edit", "app/ph"]).await, ["app/photos"]);
    assert_eq!(offered(&["set", "app/ph"]).await, ["app/photos"]);
    assert_eq!(offered(&["export", "app/ph"]).await, ["app/photos"]);
    assert_eq!(offered(&["upgrade", "ph"]).await, ["photos"]);
    assert_eq!(offered(&["uninstall", "al"]).await, ["album"]);
    assert_eq!(offered(&["schema", "vol"]).await, ["volume"]);
    assert!(offered(&["rollb"]).await.contains(&"rollback".to_owned()));
    for shell in ["bash", "zsh", "fish"] {
        let said = home.run(&["completion", shell]).await;
        assert!(said.exit == Exit::Done && said.out.contains("COMPLETE"), "{said:?}");
    }
}

/// What the program answers a shell that asks by its script.
#[expect(clippy::disallowed_methods, reason = "the program is what is asked")]
fn offered(kubeconfig: &str, words: &[String]) -> Vec<String> {
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_hearth"))
        .env("COMPLETE", "fish")
        .env("HEARTH_KUBECONFIG", kubeconfig)
        .args(["--", "hearth"])
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    // After a tab comes what it means.
    said.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}
