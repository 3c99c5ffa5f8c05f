//! The verbs that read files and ask no server.

use std::ffi::OsString;

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;

const PUBLISHED: &str = "services:
  web:
    image: example/photos:2.1
    ports: ['8080:80']
    restart: always
    container_name: photos
    environment: ['TZ=${TZ:-UTC}']
    volumes: ['/srv/photos:/photos']
";

async fn hearth(words: &[&str]) -> (Exit, String, String) {
    let (out, kept) = Output::kept(None);
    let args = ["hearth"].iter().chain(words).map(OsString::from);
    let exit = hearth::cli::run_kept(args, &out).await;
    (exit, kept.out(), kept.err())
}

#[tokio::test]
async fn a_compose_file_is_printed_as_it_is_understood_or_every_problem_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("compose.yml");
    std::fs::write(&file, PUBLISHED).unwrap();
    let path = file.to_str().unwrap();
    let (exit, data, said) =
        hearth(&["compose", "config", "-f", path, "-p", "app", "--format", "json"]).await;
    assert_eq!(exit, Exit::Done, "{said}");
    let model: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(model["name"], "app");
    assert_eq!(model["services"]["web"]["environment"]["TZ"], "UTC");
    assert_eq!(model["services"]["web"]["ports"][0]["target"], 80);
    std::fs::write(&file, "services: { web: { imgae: a, ports: [x] } }").unwrap();
    let (exit, data, said) = hearth(&["compose", "config", "-f", path]).await;
    assert_eq!((exit, data.as_str()), (Exit::Rejected, ""));
    assert!(said.contains("imgae"), "{said}");
}

#[tokio::test]
async fn a_published_file_becomes_a_package_beside_the_authors_own_and_nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let (file, package) = (folder.path().join("compose.yml"), folder.path().join("photos"));
    std::fs::write(&file, PUBLISHED).unwrap();
    let words = ["import", file.to_str().unwrap(), "-o", package.to_str().unwrap(), "--name", "photos"];
    let (exit, _, said) = hearth(&words).await;
    assert_eq!(exit, Exit::Done, "{said}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(package.join("report.json")).unwrap()).unwrap();
    assert_eq!((report["name"].as_str(), report["mainService"].as_str()), (Some("photos"), Some("web")));
    assert_eq!(report["mainPort"], 80);
    assert_eq!(std::fs::read_to_string(package.join("author/compose.yml")).unwrap(), PUBLISHED);
    let (exit, _, said) = hearth(&words).await;
    assert_eq!(exit, Exit::Usage, "{said}");
    assert!(said.contains("is not empty"), "{said}");
}

#[tokio::test]
async fn a_file_that_cannot_be_carried_is_refused_by_field_and_its_report_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (file, package) = (folder.path().join("compose.yml"), folder.path().join("out"));
    std::fs::write(&file, "services: { web: { build: . } }").unwrap();
    let (exit, _, said) = hearth(&["import", file.to_str().unwrap(), "-o", package.to_str().unwrap()]).await;
    assert_eq!(exit, Exit::Rejected);
    assert!(said.contains("build"), "{said}");
    assert!(package.join("report.json").exists() && !package.join("compose.yaml").exists());
}
