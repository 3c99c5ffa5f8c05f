//! What an app may do: the spine of the format honoured, everything else refused by its field.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_charts::admit::{
    Admitted, Condition, EnvPart, EnvVar, File, FileContent, Health, Mount, Package, Restart, Service, Tmpfs,
    Value, admit,
};
use hearth_meta::Problem;

fn values() -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("TZ".to_owned(), Value::Plain("Europe/Paris".to_owned())),
        ("DB_PASSWORD".to_owned(), Value::Secret),
    ])
}

pub(crate) fn try_admit(text: &str, main: Option<&str>) -> Result<Admitted, Vec<Problem>> {
    let files = BTreeMap::from([("compose.yml".to_owned(), text.as_bytes().to_vec())]);
    let (devices, folders) = (["/dev/dri".to_owned()], ["/srv/media".to_owned()]);
    admit(&Package {
        files: &files,
        values: &values(),
        devices: &devices,
        folders: &folders,
        main_service: main,
    })
}

fn admitted(text: &str) -> Admitted {
    try_admit(text, None).unwrap_or_else(|problems| panic!("not admitted: {}", lines(&problems)))
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The problems of a file that must not be admitted.
pub(crate) fn refused(text: &str) -> Vec<Problem> {
    match try_admit(text, None) {
        Ok(admitted) => panic!("admitted: {admitted:#?}\nof {text}"),
        Err(problems) => problems,
    }
}

fn text(text: &str) -> Vec<EnvPart> {
    vec![EnvPart::Text(text.to_owned())]
}

const SPINE: &str = r#"
services:
  web:
    image: "ghcr.io/example/photos:2.1"
    command: serve --port 8080 "two words"
    entrypoint: ["/bin/photos"]
    environment:
      - ZONE=${TZ}
      - URL=postgres://app:${DB_PASSWORD}@db/app
      - PLAIN
      - DB_PASSWORD
    working_dir: /srv
    user: "1000:1000"
    healthcheck: { test: ["CMD", "/healthz"], interval: 5s, timeout: 3s, retries: 10, start_period: 1m }
    depends_on:
      db: { condition: service_healthy, restart: true }
      migrate: { condition: service_completed_successfully }
    volumes:
      - ./uploads:/uploads
      - "${DATA_DIR}/cache:/cache:ro"
      - { type: bind, source: ./themes, target: /themes, read_only: true }
      - /srv/media/music:/music:ro
    tmpfs: ["/run:size=64m,mode=1777"]
    read_only: true
    labels: { com.example: "yes" }
    stop_grace_period: 1m30s
    stop_signal: SIGINT
    expose: ["9000", "8080"]
    ports: ["80:8080", "53:53/udp"]
    restart: always
    mem_limit: 512m
    cpus: 1.5
  db:
    image: postgres:17
    environment: { POSTGRES_PASSWORD: "${DB_PASSWORD}" }
    volumes: ["./pgdata:/var/lib/postgresql/data"]
  migrate:
    image: "ghcr.io/example/photos:2.1"
    restart: on-failure
    links: ["db:database"]
"#;

fn spine() -> (Admitted, Service, Service, Service) {
    let admitted = try_admit(SPINE, Some("web")).unwrap_or_else(|problems| panic!("{}", lines(&problems)));
    let [db, migrate, web] = admitted.services.clone().try_into().expect("three services");
    (admitted, db, migrate, web)
}

#[test]
fn reads_what_a_service_runs() {
    let (admitted, .., web) = spine();
    assert_eq!(admitted.main_service.as_deref(), Some("web"));
    assert_eq!(web.image, "ghcr.io/example/photos:2.1");
    assert_eq!(web.command.unwrap(), ["serve", "--port", "8080", "two words"]);
    assert_eq!(web.entrypoint.unwrap(), ["/bin/photos"]);
    assert_eq!((web.working_dir.as_deref(), web.user.as_deref()), (Some("/srv"), Some("1000:1000")));
    assert_eq!(web.stop_grace, Some(Duration::from_secs(90)));
    assert_eq!((web.stop_signal.as_deref(), web.read_only), (Some("SIGINT"), true));
    assert_eq!((web.memory_limit, web.cpu_limit_millis), (Some(512 << 20), Some(1500)));
    assert_eq!(web.labels["com.example"], "yes");
}

#[test]
fn keeps_secrets_as_references() {
    let (_, db, _, web) = spine();
    let secret = EnvPart::Secret("DB_PASSWORD".to_owned());
    let wanted = [
        EnvVar { name: "DB_PASSWORD".into(), parts: vec![secret.clone()] },
        EnvVar {
            name: "URL".into(),
            parts: vec![
                EnvPart::Text("postgres://app:".into()),
                secret.clone(),
                EnvPart::Text("@db/app".into()),
            ],
        },
        EnvVar { name: "ZONE".into(), parts: text("Europe/Paris") },
    ];
    assert_eq!(web.environment, wanted);
    assert_eq!(db.environment, [EnvVar { name: "POSTGRES_PASSWORD".into(), parts: vec![secret] }]);
}

#[test]
fn mounts_only_the_app_s_own_data_and_granted_folders() {
    let (_, db, _, web) = spine();
    let mount = |source: &str, target: &str, read_only| Mount {
        source: source.into(),
        target: target.into(),
        read_only,
    };
    let wanted = [
        mount("cache", "/cache", true),
        mount("themes", "/themes", true),
        mount("uploads", "/uploads", false),
    ];
    assert_eq!(web.mounts, wanted);
    assert_eq!(db.mounts, [mount("pgdata", "/var/lib/postgresql/data", false)]);
    assert_eq!((web.folders[0].source.as_str(), web.folders[0].read_only), ("/srv/media/music", true));
    assert_eq!(web.tmpfs, [Tmpfs { target: "/run".into(), size: Some(64 << 20), mode: Some(0o1777) }]);
}

#[test]
fn tells_jobs_from_services_and_forces_their_restart() {
    let (_, db, migrate, web) = spine();
    assert_eq!((web.job, web.restart), (false, Restart::UnlessStopped));
    assert_eq!((db.job, db.restart), (false, Restart::UnlessStopped));
    assert_eq!((migrate.job, migrate.restart), (true, Restart::OnFailure));
    let conditions: Vec<_> =
        web.depends_on.iter().map(|d| (d.service.as_str(), d.condition, d.restart)).collect();
    assert_eq!(conditions, [("db", Condition::Healthy, true), ("migrate", Condition::Completed, false)]);
    assert_eq!(db.aliases, ["database"]);
}

#[test]
fn the_target_of_a_completed_dependency_is_a_job_and_the_main_service_never_is() {
    let file = "services: {a: {image: a, depends_on: {b: {condition: service_completed_successfully}}}, b: {image: b}}";
    let services = try_admit(file, Some("a")).unwrap().services;
    assert_eq!((services[1].job, services[1].restart), (true, Restart::Never));
    let problems = try_admit(file, Some("b")).unwrap_err();
    assert_eq!(problems[0].field, "services.a.depends_on.b");
    let alone = admitted("services: {a: {image: a, restart: 'no'}}");
    assert_eq!((alone.services[0].job, alone.services[0].restart), (false, Restart::UnlessStopped));
}

#[test]
fn ports_are_the_container_s_and_the_host_s_are_said_to_have_no_effect() {
    let (admitted, .., web) = spine();
    assert_eq!(web.ports, [8080, 9000]);
    let warnings = lines(&admitted.warnings);
    let wanted = "services.web.ports[0]: host port 80 is not published; the app answers at its own address";
    assert!(warnings.contains(wanted), "{warnings}");
    assert!(warnings.contains("services.web.ports[1]: udp port 53"), "{warnings}");
    assert!(warnings.contains("services.web.environment.PLAIN"), "{warnings}");
}

#[test]
fn reads_health_checks() {
    let (.., web) = spine();
    let Some(Health::Check { test, interval, retries, start_period, .. }) = web.health else {
        panic!("no check")
    };
    assert_eq!(test.unwrap(), ["CMD", "/healthz"]);
    assert_eq!((interval, retries), (Some(Duration::from_secs(5)), Some(10)));
    assert_eq!(start_period, Some(Duration::from_secs(60)));
    let off = admitted("services: {a: {image: a, healthcheck: {disable: true}}}");
    assert_eq!(off.services[0].health, Some(Health::Disabled));
}

#[test]
fn a_secret_anywhere_but_in_an_environment_value_is_refused_by_its_field() {
    for (field, file) in [
        ("services.a.command[1]", "services: {a: {image: a, command: [sh, \"${DB_PASSWORD}\"]}}"),
        ("services.a.image", "services: {a: {image: \"a:${DB_PASSWORD}\"}}"),
        ("services.a.labels.x", "services: {a: {image: a, labels: {x: \"${DB_PASSWORD}\"}}}"),
        (
            "services.a.environment.${DB_PASSWORD}",
            "services: {a: {image: a, environment: [\"${DB_PASSWORD}=x\"]}}",
        ),
        ("services.a.volumes[0].source", "services: {a: {image: a, volumes: [\"./${DB_PASSWORD}:/x\"]}}"),
    ] {
        let problems = refused(file);
        assert!(problems.iter().any(|problem| problem.field == field), "{field}: {}", lines(&problems));
        assert!(!lines(&problems).contains('\u{fdd0}'), "{}", lines(&problems));
    }
}

#[test]
fn problems_have_a_place_and_come_all_at_once() {
    let file = "services:\n  web:\n    image: a\n    privileged: true\n    cap_add: [NET_ADMIN]\n    volumes:\n      - /etc:/etc\n";
    let problems = refused(file);
    let places: Vec<_> =
        problems.iter().map(|p| (p.field.as_str(), p.position.map(|p| (p.line, p.column)))).collect();
    let wanted = [
        ("services.web.privileged", Some((4, 5))),
        ("services.web.cap_add", Some((5, 5))),
        ("services.web.volumes[0].source", Some((7, 9))),
    ];
    assert_eq!(places, wanted);
    assert_eq!(problems[0].file.as_deref(), Some("compose.yml"));
}

#[test]
fn what_is_only_there_to_be_merged_may_hold_secrets() {
    let file = "x-env: &env {PW: \"${DB_PASSWORD}\"}\nservices: {a: {image: a, environment: *env}}";
    let secret = EnvPart::Secret("DB_PASSWORD".to_owned());
    assert_eq!(admitted(file).services[0].environment, [EnvVar { name: "PW".into(), parts: vec![secret] }]);
}

#[test]
fn a_dependency_on_a_service_that_is_not_run_is_none() {
    let file = "services: {a: {image: a, depends_on: {b: {condition: service_started, required: false}}}, b: {image: b, profiles: [x]}}";
    let admitted = admitted(file);
    assert_eq!((admitted.services.len(), admitted.services[0].depends_on.len()), (1, 0));
    assert_eq!(admitted.warnings[0].field, "services.b.profiles");
}

const GIVEN: &str = r#"
services:
  a:
    image: a
    user: "999:998"
    configs: [conf, {source: site, target: /etc/site/main, mode: 0640, uid: "3", gid: "4"}]
    secrets: [word, {source: word, target: other, mode: 0444}]
    tty: true
    stdin_open: true
    shm_size: 1gb
    pids_limit: 64
    ulimits: {nofile: {soft: 1024, hard: 2048}, memlock: -1, core: 0, rtprio: 99}
    extra_hosts: ["host.docker.internal:host-gateway", "nas=192.168.1.9"]
    group_add: [44, "988"]
  b:
    image: b
    secrets: [word]
configs:
  conf: {content: "user=${TZ} password=${DB_PASSWORD}"}
  site: {environment: TZ}
secrets:
  word: {environment: DB_PASSWORD}
"#;

#[test]
fn a_service_is_given_its_configs_and_secrets_as_files() {
    let services =
        try_admit(GIVEN, Some("a")).unwrap_or_else(|problems| panic!("{}", lines(&problems))).services;
    let secret = || FileContent::Parts(vec![EnvPart::Secret("DB_PASSWORD".to_owned())]);
    let file =
        |target: &str, content, mode, uid, gid| File { target: target.into(), content, mode, uid, gid };
    let conf = vec![
        EnvPart::Text("user=Europe/Paris password=".to_owned()),
        EnvPart::Secret("DB_PASSWORD".to_owned()),
    ];
    let wanted = [
        file("/conf", FileContent::Parts(conf), 0o444, 999, 998),
        file("/etc/site/main", FileContent::Parts(text("Europe/Paris")), 0o640, 3, 4),
        file("/run/secrets/other", secret(), 0o444, 999, 998),
        file("/run/secrets/word", secret(), 0o400, 999, 998),
    ];
    assert_eq!(services[0].files, wanted);
    // Nobody knows here as whom `b` runs, so whoever it is may read; nobody else can reach the file.
    assert_eq!(services[1].files, [file("/run/secrets/word", secret(), 0o444, 0, 0)]);
}

#[test]
fn a_file_of_the_package_can_be_given_and_one_beside_it_cannot() {
    let compose = "services: {a: {image: a, configs: [c], secrets: [s]}}\nconfigs: {c: {file: ./etc/c.conf}}\nsecrets: {s: {file: etc}}";
    let files = BTreeMap::from([
        ("compose.yml".to_owned(), compose.as_bytes().to_vec()),
        ("etc/c.conf".to_owned(), vec![0xff, 0]),
    ]);
    let admit = |files: &BTreeMap<String, Vec<u8>>| {
        admit(&Package { files, values: &values(), devices: &[], folders: &[], main_service: None })
    };
    let problems = admit(&files).unwrap_err();
    assert_eq!(problems.len(), 1, "{}", lines(&problems));
    assert!(
        problems[0].field == "secrets.s.file" && problems[0].message.contains("folder"),
        "{}",
        problems[0]
    );
    let mut fits = files.clone();
    fits.insert("compose.yml".to_owned(), compose.replace("file: etc", "file: etc/c.conf").into_bytes());
    let admitted = admit(&fits).unwrap_or_else(|problems| panic!("{}", lines(&problems)));
    let given: Vec<_> =
        admitted.services[0].files.iter().map(|file| (file.target.as_str(), file.of_package())).collect();
    assert_eq!(given, [("/c", Some("etc/c.conf")), ("/run/secrets/s", Some("etc/c.conf"))]);
}

#[test]
fn what_is_around_a_service_is_honoured_and_what_weighs_on_the_host_is_said_to_have_no_effect() {
    let admitted = try_admit(GIVEN, Some("a")).unwrap_or_else(|problems| panic!("{}", lines(&problems)));
    let a = &admitted.services[0];
    let limits: Vec<_> = a.ulimits.iter().map(|l| (l.name.as_str(), l.soft, l.hard)).collect();
    assert_eq!(limits, [("core", 0, 0), ("memlock", -1, -1), ("nofile", 1024, 2048)]);
    assert_eq!((a.shm_size, a.pids_limit, a.tty, a.stdin_open), (Some(1 << 30), Some(64), true, true));
    let host = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    assert_eq!(a.extra_hosts, [host("host.docker.internal", "host-gateway"), host("nas", "192.168.1.9")]);
    assert_eq!(a.groups, ["44", "988"]);
    let fields: Vec<_> = admitted.warnings.iter().map(|warning| warning.field.as_str()).collect();
    assert_eq!(fields, ["services.a.ulimits.rtprio"]);
}
