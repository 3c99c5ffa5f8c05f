//! Files made from scratch: a few services with fields picked from a pantry of good and bad values,
//! sometimes with a second file, one that is extended, one that is included, or variables.

use super::Project;
use super::dice::Dice;

/// Values of service fields, in flow style so that they can stand anywhere.
const FIELDS: &[(&str, &[&str])] = &[
    ("image", &["nginx", "\"a:1\"", "a@sha256:ab", "\"${SET}\"", "${UNSET:-b}", "1", "null", "true", "''"]),
    (
        "command",
        &[
            "npm start",
            "[a, \"b c\"]",
            "\"a 'b c' d\"",
            "null",
            "[]",
            "''",
            "a && b",
            "\"a \\\"b\"",
            "[1]",
            "sh -c \"x > y\"",
            "a $$B",
            "echo $(ls -l)",
        ],
    ),
    ("entrypoint", &["/run.sh", "[a]", "[]", "null", "\"\""]),
    (
        "environment",
        &[
            "{A: 1, B: two, C: null, D: true, E: 1.5}",
            "[A=1, B, SET, C=]",
            "{}",
            "[]",
            "{A: ${SET}, B: \"${UNSET-x}\"}",
            "[\"A=${SET:+y}\"]",
            "[A=1, A=2]",
            "[A, A]",
            "{A: [1]}",
            "null",
            "{A: 0x10, B: 010, C: 1e3, D: 1_000, E: 2024-01-01x}",
            "[\"A =1\"]",
            "{SET: , EMPTY: }",
            "A=1",
            "{A: 1e6, B: 0.00001, C: .5, D: 100000000000000000000}",
        ],
    ),
    ("labels", &["{a: b, c: 1, d: null, e: false}", "[a=b, c]", "[a, a=1]", "{}", "x", "{a.b/c: \"x=y\"}"]),
    (
        "ports",
        &[
            "[80]",
            "[\"8080:80\"]",
            "[\"127.0.0.1:80:80/udp\"]",
            "[\"3000-3002:3000-3002\"]",
            "[\"3000-3005:80\"]",
            "[{target: 80, published: 8080}]",
            "[{target: \"80\", published: \"8080-8090\", protocol: udp, mode: host}]",
            "[\"80:80\", \"80:80\"]",
            "[80, \"80\"]",
            "[\"[::1]:80:80\"]",
            "[\"::1:80:80\"]",
            "[\"a:80\"]",
            "[\"80:\"]",
            "[\":80\"]",
            "[\"${UNSET:-8080}:80\"]",
            "[8080:80]",
            "[\"99999:80\"]",
            "[{target: 80, host_ip: x}]",
            "[\"80/foo\"]",
            "80",
            "[1.5]",
            "[\"80-79:80-79\"]",
            "[\"999-1001\"]",
            "[\"0\"]",
            "[{published: 80}]",
            "[\"1-2:3-5\"]",
            "[\"80/TCP\"]",
            "[\"1-2-3:4-5\"]",
        ],
    ),
    (
        "volumes",
        &[
            "[\"./a:/a\"]",
            "[\"data:/d\"]",
            "[\"/x:/y:ro\"]",
            "[\"/only\"]",
            "[\"data:/d:ro,z\", \"./e:/d\"]",
            "[{type: bind, source: ./s, target: /t}]",
            "[{type: volume, source: data, target: /t/, volume: {nocopy: true}}]",
            "[{type: tmpfs, target: /m, tmpfs: {size: 10m, mode: 0755}}]",
            "[{type: bind, target: /t}]",
            "[\"a:/b:c:d\"]",
            "[\"::\"]",
            "[\"c:/x:/y\"]",
            "[\"../up:/u:rw,rshared\"]",
            "[\"~/h:/h\"]",
            "[\"./a/../b//c:/x/../y/\"]",
            "[\"data:rel\"]",
            "[\"/a\", \"/a\"]",
            "[{type: bind, source: \"${SET}\", target: /t, read_only: \"true\", bind: {create_host_path: false, propagation: slave}}]",
            "[{type: x, target: /t}]",
            "[\"nope:/n\"]",
            "[\"data:/d:nocopy\"]",
            "[\"a\"]",
            "[\"ab\"]",
            "[\"/:/x\"]",
            "[\"data:/d:rshared\"]",
            "[\"${UNSET}:/x\"]",
            "[\"${UNSET:-./q}:/x\"]",
            "[{type: image, source: img, target: /i, image: {subpath: s}}]",
            "[{type: bind, source: '', target: /t}]",
        ],
    ),
    (
        "networks",
        &[
            "[front]",
            "{front: {aliases: [x, y]}}",
            "{front: null, default: {}}",
            "[nope]",
            "{front: {ipv4_address: 10.0.0.2, priority: 5}}",
            "[]",
            "{}",
            "[front, front]",
            "{front: {driver_opts: {a: 1}, gw_priority: 1.0}}",
        ],
    ),
    ("network_mode", &["host", "bridge", "none", "service:b", "service:nope", "\"\""]),
    (
        "depends_on",
        &[
            "[b]",
            "{b: {condition: service_healthy}}",
            "{b: {condition: service_completed_successfully, required: false, restart: true}}",
            "[nope]",
            "{nope: {condition: service_started, required: false}}",
            "{b: {}}",
            "[b, b]",
            "{b: {condition: started}}",
            "[a]",
            "{p: {condition: service_started, required: false}}",
            "[p]",
            "{b: null}",
            "{b: {condition: service_started, restart: \"yes\"}}",
        ],
    ),
    (
        "healthcheck",
        &[
            "{test: curl x, interval: 30s, retries: 3}",
            "{test: [CMD, a], timeout: 1m30s, start_period: 2h}",
            "{disable: true}",
            "{test: [x]}",
            "{interval: 5}",
            "{interval: 1x}",
            "{retries: \"3\"}",
            "{retries: 3.0, start_interval: 1.5s}",
            "{test: [], interval: 1d}",
            "{test: NONE}",
            "{retries: -1}",
            "{interval: 100ms, timeout: 1us}",
            "{disable: \"on\"}",
            "{retries: 0}",
        ],
    ),
    ("restart", &["always", "no", "\"no\"", "on-failure:3", "unless-stopped", "false"]),
    (
        "deploy",
        &[
            "{replicas: 2}",
            "{replicas: \"3\"}",
            "{resources: {limits: {cpus: '0.5', memory: 512M}}}",
            "{resources: {limits: {cpus: 0.25, pids: 10}}}",
            "null",
            "{}",
            "{mode: global, restart_policy: {condition: any, max_attempts: 3, delay: 5s}}",
            "{resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}}",
            "{resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}",
            "{update_config: {parallelism: 2, order: start-first, max_failure_ratio: 0.1, delay: 10s}}",
            "{placement: {constraints: [\"node.role==x\"], max_replicas_per_node: 1, preferences: [{spread: a}]}}",
            "{labels: {a: b}}",
            "{labels: [a=b]}",
            "{resources: {limits: {memory: 10}}}",
            "{replicas: -1}",
            "{resources: {reservations: {devices: [{capabilities: [gpu], count: all, device_ids: ['0']}]}}}",
            "{resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: gpu, value: 2}}]}}}",
        ],
    ),
    ("cpus", &["0.5", "\"1.5\"", "1", "\"x\"", "0", "0.1", "1e3"]),
    (
        "mem_limit",
        &["512m", "1g", "1.5gb", "100", "\"1024\"", "1.5", "-1", "10 mb", "5x", "1kib", "0.5b", "''"],
    ),
    ("memswap_limit", &["-1", "1g", "\"-1\""]),
    ("mem_swappiness", &["60", "\"60\""]),
    ("shm_size", &["64m", "2gb", "67108864", "1e3"]),
    ("pids_limit", &["100", "\"100\"", "-1", "10.7"]),
    (
        "ulimits",
        &[
            "{nofile: 1024}",
            "{nofile: {soft: 1, hard: 2}}",
            "{nofile: \"1024\"}",
            "{nofile: {soft: 1}}",
            "{nofile: {soft: \"1\", hard: \"2\"}}",
            "{Bad: 1}",
            "{memlock: -1}",
            "{nofile: 0, nproc: {soft: 0, hard: 5}}",
        ],
    ),
    ("user", &["\"1000:1000\"", "root", "1000", "\"\""]),
    ("working_dir", &["/app", "rel", "\"\""]),
    ("hostname", &["h", "1", "a.b"]),
    ("container_name", &["c1", "c2", "-", "\"a b\""]),
    ("privileged", &["true", "\"true\"", "yes", "\"maybe\"", "false", "1"]),
    ("read_only", &["true", "\"on\"", "off", "${UNSET:-false}"]),
    ("tty", &["true", "\"n\"", "y"]),
    ("stdin_open", &["true", "\"${SET}\""]),
    ("init", &["true", "false", "\"true\""]),
    ("attach", &["false", "\"true\""]),
    ("cap_add", &["[ALL]", "[A, A]", "[]", "NET"]),
    ("cap_drop", &["[ALL, NET_ADMIN]"]),
    (
        "devices",
        &[
            "[\"/dev/a\"]",
            "[\"/dev/a:/dev/b\"]",
            "[\"/dev/a:/dev/b:r\"]",
            "[\"a:b:c:d\"]",
            "[{source: /dev/a, target: /dev/c, permissions: rw}]",
            "[{source: /dev/a}]",
            "[\"/dev/a:\"]",
            "[\"/dev/a:/dev/b\", \"/dev/c:/dev/b\"]",
        ],
    ),
    ("dns", &["8.8.8.8", "[1.1.1.1, 8.8.8.8]", "[\"\"]", "\"\"", "[a, a]"]),
    ("dns_search", &["x", "[x, y]"]),
    ("dns_opt", &["[a, b]", "[a=1, a=2]"]),
    (
        "env_file",
        &[
            "vars.env",
            "[vars.env]",
            "[{path: vars.env, required: false}]",
            "[{path: none.env, required: false}]",
            "none.env",
            "[{path: vars.env, format: raw}]",
            "[./sub/more.env, vars.env]",
            "[{path: vars.env, format: x}]",
        ],
    ),
    ("label_file", &["vars.env", "[vars.env]", "none.env"]),
    ("expose", &["[80]", "[\"80\", \"81/udp\"]", "[80, \"80\"]", "[\"3000-3005\"]", "[1.5]"]),
    (
        "extends",
        &[
            "b",
            "{service: b}",
            "{service: base, file: base.yml}",
            "{service: nope}",
            "{service: deep, file: sub/deep.yml}",
            "{file: base.yml}",
            "a",
            "{service: base, file: none.yml}",
        ],
    ),
    (
        "extra_hosts",
        &[
            "[\"a:1.2.3.4\"]",
            "[\"a=1.2.3.4\", \"b:::1\"]",
            "{a: 1.2.3.4}",
            "{a: [1.2.3.4, 5.6.7.8]}",
            "[bad]",
            "[\"a=[::1]\"]",
            "[\"host.docker.internal:host-gateway\"]",
            "{a: null}",
            "[\"a=1.1.1.1,2.2.2.2\"]",
            "[\"=x\"]",
        ],
    ),
    ("external_links", &["[a:b]"]),
    ("group_add", &["[1000, \"audio\"]", "[1, 1]", "[1.5]"]),
    ("gpus", &["all", "[{driver: nvidia, count: 2}]", "some", "[{count: all, device_ids: [a]}]", "[{}]"]),
    ("ipc", &["host", "service:b", "shareable"]),
    ("pid", &["host", "null", "service:nope"]),
    ("uts", &["host"]),
    ("cgroup", &["host", "private", "x"]),
    ("links", &["[b]", "[\"b:alias\"]", "[\"b:x:y\"]", "[nope]"]),
    (
        "logging",
        &[
            "{driver: json-file, options: {max-size: 10m, max-file: 3}}",
            "{options: {a: null}}",
            "{driver: none}",
            "{}",
        ],
    ),
    ("profiles", &["[prod]", "[dev]", "[prod, dev]", "[]"]),
    ("pull_policy", &["always", "if_not_present", "every_12h", "x", "missing", "every_"]),
    ("platform", &["linux/amd64"]),
    ("runtime", &["runc"]),
    ("scale", &["2", "\"2\"", "-1", "0"]),
    (
        "secrets",
        &[
            "[s1]",
            "[{source: s1, target: /x, mode: 0400}]",
            "[nope]",
            "[{source: s1, mode: \"0440\", uid: \"1\"}]",
            "[s1, s1]",
        ],
    ),
    ("configs", &["[c1]", "[{source: c1, target: /etc/c}]", "[nope]", "[{source: c1, mode: 288}]"]),
    ("security_opt", &["[\"no-new-privileges:true\"]", "[a, a]"]),
    ("stop_grace_period", &["10s", "1m30s", "90", "1.5h", "2w", "1d12h", "-5s", "0", "0s", "\"0\""]),
    ("stop_signal", &["SIGTERM", "9"]),
    ("storage_opt", &["{size: 1G}", "{size: 1}", "{a: 1.5}"]),
    ("sysctls", &["{net.core.somaxconn: 1024}", "[net.a=1]", "{a: null}", "[a]"]),
    ("tmpfs", &["/run", "[/run, \"/tmp:size=1m\"]", "[/run, /run]", "[\"/a:x\", \"/a\"]"]),
    ("annotations", &["{a: b}", "[a=b, c]", "{a: 1.5}"]),
    ("oom_kill_disable", &["true", "\"false\""]),
    ("oom_score_adj", &["-500", "\"100\"", "2000", "5.0"]),
    ("cpu_count", &["2", "\"2\"", "-1"]),
    ("cpu_percent", &["50", "\"50.5\"", "101", "50.5"]),
    ("cpu_shares", &["73", "\"73\"", "1.5"]),
    ("cpu_quota", &["50000", "\"50000\"", "50ms"]),
    ("cpu_period", &["20000"]),
    ("cpuset", &["0-3", "\"0,1\""]),
    (
        "blkio_config",
        &[
            "{weight: 300, weight_device: [{path: /dev/a, weight: 400}]}",
            "{device_read_bps: [{path: /dev/a, rate: 12mb}], device_write_iops: [{path: /dev/b, rate: 30}]}",
            "{weight: \"300\"}",
            "{x-a: 1}",
            "{device_read_bps: [{path: /dev/a}]}",
            "{weight_device: [{weight: 0}]}",
        ],
    ),
    (
        "build",
        &[
            ".",
            "{context: ./dir, dockerfile: D, args: {A: 1, B: null, SET: }}",
            "{args: [A=1, B]}",
            "https://github.com/x/y.git",
            "{context: ., target: t, labels: [a=b], cache_from: [x], platforms: [linux/amd64]}",
            "{dockerfile_inline: FROM x}",
            "{dockerfile_inline: FROM x, dockerfile: D}",
            "{context: ., ssh: [default]}",
            "{context: ., additional_contexts: [a=./x, \"b=docker-image://y\"]}",
            "{context: ., secrets: [s1]}",
            "{context: ., shm_size: 1g, no_cache: true, pull: \"true\", ulimits: {nofile: 5}}",
            "{context: ., extra_hosts: [\"a:1.1.1.1\"], network: host, provenance: true, sbom: false, entitlements: [x]}",
            "{}",
            "{context: /abs, tags: [a, b]}",
            "{context: ., ssh: [\"default=/x\"]}",
            "{context: \"\"}",
        ],
    ),
    (
        "develop",
        &[
            "{watch: [{path: ./a, action: sync, target: /b}]}",
            "{watch: [{path: ., action: rebuild, ignore: [x, y]}]}",
            "null",
            "{watch: [{path: ./a, action: sync}]}",
            "{watch: [{path: ./a, action: sync+exec, target: /x, exec: {command: ls}}]}",
            "{watch: [{path: '', action: rebuild}]}",
        ],
    ),
    (
        "post_start",
        &[
            "[{command: ls}]",
            "[{command: [a, b], user: root, privileged: true, environment: [A=1]}]",
            "[{user: x}]",
        ],
    ),
    ("pre_stop", &["[{command: ls, working_dir: /x}]"]),
    ("credential_spec", &["{file: a.json}", "{}"]),
    ("provider", &["{type: x, options: {a: b, c: [1, 2], d: true}}", "{options: {}}"]),
    ("models", &["[m1]", "{m1: {endpoint_var: E}}", "[nope]", "{m1: null}"]),
    ("volumes_from", &["[b]", "[\"b:ro\"]", "[\"container:x\"]", "[nope]"]),
    ("userns_mode", &["host"]),
    ("use_api_socket", &["false", "\"true\""]),
    ("mac_address", &["02:42:ac:11:00:02", "\"02:42:ac:11:00:02\""]),
    ("domainname", &["x.y"]),
    ("isolation", &["default"]),
    ("device_cgroup_rules", &["[\"c 1:3 mr\"]", "[a, a]"]),
    ("mem_reservation", &["100m", "5", "1.5"]),
    ("x-extra", &["{a: 1}", "2024-01-01", "[1, 2.50]"]),
    ("unknown_key", &["1"]),
    ("imgae", &["x"]),
];

/// Fragments that are added to a service or the file as they are.
const TOP: &[&str] = &[
    "name: other",
    "name: \"${SET}\"",
    "version: \"3.8\"",
    "version: 3",
    "x-top: {a: 1.50, b: [1e3, 2024-01-01], c: \"$$x ${SET}\"}",
    "volumes: {data: , other: {external: true}}",
    "volumes: {data: {driver: local, driver_opts: {type: none, o: bind, device: ./dev}}}",
    "volumes: {data: {name: named, labels: [a=b]}}",
    "volumes: {data: {external: {name: old}}}",
    "volumes: {data: {external: true, driver: x}}",
    "volumes: [data]",
    "networks: {front: }",
    "networks: {front: {external: true}, unused: {}}",
    "networks: {front: {driver: bridge, internal: \"true\", ipam: {config: [{subnet: 10.0.0.0/24}]}, labels: {a: 1}}}",
    "networks: {front: {external: {name: n}}, default: {name: custom}}",
    "networks: {front: {enable_ipv6: false, driver_opts: {a: 1}}}",
    "networks: {front: {name: x, external: {name: y}}}",
    "secrets: {s1: {file: ./s}}",
    "secrets: {s1: {environment: SET}}",
    "secrets: {s1: {external: true}}",
    "secrets: {s1: {}}",
    "secrets: {s1: {file: a, environment: b}}",
    "configs: {c1: {content: \"a ${SET}\"}}",
    "configs: {c1: {file: ~/c}}",
    "configs: {c1: {environment: SET}}",
    "configs: {c1: {external: \"yes\", name: n}}",
    "models: {m1: {model: x}}",
    "models: {m1: {}}",
    "include: [inc.yml]",
    "include: [{path: sub/inc2.yml, env_file: vars.env}]",
    "include: [none.yml]",
    "include: [{path: [inc.yml, inc-over.yml], project_directory: ./sub}]",
    "include: inc.yml",
    "bogus: 1",
];

/// Fields a file beside the main one may have for a service.
const OVERRIDES: &[&str] = &[
    "environment",
    "ports",
    "volumes",
    "labels",
    "command",
    "depends_on",
    "networks",
    "build",
    "logging",
    "healthcheck",
    "ulimits",
    "deploy",
    "tmpfs",
    "extra_hosts",
    "env_file",
    "dns",
    "cap_add",
    "image",
    "configs",
    "secrets",
    "expose",
    "profiles",
    "devices",
    "annotations",
    "sysctls",
    "mem_limit",
];

const TAGS: &[&str] = &["!reset null", "!override [\"1:1\"]", "!reset []", "!override {A: 9}", "!reset x"];

/// A project of one to several files.
pub(crate) fn project(dice: &mut Dice) -> Project {
    let mut project = Project::new();
    let mut text = file(dice, true);
    if dice.chance(3) {
        text.push_str("---\n");
        text.push_str(&file(dice, false));
    }
    project.insert("compose.yml".to_owned(), text);
    if dice.chance(25) {
        project.insert("override.yml".to_owned(), over(dice));
    }
    let vars = "A=from-file\nB=\"quoted ${SET} \\n\"\nC='single $X'\nexport D=4 # note\nE: yaml\n\n# comment\nF=${A}-x\nG=\nSET\nH=a#b\n";
    project.insert("vars.env".to_owned(), vars.to_owned());
    project.insert("sub/more.env".to_owned(), "A=more\nI=1\n".to_owned());
    if dice.chance(20) {
        project.insert(".env".to_owned(), "UNSET=dot\nOTHER=\"x $SET\"\n".to_owned());
    }
    project.insert(
        "base.yml".to_owned(),
        format!("services:\n  base:\n    image: base\n{}", fields(dice, 3, "    ")),
    );
    let deep = format!(
        "services:\n  deep:\n    extends: {{file: ../base.yml, service: base}}\n{}",
        fields(dice, 2, "    ")
    );
    project.insert("sub/deep.yml".to_owned(), deep);
    project.insert(
        "inc.yml".to_owned(),
        format!(
            "services:\n  inc:\n    image: inc\n{}volumes: {{data: }}\nnetworks: {{front: }}\n",
            fields(dice, 2, "    ")
        ),
    );
    project.insert("inc-over.yml".to_owned(), "services: {inc: {environment: [Z=1]}}\n".to_owned());
    project.insert(
        "sub/inc2.yml".to_owned(),
        format!("services:\n  inc2:\n    image: \"i:${{A}}\"\n{}", fields(dice, 1, "    ")),
    );
    project
}

fn file(dice: &mut Dice, whole: bool) -> String {
    let mut text = String::new();
    let anchors = dice.chance(20);
    if anchors {
        text.push_str("x-common: &common {restart: always, environment: &env {COMMON: 1}}\nx-more: &more {restart: \"no\", tty: true}\n");
    }
    text.push_str("services:\n");
    let mut names = vec!["a", "b"];
    if dice.chance(30) {
        names.push("p");
    }
    for name in names {
        text.push_str(&format!("  {name}:\n"));
        if whole && !dice.chance(4) {
            text.push_str("    image: img\n");
        }
        if name == "p" {
            text.push_str("    profiles: [dev]\n");
        }
        if anchors && dice.chance(60) {
            text.push_str(dice.pick(&[
                "    <<: *common\n",
                "    <<: [*common, *more]\n",
                "    <<: [*more, *common]\n",
            ]));
        }
        let count = if name == "a" { 4 } else { 1 };
        text.push_str(&fields(dice, count, "    "));
    }
    let needed = [
        "volumes: {data: }",
        "networks: {front: }",
        "secrets: {s1: {file: ./s}}",
        "configs: {c1: {file: ./c}}",
        "models: {m1: {model: x}}",
    ];
    let mut top: Vec<&str> = needed.iter().copied().filter(|_| dice.chance(70)).collect();
    for _ in 0..dice.below(3) {
        top.push(dice.pick(TOP));
    }
    let mut seen = vec!["services", "image"];
    for line in top {
        let key = line.split(':').next().unwrap_or_default();
        if !seen.contains(&key) {
            seen.push(key);
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// So many fields, none twice, `image` and `profiles` rarely.
fn fields(dice: &mut Dice, most: usize, indent: &str) -> String {
    let mut text = String::new();
    let mut seen = vec!["image", "profiles", "unknown_key", "imgae"];
    if dice.chance(4) {
        seen.clear();
        seen.push("image");
    }
    for _ in 0..=dice.below(most + 1) {
        let (key, values) = dice.pick(FIELDS);
        if !seen.contains(&key) {
            seen.push(key);
            // The first values are the good ones: a file with one bad value is refused whole.
            let value = if dice.chance(97) {
                values[dice.below(values.len().div_ceil(2))]
            } else {
                dice.pick(values)
            };
            text.push_str(&format!("{indent}{key}: {value}\n"));
        }
    }
    text
}

fn over(dice: &mut Dice) -> String {
    let mut text = "services:\n  a:\n".to_owned();
    let mut seen = Vec::new();
    for _ in 0..=dice.below(4) {
        let key = dice.pick(OVERRIDES);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let values = FIELDS.iter().find(|(name, _)| *name == key).map_or(&[][..], |(_, values)| values);
        let value =
            if dice.chance(12) { dice.pick(TAGS) } else { values[dice.below(values.len().div_ceil(2))] };
        text.push_str(&format!("    {key}: {value}\n"));
    }
    if dice.chance(30) {
        text.push_str("  c:\n    image: c\n");
    }
    text
}
