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

#[test]
fn two_apps_may_ask_for_the_same_port_of_the_host_and_neither_gets_it() {
    let file = "services: {a: {image: a, ports: [\"8080:80\"]}}";
    for _ in 0..2 {
        let admitted = try_admit(file, None).unwrap();
        assert_eq!(admitted.services[0].ports, [80]);
        assert!(admitted.warnings[0].message.contains("8080"), "{}", admitted.warnings[0]);
    }
}

#[test]
fn an_image_may_be_named_in_every_form_and_stays_as_it_was_written() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    for image in
        ["postgres:17", "docker.io/postgres:17", "docker.io/library/postgres", "localhost:5000/a/b:1"]
    {
        for image in [image.to_owned(), format!("{image}@{digest}")] {
            let admitted = try_admit(&format!("services: {{a: {{image: \"{image}\"}}}}"), None).unwrap();
            assert_eq!(admitted.services[0].image, image);
        }
    }
}

#[test]
fn a_reset_takes_away_what_an_earlier_file_said() {
    let files = BTreeMap::from([
        (
            "compose.yml".to_owned(),
            b"services: {a: {image: a, ports: [\"80:80\"], environment: {A: 1, B: 2}}}".to_vec(),
        ),
        ("mine.yml".to_owned(), b"services: {a: {ports: !reset [], environment: !override {C: 3}}}".to_vec()),
    ]);
    let request = ConfigRequest {
        files: &files,
        names: &["compose.yml".to_owned(), "mine.yml".to_owned()],
        folder: "/srv/app",
        home: None,
        project: Some("app"),
        environment: BTreeMap::new(),
        env_files: &[],
        profiles: &[],
    };
    let model = config(request).unwrap();
    let service = &model["services"]["a"];
    assert_eq!((service.get("ports"), &service["environment"]), (None, &json!({"C": "3"})));
}

#[test]
fn services_of_a_profile_do_not_count_and_a_job_is_told_from_a_service() {
    let file = "services: {a: {image: a}, b: {image: b, profiles: [tools]}, c: {image: c, restart: \"no\"}}";
    let services = try_admit(file, Some("a")).unwrap().services;
    let told: Vec<_> = services.iter().map(|service| (service.name.as_str(), service.job)).collect();
    assert_eq!(told, [("a", false), ("c", true)]);
}

#[test]
fn a_port_without_quotes_is_not_read_in_base_sixty() {
    let ports = &model("services: {a: {image: a, ports: [22:22]}}")["services"]["a"]["ports"];
    assert_eq!((&ports[0]["published"], &ports[0]["target"]), (&json!("22"), &json!(22)));
}
