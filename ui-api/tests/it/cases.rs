//! `hearth test` as packagers and CI meet it: what it says, and how it ends.
#![allow(clippy::unwrap_used, clippy::panic, reason = "everything here is a test")]

mod checked;
mod disturbed;
mod read;
mod told;

use std::path::Path;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;
use tempfile::TempDir;

const PAGE: &str = r#"apiVersion: hearth.dev/v1
kind: App
metadata: { name: page }
spec:
  slug: page
  compose: |
    services: { web: { image: "registry.home/web:1", expose: ["8080"], volumes: ["./data:/data"] } }
"#;

struct Said {
    exit: Exit,
    out: String,
    err: String,
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

async fn hearth_test(path: &Path, more: &[&str]) -> Said {
    let (out, kept) = Output::kept(None);
    let path = path.display().to_string();
    let words = ["hearth", "test", &path].into_iter().chain(more.iter().copied());
    let exit = hearth::cli::run_kept(words.map(Into::into).collect::<Vec<_>>(), &out).await;
    Said { exit, out: kept.out(), err: kept.err() }
}

fn case(name: &str, steps: &str) -> String {
    format!("apiVersion: test.hearth.dev/v1\nkind: Case\nname: {name}\nsteps:\n{steps}")
}

#[tokio::test]
async fn a_folder_without_cases_is_tested_as_it_is() {
    let folder = folder(&[("page.yaml", PAGE)]);
    let said = hearth_test(folder.path(), &[]).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(
        lines[0].starts_with("ok    everything here settles, is Ready, and stays as it is  ("),
        "{lines:?}"
    );
    assert!(lines[1].contains("[idempotent]  (1 objects, "), "{lines:?}");
    assert_eq!(lines[2], "2 passed, 0 failed");
}

#[tokio::test]
async fn a_package_is_found_beside_the_file_that_names_it() {
    let app = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: notes }\nspec: { package: { path: /srv/packages/notes } }\n";
    let compose = "services: { web: { image: \"registry.home/web:1\", expose: [\"80\"] } }\n";
    let files =
        [("notes.yaml", app), ("notes/compose.yaml", compose), ("notes/settings.yaml", "a: [not ours")];
    let said = hearth_test(folder(&files).path(), &[]).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    let said = hearth_test(folder(&files[..1]).path(), &[]).await;
    assert_eq!(said.exit, Exit::Rejected, "{}", said.out);
    assert!(said.err.contains("put its folder notes, with a compose.yaml, beside this file"), "{}", said.err);
}

#[tokio::test]
async fn nothing_to_test_is_an_error_and_no_success() {
    let said = hearth_test(folder(&[("notes.txt", "")]).path(), &[]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Rejected, ""));
    assert!(said.err.contains("holds neither a case nor an object"), "{}", said.err);
    let said = hearth_test(Path::new("/nowhere/at/all"), &[]).await;
    assert_eq!(said.exit, Exit::NotFound, "{}", said.err);
    let said = hearth_test(folder(&[("page.yaml", PAGE)]).path(), &["--filter", "nobody"]).await;
    assert_eq!(said.exit, Exit::Usage, "{}", said.err);
}

#[tokio::test]
async fn a_failure_names_the_field_the_step_the_seed_and_the_command_that_repeats_it() {
    let steps = "  - apply: page.yaml\n  - settle\n  - assert:\n      app/page: { status: { summry: Ready, summary: Waiting } }\n";
    let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &case("it's a page", steps))]);
    let report = folder.path().join("report.xml");
    let more = ["--seed", "9", "--junit", report.to_str().unwrap()];
    let said = hearth_test(folder.path(), &more).await;
    assert_eq!(said.exit, Exit::Differs, "{}{}", said.out, said.err);
    for part in [
        "FAIL  it's a page  (",
        "cases.yaml:7: assert app/page\n",
        "app/page status.summry\n          wanted \"Ready\"\n          seen   nothing\n          there is a field \"summary\"\n",
        "app/page status.summary\n          wanted \"Waiting\"\n          seen   \"Ready\"\n",
        "app/page is Ready\n",
        "      seed 9; again: hearth test ",
        " --filter='it'\\''s a page' --seed 9\n",
        "\n0 passed, 1 failed\n",
    ] {
        assert!(said.out.contains(part), "{part:?} is not in\n{}", said.out);
    }
    let report = std::fs::read_to_string(report).unwrap();
    assert!(
        report.contains("<testsuites name=\"hearth test\" tests=\"1\" failures=\"1\" errors=\"0\""),
        "{report}"
    );
    assert!(report.contains("<failure message=\"not as the case says\" type=\"failure\">"), "{report}");
}

#[tokio::test]
async fn every_problem_of_every_file_is_told_before_anything_runs() {
    let steps = "  - aply: page.yaml\n  - assert: { ap/page: {}, pages: {} }\n  - apply: gone.yaml\n";
    let files = [
        ("page.yaml", &*PAGE.replace("slug", "slg")),
        ("cases.yaml", &*case("a", "  - settle\n  - wait: soon\n")),
        ("more.yaml", &*case("b", steps)),
    ];
    let said = hearth_test(folder(&files).path(), &[]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Rejected, ""), "{}", said.err);
    for part in [
        "error: spec.slg: unknown field \"slg\"; did you mean \"slug\"?",
        "page.yaml:5:3",
        "error: steps[1].wait: \"soon\" is not a span of time",
        "cases.yaml:6:5",
        "error: steps[1].assert.pages: \"pages\" does not name an object",
        "error: steps[2].apply: there is no file gone.yaml beside this one",
        "error: steps[0].aply: unknown field \"aply\"; did you mean \"apply\"?",
        "5 problems in 3 files; nothing was run",
    ] {
        assert!(said.err.contains(part), "{part:?} is not in\n{}", said.err);
    }
}

#[tokio::test]
async fn what_happens_is_taken_as_right_once_and_compared_from_then_on() {
    let folder = folder(&[("cases.yaml", &case("a", "  - settle\n")), ("page.yaml", PAGE)]);
    assert_eq!(hearth_test(folder.path(), &["--accept"]).await.exit, Exit::Done);
    let record = folder.path().join("cases.out");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "# a\n- settle\n- in the end\n");
    let said = hearth_test(folder.path(), &[]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.out);
    assert!(
        said.out.ends_with("it happens as cases.out tells  (0.00 s)\n2 passed, 0 failed\n"),
        "{}",
        said.out
    );
    let more = case("a", "  - settle\n  - wait: 1s\n");
    std::fs::write(folder.path().join("cases.yaml"), more).unwrap();
    let said = hearth_test(folder.path(), &[]).await;
    assert_eq!(said.exit, Exit::Differs, "{}", said.out);
    assert!(said.out.contains("something else happens:") && said.out.contains("+ - wait 1s"), "{}", said.out);
    assert!(said.out.contains("--accept\n"), "{}", said.out);
}

#[tokio::test]
async fn a_wish_is_held_to_a_crash_at_every_boundary() {
    let steps = "  - apply: page.yaml\n  - settle\n  - change: { app/page: { spec: { state: Stopped } } }\n  - settle\n";
    let folder = folder(&[("page.yaml", PAGE), ("cases.yaml", &case("a", steps))]);
    let said = hearth_test(folder.path(), &["--check", "crash-anywhere", "-o", "json"]).await;
    assert_eq!(said.exit, Exit::Done, "{}{}", said.out, said.err);
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&told["passed"], &told["failed"]), (&2.into(), &0.into()), "{told}");
    assert_eq!(told["cases"][1]["name"], "a [crash-anywhere]");
    let crashes = told["cases"][1]["remark"].as_str().unwrap().strip_suffix(" crashes").unwrap();
    assert!(crashes.parse::<u32>().unwrap() > 5, "{crashes}");
}

#[tokio::test]
async fn the_help_begins_with_examples_and_fits_a_screen() {
    let (out, kept) = Output::kept(None);
    hearth::cli::run_kept(["hearth", "test", "-h"].map(Into::into), &out).await;
    let help = kept.out();
    assert!(help.starts_with("Examples:\n  hearth test photos/ "), "{help}");
    assert!(help.lines().count() <= 40, "{help}");
    for flag in ["--check", "--seed", "--filter", "--junit", "--accept", "--output"] {
        assert!(help.contains(flag), "{flag} in {help}");
    }
}
