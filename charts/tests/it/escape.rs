//! Files made at random to reach outside: whatever is admitted stays inside.

use std::collections::BTreeMap;

use hearth_charts::admit::{Package, Value, admit};

use crate::fuzz::dice::Dice;

/// Pieces of sources that lead out, alone or together.
const PIECES: &[&str] = &[
    "..",
    ".",
    "/",
    "//",
    "~",
    "~root",
    "etc",
    "data",
    "${X}",
    "${X:-..}",
    "${X:-/}",
    "${UP}",
    "${ROOT}",
    "${DATA_DIR}",
    "$$",
    "\\\\",
    "C:",
    "a b",
    "%2e%2e",
    "\\u002e\\u002e",
    "\\x2e\\x2e",
    "．．",
    "\\u2024\\u2024",
    "\\0",
    "\\n",
    "\\t",
    "./",
    "../",
    "/etc/passwd",
    "/var/run/docker.sock",
    "${UP:+..}",
    "${X-${Y-..}}",
    "\\u202e",
    " ",
    "-",
    "/srv/media",
    "/srv/media/..",
    "/data-of-this-app",
    "/data-of-this-app/../etc",
];

fn source(dice: &mut Dice) -> String {
    (0..=dice.below(5)).map(|_| dice.pick(PIECES)).collect()
}

fn file(dice: &mut Dice) -> String {
    let source = source(dice);
    let target = dice.pick(&["/x", "/data", "/a/../b", "/proc/..", "/proc", "//x", "/dev/shm", "/x/"]);
    let mount = match dice.below(6) {
        0 => format!("\"{source}:{target}\""),
        1 => format!("\"./{source}:{target}:ro\""),
        2 => format!("{{type: bind, source: \"{source}\", target: \"{target}\"}}"),
        3 => format!(
            "{{type: bind, source: \"./a/{source}\", target: \"{target}\", bind: {{create_host_path: true}}}}"
        ),
        4 => format!("\"${{DATA_DIR}}/{source}:{target}\""),
        _ => format!("{{type: volume, source: \"{source}\", target: \"{target}\"}}"),
    };
    match dice.below(5) {
        0 => format!("x-v: &v [{mount}]\nservices: {{a: {{image: a, volumes: *v}}}}"),
        1 => format!("x-b: &b {{volumes: [{mount}]}}\nservices: {{a: {{<<: *b, image: a}}}}"),
        2 => format!("services: {{a: {{image: a, extends: b}}, b: {{image: b, volumes: [{mount}]}}}}"),
        3 => format!("services: {{a: {{image: a}}}}\n---\nservices: {{a: {{volumes: !override [{mount}]}}}}"),
        _ => format!(
            "services: {{a: {{image: a, volumes: [{mount}], env_file: [{{path: \"{source}\", required: false}}]}}}}"
        ),
    }
}

fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains(['\\', '\0', '\n'])
}

#[test]
fn whatever_is_admitted_stays_inside() {
    let plain = |text: &str| Value::Plain(text.to_owned());
    let values = BTreeMap::from([
        ("UP".to_owned(), plain("../..")),
        ("ROOT".to_owned(), plain("/")),
        ("DATA_DIR".to_owned(), plain("/etc")),
    ]);
    let folders = ["/srv/media".to_owned()];
    let (mut inside, mut granted) = (0, 0);
    for seed in 0..20_000 {
        let mut dice = Dice::new(seed);
        let text = file(&mut dice);
        let files = BTreeMap::from([("compose.yml".to_owned(), text.clone().into_bytes())]);
        let package = Package {
            files: &files,
            values: &values,
            devices: &[],
            folders: &folders,
            main_service: Some("a"),
        };
        let Ok(admitted) = admit(&package) else { continue };
        for service in &admitted.services {
            for mount in &service.mounts {
                inside += 1;
                assert!(stays_inside(&mount.source) && !mount.source.starts_with('~'), "{mount:?} of {text}");
                assert!(
                    mount.target.starts_with('/') && stays_inside(&mount.target[1..]),
                    "{mount:?} of {text}"
                );
            }
            for folder in &service.folders {
                granted += 1;
                let rest = folder.source.strip_prefix("/srv/media").unwrap_or("outside");
                assert!(rest.is_empty() || stays_inside(rest.trim_matches('/')), "{folder:?} of {text}");
            }
        }
    }
    println!("{inside} mounts of data and {granted} of granted folders, all inside");
    assert!(inside > 500, "only {inside} were admitted: the files are too bad to prove anything");
}
