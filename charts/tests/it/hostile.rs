//! One file for each way out of the sandbox; none is admitted, each is refused at its field.

use std::fs;
use std::path::Path;

use crate::admission::try_admit;

#[test]
fn no_hostile_file_is_admitted_and_each_is_refused_at_its_field() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 100, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let field =
            text.lines().next().and_then(|line| line.strip_prefix("# refused:")).map(str::trim).unwrap();
        match try_admit(&text, None) {
            Ok(_) => wrong.push(format!("{name}: admitted")),
            Err(problems) if problems.iter().any(|problem| at_field(&problem.field, field)) => {}
            Err(problems) => {
                let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
                wrong.push(format!("{name}: expected {field}, found {}", found.join(" | ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

/// The alias bomb may stop anywhere below the value that goes too far.
fn at_field(found: &str, wanted: &str) -> bool {
    found == wanted || (wanted.starts_with("x-") && found.starts_with("x-"))
}
