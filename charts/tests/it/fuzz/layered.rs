//! Projects whose parts meet: several files, chains of `extends`, includes, anchors and merge keys, tags that reset and
//! override, variables in variables, scalars of YAML 1.1, each field in its short and its long form.
//!
//! Where [`generate`](super::generate) picks whole values from a pantry, the values here are put together, and the same
//! few keys and targets come up in every layer, so that merging has something to decide.

use super::Project;
use super::dice::Dice;

/// What YAML 1.1 and 1.2 read differently, or people write without thinking.
const SCALARS: &[&str] = &[
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "n",
    "True",
    "FALSE",
    "~",
    "null",
    "Null",
    "NULL",
    "",
    "017",
    "0o17",
    "0b101",
    "0x1F",
    "1_000",
    "+12",
    "-0",
    "08",
    "1e3",
    "1E+3",
    ".5",
    "5.",
    "0.10",
    ".inf",
    "-.Inf",
    ".nan",
    "1:30",
    "190:20:30",
    "2024-01-01",
    "2024-01-01T10:00:00Z",
    "2024-1-1",
    "12e03",
    "0.0",
    "1.50",
    "100000000000000000000",
    "9223372036854775808",
    "\"dq \\u00e4 \\x41\"",
    "'sq ''x'''",
    "!!str 5",
    "!!str yes",
    "!!int \"5\"",
    "!!float 5",
    "!!bool \"true\"",
    "!!null x",
    "=",
    "-a",
    "a#b",
    "\"#\"",
];

/// What is no scalar, or none where it stands: one in a file, and the whole file is refused.
const WILD: &[&str] = &["a: b", "{}", "[]", "[1]", "*no", "\"", "{a: }", "!!int x", "%x", "- a", "\t"];

/// What switches something on or off.
const SWITCHES: &[&str] =
    &["true", "false", "yes", "No", "on", "OFF", "\"true\"", "\"n\"", "True", "\"${SET:+yes}\""];

const NAMES: &[&str] = &["SET", "EMPTY", "UNSET", "DOT", "A"];

/// A text with variables, in each other down to `depth`.
fn template(dice: &mut Dice, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..=dice.below(3) {
        let name = dice.pick(NAMES);
        match dice.below(if depth == 0 { 4 } else { 8 }) {
            0 => text.push_str(dice.pick(&["a", "x-y", " ", "/", ":", "}", "{", "$$", "$$$$x", "%", "é"])),
            1 => text.push_str(&format!("${name}")),
            2 => text.push_str(&format!("${{{name}}}")),
            3 => text.push_str(dice.pick(&["b", "1.2", "-", "?", "+", "=", ",", "."])),
            _ => {
                let asks = dice.chance(4);
                let operator = if asks {
                    dice.pick(&[":?", "?"])
                } else {
                    dice.pick(&[":-", "-", ":+", "+", ":-", "-"])
                };
                text.push_str(&format!("${{{name}{operator}{}}}", template(dice, depth - 1)));
            }
        }
    }
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn value(dice: &mut Dice) -> String {
    if dice.chance(1) {
        return dice.pick(WILD).to_owned();
    }
    match dice.below(5) {
        0 | 1 => dice.pick(SCALARS).to_owned(),
        2 => quoted(&template(dice, 3)),
        _ => dice.pick(&["one", "2", "\"3\"", "true"]).to_owned(),
    }
}

/// Names with values, as a mapping or as a list.
fn pairs(dice: &mut Dice, keys: &[&str]) -> String {
    let mut chosen: Vec<&str> = keys.iter().copied().filter(|_| dice.chance(60)).collect();
    if dice.chance(50) {
        let items: Vec<String> = chosen
            .iter()
            .map(|key| match dice.below(6) {
                0 => (*key).to_owned(),
                1 => quoted(&format!("{key}={}", template(dice, 2))),
                2 => format!("\"{key}=a=b\""),
                _ => format!("{key}={}", dice.pick(&["1", "yes", "x", ""])),
            })
            .collect();
        return format!("[{}]", items.join(", "));
    }
    chosen.dedup();
    let items: Vec<String> = chosen.iter().map(|key| format!("{key}: {}", flow(&value(dice)))).collect();
    format!("{{{}}}", items.join(", "))
}

/// A scalar that may stand inside braces.
fn flow(text: &str) -> String {
    if text.contains(": ") || (text.contains('#') && !text.starts_with(['"', '\''])) {
        quoted(text)
    } else {
        text.to_owned()
    }
}

fn list(dice: &mut Dice, items: &[&str]) -> String {
    let chosen: Vec<&str> = items.iter().copied().filter(|_| dice.chance(45)).collect();
    format!("[{}]", chosen.join(", "))
}

/// Fields that are lists, with items that meet.
const LISTS: &[(&str, &[&str])] = &[
    (
        "ports",
        &[
            "80",
            "\"80:80\"",
            "\"8080:80\"",
            "\"80:80/udp\"",
            "{target: 80, published: \"80\"}",
            "{target: 80, published: 8080, protocol: tcp, mode: ingress}",
            "\"127.0.0.1:80:80\"",
            "{target: 443, host_ip: 127.0.0.1, published: 443}",
            "\"5000-5002:5000-5002\"",
            "\"${UNSET:-81}:80\"",
        ],
    ),
    (
        "volumes",
        &[
            "data:/d",
            "\"./s:/d\"",
            "\"./s:/e:ro\"",
            "/only",
            "{type: bind, source: ./s, target: /d}",
            "{type: volume, source: data, target: /d, read_only: true}",
            "{type: tmpfs, target: /t}",
            "\"data:/d:ro\"",
            "{type: bind, source: \"${SET}/x\", target: /e, bind: {create_host_path: false}}",
            "\"${UNSET:-./u}:/u\"",
        ],
    ),
    ("devices", &["\"/dev/a:/dev/a\"", "\"/dev/b:/dev/a:r\"", "{source: /dev/c, target: /dev/a}"]),
    ("secrets", &["s1", "{source: s1, target: word}", "{source: s2, mode: 0440}", "s2"]),
    ("configs", &["c1", "{source: c1, target: /c}", "{source: c2, uid: \"1\"}", "c2"]),
    ("expose", &["80", "\"80\"", "\"81\"", "\"3000-3001\"", "\"82/udp\""]),
    (
        "env_file",
        &[
            "vars.env",
            "./vars.env",
            "{path: vars.env}",
            "{path: none.env, required: false}",
            "{path: raw.env, format: raw}",
            "sub/more.env",
        ],
    ),
    ("dns", &["1.1.1.1", "8.8.8.8"]),
    ("cap_add", &["A", "B", "C"]),
    ("tmpfs", &["/run", "/tmp", "\"/run:size=1m\""]),
    ("security_opt", &["a:b", "c"]),
    ("profiles", &["prod", "dev"]),
    ("group_add", &["1", "audio"]),
    ("external_links", &["x", "\"x:y\""]),
];

/// Fields with a form of their own.
const FORMS: &[(&str, &[&str])] = &[
    (
        "extra_hosts",
        &[
            "[\"a:1.1.1.1\", \"b=::1\"]",
            "{a: 1.1.1.2}",
            "{a: [1.1.1.1, 1.1.1.3], c: 9.9.9.9}",
            "[\"a:1.1.1.1\"]",
        ],
    ),
    ("command", &["run \"a b\"", "[run, a]", "null", "[]", "sh -c 'x $$Y'", "\"\""]),
    (
        "healthcheck",
        &[
            "{test: [CMD, a], interval: 5s}",
            "{test: curl a}",
            "{disable: true}",
            "{interval: 1m30s, retries: 2}",
            "{test: [CMD-SHELL, \"a $$b\"], start_period: 10s, start_interval: 1s}",
            "{timeout: ${UNSET:-3s}}",
        ],
    ),
    (
        "depends_on",
        &[
            "[b]",
            "{b: {condition: service_healthy}}",
            "{b: {condition: service_started, restart: true}}",
            "{c: {condition: service_started, required: false}}",
            "[]",
        ],
    ),
    (
        "networks",
        &[
            "[front]",
            "{front: {aliases: [x]}}",
            "{front: {aliases: [y]}, back: null}",
            "[front, back]",
            "{default: }",
        ],
    ),
    (
        "deploy",
        &[
            "{replicas: ${UNSET:-2}}",
            "{resources: {limits: {memory: 1g}}}",
            "{resources: {limits: {cpus: 0.5}}}",
            "{labels: {a: b}}",
            "{labels: [c=d]}",
            "{restart_policy: {condition: none}}",
        ],
    ),
    (
        "logging",
        &[
            "{driver: a, options: {x: 1}}",
            "{options: {y: 2}}",
            "{driver: b}",
            "{driver: a, options: {x: \"3\"}}",
        ],
    ),
];

/// A field of a service in one of its forms.
fn field(dice: &mut Dice) -> (&'static str, String) {
    match dice.below(26) {
        0..=13 => {
            let (key, items) = LISTS[dice.below(LISTS.len())];
            (key, list(dice, items))
        }
        14 | 15 => ("environment", pairs(dice, &["A", "B", "SET", "C"])),
        16 => ("labels", pairs(dice, &["a", "b.c", "d"])),
        17 => ("annotations", pairs(dice, &["a", "b"])),
        18 => ("sysctls", pairs(dice, &["net.a", "net.b"])),
        _ => {
            let (key, forms) = FORMS[dice.below(FORMS.len())];
            (key, dice.pick(forms).to_owned())
        }
    }
}

/// Fields of one service, none twice; some of them with a tag where another layer is below.
fn fields(dice: &mut Dice, most: usize, tags: bool) -> String {
    let mut text = String::new();
    let mut seen = Vec::new();
    for _ in 0..=dice.below(most) {
        let (key, value) = field(dice);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let tag = match dice.below(if tags { 8 } else { 40 }) {
            0 => "!reset ",
            1 => "!override ",
            _ => "",
        };
        text.push_str(&format!("    {key}: {tag}{value}\n"));
    }
    if dice.chance(25) {
        let key = dice.pick(&["user", "hostname", "working_dir", "stop_signal", "x-note", "domainname"]);
        let text_or_any = if dice.chance(90) { quoted(&template(dice, 3)) } else { value(dice) };
        text.push_str(&format!("    {key}: {text_or_any}\n"));
    }
    if dice.chance(15) {
        let key = dice.pick(&["tty", "init", "privileged", "read_only", "stdin_open"]);
        let switch = if dice.chance(95) { dice.pick(SWITCHES) } else { dice.pick(SCALARS) };
        text.push_str(&format!("    {key}: {switch}\n"));
    }
    text
}

const BESIDE: &str = "volumes: {data: , other: {name: \"${SET}-x\"}}\nnetworks: {front: , back: {internal: yes}}\nsecrets: {s1: {file: ./s1}, s2: {environment: SET}}\nconfigs: {c1: {content: \"a $${SET} ${SET}\"}, c2: {file: ./c2}}\n";

/// A project of several layers.
pub(crate) fn project(dice: &mut Dice) -> Project {
    let mut project = Project::new();
    project.insert("compose.yml".to_owned(), base(dice));
    if dice.chance(60) {
        project.insert("override.yml".to_owned(), over(dice));
        if dice.chance(35) {
            project.insert("third.yml".to_owned(), over(dice));
        }
    }
    let env = "A=1\nB=\"two ${SET}\"\nC='x $A'\nD=${A:-q}${NOPE-r}\n#E=5\nF = sp \nG\n";
    project.insert("vars.env".to_owned(), env.to_owned());
    project.insert("raw.env".to_owned(), "A=\"raw\" $SET\nR='x'\n".to_owned());
    project.insert("sub/more.env".to_owned(), "A=more\nM=${A}\n".to_owned());
    if dice.chance(50) {
        project.insert(".env".to_owned(), "DOT=dotted\nA=of-env\nQ=\"${DOT}!\"\n".to_owned());
    }
    let chain = format!(
        "services:\n  first:\n    image: first\n    extends: {{service: second}}\n{}  second:\n    image: second\n{}{}",
        fields(dice, 3, false),
        dice.pick(&[
            "",
            "    extends: {file: sub/far.yml, service: far}\n",
            "    extends: {file: chain.yml, service: third}\n"
        ]),
        fields(dice, 3, false),
    );
    let chain = format!("{chain}  third:\n    image: third\n{}{BESIDE}", fields(dice, 2, false));
    project.insert("chain.yml".to_owned(), chain);
    project.insert(
        "sub/far.yml".to_owned(),
        format!("services:\n  far:\n    image: far\n{}{BESIDE}", fields(dice, 3, false)),
    );
    let included = format!(
        "services:\n  {}:\n    image: \"inc:${{DOT:-1}}\"\n{}{}",
        dice.pick(&["inc", "inc", "inc", "inc", "inc", "b"]),
        fields(dice, 3, false),
        BESIDE
            .replace("data:", "inc-data:")
            .replace("front:", "inc-front:")
            .replace("back:", "inc-back:")
            .replace("s1:", "s3:")
            .replace("s2:", "s4:")
            .replace("c1:", "c3:")
            .replace("c2:", "c4:"),
    );
    project.insert("inc.yml".to_owned(), included);
    let nested = "include: [far-inc.yml]\nservices: {near: {image: \"${A:-near}\"}}\n".to_owned();
    project.insert("sub/nested.yml".to_owned(), nested);
    project.insert(
        "sub/far-inc.yml".to_owned(),
        "services: {farther: {image: f, env_file: more.env}}\n".to_owned(),
    );
    project
}

fn base(dice: &mut Dice) -> String {
    let mut text = String::new();
    let anchors = dice.chance(45);
    if anchors {
        text.push_str(&format!(
            "x-env: &env {}\nx-one: &one\n  tty: true\n  environment: *env\n  labels: {{a: of-one}}\nx-two: &two\n  <<: *one\n  tty: false\n  cap_add: [A]\n",
            pairs(dice, &["A", "B", "C"])
        ));
    }
    if dice.chance(25) {
        text.push_str(dice.pick(&[
            "include: [inc.yml]\n",
            "include:\n  - path: inc.yml\n    env_file: vars.env\n",
            "include:\n  - path: [inc.yml, inc.yml]\n",
            "include:\n  - path: sub/nested.yml\n    project_directory: .\n",
            "include: [sub/nested.yml, {path: inc.yml, project_directory: sub}]\n",
            "include:\n  - path: inc.yml\n    env_file: [vars.env, sub/more.env]\n",
        ]));
    }
    text.push_str("services:\n");
    for name in ["a", "b", "c"] {
        text.push_str(&format!("  {name}:\n"));
        if anchors && dice.chance(60) {
            text.push_str(dice.pick(&[
                "    <<: *one\n",
                "    <<: *two\n",
                "    <<: [*one, *two]\n",
                "    <<: [*two, *one]\n",
                "    <<: {tty: true, hostname: h}\n",
                "    <<: [{hostname: i}, *one]\n",
            ]));
        }
        if !dice.chance(4) {
            text.push_str(&format!(
                "    image: {}\n",
                dice.pick(&["img", "\"i:${SET:-1}\"", "${UNSET:-im}"])
            ));
        }
        if dice.chance(30) {
            text.push_str(&format!(
                "    extends: {}\n",
                dice.pick(&[
                    "b",
                    "{service: c}",
                    "{file: chain.yml, service: first}",
                    "{file: chain.yml, service: second}",
                    "{file: sub/far.yml, service: far}",
                    "{file: ./chain.yml, service: third}",
                ])
            ));
        }
        if name == "c" && dice.chance(40) {
            text.push_str(dice.pick(&["    profiles: [dev]\n", "    profiles: [prod]\n"]));
        }
        let taken = if name == "c" { 1 } else { 4 };
        let more = fields(dice, taken, false);
        // Once more the same key would end the file's reading at once.
        let more: String = more
            .lines()
            .filter(|line| !(name == "c" && line.starts_with("    profiles")))
            .fold(String::new(), |all, line| all + line + "\n");
        text.push_str(&more);
    }
    text.push_str(BESIDE);
    text
}

fn over(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.chance(12) {
        text.push_str(dice.pick(&[
            "networks: !reset null\n",
            "volumes: {data: !override {name: n}}\n",
            "secrets: {s1: !reset null}\n",
            "x-a: !reset 1\n",
        ]));
    }
    text.push_str("services:\n");
    for name in ["a", "b", "d"] {
        match dice.below(12) {
            0 => text.push_str(&format!("  {name}: !reset null\n")),
            1 => text.push_str(&format!("  {name}: !override\n    image: o\n{}", fields(dice, 3, true))),
            2..=7 => {
                let image = if name == "d" { "    image: d\n" } else { "" };
                text.push_str(&format!("  {name}:\n{image}{}", fields(dice, 4, true)));
            }
            _ => {}
        }
    }
    text.push_str("  e: {image: e}\n");
    text
}
