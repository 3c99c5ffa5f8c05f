//! The command line against a real server: the protocol over a real store, asked as a person would ask it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "everything here is a test")]

mod home;
mod declare;
mod look;
mod change;
mod follow;
mod backup;
mod whole;
mod files;
mod bounds;
mod doctor;
mod support;
mod rollback;
mod edit;
mod set;
mod install;
mod export;
mod login;
mod asked;
mod glance;
mod effects;
mod previous;
mod access;
mod golden;
mod exits;

use hearth::cli::exit::Exit;
use home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_kubeconfig_says_what_to_do() {
    let home = Home::start().await;
    let said = home.run_with("/nowhere/admin.kubeconfig", &["get", "apps"]).await;
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("there is no kubeconfig file /nowhere/admin.kubeconfig"), "{}", said.err);
    assert!(said.err.contains("--kubeconfig FILE or HEARTH_KUBECONFIG"), "{}", said.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_named() {
    let home = Home::start().await;
    let lost = home.kubeconfig_for("http://127.0.0.1:9");
    let said = home.run_with(&lost, &["get", "apps"]).await;
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.starts_with("error: no server answers at http://127.0.0.1:9: "), "{}", said.err);
    assert!(said.err.contains("hearth serve"), "{}", said.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_verb_or_kind_suggests_the_nearest() {
    let home = Home::start().await;
    let said = home.run(&["get", "aps"]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("did you mean"), "{}", said.err);
    for (words, meant) in [
        (&["gett", "apps"][..], "'get'"),
        (&["instal", "photos"], "'install'"),
        (&["contxt"], "'context'"),
        (&["install", "photos", "--compse", "x"], "'--compose'"),
    ] {
        let said = home.run(words).await;
        assert!(said.exit == Exit::Usage && said.err.contains(meant), "{words:?}: {said:?}");
    }
    // In every verb that takes a kind, the nearest is told.
    for verb in [
        "get",
        "describe",
        "why",
        "tree",
        "diff",
        "events",
        "logs",
        "history",
        "wait",
        "edit",
        "set",
        "delete",
        "rollback",
        "start",
        "stop",
        "pause",
        "resume",
        "reconcile",
        "export",
        "explain",
        "schema",
    ] {
        let object = if ["explain", "schema"].contains(&verb) { "contaner" } else { "contaner/x" };
        let more: &[&str] = if verb == "set" { &["a=b"] } else { &[] };
        let said = home.run(&[&[verb, object][..], more].concat()).await;
        assert_eq!(said.exit, Exit::Usage, "{verb}: {said:?}");
        assert!(said.err.contains("did you mean \"container\"?"), "{verb}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_and_a_wrong_authority_are_told_apart() {
    let (home, other) = (Home::start().await, Home::start().await);
    let text = std::fs::read_to_string(home.kubeconfig()).unwrap();
    let token = text.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();
    let stranger = home.file("stranger.kubeconfig", &text.replace(token, "not-a-token"));
    let said = home.run_with(&stranger, &["get", "apps"]).await;
    assert_eq!(said.exit, Exit::NotAllowed, "{said:?}");
    assert!(said.err.contains("read its admin.kubeconfig again"), "{}", said.err);
    let server = |text: &str| text.lines().find(|line| line.contains("server: ")).unwrap().to_owned();
    let of_other = std::fs::read_to_string(other.kubeconfig()).unwrap();
    let mixed = home.file("mixed.kubeconfig", &of_other.replace(&server(&of_other), &server(&text)));
    let said = home.run_with(&mixed, &["get", "apps"]).await;
    assert_eq!(said.exit, Exit::Unreachable, "{said:?}");
    assert!(said.err.contains("cannot be trusted"), "{}", said.err);
}
