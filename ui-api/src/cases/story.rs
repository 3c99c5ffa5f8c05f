//! The story of a case: what was asked, what Hearth did to the machine, how objects came to stand, what was told; with
//! the time since the case began. By one seed it is the same each time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hearth_engine::store::EventQuery;
use hearth_engine::{Clock, Key, Object};

use super::machine::short;
use crate::world::gates::Point;
use crate::world::{Seen, Teller, Verdict, World};

/// What happened, line by line.
#[derive(Clone, Default)]
pub(super) struct Story(Rc<RefCell<Told>>);

#[derive(Default)]
struct Told {
    lines: Vec<String>,
    began: Duration,
    /// Where this run has its data, which no other has.
    folder: String,
    /// What each uid was called.
    names: BTreeMap<String, String>,
    /// How each object stood when it was last told of.
    stands: BTreeMap<Key, String>,
    /// How often each event had come up.
    events: BTreeMap<i64, i64>,
}

impl Story {
    /// Who is told of what happens.
    pub(super) fn teller(&self) -> Teller {
        let told = self.0.clone();
        Box::new(move |seen| told.borrow_mut().watch(seen))
    }

    /// What stands when the story begins is no part of it.
    pub(super) fn begin(&self, world: &World) {
        let told = &mut *self.0.borrow_mut();
        told.began = world.clock.elapsed();
        told.folder = world.config.data_dir.display().to_string();
        for object in world.store().all() {
            told.stands.insert(object.key(), stands(&object));
            told.names.insert(object.uid().to_owned(), object.name().to_owned());
        }
        let rows = world.ask(world.store().events_down(&EventQuery::default())).unwrap_or_default();
        told.events = rows.into_iter().map(|row| (row.id, row.count)).collect();
    }

    /// A line of the case itself.
    pub(super) fn step(&self, words: &str) {
        self.0.borrow_mut().lines.push(format!("- {words}"));
    }

    /// What each uid was called.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        self.0.borrow().names.clone()
    }

    /// All of it.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.borrow().lines.clone()
    }
}

impl Told {
    fn watch(&mut self, seen: &mut Seen<'_>) {
        match seen.point {
            Point::Call(op, object) => {
                let how = match seen.verdict {
                    Verdict::Go => String::new(),
                    Verdict::Fail(fault) => format!(", which is answered: {fault}"),
                    Verdict::Lost => ", whose answer is lost".into(),
                    Verdict::Hang(_) => ", which hangs".into(),
                    Verdict::Slow(_) => ", which takes its time".into(),
                    Verdict::Stale(_) => ", answered as it was before".into(),
                    Verdict::Empty => ", answered as if nothing were there".into(),
                    Verdict::Partial => ", answered in part".into(),
                    Verdict::Full => ", for which there is no room".into(),
                    Verdict::Late(_) => ", late".into(),
                };
                match op.change() {
                    Some(change) => {
                        self.line(seen.now, &format!("> {change} {}{how}", in_words(object, &self.names)))
                    }
                    None if !how.is_empty() => {
                        let look = super::disturb::name(*op);
                        self.line(seen.now, &format!("> {look} {}{how}", in_words(object, &self.names)));
                    }
                    None => {}
                }
            }
            Point::Write if *seen.verdict != Verdict::Go => {
                self.line(seen.now, "> a write of the store is refused")
            }
            Point::Written(words) => {
                self.objects(seen);
                if words.contains(" events") {
                    self.events(seen);
                }
            }
            _ => {}
        }
    }

    fn objects(&mut self, seen: &Seen<'_>) {
        let all = seen.store.all();
        for object in &all {
            self.names.entry(object.uid().to_owned()).or_insert_with(|| object.name().to_owned());
        }
        let mut lines = Vec::new();
        for object in &all {
            let stands = stands(object);
            if stands.is_empty() || self.stands.get(&object.key()) == Some(&stands) {
                continue;
            }
            lines.push(format!("{} {stands}", named(&object.key())));
            self.stands.insert(object.key(), stands);
        }
        let is_gone = |key: &Key| !all.iter().any(|object| object.key() == *key);
        let gone: Vec<Key> = self.stands.keys().filter(|key| is_gone(key)).cloned().collect();
        for key in gone {
            lines.push(format!("{} is gone", named(&key)));
            self.stands.remove(&key);
        }
        lines.iter().for_each(|line| self.line(seen.now, line));
    }

    fn events(&mut self, seen: &mut Seen<'_>) {
        let Ok(rows) = seen.ask(seen.store.events_down(&EventQuery::default())) else { return };
        for row in rows {
            if self.events.insert(row.id, row.count) == Some(row.count) {
                continue;
            }
            let about = &row.note.about;
            let key = Key::new(&about.kind, about.namespace.as_deref().unwrap_or_default(), &about.name);
            let text = format!("* {}: {} ({})", named(&key), row.note.message, row.note.reason);
            self.line(seen.now, &text);
        }
    }

    /// Without where the data of this run lies, and without how much room its disk happens to have.
    fn wherever_it_runs(&self, text: &str) -> String {
        if self.folder.is_empty() || !text.contains(&self.folder) {
            return text.to_owned();
        }
        let mut words = text.replace(&self.folder, "/data");
        let room = words.find(" free of ").and_then(|at| {
            let begin = words[..at].rfind(" (")?;
            Some(begin..at + words[at..].find(')')? + 1)
        });
        if let Some(room) = room {
            words.replace_range(room, "");
        }
        words
    }

    fn line(&mut self, now: Duration, text: &str) {
        let text = &self.wherever_it_runs(text);
        // What is tried again and again is told once.
        if self.lines.last().is_some_and(|last| last.ends_with(text)) {
            return;
        }
        let since = now.saturating_sub(self.began).as_secs();
        let (hours, minutes, seconds) = (since / 3600, since / 60 % 60, since % 60);
        self.lines.push(format!("{hours:>4}:{minutes:02}:{seconds:02}  {}", text.trim_end()));
    }
}

/// An object of a call: names as cases write them, and instances by the app whose they are.
pub(super) fn in_words(object: &str, names: &BTreeMap<String, String>) -> String {
    let of = |word: &str| {
        let (first, rest) = word.split_once('/').map_or((word, None), |(first, rest)| (first, Some(rest)));
        match (names.get(first), rest) {
            (Some(name), Some(rest)) => format!("{name}/{rest}"),
            (Some(name), None) => name.clone(),
            (None, _) => short(word),
        }
    };
    object.split(' ').map(of).collect::<Vec<_>>().join(" ")
}

/// How an object says it stands, in one line.
fn stands(object: &Object) -> String {
    let status = object.status();
    let word = |field: &str| status[field].as_str().unwrap_or_default();
    let summary = word("summary");
    if summary.is_empty() {
        return String::new();
    }
    let message = word("message").lines().next().unwrap_or_default();
    if message.is_empty() || summary == "Ready" {
        format!("is {summary}")
    } else {
        format!("is {summary}: {message}")
    }
}

/// An object as people call it.
pub(super) fn named(key: &Key) -> String {
    let kind = key.kind.to_lowercase();
    if key.namespace.is_empty() || key.namespace == super::HOUSEHOLD {
        format!("{kind}/{}", key.name)
    } else {
        format!("{kind}/{}/{}", key.namespace, key.name)
    }
}
