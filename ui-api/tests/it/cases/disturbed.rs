//! What happens to a home in a case: every fault of it comes up, or the case says which did not.

use hearth::cli::exit::Exit;

use super::{PAGE, Said, case, folder, hearth_test};

async fn run(steps: &str) -> Said {
    hearth_test(folder(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]).path(), &["-o", "story"])
        .await
}

async fn fails(steps: &str, with: &str) {
    let said = run(&format!("  - apply: page.yaml\n  - settle\n{steps}")).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    assert!(said.out.contains(with), "{with:?} is not in\n{}", said.out);
}

async fn is_refused(steps: &str, with: &str) {
    let said = run(steps).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Rejected, ""), "{}", said.err);
    assert!(said.err.contains(with), "{with:?} is not in\n{}", said.err);
}

fn faults(faults: &str) -> String {
    format!("  - disturb: {{ happenings: 60, faults: [{faults}] }}\n")
}

#[tokio::test]
async fn a_fault_that_never_comes_up_fails_the_case_and_is_named() {
    let steps = faults("{ call: adoptLeaf, answer: lost }, { call: listContainers, answer: blind }");
    fails(&steps, "fault 0 never comes up in 60 happenings: call adoptLeaf 0").await;
    fails(
        &faults("{ call: removeContainer, of: hearth_household_page-web, answer: lost }"),
        "removeContainer 0 of hearth_household_page-web",
    )
    .await;
    fails(&faults("{ event: 0, answer: lost }"), "event 0").await;
    fails(&faults("{ write: 30, answer: full }"), "write 30").await;
}

#[tokio::test]
async fn what_cannot_be_done_at_its_moment_fails_the_case() {
    fails(
        &faults("{ at: 3, break: { container: nobody, is: killed } }"),
        "after 3 happenings: there is no container nobody",
    )
    .await;
    fails(
        &faults("{ at: 4, change: { app/other: { spec: { state: Stopped } } } }"),
        "after 4 happenings: app/other is not there",
    )
    .await;
}

#[tokio::test]
async fn what_nobody_would_hear_of_is_refused_before_anything_runs() {
    is_refused(
        &faults("{ at: 60, restart: {} }"),
        "steps[0].disturb.faults[0].at: never comes: the step is over after 60 happenings",
    )
    .await;
    is_refused(
        &faults("{ at: 5, break: { part: server, is: stopped } }"),
        "nothing happens while the server is stopped",
    )
    .await;
    is_refused(&faults("{ at: 5, restart: {}, delete: app/page }"), "does one thing at that moment").await;
    is_refused(&faults("{ at: 5, times: 3, restart: {} }"), "times does not go with this").await;
    is_refused(&faults("{ call: listContainers, answer: empty, looks: 3 }"), "looks does not go with this")
        .await;
    is_refused(
        &faults("{ call: listContainers, answer: empty, nth: -1 }"),
        "faults[0].nth: is -1; it must be at least 0",
    )
    .await;
    is_refused(&faults("{ write: 0, of: x }"), "of does not go with this").await;
    is_refused("  - disturb: { happenings: 0, faults: [{ at: 0, restart: {} }] }\n", "must be at least 1")
        .await;
    is_refused("  - break: { container: a, is: killed, mode: \"0700\" }\n", "mode does not go with this")
        .await;
    is_refused("  - break: { container: a, is: killed, exits: 3 }\n", "exits does not go with this").await;
    is_refused("  - break: { part: docker, is: pruned, by: 3h }\n", "by does not go with this").await;
    is_refused("  - break: { image: a, is: missing, after: 3s }\n", "after does not go with this").await;
    is_refused("  - break: { container: a, exits: -3 }\n", "steps[0].break.exits: is -3").await;
    is_refused("  - others: { network: n, image: x }\n", "image does not go with this").await;
}

#[tokio::test]
async fn a_server_that_is_killed_at_a_moment_stays_down_as_long_as_it_says() {
    let steps = faults(
        "{ at: 5, break: { part: server, is: killed, for: 10m } }, { at: 9, break: { container: page-web, is: killed } }",
    );
    let said = run(&format!("  - apply: page.yaml\n  - settle\n{steps}  - settle\n  - assert: {{ app/page: {{ status: {{ summary: Ready }} }} }}\n")).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
}

#[tokio::test]
async fn what_is_mended_is_the_one_that_was_broken() {
    let steps = "  - others: { container: stranger }\n  - break: { container: stranger, is: unstartable }\n  - break: { container: stranger, is: stopped }\n  - mend: stranger\n  - break: { container: stranger, is: started }\n  - assertMachine: { containers: { stranger: { running: true } } }\n";
    let said = run(steps).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
}

#[tokio::test]
async fn events_that_are_late_keep_nobody_from_looking() {
    let steps = "  - apply: page.yaml\n  - settle\n  - break: { part: events, is: late, of: containers, by: 40m }\n  - break: { container: page-web, is: removed }\n  - wait: 13m\n  - assertMachine: { containers: { page-web: { running: true } } }\n  - assert: { app/page: { status: { summary: Ready } } }\n  - settle\n  - assertMachine: { changes: { create container page-web: 2, start container page-web: 2 } }\n";
    let said = run(steps).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    // At once it would have been known from the event: the look comes later.
    let back = said
        .out
        .lines()
        .find(|line| line.contains("> create container page-web") && !line.contains("0:00:0"));
    assert!(back.is_some(), "{}", said.out);
    is_refused("  - break: { part: events, is: late }\n", "events that are late need `by`").await;
    is_refused(
        "  - break: { part: events, is: late, by: 5m, of: doors }\n",
        "\"doors\" is not one of containers, networks, images",
    )
    .await;
    let one =
        faults("{ at: 1, break: { container: page-web, is: killed } }, { event: 0, answer: late, for: 5m }");
    let said = run(&format!("  - apply: page.yaml\n  - settle\n{one}  - settle\n")).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
}
