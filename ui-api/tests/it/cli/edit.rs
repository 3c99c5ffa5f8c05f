//! Editing: an editor is a shell script here, which does what a person would.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hearth::cli::exit::Exit;

use super::home::{Home, Said};

const APP: &str = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos, labels: { mine: \"1\" } }\nspec:\n  slug: photos\n  compose: |\n    services:\n      # kept, since it is part of a text\n      web: { image: x }\n";

async fn home() -> Home {
    let home = Home::start().await;
    let file = home.file("photos.yaml", APP);
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    home
}

/// An editor that does this to the file `$1`.
fn editor(home: &Home, script: &str) -> String {
    let path = home.file("editor.sh", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn edit(home: &Home, script: &str) -> Said {
    let editor = editor(home, script);
    home.run(&["edit", "app/photos", "--yes", "--editor", &editor]).await
}

/// The file that a failure names, which is taken away with the test.
fn kept(said: &Said) -> String {
    let path = said.err.lines().find_map(|line| line.strip_prefix("what you wrote is in ")).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(path).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_is_shown_and_sent_and_status_is_never_in_the_text() {
    let home = home().await;
    let copy = home.folder.path().join("seen.yaml").display().to_string();
    let said = edit(
        &home,
        &format!("cp \"$1\" {copy}; sed -i 's/image: x/image: y/; s/mine: \"1\"/mine: \"2\"/' \"$1\""),
    )
    .await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(
        said.out.contains("+   web: { image: y }") && said.out.contains("app/photos changed (generation 2)"),
        "{said:?}"
    );
    assert!(said.err.contains("undo: hearth rollback app/photos --to 1"), "{said:?}");
    let seen = std::fs::read_to_string(&copy).unwrap();
    assert!(seen.starts_with("#~ app/photos in namespace household."), "{seen}");
    assert!(!seen.contains("status:") && !seen.contains("managedFields") && !seen.contains("uid:"), "{seen}");
    assert!(seen.contains("# kept, since it is part of a text"), "{seen}");
    let label =
        home.run(&["get", "app/photos", "-o", "jsonpath={.metadata.labels.mine} {.spec.compose}"]).await.out;
    assert!(label.starts_with("2 ") && label.contains("image: y") && label.contains("# kept"), "{label}");
}

#[tokio::test(flavor = "multi_thread")]
async fn left_as_it_is_or_emptied_nothing_is_changed() {
    let home = home().await;
    for script in ["true", ": > \"$1\"", "echo '#~ a remark' >> \"$1\""] {
        let said = edit(&home, script).await;
        assert!(said.exit == Exit::Done && said.err.contains("nothing was changed"), "{script}: {said:?}");
    }
    assert_eq!(home.run(&["get", "app/photos", "-o", "jsonpath={.metadata.generation}"]).await.out, "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_comes_back_at_its_line_until_it_is_mended() {
    let home = home().await;
    let copy = home.folder.path().join("again.yaml").display().to_string();
    // At first two mistakes; when it is opened again, both are mended.
    let script = format!(
        "if grep -q problems \"$1\"; then cp \"$1\" {copy}; sed -i 's/slgu/slug/; s/Runing/Stopped/' \"$1\"; \
         else sed -i 's/slug: photos/slgu: photos\\n  state: Runing/' \"$1\"; fi"
    );
    let said = edit(&home, &script).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let again = std::fs::read_to_string(&copy).unwrap();
    let lines: Vec<&str> = again.lines().collect();
    let above = |part: &str| {
        let at = lines.iter().position(|line| line.trim_start().starts_with(part)).unwrap();
        lines[at - 1].to_owned()
    };
    assert!(above("slgu:").contains("#~ spec.slgu"), "{again}");
    assert!(above("state: Runing").contains("#~ spec.state"), "{again}");
    assert_eq!(home.run(&["get", "app/photos", "-o", "jsonpath={.spec.state}"]).await.out, "Stopped\n");
    // Saved as it is, the problems end it, and the text is kept.
    let said = edit(&home, "grep -q problems \"$1\" || sed -i 's/slug:/slgu:/' \"$1\"").await;
    assert_eq!(said.exit, Exit::Rejected, "{said:?}");
    assert!(kept(&said).contains("slgu: photos"));
    // Another object is another matter.
    let said = edit(&home, "grep -q problems \"$1\" || sed -i 's/name: photos/name: album/' \"$1\"").await;
    assert!(said.exit == Exit::Rejected && said.err.contains("must stay that of app/photos"), "{said:?}");
    kept(&said);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_or_a_server_that_fails_loses_nothing() {
    let home = home().await;
    let said = edit(&home, "sed -i 's/image: x/image: mine/' \"$1\"; exit 3").await;
    assert!(said.exit == Exit::Rejected && said.err.contains("ended with exit status: 3"), "{said:?}");
    assert!(kept(&said).contains("image: mine"));
    let said = home.run(&["edit", "app/photos", "--editor", "/nowhere/editor"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("/nowhere/editor"), "{said:?}");
    kept(&said);
    // Nobody can be asked here, so it is not sent.
    let editor = editor(&home, "sed -i 's/image: x/image: mine/' \"$1\"");
    let said = home.run(&["edit", "app/photos", "--editor", &editor]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("--yes"), "{said:?}");
    assert!(kept(&said).contains("image: mine"));
    let file = home
        .file("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { pw: hunter2 }\n");
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    let said = home.run(&["edit", "secret/s", "--editor", &editor]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("hearth apply -f -"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_raised_the_generation_is_said_to_be_undone_by_a_rollback() {
    let home = home().await;
    let said = edit(&home, "sed -i 's/mine: .*/mine: \"2\"/' \"$1\"").await;
    assert!(said.exit == Exit::Done && said.out.contains("(generation 1)"), "{said:?}");
    assert!(!said.err.contains("undo"), "{said:?}");
    let file = home.file("photos.yaml", &APP.replace("image: x", "image: y"));
    let said = home.run(&["apply", "-f", &file]).await;
    assert!(said.err.contains("undo: hearth rollback app/photos --to 1"), "{said:?}");
    let file = home.file("photos.yaml", &APP.replace("image: x", "image: y").replace("\"1\"", "\"3\""));
    let said = home.run(&["apply", "-f", &file]).await;
    assert!(said.out.contains("changed") && !said.err.contains("undo"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_while_the_editor_is_open_is_the_editors_own() {
    let home = home().await;
    let (open, go_on) = (home.folder.path().join("open"), home.folder.path().join("go-on"));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.05; done; sed -i 's/image: x/image: y/' \"$1\"",
        open.display(),
        go_on.display()
    );
    let editor = editor(&home, &script);
    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["--kubeconfig", home.kubeconfig(), "edit", "app/photos", "--yes", "--editor", &editor])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !open.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let id = rustix::process::Pid::from_raw(program.id().try_into().unwrap()).unwrap();
    // Twice, since the first must not use up what ignores them.
    for _ in 0..2 {
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    std::fs::write(&go_on, "").unwrap();
    let ended = tokio::task::spawn_blocking(move || program.wait_with_output().unwrap());
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let now = home.run(&["get", "app/photos", "-o", "jsonpath={.spec.compose}"]).await.out;
    assert!(now.contains("image: y"), "{now}");
}

/// What somebody else does while the editor is open.
fn meanwhile(home: &Home, change: &str) -> String {
    let text = std::fs::read_to_string(home.kubeconfig()).unwrap();
    let of = |part: &str| text.lines().find_map(|line| line.trim().strip_prefix(part)).unwrap().to_owned();
    let (server, token) = (of("server: "), of("token: "));
    format!(
        "curl --noproxy '*' -ksSf -X PATCH -H 'Authorization: Bearer {token}' -H 'Content-Type: application/merge-patch+json' \
         '{server}/apis/hearth.dev/v1/namespaces/household/apps/photos' -d '{change}' > /dev/null || exit 9"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_changed_meanwhile_is_joined_and_a_conflict_is_told_by_field() {
    let home = home().await;
    let theirs = meanwhile(&home, r#"{"spec":{"state":"Stopped"}}"#);
    let said = edit(&home, &format!("{theirs}; sed -i 's/image: x/image: y/' \"$1\"")).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let now = home.run(&["get", "app/photos", "-o", "jsonpath={.spec.state} {.spec.compose}"]).await.out;
    assert!(now.starts_with("Stopped ") && now.contains("image: y"), "{now}");
    // Both set the same field: told, and saved again it is meant.
    let theirs = meanwhile(&home, r#"{"metadata":{"labels":{"mine":"theirs"}}}"#);
    let script = format!(
        "if grep -q 'changed meanwhile' \"$1\"; then echo '# meant' >> \"$1\"; \
         else {theirs}; sed -i 's/mine: .*/mine: own/' \"$1\"; fi"
    );
    let said = edit(&home, &script).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(
        said.err.contains("metadata.labels.mine: was changed meanwhile: it is \"theirs\" now"),
        "{said:?}"
    );
    assert_eq!(home.run(&["get", "app/photos", "-o", "jsonpath={.metadata.labels.mine}"]).await.out, "own\n");
    // What else they changed beside a conflict is not in the text, and stays theirs when it is saved again.
    let theirs = meanwhile(&home, r#"{"metadata":{"labels":{"mine":"theirs"}},"spec":{"state":"Running"}}"#);
    let script = format!(
        "if grep -q 'changed meanwhile' \"$1\"; then echo '# meant' >> \"$1\"; \
         else {theirs}; sed -i 's/mine: .*/mine: own2/' \"$1\"; fi"
    );
    let said = edit(&home, &script).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let now =
        home.run(&["get", "app/photos", "-o", "jsonpath={.metadata.labels.mine} {.spec.state}"]).await.out;
    assert_eq!(now, "own2 Running\n");
    // Left as it was shown, it is given up.
    let theirs = meanwhile(&home, r#"{"metadata":{"labels":{"mine":"again"}}}"#);
    let script = format!(
        "grep -q 'changed meanwhile' \"$1\" || {{ {theirs}; sed -i 's/mine: .*/mine: other/' \"$1\"; }}"
    );
    let said = edit(&home, &script).await;
    assert_eq!(said.exit, Exit::Conflict, "{said:?}");
    assert!(kept(&said).contains("mine: other"));
    assert_eq!(
        home.run(&["get", "app/photos", "-o", "jsonpath={.metadata.labels.mine}"]).await.out,
        "again\n"
    );
}
