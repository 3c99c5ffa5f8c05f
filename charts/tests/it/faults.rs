//! Faults that users of other systems reported, as far as a compose file alone brings them about.
//! Each is a kind of fault; the file is our own smallest one.

use std::collections::BTreeMap;

use hearth_charts::compose::{ConfigRequest, config};
use serde_json::{Value, json};

use crate::admission::{refused, try_admit};

fn model_with(text: &str, beside: &[(&str, &str)]) -> Value {
    let mut files = BTreeMap::from([("compose.yml".to_owned(), text.as_bytes().to_vec())]);
    files.extend(beside.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
    let request = ConfigRequest {
        files: &files,
        names: &["compose.yml".to_owned()],
        folder: "/srv/app",
        home: None,
        project: Some("app"),
        environment: BTreeMap::new(),
        env_files: &[],
        profiles: &[],
    };
    config(request).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn model(text: &str) -> Value {
    model_with(text, &[])
}

#[test]
fn a_volume_has_the_same_name_each_time() {
    let file = "services: {a: {image: a, volumes: [\"store:/s\"]}}\nvolumes: {store: {driver: local}}";
    assert_eq!(model(file)["volumes"]["store"]["name"], "app_store");
    assert_eq!(model(file).to_string(), model(file).to_string());
    let ours = "services: {a: {image: a, volumes: [\"./store:/s\"]}}";
    assert_eq!(try_admit(ours, None).unwrap(), try_admit(ours, None).unwrap());
}

#[test]
fn a_default_may_stand_in_the_middle_of_a_source() {
    let file = "services: {a: {image: a, volumes: [\"./my-directory-${ENV:-dev}:/x\"]}}";
    assert_eq!(model(file)["services"]["a"]["volumes"][0]["source"], "/srv/app/my-directory-dev");
}

#[test]
fn a_long_bind_may_have_a_variable_in_its_source() {
    let file = "services: {a: {image: a, volumes: [{type: bind, source: \"${VOLUMES_PATH:-./v}/mysql\", target: /x}]}}";
    assert_eq!(model(file)["services"]["a"]["volumes"][0]["source"], "/srv/app/v/mysql");
}

#[test]
fn read_only_stays_with_its_own_volume() {
    let file = "services: {a: {image: a, volumes: [\"./a:/b:ro\", {type: bind, source: ./c, target: /d}]}}";
    let volumes = &model(file)["services"]["a"]["volumes"];
    assert_eq!(volumes[0]["read_only"], true);
    assert_eq!(volumes[1].get("read_only"), None);
    let mounts = &try_admit(file, None).unwrap().services[0].mounts;
    assert_eq!((mounts[0].read_only, mounts[1].read_only), (true, false));
}

#[test]
fn variables_are_put_in_place_in_the_content_of_configs() {
    let file =
        "services: {a: {image: a, configs: [c]}}\nconfigs: {c: {content: \"pw=${POSTGRES_PASSWORD}\"}}";
    let model = model_with(file, &[(".env", "POSTGRES_PASSWORD=hunter2\n")]);
    assert_eq!(model["configs"]["c"]["content"], "pw=hunter2");
}

#[test]
fn two_merges_in_one_service_are_both_merged() {
    let file = "x-a: &a {tty: true}\nx-b: &b {init: true, tty: false}\nservices:\n  s:\n    <<: *a\n    <<: *b\n    image: i\n";
    let service = &model(file)["services"]["s"];
    assert_eq!((&service["tty"], &service["init"]), (&json!(true), &json!(true)));
}

#[test]
fn secrets_with_odd_characters_pass_through_env_files() {
    let env = "A='pa$$word'\nB=\"a#b \\\" \\\\ {c}\"\nC=d#e\nD='x #y'\nE=pa$$word\nF=\"\\$$G\"\n";
    let file = "services: {a: {image: a, env_file: secrets.env}}";
    let environment = &model_with(file, &[("secrets.env", env)])["services"]["a"]["environment"];
    // The printed model doubles each dollar, so that it can be read again.
    let wanted =
        json!({"A": "pa$$$$word", "B": "a#b \" \\ {c}", "C": "d#e", "D": "x #y", "E": "pa$$word", "F": "$$"});
    assert_eq!(*environment, wanted);
}

#[test]
fn the_name_of_the_file_is_made_fit_and_does_not_matter_to_an_app() {
    for name in ["my.app", "MyApp", "Grafana stack"] {
        let file = format!("name: \"{name}\"\nservices: {{a: {{image: a}}}}");
        assert!(try_admit(&file, None).is_ok(), "{name}");
    }
}

#[test]
fn a_scaled_service_is_refused_by_its_field() {
    let problems = refused("services: {a: {image: a, deploy: {replicas: 4}}}");
    assert_eq!(problems[0].field, "services.a.deploy.replicas");
}

#[test]
fn a_bad_file_names_its_place_and_its_file() {
    let problems = refused(
        "services:\n  a:\n    image: a\n    volumes: [\"x1:y1:z1:w1\"]\n    restart: [x]\n    ports: [\"x\"]\n",
    );
    assert_eq!(problems.len(), 3, "{problems:#?}");
    for problem in problems {
        assert_eq!(problem.file.as_deref(), Some("compose.yml"));
        assert!(problem.position.is_some());
    }
}
