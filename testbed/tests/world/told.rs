//! A failure that was cut down, told as a case of `hearth test`: written to `scenarios/found` once it is seen to fail
//! there in the same way, so that it is held from then on.

use std::path::{Path, PathBuf};

use hearth::cases::{Outcome, Suite};
use hearth::world::random::Random;
use serde_json::{Map, Value, json};

/// In so many orders a case is tried: how it came to its last wish is not to the instant what happened in the search.
const ORDERS: usize = 24;

/// What is told, in steps as a case has them.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The name of its file.
    pub(crate) file: String,
    /// The sentence it is told by.
    pub(crate) name: String,
    /// By which the home came to be.
    pub(crate) seed: u64,
    /// By which it goes on, once it stands.
    pub(crate) run_seed: u64,
    /// What it takes to have the home.
    pub(crate) home: Vec<Value>,
    /// What goes wrong in it, what is asked for last, and what must come of it.
    pub(crate) story: Vec<Value>,
}

impl Told {
    /// As a file of cases.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "apiVersion: test.hearth.dev/v1\nkind: Case\nname: {}\nseed: {}\nsteps:\n",
            scalar(&self.name),
            self.seed
        );
        let restart = json!({ "restart": { "seed": self.run_seed } });
        for step in self.home.iter().chain([&restart]).chain(&self.story) {
            text += &step_text(step);
        }
        text
    }

    /// The same, in an order in which it fails as the search did, if there is one.
    pub(crate) fn that_fails(&self, said: &str) -> Option<Self> {
        let mut random = Random::new(self.run_seed);
        let seeds = std::iter::once(self.run_seed).chain(std::iter::repeat_with(|| random.next()));
        let told = seeds.take(ORDERS).map(|run_seed| Self { run_seed, ..self.clone() });
        told.into_iter().find(|told| how(&told.text()).is_some_and(|seen| Way::of(&seen) == Way::of(said)))
    }

    /// Writes it to a folder, and says what became of it.
    pub(crate) fn keep(&self, said: &str, folder: &Path) -> Option<PathBuf> {
        let Some(told) = self.that_fails(said) else {
            println!("as a case it does not fail so in {ORDERS} orders; it would be:\n{}", self.text());
            return None;
        };
        let path = folder.join(format!("{}.yaml", self.file));
        let kept = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, told.text()));
        match kept {
            Ok(()) => println!("it is kept as a case that fails so: {}", path.display()),
            Err(error) => println!("{} cannot be written ({error}):\n{}", path.display(), told.text()),
        }
        Some(path)
    }
}

/// Where cases lie that were found by chance.
pub(crate) fn found() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/found")
}

/// Whether a case may ask for this: what is refused at the door has to be said to be.
pub(crate) fn may_be_asked_for(object: &Value) -> bool {
    let steps = [json!({ "apply": [object] })];
    let told = Told {
        file: String::new(),
        name: "one".into(),
        seed: 1,
        run_seed: 1,
        home: steps.into(),
        story: vec![],
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.yaml");
    std::fs::write(&path, told.text()).unwrap();
    Suite::read(&path).is_ok()
}

/// What goes wrong in the only case of a text, if anything does.
pub(crate) fn how(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.yaml");
    std::fs::write(&path, text).unwrap();
    let suite = Suite::read(&path).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let case = &suite.files[0].cases[0];
    hearth::cases::run(&path, case, None, &[])
        .into_iter()
        .find_map(|Outcome { failure, .. }| failure)
        .map(|f| f.said)
}

/// How `hearth test` ends on a file, and what it says.
pub(crate) fn hearth_test(path: &Path) -> (u8, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (out, kept) = hearth::cli::output::Output::kept(None);
    let words = ["hearth", "test", &path.display().to_string()].map(Into::into).to_vec();
    let exit = runtime.block_on(hearth::cli::run_kept(words, &out));
    (exit as u8, format!("{}{}", kept.out(), kept.err()))
}

/// In which way something fails: a search and a case say it in other words.
#[derive(Debug, PartialEq)]
enum Way {
    /// It never comes to rest.
    Unrest,
    /// It ends otherwise than it should.
    End,
    /// It does not come up.
    Case,
    /// What must hold at every moment did not: the words about it, without what differs from run to run.
    Moment(String),
}

impl Way {
    fn of(said: &str) -> Self {
        let first = said.lines().next().unwrap_or_default();
        let first = first
            .strip_prefix("seed ")
            .and_then(|rest| rest.split_once(": "))
            .map_or(first, |(_, rest)| rest);
        let says = |parts: &[&str]| parts.iter().any(|part| first.contains(part));
        if says(&["does not come to rest", "without a pause"]) {
            return Self::Unrest;
        }
        if says(&["never comes up", "after so many", "is not there", "there is no "]) {
            return Self::Case;
        }
        if says(&["is said to be Ready", "still said to be Ready", "the data in", "both run for one object"])
            && !says(&["and nobody wished it"])
            || says(&["is removed, and nobody wished it"])
        {
            let words = first.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
            return Self::Moment(words.take(6).collect::<Vec<_>>().join(" "));
        }
        Self::End
    }
}

/// A step, with the items of a list that is its own each on a line.
fn step_text(step: &Value) -> String {
    let Some((verb, said)) = step.as_object().and_then(|step| step.iter().next()) else {
        return format!("  - {}\n", flow(step));
    };
    if let Some(faults) = said["faults"].as_array() {
        let faults: Vec<String> = faults.iter().map(|fault| format!("        - {}\n", flow(fault))).collect();
        return format!(
            "  - {verb}:\n      happenings: {}\n      faults:\n{}",
            said["happenings"],
            faults.concat()
        );
    }
    let things = match (verb.as_str(), said) {
        ("apply", Value::Array(items)) => {
            items.iter().map(|item| format!("      - {}\n", flow(item))).collect::<String>()
        }
        ("assert" | "assertMachine", Value::Object(fields)) => {
            fields.iter().map(|(name, value)| format!("      {}: {}\n", scalar(name), flow(value))).collect()
        }
        (bare, Value::Object(fields)) if fields.is_empty() => return format!("  - {bare}\n"),
        _ => format!(" {}\n", flow(said)),
    };
    let rest: String = step.as_object().into_iter().flatten().skip(1).map(beside).collect();
    let line = if things.starts_with("      ") { "\n" } else { "" };
    format!("  - {verb}:{line}{things}{rest}")
}

fn beside((name, value): (&String, &Value)) -> String {
    format!("    {name}: {}\n", flow(value))
}

/// YAML in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".into(),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}: {}", scalar(name), flow(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text as it stands by itself, or in quotes where it would be something else.
fn scalar(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./ $".contains(letter);
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '$')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    if is_word && text.chars().all(is_plain) && text.trim() == text {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

/// What a case says of an object or a thing of the machine at the end: that it is so, or is not there.
pub(crate) fn ends(
    end: &hearth::world::snapshot::Snapshot,
    known: &[&hearth::world::snapshot::Snapshot],
) -> Vec<Value> {
    let (mut objects, mut containers, mut networks) = (Map::new(), Map::new(), Map::new());
    let all = known.iter().flat_map(|snapshot| snapshot.keys()).chain(end.keys());
    for key in all {
        let Some((kind, name)) = key.split_once(' ') else { continue };
        let there = end.get(key);
        let absent = json!({ "absent": true });
        if let Some(name) = name.strip_prefix("household/")
            && there.is_none_or(|object| !object["status"]["summary"].is_null())
        {
            let so = there.map(|object| json!({ "status": { "summary": object["status"]["summary"] } }));
            // A name that is made of what something is, is another one for each of its forms.
            if kind != "Image" && kind != "Revision" {
                objects.insert(format!("{}/{name}", kind.to_lowercase()), so.unwrap_or(absent));
            }
        } else if let Some(name) = name.strip_prefix("hearth_household_")
            && !name.ends_with("others")
        {
            match kind {
                "containers" => {
                    let runs = |is: &Value| {
                        is["run"]["status"].as_str().is_some_and(|is| is.eq_ignore_ascii_case("running"))
                    };
                    let so = there.map(|is| {
                        json!({ "image": is["image_reference"], "env": is["settings"]["env"], "running": runs(is) })
                    });
                    containers.insert(name.to_owned(), so.unwrap_or(absent));
                }
                "networks" => drop(networks.insert(name.to_owned(), there.map_or(absent, |_| json!({})))),
                _ => {}
            }
        }
    }
    vec![
        json!({ "assert": objects }),
        json!({ "assertMachine": { "containers": containers, "networks": networks } }),
    ]
}
