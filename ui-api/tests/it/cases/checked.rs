//! What cases are held to besides, and that a check which looks at nothing never passes for one that holds.

use hearth::cli::exit::Exit;
use serde_json::Value;

use super::{PAGE, case, folder, hearth_test};

/// What programs are told of a check of the only case.
async fn check(steps: &str, which: &str) -> Value {
    let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]);
    let said = hearth_test(folder.path(), &["--check", which, "-o", "json"]).await;
    let told: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err));
    told["cases"][1].clone()
}

#[tokio::test]
async fn what_was_changed_is_applied_again_as_it_stands() {
    let steps = "  - apply: page.yaml\n  - settle\n  - change: { app/page: { spec: { state: Stopped } } }\n  - settle\n";
    let told = check(steps, "idempotent").await;
    assert_eq!((&told["passed"], &told["remark"]), (&true.into(), &"1 objects".into()), "{told}");
    // What a page's container should be is the page's business, and nobody declared it.
    let steps =
        "  - apply: page.yaml\n  - settle\n  - change: { secret/door: { stringData: { word: a } } }\n";
    let made = format!(
        "  - apply: {{ apiVersion: v1, kind: Secret, metadata: {{ name: door }}, stringData: {{ word: b }} }}\n{steps}  - settle\n"
    );
    let told = check(&made, "idempotent").await;
    assert_eq!(told["remark"], "2 objects", "{told}");
}

#[tokio::test]
async fn what_was_asked_for_while_the_home_was_disturbed_is_applied_again_too() {
    let steps = "  - disturb: { happenings: 200, faults: [{ at: 3, apply: page.yaml }] }\n  - settle\n";
    let told = check(steps, "idempotent").await;
    assert_eq!((&told["passed"], &told["remark"]), (&true.into(), &"1 objects".into()), "{told}");
}

#[tokio::test]
async fn one_of_that_name_in_another_namespace_is_another() {
    let kids = "{ apiVersion: v1, kind: Namespace, metadata: { name: kids } }";
    let theirs =
        "{ apiVersion: v1, kind: Secret, metadata: { name: door, namespace: kids }, stringData: { a: b } }";
    let ours = "{ apiVersion: v1, kind: Secret, metadata: { name: door }, stringData: { a: b } }";
    let steps = format!(
        "  - apply: [{kids}, {theirs}, {ours}]\n  - settle\n  - delete: secret/door\n  - settle\n  - assert: {{ secret/kids/door: {{}} }}\n"
    );
    let told = check(&steps, "idempotent").await;
    assert_eq!((&told["passed"], &told["remark"]), (&true.into(), &"2 objects".into()), "{told}");
}

#[tokio::test]
async fn a_check_that_has_nothing_to_look_at_is_skipped_and_counted_so() {
    let gone = "  - apply: page.yaml\n  - settle\n  - delete: app/page\n  - settle\n";
    let again = "  - apply: page.yaml\n  - settle\n  - apply: page.yaml\n  - settle\n";
    for (steps, which, why) in [
        ("  - settle\n", "crash-anywhere", "nothing is asked for"),
        ("  - settle\n", "idempotent", "nothing is asked for"),
        (gone, "idempotent", "nothing that was asked for stands"),
        (again, "crash-anywhere", "its last wish changes nothing, so there is nowhere to crash"),
    ] {
        let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]);
        let report = folder.path().join("report.xml");
        let said = hearth_test(folder.path(), &["--check", which, "--junit", report.to_str().unwrap()]).await;
        assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
        assert!(said.out.contains(&format!("skip  a [{which}]  ({why})\n")), "{}", said.out);
        assert!(said.out.ends_with("\n1 skipped; 1 passed, 0 failed\n"), "{}", said.out);
        let report = std::fs::read_to_string(report).unwrap();
        assert!(report.contains(&format!("<skipped message=\"{why}\"/>")), "{report}");
        assert!(report.contains("skipped=\"1\""), "{report}");
    }
}

#[tokio::test]
async fn a_case_that_never_rests_is_not_held_to_what_holds_at_rest() {
    let failing = "  - break: { container: page-web, is: failing }\n";
    let text = case("a", &format!("  - apply: page.yaml\n  - settle\n{failing}  - wait: 1m\n"))
        .replace("name: a", "name: a\nrestless: its page dies again and again");
    let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &text)]);
    let said = hearth_test(folder.path(), &["--check", "idempotent", "--check", "crash-anywhere"]).await;
    let why = "it never comes to rest: its page dies again and again";
    assert!(said.out.contains(&format!("skip  a [idempotent]  ({why})\n")), "{}", said.out);
    assert!(said.out.contains(&format!("skip  a [crash-anywhere]  ({why})\n")), "{}", said.out);
    assert!(said.out.ends_with("2 skipped; 1 passed, 0 failed\n"), "{}", said.out);
}

#[tokio::test]
async fn a_wish_to_a_server_that_is_stopped_fails_and_is_no_bug() {
    let steps = "  - apply: page.yaml\n  - settle\n  - break: { part: server, is: stopped }\n  - change: { app/page: { spec: { state: Stopped } } }\n";
    let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]);
    let said = hearth_test(folder.path(), &["--check", "crash-anywhere"]).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    assert!(said.out.contains("the server is stopped; `restart` starts it again"), "{}", said.out);
}

#[tokio::test]
async fn a_crash_leaves_what_is_broken_for_a_while_as_it_is() {
    let steps = "  - apply: page.yaml\n  - settle\n  - break: { part: proxy, is: unreachable, for: 20m }\n  - break: { part: events, is: lost }\n  - change: { app/page: { spec: { state: Stopped } } }\n  - settle\n";
    let told = check(steps, "crash-anywhere").await;
    assert_eq!(told["passed"], true, "{told:#}");
}

#[tokio::test]
async fn a_case_is_carried_out_again_with_a_restart_in_the_middle() {
    let told = check("  - apply: page.yaml\n  - settle\n", "restart").await;
    assert_eq!(told["passed"], true, "{told}");
    let remark = told["remark"].as_str().unwrap_or_default();
    assert!(remark.starts_with("after change "), "{told}");
    let disturbed = "  - disturb: { happenings: 200, faults: [{ at: 3, apply: page.yaml }] }\n  - settle\n";
    for (steps, why) in [
        ("  - settle\n", "nothing lasting happens in it"),
        (disturbed, "it is disturbed at counted moments, which a restart would shift"),
    ] {
        let told = check(steps, "restart").await;
        assert_eq!(told["skipped"], why, "{told}");
    }
}
