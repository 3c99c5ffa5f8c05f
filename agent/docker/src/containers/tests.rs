//! What Docker 20.10 really said of containers, and what it means.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::models::{ContainerInspectResponse, EndpointSettings, HealthConfig};
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{
    BoundFolder, ContainerFacts, Health, ImageDefaults, JoinedNetwork, MemoryFolder, NewContainer,
};
use hearth_kinds::container::{HealthCheck, PublishedPort, Restart};

use super::check::entrypoint_alone;
use super::create::body_for;
use super::inspect::{asked_aliases, facts_from, health_check_from};
use crate::images::Image;

fn seen(captured: &str) -> ContainerInspectResponse {
    serde_json::from_str(captured).unwrap()
}

/// The image the captured containers are of.
fn image() -> Image {
    let env = [("PATH", "/bin"), ("SAID_BY", "image")];
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Image {
        defaults: ImageDefaults {
            env: env.map(owned).into(),
            volumes: vec!["/kept".to_owned()],
            labels: BTreeMap::from([owned(("org.example.said-by", "image"))]),
            ..ImageDefaults::default()
        },
        start_interval: None,
    }
}

fn facts(captured: &str) -> ContainerFacts {
    facts_from(&seen(captured), &image(), "runc")
}

fn wanted() -> NewContainer {
    NewContainer {
        stop_grace: Duration::from_millis(1500),
        ..NewContainer::of("home-h", "sha256:aa", "web:1")
    }
}

#[test]
fn a_healthy_container_is_read_whole() {
    let facts = facts(include_str!("captured/healthy.json"));
    assert_eq!(facts.name, "home-h");
    assert_eq!(facts.command, ["sh", "-c", "sleep 1000"]);
    assert_eq!(facts.env.get("A").map(String::as_str), Some("b"));
    assert_eq!(facts.env.get("SAID_BY").map(String::as_str), Some("image"));
    let bound = BoundFolder { host_path: "/srv/data".to_owned(), path: "/cap".to_owned(), read_only: true };
    assert_eq!(facts.mounts, [bound], "the anonymous volume of the image is not a folder of the host");
    assert_eq!(
        facts.tmpfs,
        [MemoryFolder { path: "/scratch".to_owned(), size_bytes: Some(1_048_576), mode: None }]
    );
    assert_eq!((facts.memory_bytes, facts.millicpus), (Some(67_108_864), Some(500)));
    assert_eq!(
        (facts.restart, facts.stop_grace),
        (Some(Restart::UnlessStopped), Some(Duration::from_secs(7)))
    );
    assert_eq!((facts.drops_all, facts.no_new_privileges, facts.init), (true, true, true));
    assert_eq!(facts.capabilities, ["NET_BIND_SERVICE"]);
    let port = PublishedPort { host_ip: Some("127.0.0.1".to_owned()), host_port: 18_099, container_port: 80 };
    assert_eq!(facts.ports, [port]);
    assert_eq!(facts.labels, BTreeMap::from([("hearth.dev/uid".to_owned(), "u-2".to_owned())]));
    assert_eq!(facts.hostname.as_deref(), Some("box"));
    let check = facts.health_check.unwrap();
    assert_eq!((check.interval_seconds, check.timeout_seconds, check.retries), (1, 3, 10));
    assert_eq!(check.start_period_seconds, 0, "1 ms is how no start period is written");
    assert_eq!(facts.networks[0].aliases, ["web"], "the short id and the host name are Docker's own");
    assert!(facts.networks[0].ip.starts_with("10.213.90."));
    assert_eq!(facts.foreign, Vec::<String>::new());
    assert_eq!((facts.state.health, facts.state.running), (Some(Health::Healthy), true));
    assert_eq!(facts.state.finished_at, None, "the year 1 means never");
}

#[test]
fn states_are_told_apart() {
    let created = facts(include_str!("captured/created.json"));
    assert_eq!((created.state.status.as_str(), created.state.started_at), ("created", None));
    assert_eq!(created.networks[0].aliases, ["web"], "before its first start nothing is added");
    let exited = facts(include_str!("captured/exited.json")).state;
    assert_eq!((exited.status.as_str(), exited.exit_code, exited.health), ("exited", 143, None));
    let oom = facts(include_str!("captured/oom.json"));
    assert_eq!((oom.state.exit_code, oom.state.out_of_memory), (137, true));
    assert_eq!(oom.networks, [], "the place of a container on no network is none");
    let restarting = facts(include_str!("captured/restarting.json"));
    assert_eq!((restarting.state.status.as_str(), restarting.state.running), ("restarting", false));
    assert_eq!((restarting.state.restarts, restarting.state.exit_code), (5, 2));
}

#[test]
fn all_that_is_set_by_hand_is_told() {
    let facts = facts(include_str!("captured/foreign.json"));
    let told = [
        "capability dropped CAP_MKNOD",
        "cpu shares 100",
        "device /dev/null in another place or with other rights",
        "every port published",
        "fixed address on home-net4 10.213.79.9",
        "kernel setting net.ipv4.ip_forward=0",
        "log driver local",
        "masked paths cleared",
        "memory and swap 67108864",
        "mount at /cap with mode rshared",
        "mount at /cap with propagation rshared",
        "name server 1.1.1.1",
        "pid namespace host",
        "published port 80/udp",
        "read-only paths cleared",
        "search domain lan",
        "security option label=disable",
        "security option seccomp=unconfined",
        "tmpfs /t with options size=1m,mode=700",
        "uts namespace host",
        "variable without a value NOVAL",
        "volume named at /named",
    ];
    assert_eq!(facts.foreign, told);
    let around = facts.surroundings;
    assert_eq!((around.pids_limit, around.tty, around.ulimits.len()), (Some(50), true, 1));
    assert_eq!((around.extra_hosts[0].address.as_str(), around.groups.len()), ("1.2.3.4", 1));
    assert_eq!((facts.restart, facts.drops_all, facts.no_new_privileges), (None, false, false));
    assert_eq!(facts.capabilities, ["NET_ADMIN"]);
}

#[test]
fn another_runtime_is_foreign_unless_docker_uses_it_by_itself() {
    let mut seen = seen(include_str!("captured/healthy.json"));
    seen.host_config.as_mut().unwrap().runtime = Some("crun".to_owned());
    assert_eq!(facts_from(&seen, &image(), "runc").foreign, ["runtime crun"]);
    assert_eq!(facts_from(&seen, &image(), "crun").foreign, Vec::<String>::new());
}

#[test]
fn privileges_are_foreign() {
    let mut seen = seen(include_str!("captured/healthy.json"));
    let host = seen.host_config.as_mut().unwrap();
    host.privileged = Some(true);
    host.network_mode = Some("host".to_owned());
    host.ipc_mode = Some("host".to_owned());
    host.userns_mode = Some("host".to_owned());
    host.volumes_from = Some(vec!["other".to_owned()]);
    host.cgroup_parent = Some("/x".to_owned());
    let told = [
        "cgroup parent /x",
        "ipc namespace host",
        "network namespace host",
        "privileged",
        "user namespace host",
        "volumes from other",
    ];
    assert_eq!(facts_from(&seen, &image(), "runc").foreign, told);
}

#[test]
fn an_anonymous_volume_where_the_image_declares_none_is_foreign() {
    let mut other = image();
    other.defaults.volumes.clear();
    let foreign = facts_from(&seen(include_str!("captured/healthy.json")), &other, "runc").foreign;
    assert!(foreign.len() == 1 && foreign[0].ends_with("at /kept"), "{foreign:?}");
}

#[test]
fn a_container_nothing_is_known_of_is_read_all_the_same() {
    let facts = facts("{}");
    assert_eq!((facts.restart, facts.state.running, facts.drops_all), (Some(Restart::Never), false, false));
}

#[test]
fn aliases_asked_for_stand_before_the_short_id() {
    let id = "2a6d81e260e9933ba0fe5a1e2d78efb55c56c6c2b976e5be6c891149aade612a";
    let check = |told: &[&str], asked: &[&str]| {
        let aliases = Some(told.iter().map(|&alias| alias.to_owned()).collect());
        let endpoint = EndpointSettings { aliases, ..EndpointSettings::default() };
        assert_eq!(asked_aliases(&endpoint, id), asked, "{told:?}");
    };
    check(&["web", "2a6d81e260e9", "box"], &["web"]);
    check(&["web", "box", "2a6d81e260e9"], &["box", "web"]);
    check(&["2a6d81e260e9", "box"], &[]);
    // Newer versions add nothing here.
    check(&["web", "api", "api"], &["api", "web"]);
    check(&[], &[]);
}

#[test]
fn a_check_that_says_nothing_has_dockers_defaults() {
    let test = Some(vec!["CMD".to_owned(), "true".to_owned()]);
    let check = health_check_from(&HealthConfig { test: test.clone(), ..HealthConfig::default() }).unwrap();
    assert_eq!((check.interval_seconds, check.timeout_seconds, check.retries), (30, 30, 3));
    let half = HealthConfig { test, interval: Some(500_000_000), ..HealthConfig::default() };
    assert_eq!(health_check_from(&half).unwrap().interval_seconds, 1);
    assert_eq!(health_check_from(&HealthConfig::default()), None);
}

#[test]
fn what_hearth_always_sets_is_in_every_request() {
    let body = serde_json::to_value(body_for(&wanted()).unwrap()).unwrap();
    let host = &body["HostConfig"];
    assert_eq!(host["CapDrop"], serde_json::json!(["ALL"]));
    assert_eq!(host["SecurityOpt"], serde_json::json!(["no-new-privileges:true"]));
    let log = serde_json::json!({ "Type": "json-file", "Config": { "max-size": "10m", "max-file": "3" } });
    assert_eq!(host["LogConfig"], log);
    assert_eq!((&host["Init"], &host["NetworkMode"]), (&false.into(), &"none".into()));
    assert_eq!(host["Privileged"], serde_json::Value::Null);
    assert_eq!(body["StopTimeout"], 2, "a grace is rounded up");
    assert_eq!(body["Image"], "sha256:aa");
    assert_eq!(body["Cmd"], serde_json::Value::Null, "nothing said leaves the image's own");
}

#[test]
fn a_request_reads_back_as_it_was_meant() {
    let mut new = wanted();
    new.network = Some(JoinedNetwork { name: "net".to_owned(), aliases: vec!["web".to_owned()] });
    new.health = Some(HealthCheck {
        test: vec!["NONE".to_owned()],
        interval_seconds: 30,
        timeout_seconds: 30,
        retries: 3,
        start_period_seconds: 0,
    });
    new.ports = vec![PublishedPort { host_ip: None, host_port: 80, container_port: 8080 }];
    let body = body_for(&new).unwrap();
    assert_eq!(body.healthcheck.as_ref().and_then(health_check_from), new.health);
    let json = serde_json::to_value(body).unwrap();
    assert_eq!(json["HostConfig"]["PortBindings"]["8080/tcp"][0]["HostPort"], "80");
    assert_eq!(json["ExposedPorts"], serde_json::json!({ "8080/tcp": {} }));
    assert_eq!(json["NetworkingConfig"]["EndpointsConfig"]["net"]["Aliases"], serde_json::json!(["web"]));
    assert_eq!(json["HostConfig"]["NetworkMode"], "net");
}

#[test]
fn a_bad_request_names_every_problem_and_no_secret() {
    let mut new = wanted();
    new.name = "../x".to_owned();
    new.image_id = "web:1".to_owned();
    new.env.insert(String::new(), "secret".to_owned());
    new.health = Some(HealthCheck {
        test: Vec::new(),
        interval_seconds: 1,
        timeout_seconds: 1,
        retries: 1,
        start_period_seconds: 0,
    });
    new.health.as_mut().unwrap().retries = 0;
    new.user = Some(String::new());
    let Err(Fault::Refused(said)) = body_for(&new) else { panic!("it is refused") };
    for word in ["name", "image id", "env", "health.test", "health.retries", "user"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn an_empty_command_needs_an_entry_point() {
    let mut new = wanted();
    new.command = Some(Vec::new());
    assert!(matches!(entrypoint_alone(&new, &[]), Err(Fault::Refused(_))));
    assert_eq!(entrypoint_alone(&new, &["run".to_owned()]), Ok(vec!["run".to_owned()]));
    new.entrypoint = Some(vec!["serve".to_owned()]);
    assert_eq!(entrypoint_alone(&new, &["run".to_owned()]), Ok(vec!["serve".to_owned()]));
    new.entrypoint = Some(Vec::new());
    assert!(matches!(entrypoint_alone(&new, &["run".to_owned()]), Err(Fault::Refused(_))));
}
