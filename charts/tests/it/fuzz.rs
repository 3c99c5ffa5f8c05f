//! Generated and mutated files, read by us and by Docker Compose itself: no unexplained difference.
//!
//! Runs when `$HEARTH_COMPOSE_PROGRAM` names a Docker Compose program; otherwise it says so and
//! passes. `$HEARTH_FUZZ_COUNT` files are tried (300), from `$HEARTH_FUZZ_SEED` (the time of day);
//! the seed is printed, and the same seed makes the same files. `$HEARTH_FUZZ_KEEP` names a folder
//! in which files that differ are kept. `$HEARTH_FUZZ_KIND` makes only `layered` files, `generated` or `mutated` ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use hearth_charts::compose::{ConfigRequest, config};
use serde_json::Value;

use crate::corpus::{Case, cases};
use crate::oracle::difference;

pub(crate) mod dice;
mod generate;
mod layered;
mod mutate;

use dice::Dice;

/// A project: files by name. `compose.yml` is the first, `override.yml` and `third.yml` follow if there.
pub(crate) type Project = BTreeMap<String, String>;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn reads_generated_files_as_docker_compose_does() {
    let Some(program) = std::env::var_os("HEARTH_COMPOSE_PROGRAM") else {
        println!("HEARTH_COMPOSE_PROGRAM names no program: files are not compared");
        return;
    };
    let clock =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |t| t.as_secs());
    let seed = setting("HEARTH_FUZZ_SEED").unwrap_or_else(clock);
    let count = setting("HEARTH_FUZZ_COUNT").unwrap_or(300);
    println!("seed {seed}, {count} files");
    let (published, _) = cases();
    let found = Mutex::new(Vec::new());
    let agreed: Mutex<(u64, BTreeMap<String, u64>)> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (published, found, agreed, program) = (&published, &found, &agreed, Path::new(&program));
            scope.spawn(move || {
                let folder = tempfile::tempdir().expect("a temporary folder");
                for number in (thread..count).step_by(2) {
                    let project = project_for(seed, number, published);
                    match compare(&project, folder.path(), program) {
                        Ok(refusal) => {
                            let mut agreed = agreed.lock().expect("no thread panics with it");
                            match refusal {
                                None => agreed.0 += 1,
                                Some(why) => *agreed.1.entry(kind(&why)).or_default() += 1,
                            }
                        }
                        Err(message) => {
                            keep(number, &project, &message);
                            found
                                .lock()
                                .expect("no thread panics with it")
                                .push(format!("#{number}: {message}"));
                        }
                    }
                }
            });
        }
    });
    let (accepted, refusals) = agreed.into_inner().expect("all threads ended");
    let refused: u64 = refusals.values().sum();
    let mut often: Vec<(&String, &u64)> = refusals.iter().collect();
    often.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    // So that whoever makes files sees whether they are refused for what was meant to be tried.
    often.iter().take(12).for_each(|(why, count)| println!("{count:6} refused: {why}"));
    let found = found.into_inner().expect("all threads ended");
    println!("agreed on {accepted} models and {refused} refusals, {} differ", found.len());
    let shown = found.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(found.is_empty(), "seed {seed}: {} of {count} differ:\n{shown}", found.len());
}

/// Every compose file under `$HEARTH_COMPARE_FOLDER`, with what stands beside it, read by both: for
/// test data of others, which is not part of this project.
#[test]
fn reads_the_files_of_a_folder_as_docker_compose_does() {
    let (Some(program), Some(root)) =
        (std::env::var_os("HEARTH_COMPOSE_PROGRAM"), std::env::var_os("HEARTH_COMPARE_FOLDER"))
    else {
        println!("HEARTH_COMPARE_FOLDER names no folder: nothing is compared");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut agreed, mut found, mut folders) = (0, Vec::new(), vec![Path::new(&root).to_owned()]);
    while let Some(next) = folders.pop() {
        let entries: Vec<_> =
            fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        folders.extend(entries.iter().filter(|path| path.is_dir()).cloned());
        let mut beside = Project::new();
        gather(&next, "", &mut beside);
        for file in
            entries.iter().filter(|path| path.extension().is_some_and(|end| end == "yml" || end == "yaml"))
        {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let mut project = beside.clone();
            project.remove("override.yml");
            project.insert("compose.yml".to_owned(), text);
            match compare(&project, folder.path(), Path::new(&program)) {
                Ok(_) => agreed += 1,
                Err(message) => found.push(format!("{}: {message}", file.display())),
            }
        }
    }
    println!("agreed on {agreed}, {} differ", found.len());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn gather(folder: &Path, prefix: &str, into: &mut Project) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() && prefix.len() < 60 {
            gather(&entry.path(), &format!("{name}/"), into);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            into.insert(name, text);
        }
    }
}

fn project_for(seed: u64, number: u64, published: &[Case]) -> Project {
    let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let kind = match std::env::var("HEARTH_FUZZ_KIND").as_deref() {
        Ok("layered") => 0,
        Ok("generated") => 50,
        Ok("mutated") => 99,
        _ => dice.below(100),
    };
    if kind < 30 {
        layered::project(&mut dice)
    } else if published.is_empty() || kind < 60 {
        generate::project(&mut dice)
    } else {
        let case = &published[dice.below(published.len())];
        let text = mutate::mutate(&mut dice, &case.text);
        Project::from([("compose.yml".to_owned(), text)])
    }
}

/// A refusal without its names and numbers.
fn kind(message: &str) -> String {
    let words = message.split_whitespace().filter(|word| word.chars().all(|c| c.is_ascii_alphabetic()));
    words.take(8).collect::<Vec<_>>().join(" ")
}

/// Whether both agree, on a model (none) or on a refusal.
fn compare(project: &Project, folder: &Path, program: &Path) -> Result<Option<String>, String> {
    let mut difference = String::new();
    // It goes through mappings in any order, so of some files it says one thing today and another tomorrow.
    for _ in 0..4 {
        match compare_once(project, folder, program) {
            Ok(agreed) => return Ok(agreed),
            Err(message) => difference = message,
        }
    }
    Err(difference)
}

fn compare_once(project: &Project, folder: &Path, program: &Path) -> Result<Option<String>, String> {
    let theirs = docker_compose(project, folder, program)?;
    let ours = ours(project, folder);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => match difference("", &ours, &theirs) {
            None => Ok(None),
            Some(difference) => Err(difference),
        },
        (Err(_), Err(message)) => Ok(Some(message)),
        (Ok(_), Err(message)) if explained(&message) => Ok(Some(message)),
        (Ok(_), Err(message)) => Err(format!("only they refuse: {message}")),
        (Err(message), Ok(_)) => Err(format!("only we refuse: {message}")),
    }
}

/// What their refusal reads like when the program itself fell over.
const CRASHED: &str = "crashed";

/// Differences on purpose; see DECISIONS.md, 2.
fn explained(message: &str) -> bool {
    message == CRASHED
        || message.contains("#extensions")
        || message.contains("mapping key \"<<\" already defined")
}

fn names(project: &Project) -> Vec<String> {
    ["compose.yml", "override.yml", "third.yml"]
        .iter()
        .filter(|name| project.contains_key(**name))
        .map(ToString::to_string)
        .collect()
}

fn ours(project: &Project, folder: &Path) -> Result<Value, String> {
    let files: BTreeMap<String, Vec<u8>> =
        project.iter().map(|(name, text)| (name.clone(), text.as_bytes().to_vec())).collect();
    let folder = folder.to_string_lossy();
    let outcome = config(ConfigRequest {
        files: &files,
        names: &names(project),
        folder: &folder,
        home: None,
        project: Some("app"),
        environment: BTreeMap::from([
            ("PWD".to_owned(), folder.to_string()),
            ("SET".to_owned(), "value".to_owned()),
            ("EMPTY".to_owned(), String::new()),
        ]),
        env_files: &[],
        profiles: &["prod".to_owned()],
    });
    outcome.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "))
}

#[expect(clippy::disallowed_methods, reason = "the oracle is a program")]
fn docker_compose(project: &Project, folder: &Path, program: &Path) -> Result<Result<Value, String>, String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        let path = entry.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| error.to_string())?;
    }
    for (name, text) in project {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| error.to_string())?;
    }
    // Some files keep it busy for ever.
    let mut command = Command::new("timeout");
    command
        .arg("5")
        .arg(program)
        .args(["-p", "app", "--profile", "prod", "--project-directory"])
        .arg(folder)
        .current_dir(folder);
    for name in names(project) {
        command.arg("-f").arg(folder.join(name));
    }
    command.args(["config", "--format", "json"]);
    command.env_clear().env("SET", "value").env("EMPTY", "").env("PWD", folder);
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let crashed = said.contains("goroutine ") || output.status.code() == Some(124);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Ok(Err(if crashed { CRASHED.to_owned() } else { last.to_owned() }));
    }
    serde_json::from_slice(&output.stdout)
        .map(Ok)
        .map_err(|error| format!("their output is no JSON: {error}"))
}

fn keep(number: u64, project: &Project, message: &str) {
    let Some(folder) = std::env::var_os("HEARTH_FUZZ_KEEP") else { return };
    let folder = Path::new(&folder).join(number.to_string());
    for (name, text) in project {
        let path = folder.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(&folder)).and_then(|()| fs::write(&path, text));
        if let Err(error) = written {
            println!("cannot keep {}: {error}", path.display());
        }
    }
    drop(fs::write(folder.join("difference.txt"), message));
}
