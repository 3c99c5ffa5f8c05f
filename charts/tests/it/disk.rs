//! Files on this machine: only what is named, and what lies in the folder, is read.

use std::fs;
use std::os::unix::fs::symlink;

use hearth_charts::compose::{DiskRequest, config_on_disk};

#[test]
fn reads_the_named_files_and_what_lies_in_the_folder() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("project");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("vars.env"), "B=from-file\n").unwrap();
    fs::write(folder.join("sub/inc.yml"), "services: {b: {image: b, volumes: [\"./x:/x\"]}}\n").unwrap();
    let file = place.path().join("elsewhere.yml");
    fs::write(&file, "include: [sub/inc.yml]\nservices: {a: {image: \"a:${TAG}\", env_file: vars.env}}\n")
        .unwrap();
    let env = place.path().join("given.env");
    fs::write(&env, "TAG=7\n").unwrap();
    let request =
        DiskRequest { files: &[file], folder: Some(&folder), env_files: &[env], ..DiskRequest::default() };
    let model = config_on_disk(request).unwrap();
    assert_eq!(model["name"], "project");
    assert_eq!(model["services"]["a"]["image"], "a:7");
    assert_eq!(model["services"]["a"]["environment"]["B"], "from-file");
    let source = model["services"]["b"]["volumes"][0]["source"].as_str().unwrap();
    assert_eq!(source, folder.join("sub/x").to_str().unwrap());
}

#[test]
fn a_link_or_a_path_that_leads_out_is_a_file_that_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("project");
    fs::create_dir(&folder).unwrap();
    fs::write(place.path().join("secret.env"), "S=1\n").unwrap();
    symlink(place.path().join("secret.env"), folder.join("linked.env")).unwrap();
    symlink(place.path(), folder.join("up")).unwrap();
    for path in ["linked.env", "up/secret.env", "../secret.env", "up/project/../secret.env"] {
        let file = folder.join("compose.yml");
        fs::write(&file, format!("services: {{a: {{image: a, env_file: [\"{path}\"]}}}}\n")).unwrap();
        let problems = config_on_disk(DiskRequest { files: &[file], ..DiskRequest::default() }).unwrap_err();
        assert_eq!(problems[0].field, "services.a.env_file[0]", "{path}: {problems:#?}");
    }
}

#[test]
fn a_file_that_is_missing_is_said_so() {
    let request = DiskRequest { files: &["/nowhere/compose.yml".into()], ..DiskRequest::default() };
    assert!(config_on_disk(request).unwrap_err()[0].message.contains("does not exist"));
}
