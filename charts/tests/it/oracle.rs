//! Our model of every published file is what Docker Compose prints for it.

use std::collections::BTreeMap;

use hearth_charts::compose::{ConfigRequest, config};
use hearth_meta::Problem;
use serde_json::Value;

use crate::corpus;

/// Differences we know and want; each with its reason in DECISIONS.md.
const KNOWN: &[&str] = &[];

fn normalise(text: &str) -> Result<Value, Vec<Problem>> {
    let files = BTreeMap::from([("compose.yml".to_owned(), text.as_bytes().to_vec())]);
    config(ConfigRequest {
        files: &files,
        names: &["compose.yml".to_owned()],
        folder: "/srv/app",
        home: Some("/root"),
        project: Some("app"),
        environment: BTreeMap::new(),
        env_files: &[],
        profiles: &[],
    })
}

/// The first place where two models differ.
pub(crate) fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys());
            keys.filter_map(|key| {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => difference(&path, a, b),
                    (Some(a), None) => Some(format!("{path}: only ours: {a}")),
                    (None, Some(b)) => Some(format!("{path}: only theirs: {b}")),
                    (None, None) => None,
                }
            })
            .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(&format!("{path}[{i}]"), a, b))
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        _ if ours == theirs => None,
        _ => Some(format!("{path}: ours {ours}, theirs {theirs}")),
    }
}

#[test]
fn agrees_with_docker_compose_on_every_published_file() {
    let (cases, real) = corpus::cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let outcome = match (normalise(&case.text), &case.expected) {
            (Ok(ours), Some(theirs)) => difference("", &ours, theirs),
            (Err(_), None) => None,
            (Ok(_), None) => Some("we read it, Docker Compose refuses it".to_owned()),
            (Err(problems), Some(_)) => Some(format!("we refuse it: {}", problems[0])),
        };
        if let Some(outcome) = outcome
            && !KNOWN.contains(&case.name.as_str())
        {
            wrong.push(format!("{}: {outcome}", case.name));
        }
    }
    let kind = if real { "published files" } else { "fixtures of our own" };
    println!("oracle: {} of {} {kind}", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
