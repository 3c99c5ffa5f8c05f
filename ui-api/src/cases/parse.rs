//! Reads one case: its shape by the schema, then what only words can say, each problem at its field.

use std::path::Path;
use std::time::Duration;

use hearth_charts::yaml::Document;
use hearth_engine::Key;
use hearth_meta::{Problem, schema};
use hearth_pretend::Op;
use serde_json::{Map, Value};

use super::case::{Asking, Case, Named, Others, Step, Verb};
use super::matching::unknown_words;
use super::objects::{Objects, identify, judge};
use super::read::{Texts, packages_of};
use super::schema::schema;
use super::written::{as_list, in_full, is_empty, joined, listed, summary};
use super::{HOUSEHOLD, breaks, disturb};
use crate::cli::duration;
use crate::cli::resource::{Target, kind_named};

/// Where a document says what it is.
pub(super) const KIND_FIELD: &str = "kind";
/// Fields of a step that go with another one.
const BESIDE: [&str; 2] = ["refused", "within"];
/// How long `until` may take where nothing is said.
const WITHIN: Duration = Duration::from_secs(30 * 60);

/// Reads the case of a document.
pub(super) struct Reader<'a> {
    file: &'a Path,
    document: &'a Document,
    texts: &'a mut Texts,
    namespace: String,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a Path, document: &'a Document, texts: &'a mut Texts) -> Self {
        Self { file, document, texts, namespace: HOUSEHOLD.to_owned(), problems: Vec::new() }
    }

    /// The case, or `None` where something is wrong with it, which is noted.
    pub(super) fn case(&mut self) -> Option<Case> {
        let value = in_full(&self.document.value);
        self.problems = schema::check(&value, &schema());
        let case = self.understood(&value);
        let problems = std::mem::take(&mut self.problems);
        let is_well = problems.is_empty();
        self.texts.note(self.file, self.document, problems);
        case.filter(|_| is_well)
    }

    fn understood(&mut self, value: &Value) -> Option<Case> {
        if let Some(namespace) = value["namespace"].as_str() {
            self.namespace = namespace.to_owned();
        }
        let name = value["name"].as_str()?.to_owned();
        if name.trim().is_empty() {
            self.problem("name", "must say what the case shows");
        }
        let mut steps = Vec::new();
        let all = value["steps"].as_array()?;
        for (number, step) in all.iter().enumerate() {
            let at = format!("steps[{number}]");
            // What is not well formed says nothing yet.
            if !self.problems.iter().any(|problem| problem.field.starts_with(&at)) {
                steps.extend(self.step(&at, step));
            }
        }
        if all.is_empty() {
            self.problem("steps", "there is no step");
        }
        let seed = value["seed"].as_u64().unwrap_or(1);
        Some(Case { name, seed, restless: value["restless"].as_str().map(str::to_owned), steps })
    }

    fn step(&mut self, at: &str, step: &Value) -> Option<Step> {
        let fields = step.as_object()?;
        let verbs: Vec<&String> = fields.keys().filter(|key| !BESIDE.contains(&key.as_str())).collect();
        let [verb] = verbs.as_slice() else {
            let said = match verbs.as_slice() {
                [] => "does nothing: write one of apply, settle, assert, break, ...".to_owned(),
                several => format!("does one thing; make a step of each of {}", joined(several)),
            };
            self.problem(at, said);
            return None;
        };
        for beside in BESIDE.iter().filter(|beside| fields.contains_key(**beside)) {
            let goes_with: &[&str] =
                if *beside == "refused" { &["apply", "change", "delete"] } else { &["until"] };
            if !goes_with.contains(&verb.as_str()) {
                self.problem(&format!("{at}.{beside}"), format!("goes with {} alone", goes_with.join(", ")));
            }
        }
        let place = self.document.position(at).map_or(0, |position| position.line);
        let words = summary(verb, &step[verb.as_str()]);
        let verb = self.verb(&format!("{at}.{verb}"), verb, step)?;
        Some(Step { place: format!("{}:{place}", self.file.display()), words, verb })
    }

    fn verb(&mut self, at: &str, verb: &str, step: &Value) -> Option<Verb> {
        let value = &step[verb];
        if ["assert", "assertMachine", "until", "why", "events"].contains(&verb) {
            for (field, said) in unknown_words(value) {
                self.problem(&format!("{at}.{field}"), said);
            }
        }
        Some(match verb {
            "apply" | "change" | "delete" => {
                let refused = step.get("refused");
                let asked = self.asked(at, verb, value, refused.is_some());
                if refused.is_some_and(|said| said == "" || said.is_null()) {
                    let place = format!("{}.refused", at.rsplit_once('.').map_or(at, |(step, _)| step));
                    self.problem(&place, "must say a part of the refusal");
                }
                match refused {
                    Some(said) => Verb::Refused(asked, said.clone()),
                    None => Verb::Ask(asked),
                }
            }
            "settle" => Verb::Settle,
            "wait" => Verb::Wait(self.time(at, value)?),
            "until" => {
                let place = at.replace(".until", ".within");
                let within = step.get("within").map(|within| self.time(&place, within));
                Verb::Until(self.expected(at, value), within.unwrap_or(Some(WITHIN))?)
            }
            "assert" => Verb::Assert(self.expected(at, value)),
            "assertMachine" => {
                self.machine(at, value);
                Verb::AssertMachine(value.clone())
            }
            "break" => Verb::Break(self.told(at, breaks::parse(value))?),
            "mend" => Verb::Mend(self.mended(at, value)),
            "restart" => Verb::Restart(value["seed"].as_u64()),
            "why" => Verb::Why(self.expected(at, value)),
            "events" => {
                let expected = self.expected(at, value);
                let listed = |(named, events): (Named, Value)| {
                    let events = as_list(&events);
                    if events.is_empty() {
                        self.problem(
                            &format!("{at}.{}", named.written),
                            "names no event: write parts of some",
                        );
                    }
                    (named, events)
                };
                Verb::Events(expected.into_iter().map(listed).collect())
            }
            "others" => Verb::Others(self.told(at, others(value))?),
            "disturb" => {
                let (happenings, faults) = disturb::parse(self, at, value);
                Verb::Disturb(happenings, faults)
            }
            _ => return None,
        })
    }

    /// What a step asks for; of what must be refused only which object it is, is looked at.
    pub(super) fn asked(&mut self, at: &str, verb: &str, value: &Value, refused: bool) -> Vec<Asking> {
        match verb {
            "apply" => self.applied(at, value, refused),
            "change" => {
                let changes = self.expected(at, value);
                for (named, _) in changes.iter().filter(|(_, change)| is_empty(change)) {
                    self.problem(&format!("{at}.{}", named.written), "changes nothing");
                }
                changes.into_iter().map(|(named, change)| Asking::Change(named, change)).collect()
            }
            _ => {
                let names = listed(at, value);
                if names.is_empty() {
                    self.problem(at, "names no object");
                }
                let named = |(at, name): (String, &Value)| self.named(&at, name.as_str().unwrap_or_default());
                names.into_iter().filter_map(named).map(Asking::Delete).collect()
            }
        }
    }

    fn applied(&mut self, at: &str, value: &Value, refused: bool) -> Vec<Asking> {
        let (mut from_files, mut inline) = (Objects::default(), Vec::new());
        for (at, item) in listed(at, value) {
            match item {
                Value::String(file) => self.take_file(&at, file, refused, &mut from_files),
                Value::Object(_) => inline.extend(self.inline(&at, item, refused)),
                _ => self.problem(&at, "must be the name of a file, or an object"),
            }
        }
        from_files.tell_doubles(self.texts);
        let mut asked = from_files.into_asking();
        asked.extend(inline);
        if asked.is_empty() && self.problems.is_empty() && self.texts.problems.is_empty() {
            self.problem(at, "names no object");
        }
        asked
    }

    fn inline(&mut self, at: &str, item: &Value, refused: bool) -> Vec<Asking> {
        let mut value = item.clone();
        let judged = if refused {
            identify(&mut value, &self.namespace).map(|_| None)
        } else {
            judge(&mut value, &self.namespace)
                .and_then(|_| packages_of(self.file, &value).map_err(|problem| vec![problem]))
        };
        match judged {
            Ok(package) => package.into_iter().chain([Asking::Apply(value)]).collect(),
            Err(problems) => {
                self.problems.extend(problems.into_iter().map(|problem| problem.under(at)));
                Vec::new()
            }
        }
    }

    /// Of what must be refused only which object it is, is looked at, here and wherever else the file is read.
    fn take_file(&mut self, at: &str, name: &str, refused: bool, objects: &mut Objects) {
        let path = self.file.parent().unwrap_or(Path::new("")).join(name);
        let mut paths = vec![path.clone()];
        if path.is_dir() {
            paths = super::read::yaml_in(&path).unwrap_or_default();
        }
        if paths.is_empty() || !paths.iter().all(|path| path.is_file()) {
            self.problem(at, format!("there is no file {name} beside this one"));
            return;
        }
        for path in paths {
            if refused {
                self.texts.refused.insert(path.clone());
            }
            match self.texts.documents(&path) {
                Ok(Some(documents)) if refused => {
                    objects.take_to_be_refused(&path, documents, &self.namespace, self.texts);
                }
                Ok(Some(documents)) => objects.take(&path, documents, &self.namespace, self.texts),
                Ok(None) => {}
                Err(_) => self.problem(at, format!("{name} cannot be read")),
            }
        }
    }

    /// Objects by name, each with what is said of it.
    pub(super) fn expected(&mut self, at: &str, value: &Value) -> Vec<(Named, Value)> {
        let each = value.as_object().cloned().unwrap_or_else(Map::new);
        if each.is_empty() {
            self.problem(at, "names no object");
        }
        let named = |(name, said): (String, Value)| Some((self.named(&format!("{at}.{name}"), &name)?, said));
        each.into_iter().filter_map(named).collect()
    }

    /// Something of the machine is named; what names nothing would hold of any machine.
    fn machine(&mut self, at: &str, value: &Value) {
        if is_empty(value) {
            self.problem(at, "names nothing on the machine");
        }
        for (part, _) in value.as_object().into_iter().flatten().filter(|(_, things)| is_empty(things)) {
            self.problem(&format!("{at}.{part}"), "names nothing on the machine");
        }
        self.changes(&format!("{at}.changes"), &value["changes"]);
    }

    /// What is counted must be a change that the machine can be asked for: of any other there are never any.
    fn changes(&mut self, at: &str, value: &Value) {
        for change in value.as_object().into_iter().flatten().map(|(change, _)| change) {
            let mut known = Op::ALL.iter().filter_map(|op| op.change());
            if !known.any(|known| change.strip_prefix(known).is_some_and(|rest| rest.starts_with(' '))) {
                let known: Vec<&str> = Op::ALL.iter().filter_map(|op| op.change()).collect();
                let said = format!(
                    "no change of the machine, with what is changed; it begins with {}",
                    known.join(", ")
                );
                self.problem(&format!("{at}.{change}"), said);
            }
        }
    }

    fn named(&mut self, at: &str, written: &str) -> Option<Named> {
        let found = named(written, &self.namespace);
        self.told(at, found)
    }

    fn time(&mut self, at: &str, value: &Value) -> Option<Duration> {
        self.told(at, duration::parse(value.as_str().unwrap_or_default()))
    }

    fn mended(&mut self, at: &str, value: &Value) -> Option<Vec<String>> {
        if value.is_null() || value == "everything" || value.as_object().is_some_and(Map::is_empty) {
            return None;
        }
        let word = |(at, item): (String, &Value)| match item.as_str() {
            Some(word) => Some(word.to_owned()),
            None => {
                self.problem(&at, "must be the name of what is mended");
                None
            }
        };
        let names: Vec<String> = listed(at, value).into_iter().filter_map(word).collect();
        if names.is_empty() {
            self.problem(at, "names nothing; write what is mended, or `everything`");
        }
        Some(names)
    }

    /// Keeps what was understood, or notes why not.
    pub(super) fn told<T>(&mut self, at: &str, found: Result<T, String>) -> Option<T> {
        found.map_err(|said| self.problem(at, said)).ok()
    }

    pub(super) fn problem(&mut self, at: &str, said: impl Into<String>) {
        self.problems.push(Problem::new(at, said));
    }
}

/// The object that a case calls `KIND/NAME` or `KIND/NAMESPACE/NAME`.
pub(super) fn named(written: &str, namespace: &str) -> Result<Named, String> {
    let unclear = || format!("{written:?} does not name an object; write it as app/photos");
    let (kind, name) = written.split_once('/').ok_or_else(unclear)?;
    let (namespace, name) = name.split_once('/').unwrap_or((namespace, name));
    if name.is_empty() || name.contains('/') {
        return Err(unclear());
    }
    let kind = kind_named(kind).map_err(|failure| format!("{}; {}", failure.message, failure.next))?;
    let target = Target::new(kind, namespace, name);
    let key = Key::new(target.kind.kind, target.namespace.as_deref().unwrap_or_default(), name);
    Ok(Named { kind: target.kind, key, written: written.to_owned() })
}

fn others(value: &Value) -> Result<Others, String> {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    let others = Others {
        container: text("container"),
        network: text("network"),
        subnet: text("subnet").unwrap_or_else(|| "192.168.7.0/24".into()),
        image: text("image").unwrap_or_else(|| "stranger:1".into()),
        runs: value["is"] != "stopped",
        labels: value["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
    };
    let details: &[&str] = match (&others.container, &others.network) {
        (Some(_), _) => &["container", "network", "image", "is", "labels"],
        (None, Some(_)) => &["network", "subnet", "labels"],
        (None, None) => return Err("names neither a container nor a network".into()),
    };
    breaks::no_more_than(value, details, &[])?;
    Ok(others)
}
