//! What a change would do to the machine, told before it is made, as the controllers would plan it.

use hearth::cli::exit::Exit;
use hearth_pretend::faults::Backend;

use super::whole::{PHOTOS, Whole};

async fn told(home: &Whole, text: &str) -> (Exit, String) {
    let file = home.folder.path().join("changed.yaml");
    std::fs::write(&file, text).unwrap();
    let said = home.run(&["diff", "-f", &file.display().to_string()]).await;
    (said.exit, said.out)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_service_is_made_anew_others_stay_and_nothing_is_done() {
    let home = Whole::start().await;
    assert_eq!(home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let before = home.machine.write_count();
    let (exit, out) = told(
        &home,
        &PHOTOS.replace("image: postgres:17", "image: postgres:17\n        environment: { A: b }"),
    )
    .await;
    assert_eq!(exit, Exit::Differs);
    assert!(out.contains("→ container/photos-db is stopped, removed and made anew"), "{out}");
    assert!(!out.contains("container/photos-web is"), "{out}");
    assert!(out.contains("→ its data stays as it is"), "{out}");
    // Another image, which is not here yet.
    let (_, out) = told(&home, &PHOTOS.replace("postgres:17", "postgres:18")).await;
    assert!(out.contains("→ image postgres:18 is pulled where it is not here"), "{out}");
    assert!(out.contains("→ container/photos-db is stopped, removed and made anew"), "{out}");
    // A stop is no removal.
    let (_, out) = told(&home, &PHOTOS.replace("slug: photos\n", "slug: photos\n  state: Stopped\n")).await;
    assert!(out.contains("→ container/photos-web: stop the container") && !out.contains("removed"), "{out}");
    // A service more, a service less.
    let (_, out) =
        told(&home, &PHOTOS.replace("services:\n", "services:\n      more: { image: \"redis:7\" }\n")).await;
    assert!(out.contains("→ container/photos-more is made"), "{out}");
    let less = PHOTOS.replace("migrate: { condition: service_completed_successfully }", "");
    let less = less.replace(
        "      migrate:\n        image: ghcr.io/example/photos:2.1\n        command: [migrate]\n",
        "",
    );
    let (_, out) = told(&home, &less).await;
    assert!(out.contains("delete Container photos-migrate"), "{out}");
    // What changes nothing on the machine says nothing.
    let (_, out) =
        told(&home, &PHOTOS.replace("{ name: photos }", "{ name: photos, labels: { a: b } }")).await;
    assert!(out.contains("metadata.labels.a") && !out.contains("\n  → "), "{out}");
    assert_eq!(home.machine.write_count(), before, "looking changes nothing");
    let said = home.run(&["diff", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    home.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_forecast_is_what_then_happens_and_a_blind_one_says_so() {
    let home = Whole::start().await;
    assert_eq!(home.apply(PHOTOS, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let changed = PHOTOS.replace("image: postgres:17", "image: postgres:17\n        environment: { A: b }");
    let ids = async |home: &Whole| {
        let said = home.run(&["get", "containers", "-o", "jsonpath={.items[*].status.containerId}"]).await;
        said.out.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = ids(&home).await;
    assert_eq!(home.apply(&changed, &["--wait", "--timeout", "60s"]).await.exit, Exit::Done);
    let after = ids(&home).await;
    let stayed = before.iter().filter(|id| after.contains(id)).count();
    assert_eq!(stayed, before.len() - 1, "just one was made anew, as was said: {before:?} {after:?}");
    home.machine.unreachable_backend(Backend::Engine, true);
    let (_, out) = told(&home, PHOTOS).await;
    assert!(out.contains("what would come of it cannot be told"), "{out}");
    home.machine.unreachable_backend(Backend::Engine, false);
    home.running.stop().await;
}
