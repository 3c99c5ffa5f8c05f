//! Files in the manner in which people publish them, each by a first line that says what should come of it:
//! `# main: SERVICE PORT` (`-` where the file does not tell), or `# refused`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hearth_charts::admit::{Package, Value, admit};
use hearth_charts::import::{Request, ValueKind, import};

#[test]
fn files_in_the_manner_of_many_catalogues_become_packages_with_their_own_front() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/published");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 40, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let wanted = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        let came = outcome(&text, &name);
        if came != wanted {
            wrong.push(format!("{name}: wanted `{wanted}`, came `{came}`"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

fn outcome(text: &str, name: &str) -> String {
    let outcome = import(&Request { file: "compose.yml", text, name: Some(name), template: None });
    let report = &outcome.report;
    let Some(files) = &outcome.files else {
        let reasons: Vec<_> =
            report.refused.iter().map(|entry| format!("{}: {}", entry.field, entry.reason)).collect();
        println!("{name}: {}", reasons.join(" | "));
        return "refused".to_owned();
    };
    assert_eq!(files["author/compose.yml"], text, "the author's file is kept byte for byte");
    let asked: Vec<_> = report.asked.iter().map(|entry| entry.field.as_str()).collect();
    println!(
        "{name}: asks {asked:?}, values {:?}",
        report.values.iter().map(|v| &v.name).collect::<Vec<_>>()
    );
    again(files, report);
    let main = report.main_service.as_deref().unwrap_or("-");
    format!("main: {main} {}", report.main_port.map_or("-".to_owned(), |port| port.to_string()))
}

/// What was made is admitted as an App would give it, and says nothing about the host any more.
fn again(files: &BTreeMap<String, String>, report: &hearth_charts::import::Report) {
    let bytes = files.iter().map(|(name, text)| (name.clone(), text.as_bytes().to_vec())).collect();
    let values = report.values.iter().map(|wanted| {
        let value = match wanted.kind {
            ValueKind::Secret => Value::Secret,
            ValueKind::Plain | ValueKind::Asked => Value::Plain(wanted.default.clone()),
        };
        (wanted.name.clone(), value)
    });
    let package = Package {
        files: &bytes,
        values: &values.collect(),
        devices: &report.devices,
        folders: &[],
        main_service: report.main_service.as_deref(),
    };
    let admitted = admit(&package).expect("what was imported is admitted");
    let noisy = ["host port", "container_name", "no effect here: every app"];
    for warning in admitted.warnings {
        assert!(!noisy.iter().any(|word| warning.to_string().contains(word)), "{warning}");
    }
}
