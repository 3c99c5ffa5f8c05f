//! The text that is edited, in a file that only its owner may read, and what of an object is in it.

use std::path::{Path, PathBuf};

use hearth_meta::Problem;
use serde_json::{Map, Value, json};

use super::super::exit::{Exit, Failure};
use super::super::resource::Target;
use super::super::yaml;
use crate::private_file;

/// What begins a line that is never kept.
const MARK: &str = "#~";

/// The text that is edited.
pub(super) struct Buffer {
    path: PathBuf,
    /// What a person wrote, without our lines.
    text: String,
    /// The whole of what was put into the file last.
    shown: String,
    problems: Vec<Problem>,
}

impl Buffer {
    /// Writes an object into a new file.
    ///
    /// # Errors
    /// Where no file can be made.
    pub(super) fn make(target: &Target, object: &Value) -> Result<Self, Failure> {
        let name = format!("hearth-{}-{}-{}.yaml", target.kind.singular, target.name, std::process::id());
        let path = std::env::temp_dir().join(name);
        let text = yaml::written(&shown(object));
        let mut buffer = Self { path, text, shown: String::new(), problems: Vec::new() };
        let place = target.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
        let mut head =
            format!("{MARK} {target}{place}. Save and leave to go on; left as it is, nothing is changed.\n");
        head.push_str(&format!(
            "{MARK} Lines that begin with {MARK} are not kept. What its fields mean: hearth explain {}\n",
            target.kind.singular
        ));
        buffer.put(format!("{head}{}", buffer.text))?;
        Ok(buffer)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What a person wrote.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it, as it was shown last.
    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Reads what was saved; whether it is anything else than what was shown. An empty file is a change of mind.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn read(&mut self) -> Result<bool, Failure> {
        let saved = std::fs::read_to_string(&self.path).map_err(|error| self.failed("read", &error))?;
        let is_ours = |line: &&str| line.trim_start().starts_with(MARK);
        let kept: Vec<&str> = saved.lines().filter(|line| !is_ours(line)).collect();
        if kept.iter().all(|line| line.trim().is_empty()) {
            self.problems.clear();
            return Ok(false);
        }
        let is_new = saved != self.shown;
        self.text = kept.join("\n") + "\n";
        Ok(is_new)
    }

    /// Shows what is wrong with it, each above its line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(super) fn show(&mut self, mut problems: Vec<Problem>) -> Result<(), Failure> {
        problems.sort_by_key(|problem| problem.position.map(|position| position.line));
        let mut lines = vec![format!(
            "{MARK} {} problems; each stands above its line. Left as it is, nothing is changed.",
            problems.len()
        )];
        let told = |problem: &Problem, indent: &str| {
            format!("{indent}{MARK} {}: {}", problem.field, problem.message.replace('\n', " "))
        };
        lines.extend(
            problems.iter().filter(|problem| problem.position.is_none()).map(|problem| told(problem, "")),
        );
        for (number, line) in self.text.lines().enumerate() {
            let here =
                problems.iter().filter(|problem| problem.position.is_some_and(|at| at.line == number + 1));
            let indent: String = line.chars().take_while(|c| *c == ' ').collect();
            lines.extend(here.map(|problem| told(problem, &indent)));
            lines.push(line.to_owned());
        }
        self.problems = problems;
        self.put(lines.join("\n") + "\n")
    }

    fn put(&mut self, text: String) -> Result<(), Failure> {
        // Never written through a file that somebody laid there, or a link.
        private_file::write(&self.path, &text)
            .map_err(|error| Failure::new(Exit::Rejected, format!("{error:#}")))?;
        self.shown = text;
        Ok(())
    }

    /// Takes the file away.
    pub(super) fn remove(&self) {
        // What is left is of no use and readable by its owner alone.
        let _ = std::fs::remove_file(&self.path);
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Failure {
        Failure::new(Exit::Rejected, format!("{} cannot be {what}: {error}", self.path.display()))
    }
}

/// What of an object is edited: everything a person writes, and nothing that is only seen.
pub(in super::super) fn shown(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut kept = Map::new();
    for field in ["name", "namespace", "labels", "annotations"] {
        let value = &metadata[field];
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            kept.insert(field.to_owned(), value.clone());
        }
    }
    let mut shown = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": kept });
    for (field, value) in object.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()) {
            shown[field] = value.clone();
        }
    }
    shown
}

/// An object with what was edited in the place of what it had.
pub(super) fn into(object: &Value, edited: &Value) -> Value {
    let mut into = object.clone();
    if let Some(fields) = into.as_object_mut() {
        fields.retain(|field, _| ["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()));
    }
    for (field, value) in edited.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()) {
            into[field] = value.clone();
        }
    }
    for field in ["labels", "annotations"] {
        match &edited["metadata"][field] {
            Value::Null => {
                if let Some(metadata) = into["metadata"].as_object_mut() {
                    metadata.remove(field);
                }
            }
            value => into["metadata"][field] = value.clone(),
        }
    }
    into
}
