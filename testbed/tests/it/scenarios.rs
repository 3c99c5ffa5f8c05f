//! The stories of `testbed/scenarios`, carried out as `hearth test` does, and held to what is recorded beside them.
//!
//! `HEARTH_WRITE_SCENARIOS=1 cargo nextest run -p hearth-testbed scenarios` takes what happens as right and writes the
//! records; the change is then seen in review. `HEARTH_TEST_LONG` tries a crash at every boundary of every scenario.

use std::path::{Path, PathBuf};

use hearth::cli::exit::Exit;
use hearth::cli::output::Output;

/// Of these a crash is tried at every boundary in every run: an install, two at once, an update of a secret.
const CRASHED: &[&str] = &["install", "names"];

/// What every scenario is held to besides resting, and restarting the same, at its end.
const HELD_TO: &[&str] = &["--check", "idempotent", "--check", "restart"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// Carries out the cases of a file, or of a folder, as the program does.
async fn hearth_test(file: &str, more: &[&str]) {
    let file = folder().join(file);
    let (out, kept) = Output::kept(None);
    let file = file.display().to_string();
    let words = ["hearth", "test", &file].into_iter().chain(more.iter().copied());
    let exit = hearth::cli::run_kept(words.map(Into::into).collect::<Vec<_>>(), &out).await;
    assert_eq!(exit, Exit::Done, "{}{}", kept.out(), kept.err());
    assert!(kept.out().trim_end().ends_with(" passed, 0 failed"), "{}", kept.out());
}

async fn happens_as_recorded(name: &str) {
    let record = folder().join(format!("{name}.out"));
    if std::env::var_os("HEARTH_WRITE_SCENARIOS").is_some() {
        return hearth_test(&format!("{name}.yaml"), &["--accept"]).await;
    }
    assert!(record.is_file(), "there is no {}; HEARTH_WRITE_SCENARIOS=1 writes it", record.display());
    hearth_test(&format!("{name}.yaml"), HELD_TO).await;
}

/// A test for each scenario file.
macro_rules! scenarios {
    ($($name:ident),+ $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];
        $(
            #[tokio::test]
            async fn $name() {
                happens_as_recorded(stringify!($name)).await;
            }
        )+
    };
}

scenarios!(data, docker, drift, files, health, images, install, names, server);

/// Each is a search's failure, cut down, as it was kept; in the order of happenings in which it failed.
#[tokio::test]
async fn what_was_found_by_chance_once_holds_ever_since() {
    hearth_test("found", HELD_TO).await;
}

#[test]
fn every_scenario_file_has_its_test_and_its_record() {
    let names = |ending: &str| {
        let mut names: Vec<String> = std::fs::read_dir(folder())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
            .collect();
        names.sort();
        names
    };
    let mut tested = NAMES.to_vec();
    tested.sort_unstable();
    assert_eq!(names(".yaml"), tested, "each file has its line in `scenarios!`");
    assert_eq!(names(".out"), tested, "each file has its record, and no record is left of another");
}

#[tokio::test]
async fn a_crash_anywhere_in_the_last_wish_of_a_scenario_ends_the_same() {
    let is_long = std::env::var_os("HEARTH_TEST_LONG").is_some();
    for name in if is_long { NAMES } else { CRASHED } {
        hearth_test(&format!("{name}.yaml"), &["--check", "crash-anywhere"]).await;
    }
}
