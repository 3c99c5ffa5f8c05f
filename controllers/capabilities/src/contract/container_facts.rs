//! What every hand that reaches containers promises: a container comes back in the words in which it was asked for,
//! so that nothing differs right after it was made.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_kinds::container::{ExtraHost, HealthCheck, PublishedPort, Restart, Surroundings, Ulimit};

use super::world::{Check, Program, Scene, image_says};
use crate::containers::{BoundFolder, LogOptions, MemoryFolder};

pub(super) async fn what_is_asked_for_comes_back(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.env = BTreeMap::from([("A".to_owned(), "b=c".to_owned()), ("EMPTY".to_owned(), String::new())]);
    wanted.working_dir = Some("/tmp".to_owned());
    wanted.user = Some("1001:1001".to_owned());
    wanted.read_only_root = true;
    wanted.restart = Restart::UnlessStopped;
    wanted.stop_grace = Duration::from_secs(7);
    wanted.stop_signal = Some("SIGINT".to_owned());
    wanted.memory_bytes = Some(64 * 1024 * 1024);
    wanted.millicpus = Some(250);
    wanted.devices = vec!["/dev/null".to_owned()];
    wanted.init = true;
    wanted.hostname = Some("box".to_owned());
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!(facts.name, wanted.name);
    assert_eq!(facts.image_id, wanted.image_id);
    assert_eq!(Some(facts.command), wanted.command);
    assert!(wanted.env.iter().all(|(name, value)| facts.env.get(name) == Some(value)));
    assert_eq!(facts.env.get(image_says::ENV.0).map(String::as_str), Some(image_says::ENV.1));
    assert_eq!((Some(facts.working_dir), Some(facts.user)), (wanted.working_dir, wanted.user));
    assert_eq!((facts.read_only_root, facts.restart), (true, Some(wanted.restart)));
    assert_eq!((facts.stop_grace, Some(facts.stop_signal)), (Some(wanted.stop_grace), wanted.stop_signal));
    assert_eq!((facts.memory_bytes, facts.millicpus), (wanted.memory_bytes, wanted.millicpus));
    assert_eq!((facts.devices, facts.init, facts.hostname), (wanted.devices, true, wanted.hostname));
    assert_eq!(facts.labels, wanted.labels);
    assert_eq!(facts.foreign, Vec::<String>::new());
}

pub(super) async fn what_is_around_it_comes_back(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    let host = |name: &str, address: &str| ExtraHost { name: name.to_owned(), address: address.to_owned() };
    wanted.surroundings = Surroundings {
        shm_size: Some(128 * 1024 * 1024),
        pids_limit: Some(200),
        ulimits: vec![
            Ulimit { name: "core".to_owned(), soft: 0, hard: 0 },
            Ulimit { name: "nofile".to_owned(), soft: 512, hard: 1024 },
        ],
        extra_hosts: vec![host("hearth.test", "10.1.2.3"), host("host.docker.internal", "host-gateway")],
        groups: vec!["44".to_owned(), "988".to_owned()],
        tty: false,
        stdin_open: true,
    };
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.surroundings, facts.foreign), (wanted.surroundings, Vec::<String>::new()));
}

pub(super) async fn a_terminal_comes_back_and_its_log_can_be_read(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Write).await;
    wanted.surroundings.tty = true;
    let id = scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.surroundings, facts.foreign), (wanted.surroundings, Vec::<String>::new()));
    let lines = scene
        .until("it has written", async || {
            let lines = super::logs::read(scene, &id, LogOptions::default()).await;
            (lines.len() == 3).then_some(lines)
        })
        .await;
    // A terminal knows no standard error, and ends its lines in its own way.
    let texts: Vec<&str> = lines.iter().map(|line| line.text.trim_end()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

pub(super) async fn what_is_not_asked_for_is_the_images_own(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.command = None;
    scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    let image = facts.image;
    assert_eq!((&facts.command, &facts.entrypoint), (&image.command, &image.entrypoint));
    assert_eq!((&facts.working_dir, &facts.user), (&image.working_dir, &image.user));
    assert_eq!((&facts.env, &facts.stop_signal), (&image.env, &image.stop_signal));
    assert_eq!(facts.health_check, image.health_check);
    assert_eq!((facts.memory_bytes, facts.millicpus, facts.hostname), (None, None, None));
    assert_eq!((facts.init, facts.read_only_root, facts.ports), (false, false, Vec::new()));
    assert_eq!(facts.surroundings, Surroundings::default());
    assert_eq!(facts.foreign, Vec::<String>::new());
}

pub(super) async fn what_the_image_says_is_told(scene: &Scene<'_>) {
    let wanted = scene.container("one", Program::Serve).await;
    scene.create(&wanted).await;
    let image = scene.facts(&wanted.name).await.image;
    assert_eq!(image.command, image_says::COMMAND);
    assert_eq!(image.working_dir, image_says::WORKING_DIR);
    assert_eq!(image.user, image_says::USER);
    assert_eq!(image.env.get(image_says::ENV.0).map(String::as_str), Some(image_says::ENV.1));
    assert_eq!(image.volumes, [image_says::VOLUME]);
}

pub(super) async fn labels_of_the_image_are_not_the_containers(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!(facts.labels, wanted.labels);
    scene.containers().remove(&facts.id).await.expect("it can be removed");
    wanted.labels.insert(image_says::LABEL.0.to_owned(), "other".to_owned());
    scene.create(&wanted).await;
    assert_eq!(scene.facts(&wanted.name).await.labels, wanted.labels, "another value is the container's own");
}

pub(super) async fn every_capability_is_dropped_but_those_named(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.capabilities = vec!["NET_BIND_SERVICE".to_owned()];
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.drops_all, facts.no_new_privileges), (true, true));
    assert_eq!(facts.capabilities, wanted.capabilities);
    assert_eq!(facts.foreign, Vec::<String>::new());
}

pub(super) async fn folders_come_back_sorted_by_path(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    let folder = |path: &str, read_only| BoundFolder {
        host_path: scene.world.folder(),
        path: path.to_owned(),
        read_only,
    };
    wanted.mounts = vec![folder("/srv/b", true), folder("/srv/a", false)];
    wanted.tmpfs = vec![
        MemoryFolder { path: "/tmp/b".to_owned(), size_bytes: Some(1024 * 1024), mode: Some(0o700) },
        MemoryFolder { path: "/tmp/a".to_owned(), size_bytes: None, mode: None },
    ];
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    wanted.mounts.reverse();
    wanted.tmpfs.reverse();
    assert_eq!((facts.mounts, facts.tmpfs), (wanted.mounts, wanted.tmpfs));
    assert_eq!(facts.foreign, Vec::<String>::new());
}

pub(super) async fn a_folder_over_a_volume_of_the_image_is_the_one_seen(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    let path = image_says::VOLUME.to_owned();
    wanted.mounts = vec![BoundFolder { host_path: scene.world.folder(), path, read_only: false }];
    scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((facts.mounts, facts.foreign), (wanted.mounts, Vec::new()));
}

pub(super) async fn a_check_comes_back_as_asked(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.health = Some(scene.health(Check::Passes));
    scene.create(&wanted).await;
    assert_eq!(scene.facts(&wanted.name).await.health_check, wanted.health);
    let mut other = scene.container("two", Program::Serve).await;
    let test = vec!["NONE".to_owned()];
    let switched_off =
        HealthCheck { test, interval_seconds: 30, timeout_seconds: 30, retries: 3, start_period_seconds: 0 };
    other.health = Some(switched_off);
    scene.run(&other).await;
    let facts = scene.facts(&other.name).await;
    assert_eq!((facts.health_check, facts.state.health), (other.health, None));
}

pub(super) async fn ports_come_back_sorted(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    let port = |host_ip: Option<&str>, host_port, container_port| PublishedPort {
        host_ip: host_ip.map(str::to_owned),
        host_port,
        container_port,
    };
    // Never started, so that the host's ports stay free.
    wanted.network = Some(scene.join("net", &[]).await);
    wanted.ports = vec![port(Some("127.0.0.1"), 45_443, 443), port(None, 45_080, 80)];
    scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    wanted.ports.sort();
    assert_eq!((facts.ports, facts.foreign), (wanted.ports, Vec::new()));
}

pub(super) async fn aliases_are_those_asked_for_and_no_others(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.network = Some(scene.join("net", &["web", "api"]).await);
    wanted.hostname = Some("box".to_owned());
    let id = scene.create(&wanted).await;
    for round in 0..3 {
        let place = scene.facts(&wanted.name).await.networks.remove(0);
        assert_eq!(place.aliases, ["api", "web"], "after {round} starts");
        scene.containers().start(&id).await.expect("it can start");
        if round == 1 {
            scene.stop(&id, Duration::from_secs(10)).await;
        }
    }
}

pub(super) async fn an_entry_point_stands_without_a_command(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.entrypoint = wanted.command.take();
    scene.run(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!((Some(facts.entrypoint), facts.command), (wanted.entrypoint, Vec::<String>::new()));
    assert!(facts.state.running);
}

pub(super) async fn facts_and_requests_print_no_secret(scene: &Scene<'_>) {
    let mut wanted = scene.container("one", Program::Serve).await;
    wanted.env.insert("PASSWORD".to_owned(), "very secret".to_owned());
    scene.create(&wanted).await;
    let facts = scene.facts(&wanted.name).await;
    assert_eq!(facts.env.get("PASSWORD").map(String::as_str), Some("very secret"));
    assert!(!format!("{wanted:?} {facts:?}").contains("very secret"));
}
