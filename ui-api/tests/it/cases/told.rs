//! What is told of cases: commands that can be pasted, records that can be trusted, reports that every reader reads.

use hearth::cli::exit::Exit;

use super::{PAGE, case, folder, hearth_test};

#[tokio::test]
async fn a_record_that_cannot_be_read_is_not_one_that_is_not_there() {
    let folder = folder(&[("cases.yaml", &case("a", "  - settle\n")), ("cases.out/x", "")]);
    let said = hearth_test(folder.path(), &[]).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    assert!(said.out.contains("it cannot be read: "), "{}", said.out);
    assert!(said.out.ends_with("1 passed, 1 failed\n"), "{}", said.out);
}

#[tokio::test]
async fn the_command_that_repeats_it_can_be_pasted() {
    let steps = "  - assert: { app/page: {} }\n";
    let text = case("-a", steps);
    let folder = folder(&[("my cases/it's.yaml", &text), ("my cases/it's.out", "")]);
    let said = hearth_test(&folder.path().join("my cases"), &[]).await;
    let shown = folder.path().display();
    let again = format!("again: hearth test '{shown}/my cases' --filter='-a' --seed 1\n");
    assert!(said.out.contains(&again), "{again} is not in\n{}", said.out);
    let record = format!("to take it as right: hearth test '{shown}/my cases/it'\\''s.yaml' --accept\n");
    assert!(said.out.contains(&record), "{record} is not in\n{}", said.out);
}

/// Read by a reader of XML as it comes, not by ours.
#[tokio::test]
async fn a_reader_of_xml_reads_back_what_was_reported() {
    let name = "a \"quoted\" <name> & it's\tlonger\nthan a line";
    let text =
        case(&serde_json::to_string(name).unwrap(), "  - assert: { app/page: { spec: { a: \"<b>\" } } }\n");
    let folder = folder(&[("page.yaml", PAGE), ("a&b.yaml", &text)]);
    let path = folder.path().join("report.xml");
    let said =
        hearth_test(folder.path(), &["--junit", path.to_str().unwrap(), "--check", "idempotent"]).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    let report = std::fs::read_to_string(&path).unwrap();
    let report = roxmltree::Document::parse(&report).unwrap();
    let all = report.root_element();
    let count = |of: &str| all.attribute(of).unwrap().parse::<usize>().unwrap();
    assert_eq!((count("tests"), count("failures"), count("errors"), count("skipped")), (1, 1, 0, 0));
    let case = report.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
    assert_eq!(case.attribute("name"), Some(name));
    assert!(case.attribute("classname").unwrap().ends_with("a&b.yaml"));
    let failure = case.children().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failure.attribute("message"), Some("not as the case says"));
    let told = failure.text().unwrap();
    assert!(told.contains("app/page\n") && told.contains("wanted \"it is there\""), "{told:?}");
    assert!(case.children().any(|node| node.has_tag_name("system-out")));
}

#[tokio::test]
async fn a_folder_that_is_rejected_leaves_a_report_that_is_not_green() {
    let folder = folder(&[("page.yaml", &PAGE.replace("slug", "slg"))]);
    let path = folder.path().join("report.xml");
    let said = hearth_test(folder.path(), &["--junit", path.to_str().unwrap()]).await;
    assert_eq!(said.exit, Exit::Rejected, "{}{}", said.out, said.err);
    let report = std::fs::read_to_string(&path).unwrap();
    let report = roxmltree::Document::parse(&report).unwrap();
    assert_eq!(report.root_element().attribute("errors"), Some("1"));
    let error = report.descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert_eq!(error.attribute("message"), Some("1 problems; nothing was run"));
    assert!(error.text().unwrap().contains("page.yaml:5:3: spec.slg: unknown field"), "{:?}", error.text());
}
