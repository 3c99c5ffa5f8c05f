//! What is said about files that are wrong.

use std::path::PathBuf;

use super::super::exit::{Exit, Failure};
use super::super::output::plain;
use super::Manifests;

fn read(text: &str) -> Result<Manifests, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.yaml");
    std::fs::write(&file, text).unwrap();
    Manifests::read(&[file], "household", true).map_err(|mut failure| {
        let folder = format!("{}/", folder.path().display());
        failure.message = failure.message.replace(&folder, "");
        failure.shown.iter_mut().for_each(|line| *line = plain(line).replace(&folder, ""));
        failure
    })
}

#[test]
fn every_problem_of_every_document_is_shown_with_its_place() {
    let failure = read(
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec:\n  compose: 'services: {}'\n  stte: Running\n  healthDeadlineSeconds: soon\n---\napiVersion: v1\nkind: Secrt\nmetadata: { name: x }\n",
    )
    .err()
    .unwrap();
    assert_eq!(failure.exit, Exit::Rejected);
    assert_eq!(failure.message, "3 problems in home.yaml; nothing was changed");
    let places: Vec<&String> = failure.shown.iter().filter(|line| line.contains("-->")).collect();
    assert_eq!(places, [" --> home.yaml:6:3", " --> home.yaml:7:3", "  --> home.yaml:10:1"]);
    let said = failure.shown.join("\n");
    assert!(said.contains("did you mean \"state\"?") && said.contains("must be a whole number"), "{said}");
    assert!(said.contains("did you mean \"Secret\"?"), "{said}");
}

#[test]
fn rules_beyond_the_schema_hold_before_anything_is_sent() {
    let failure =
        read("apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec: { slug: admin }\n")
            .err()
            .unwrap();
    let said = failure.shown.join("\n");
    assert!(said.contains("needs a source") && said.contains("kept for Hearth itself"), "{said}");
}

#[test]
fn the_namespace_is_filled_in_and_secrets_come_first() {
    let app = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec: { compose: 'services: {}' }\n";
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: { name: photos, namespace: ana }\nstringData: { a: b }\n";
    let manifests = read(&format!("{app}---\n{secret}---\n# nothing\n")).ok().unwrap();
    let paths: Vec<String> = manifests.items.iter().map(|manifest| manifest.target.path()).collect();
    assert_eq!(
        paths,
        ["/api/v1/namespaces/ana/secrets/photos", "/apis/hearth.dev/v1/namespaces/household/apps/photos"]
    );
    assert_eq!(manifests.items[1].value["metadata"]["namespace"], "household");
}

#[test]
fn an_object_declared_twice_is_refused() {
    let app = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos }\nspec: { compose: 'services: {}' }\n";
    let failure = read(&format!("{app}---\n{app}")).err().unwrap();
    assert!(failure.shown.join("\n").contains("app/photos is declared twice"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let failure = Manifests::read(&[PathBuf::from("/nowhere/x.yaml")], "household", true).err().unwrap();
    assert_eq!(failure.exit, Exit::NotFound);
    assert!(failure.message.starts_with("/nowhere/x.yaml cannot be read"));
}

#[test]
fn broken_yaml_is_told_with_its_line() {
    let failure = read("kind: App\n  bad: [\n").err().unwrap();
    assert!(failure.shown.iter().any(|line| line.contains("--> home.yaml:2")), "{:?}", failure.shown);
}
