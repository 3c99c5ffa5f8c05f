//! How folders are read: as a machine would, whole, and with every case saying something.

use hearth::cli::exit::Exit;

use super::{PAGE, Said, case, folder, hearth_test};

const NOTES: &str = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: notes }\nspec: { package: { path: /srv/packages/notes } }\n";
const COMPOSE: &str =
    "services: { web: { image: \"registry.home/web:1\", expose: [\"80\"], env_file: [.env, more/.env] } }\n";

async fn run(files: &[(&str, &str)]) -> Said {
    hearth_test(folder(files).path(), &[]).await
}

async fn is_refused(steps: &str, with: &str) {
    let said = run(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Rejected, ""), "{}", said.err);
    assert!(said.err.contains(with), "{with:?} is not in\n{}", said.err);
}

#[tokio::test]
async fn a_package_is_read_by_the_rules_of_a_machine() {
    let steps = "  - apply: notes.yaml\n  - settle\n  - assertMachine: { containers: { notes-web: { env: { A: one, B: two } } } }\n";
    let files = [
        ("notes.yaml", NOTES),
        ("cases.yaml", &*case("a", steps)),
        ("notes/compose.yaml", COMPOSE),
        ("notes/.env", "A=one\n"),
        ("notes/more/.env", "B=two\n"),
    ];
    let said = run(&files).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    let linked = folder(&files);
    std::os::unix::fs::symlink("/etc/hostname", linked.path().join("notes/host")).unwrap();
    let said = hearth_test(linked.path(), &[]).await;
    assert_eq!(said.exit, Exit::Rejected, "{}", said.out);
    assert!(said.err.contains("notes/host is a link; a package holds only files"), "{}", said.err);
}

#[tokio::test]
async fn files_deep_in_a_package_are_the_packages_own() {
    let files = [
        ("notes.yaml", NOTES),
        ("notes/compose.yaml", "services: { web: { image: \"registry.home/web:1\", expose: [\"80\"] } }\n"),
        ("notes/config/app/settings.yaml", "theme: dark\n"),
        ("notes/config/app/broken.yaml", "a: [not ours"),
    ];
    let said = run(&files).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
}

#[tokio::test]
async fn a_file_that_must_be_refused_is_asked_for_and_not_judged_before() {
    let wrong = PAGE.replace("slug: page", "slug: PAGE page");
    let steps = "  - apply: wrong.yaml\n    refused: slug\n";
    let said = run(&[("wrong.yaml", &wrong), ("cases.yaml", &case("a", steps))]).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    // Whoever asks for it in earnest is told at once.
    let both = format!("{steps}  - apply: wrong.yaml\n");
    let said = run(&[("wrong.yaml", &wrong), ("cases.yaml", &case("a", &both))]).await;
    assert_eq!(said.exit, Exit::Rejected, "{}", said.out);
}

#[tokio::test]
async fn steps_that_would_hold_of_anything_are_refused() {
    is_refused("  - events: { app/page: [] }\n", "steps[0].events.app/page: names no event").await;
    is_refused("  - assertMachine: {}\n", "steps[0].assertMachine: names nothing on the machine").await;
    is_refused("  - assertMachine: { routes: {} }\n", "steps[0].assertMachine.routes: names nothing").await;
    is_refused("  - change: { app/page: {} }\n", "steps[0].change.app/page: changes nothing").await;
    is_refused("  - delete: []\n", "steps[0].delete: names no object").await;
    is_refused("  - mend: []\n", "steps[0].mend: names nothing").await;
    is_refused(
        "  - delete: app/page\n    refused: \"\"\n",
        "steps[0].refused: must say a part of the refusal",
    )
    .await;
}

#[tokio::test]
async fn two_case_files_never_share_a_record() {
    let text = case("a", "  - settle\n");
    let said = run(&[("cases.yaml", &text), ("cases.yml", &text)]).await;
    assert_eq!(said.exit, Exit::Rejected, "{}", said.out);
    assert!(said.err.contains("shares the record cases.out with cases.yaml"), "{}", said.err);
}

#[tokio::test]
async fn events_of_an_object_are_those_of_its_namespace() {
    let kids = "{ apiVersion: v1, kind: Namespace, metadata: { name: kids } }";
    let steps = format!(
        "  - apply: [page.yaml, {kids}]\n  - settle\n  - events: {{ app/page: [{{ reason: Declared }}], app/kids/page: [{{ absent: true }}] }}\n"
    );
    let said = run(&[("page.yaml", PAGE), ("cases.yaml", &case("a", &steps))]).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
}

#[tokio::test]
async fn a_folder_of_nothing_but_secrets_is_tested_for_being_there() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: door }\nstringData: { word: sesame }\n";
    let folder = folder(&[("door.yaml", secret)]);
    let suite = hearth::cases::Suite::read(folder.path()).unwrap();
    let last = format!("{:?}", suite.files[0].cases[0].steps.last().unwrap().verb);
    assert!(last.starts_with("Assert([(Secret"), "{last}");
    let said = hearth_test(folder.path(), &[]).await;
    assert!(said.out.ends_with("2 passed, 0 failed\n"), "{}{}", said.out, said.err);
}
