//! No file, however hostile, takes long or much memory: it is read or refused within a second and
//! 200 MB. And the published ones are read in well under a millisecond.
//!
//! Times are those of a release build; a build for development is given ten times as much.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hearth_charts::admit::{Package, admit};
use hearth_charts::compose::{ConfigRequest, config};
use hearth_charts::import::{Request, import};

use crate::corpus;

const SLOWER: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

type Hostile = Vec<(&'static str, String)>;

fn service(field: &str) -> String {
    format!("services:\n  a:\n    image: a\n{field}")
}

fn many(count: usize, line: &dyn Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Files made to hurt, by what they try: with the means of YAML and of variables.
fn unfolding() -> Hostile {
    let bomb = {
        let levels = (1..30)
            .map(|n| format!("x-{n}: &a{n} [*a{0},*a{0},*a{0},*a{0},*a{0},*a{0},*a{0},*a{0}]\n", n - 1));
        format!("x-0: &a0 [x]\n{}{}", levels.collect::<String>(), service(""))
    };
    let merge_bomb = {
        let levels = (1..24).map(|n| format!("x-{n}: &a{n} {{a: *a{0}, b: *a{0}, c: *a{0}}}\n", n - 1));
        format!("x-0: &a0 {{k: v}}\n{}{}", levels.collect::<String>(), service(""))
    };
    vec![
        ("aliases that unfold", bomb),
        ("mappings that unfold", merge_bomb),
        ("ten mebibytes", format!("{}{}", service(""), "# comment\n".repeat(1 << 20))),
        ("a mebibyte of lists", format!("x-a: [{}]\n{}", "a, ".repeat(300_000), service(""))),
        ("brackets", format!("x-a: {}", "[".repeat(500_000))),
        ("braces", format!("x-a: {}", "{a: ".repeat(200_000))),
        ("dashes", format!("x-a:\n  {}a", "- ".repeat(400_000))),
        (
            "one anchor, many aliases",
            format!("x-a: &a [b]\nx-b: [{}]\n{}", "*a, ".repeat(90_000), service("")),
        ),
        ("many anchors", format!("{}{}", many(40_000, &|n| format!("x-{n}: &a{n} [b]\n")), service(""))),
        (
            "nested anchors",
            format!("x-a: {}{}{}", many(90, &|n| format!("&a{n} [")), "b, ".repeat(100_000), "]".repeat(90)),
        ),
        (
            "variables in variables",
            service(&format!("    user: \"{}{}\"\n", "${A:-".repeat(100_000), "}".repeat(100_000))),
        ),
        ("open variables", service(&format!("    user: \"{}\"\n", "${A:-{".repeat(100_000)))),
        ("many variables", service(&format!("    user: \"{}\"\n", "${A:-b}".repeat(100_000)))),
        ("large values many times", service(&format!("    user: \"{}\"\n", "${LARGE}".repeat(80_000)))),
        (
            "large values everywhere",
            service(&format!("    environment:\n{}", many(30_000, &|n| format!("      A{n}: ${{LARGE}}\n")))),
        ),
    ]
}

/// With many of one thing.
fn crowded() -> Hostile {
    vec![
        (
            "many ports",
            service(&format!("    ports:\n{}", many(20_000, &|n| format!("      - \"{}-65000\"\n", n + 1)))),
        ),
        ("all ports many times", service(&format!("    ports:\n{}", "      - \"1-34999\"\n".repeat(20_000)))),
        (
            "one text in many services",
            format!(
                "services:\n{}configs:\n  c:\n    content: \"{}\"\n",
                many(900, &|n| format!("  s{n}: {{image: a, configs: [c]}}\n")),
                "x".repeat(900_000)
            ),
        ),
        (
            "many volumes",
            service(&format!("    volumes:\n{}", many(30_000, &|n| format!("      - ./a{n}:/a{n}\n")))),
        ),
        (
            "many nested volumes",
            service(&format!("    volumes:\n{}", many(20_000, &|n| format!("      - ./a{n}/b/c/d:/a{n}\n")))),
        ),
        (
            "many variables of a service",
            service(&format!("    environment:\n{}", many(50_000, &|n| format!("      - A{n}=b\n")))),
        ),
        (
            "many capabilities",
            service(&format!("    cap_add:\n{}", many(60_000, &|n| format!("      - A{n}\n")))),
        ),
        (
            "many networks",
            format!("{}networks:\n{}", service(""), many(40_000, &|n| format!("  n{n}: {{}}\n"))),
        ),
        (
            "many services",
            format!(
                "services:\n{}",
                many(30_000, &|n| format!("  s{n}: {{image: a, depends_on: [s{}]}}\n", n + 1))
            ),
        ),
        (
            "a long chain of services",
            format!(
                "services:\n{}",
                many(900, &|n| format!("  s{n}: {{image: a, depends_on: [s{}]}}\n", (n + 1) % 900))
            ),
        ),
        ("services that copy each other", {
            let large = many(8_000, &|n| format!("      A{n}: b\n"));
            format!(
                "{}{}",
                service(&format!("    environment:\n{large}")),
                many(900, &|n| format!("  s{n}: {{extends: a}}\n"))
            )
        }),
        (
            "many env files",
            service(&format!("    env_file:\n{}", many(30_000, &|n| format!("      - ./e{n}.env\n")))),
        ),
    ]
}

/// With odd shapes.
fn odd() -> Hostile {
    vec![
        ("includes itself widely", format!("include: [{}]\n{}", "b.yml, ".repeat(50_000), service(""))),
        ("a long key", format!("{}: a\n", "k".repeat(900_000))),
        ("many unknown keys", many(50_000, &|n| format!("k{n}: a\n"))),
        ("a long line of quotes", service(&format!("    command: {}\n", "'a' ".repeat(200_000)))),
        ("white space", format!("{}{}", service(""), " \n".repeat(400_000))),
        ("tabs", service(&format!("    user: a{}\n", "\t".repeat(500_000)))),
        ("a folded text", service(&format!("    user: >\n{}", "      a\n\n".repeat(90_000)))),
        (
            "brackets too far left",
            format!("x-a:\n  b:\n    c: [\n{}]\n{}", "a,\n".repeat(200_000), service("")),
        ),
        (
            "quotes too far left",
            format!("x-a:\n  b:\n    c: \"\n{}\"\n{}", "a\n".repeat(200_000), service("")),
        ),
        ("documents", format!("{}{}", service(""), "---\nx-a: b\n".repeat(50_000))),
        (
            "resets",
            service(&format!("    labels:\n{}", many(40_000, &|n| format!("      a{n}: !reset b\n")))),
        ),
    ]
}

/// The most memory this process ever held, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().split(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
fn no_hostile_file_takes_over_a_second_or_200_megabytes() {
    let allowed = Duration::from_secs(1) * SLOWER;
    let mut slow = Vec::new();
    let large = hearth_charts::admit::Value::Plain("x".repeat(100_000));
    let values = BTreeMap::from([("LARGE".to_owned(), large)]);
    for (name, text) in unfolding().into_iter().chain(crowded()).chain(odd()) {
        let (before, begun) = (peak(), Instant::now());
        let files = BTreeMap::from([("compose.yml".to_owned(), text.clone().into_bytes())]);
        let package =
            Package { files: &files, values: &values, devices: &[], folders: &[], main_service: Some("a") };
        let admitted = admit(&package).is_ok();
        let took = begun.elapsed();
        drop(import(&Request { file: "compose.yml", text: &text, name: None, template: None }));
        let both = begun.elapsed();
        println!(
            "{took:8.1?} {both:8.1?} {:4} MB more  admitted {admitted}  {name}",
            peak().saturating_sub(before)
        );
        if took > allowed || both > allowed * 3 {
            slow.push(format!("{name}: {took:?}, with import {both:?}"));
        }
    }
    println!("at most {} MB", peak());
    assert!(slow.is_empty(), "{}", slow.join("\n"));
    // Under a runner that gives each test its own process the peak is this test's own.
    if std::env::var_os("NEXTEST").is_some() {
        assert!(peak() < 200, "{} MB", peak());
    }
}

#[test]
fn published_files_are_read_in_under_a_millisecond() {
    let (cases, real) = corpus::cases();
    let names = ["compose.yml".to_owned()];
    let mut times: Vec<Duration> = Vec::new();
    for case in &cases {
        let files = BTreeMap::from([("compose.yml".to_owned(), case.text.clone().into_bytes())]);
        let run = || {
            let begun = Instant::now();
            let request = ConfigRequest {
                files: &files,
                names: &names,
                folder: "/srv/app",
                home: None,
                project: Some("app"),
                environment: BTreeMap::new(),
                env_files: &[],
                profiles: &[],
            };
            drop(config(request));
            begun.elapsed()
        };
        times.extend((0..3).map(|_| run()).min());
    }
    times.sort();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{} files: median {median:?}, p99 {p99:?}, most {:?}", times.len(), times[times.len() - 1]);
    if real {
        assert!(median < Duration::from_millis(1) * SLOWER, "{median:?}");
    }
}
