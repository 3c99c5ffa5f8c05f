//! The program itself, given files made to hurt: it answers within a second and 200 MB, its own size included, and ends
//! as it does for any other file.
//!
//! The memory is a limit the system keeps: over it the program would be ended by a signal. The time is the processor's, so
//! that a busy machine does not count, of a release build; a build for development is given ten times as much.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

const MEMORY_KIB: u32 = 200 * 1024;
const SLOWER: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

fn many(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Files by what they try.
fn hostile() -> Vec<(&'static str, String)> {
    let service = "services:\n  a:\n    image: a\n";
    let levels = (1..30).map(|n| {
        let below = format!("*a{},", n - 1).repeat(8);
        format!("x-{n}: &a{n} [{below}]\n")
    });
    let nested = format!("{}{}", "${A:-".repeat(100_000), "}".repeat(100_000));
    vec![
        ("alias bomb", format!("x-0: &a0 [x]\n{}{service}", levels.collect::<String>())),
        ("ten mebibytes", format!("{service}{}", "# comment\n".repeat(1 << 20))),
        ("ten mebibytes of a text", format!("{service}    user: \"{}\"\n", "x".repeat(10 << 20))),
        ("deep brackets", format!("x-a: {}", "[".repeat(500_000))),
        ("deep lists", format!("x-a:\n  {}a", "- ".repeat(400_000))),
        ("deep variables", format!("{service}    user: \"{nested}\"\n")),
        ("many variables", format!("{service}    user: \"{}\"\n", "${A:-bbbbbbbb}".repeat(70_000))),
        (
            "thirty thousand services",
            format!("services:\n{}", many(30_000, |n| format!("  s{n}: {{image: a}}\n"))),
        ),
        (
            "nine hundred services that copy a large one",
            format!(
                "{service}    environment:\n{}{}",
                many(8_000, |n| format!("      A{n}: b\n")),
                many(900, |n| format!("  s{n}: {{extends: a}}\n"))
            ),
        ),
        (
            "a config given to everybody",
            format!(
                "services:\n{}configs:\n  c:\n    content: \"{}\"\n",
                many(900, |n| format!("  s{n}: {{image: a, configs: [c]}}\n")),
                "x".repeat(900_000)
            ),
        ),
        ("ports without end", format!("{service}    ports:\n{}", "      - \"1-34999\"\n".repeat(30_000))),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the program is what is measured")]
fn run(words: &[&str], file: &Path) -> (Option<i32>, Duration) {
    // `times` says last how long the shell's children worked, in its words: 0m1.250s 0m0.100s.
    let script =
        format!("ulimit -v {MEMORY_KIB} && \"$0\" \"$@\" >/dev/null 2>&1; code=$?; times; exit $code");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_hearth")).args(words).arg(file);
    let output = command.output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let worked = said.lines().last().unwrap_or_default().split_whitespace().map(seconds).sum();
    (output.status.code(), Duration::from_secs_f64(worked))
}

fn seconds(text: &str) -> f64 {
    let (minutes, seconds) = text.trim_end_matches('s').split_once('m').expect("times says 0m0.000s");
    let number = |text: &str| text.parse::<f64>().expect("times says numbers");
    number(minutes) * 60.0 + number(seconds)
}

#[test]
fn no_hostile_file_takes_the_program_over_a_second_or_200_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let (allowed, mut wrong) = (Duration::from_secs(1) * SLOWER, Vec::new());
    for (name, text) in hostile() {
        let file = folder.path().join("compose.yml");
        std::fs::write(&file, text).unwrap();
        let package = folder.path().join("package");
        let package = package.to_str().unwrap();
        for words in [&["compose", "config", "-p", "app", "-f"][..], &["import", "-o", package]] {
            let (code, took) = run(words, &file);
            drop(std::fs::remove_dir_all(package));
            println!("{took:8.1?} {code:?}  {} of {name}", words[0]);
            // Read (0) or refused (3); anything else is a program that was ended or fell over.
            if !matches!(code, Some(0 | 3)) || took > allowed {
                wrong.push(format!("{} of {name}: {code:?} after {took:?}", words[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
