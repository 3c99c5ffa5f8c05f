//! What may go, of what no file declares any more (DESIGN 4, deletion safety). Pure but for what it remembers.
//!
//! An object goes once it was seen undeclared for a moment, since an editor that writes a file may take it away first.
//! What would empty the folder, or trips the engine's breaker together with what went within the last minute, is a
//! question to a person, about exactly that set of objects: another set asks again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hearth_engine::controller::spec_hash;
use hearth_engine::{Key, Object, breaker};
use serde::{Deserialize, Serialize};

/// How long an object must be seen undeclared before it goes.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// What went within this time counts with what is to go.
const WINDOW: Duration = Duration::from_secs(60);

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Names the set of objects it is about.
    pub id: String,
    /// Why it is asked.
    pub why: String,
    /// What would be removed.
    pub removes: Vec<String>,
    /// Whether a person has said that they stay.
    pub kept: bool,
    #[serde(skip)]
    pub(super) keys: Vec<Key>,
}

/// What a person says to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// Whether they go; else they stay, and are not asked about again.
    pub remove: bool,
    /// Who answers.
    #[serde(skip)]
    pub actor: String,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing is undeclared.
    Nothing,
    /// Some were not undeclared for long enough; that long is left.
    Wait(Duration),
    /// All that are undeclared go.
    Remove,
    /// They stay until a person answers.
    Ask(Question),
}

/// What is remembered between looks. A restart forgets it, and begins anew with the grace.
#[derive(Debug, Default)]
pub(super) struct Removals {
    since: BTreeMap<String, Duration>,
    removed: VecDeque<(Duration, usize)>,
    /// The set that a person wants to keep.
    kept: Option<String>,
}

impl Removals {
    /// Decides about the undeclared objects, given how many others the folder keeps.
    pub(super) fn decide(
        &mut self,
        undeclared: &[Arc<Object>],
        others: usize,
        is_empty: bool,
        answer: Option<&Answer>,
        now: Duration,
    ) -> Decision {
        self.since.retain(|uid, _| undeclared.iter().any(|object| object.uid() == uid));
        let last =
            undeclared.iter().map(|object| *self.since.entry(object.uid().to_owned()).or_insert(now)).max();
        let Some(last) = last else { return Decision::Nothing };
        let left = (last + GRACE).saturating_sub(now);
        if !left.is_zero() {
            return Decision::Wait(left);
        }
        self.removed.retain(|(at, _)| now.saturating_sub(*at) < WINDOW);
        let lately: usize = self.removed.iter().map(|(_, count)| count).sum();
        let (count, of) = (undeclared.len() + lately, undeclared.len() + others + lately);
        let why = match is_empty {
            true => "The folder declares nothing any more, as if its files were lost".to_owned(),
            false if breaker::trips(count, of) => {
                format!("{count} of the {of} objects it declared would go at once, as if files were lost")
            }
            false => return Decision::Remove,
        };
        let uids: Vec<&str> = self.since.keys().map(String::as_str).collect();
        let id = spec_hash(&uids)[..12].to_owned();
        match answer.filter(|answer| answer.question == id) {
            Some(answer) if answer.remove => return Decision::Remove,
            Some(_) => self.kept = Some(id.clone()),
            None => {}
        }
        let mut keys: Vec<Key> = undeclared.iter().map(|object| object.key()).collect();
        keys.sort();
        let removes = keys.iter().map(ToString::to_string).collect();
        let kept = self.kept.as_ref() == Some(&id);
        Decision::Ask(Question { id, why, removes, kept, keys })
    }

    /// So many were removed.
    pub(super) fn removed(&mut self, count: usize, now: Duration) {
        self.removed.push_back((now, count));
    }

    /// The folder could not be read: nothing counts as undeclared until it can.
    pub(super) fn could_not_tell(&mut self) {
        self.since.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use hearth_engine::Object;
    use serde_json::json;

    use super::{Answer, Decision, GRACE, Question, Removals};

    fn objects(count: usize) -> Vec<Arc<Object>> {
        let object = |number| {
            let value = json!({
                "apiVersion": "hearth.dev/v1", "kind": "App",
                "metadata": { "name": format!("app-{number}"), "namespace": "household", "uid": format!("u{number}") },
            });
            Arc::new(Object::from_value(value).unwrap())
        };
        (0..count).map(object).collect()
    }

    /// Decides twice, with the grace in between.
    fn settled(removals: &mut Removals, gone: usize, others: usize, is_empty: bool) -> Decision {
        let now = Duration::from_secs(100);
        let first = removals.decide(&objects(gone), others, is_empty, None, now);
        assert!(gone == 0 || first == Decision::Wait(GRACE), "{first:?}");
        removals.decide(&objects(gone), others, is_empty, None, now + GRACE)
    }

    fn question(decision: Decision) -> Question {
        match decision {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_few_go_by_themselves_and_many_are_asked_about() {
        assert_eq!(settled(&mut Removals::default(), 0, 12, false), Decision::Nothing);
        assert_eq!(settled(&mut Removals::default(), 1, 11, false), Decision::Remove);
        assert_eq!(settled(&mut Removals::default(), 2, 1, false), Decision::Remove);
        assert_eq!(settled(&mut Removals::default(), 3, 9, false), Decision::Remove);
        question(settled(&mut Removals::default(), 4, 8, false));
        question(settled(&mut Removals::default(), 11, 500, false));
        // The last one too, since an empty folder is no wish.
        question(settled(&mut Removals::default(), 1, 0, true));
    }

    #[test]
    fn what_comes_back_within_the_grace_was_never_gone() {
        let mut removals = Removals::default();
        let at = Duration::from_secs;
        assert_eq!(removals.decide(&objects(1), 9, false, None, at(0)), Decision::Wait(GRACE));
        assert_eq!(removals.decide(&[], 10, false, None, at(3)), Decision::Nothing);
        assert_eq!(removals.decide(&objects(1), 9, false, None, at(6)), Decision::Wait(GRACE));
        removals.could_not_tell();
        assert_eq!(removals.decide(&objects(1), 9, false, None, at(60)), Decision::Wait(GRACE));
    }

    #[test]
    fn what_went_just_before_counts() {
        let mut removals = Removals::default();
        assert_eq!(settled(&mut removals, 2, 10, false), Decision::Remove);
        removals.removed(2, Duration::from_secs(105));
        let (others, later) = (objects(4).split_off(2), Duration::from_secs(110));
        removals.decide(&others, 8, false, None, later);
        question(removals.decide(&others, 8, false, None, later + GRACE));
        assert_eq!(
            removals.decide(&others, 8, false, None, later + Duration::from_secs(60)),
            Decision::Remove
        );
    }

    #[test]
    fn an_answer_is_for_exactly_the_set_that_was_asked_about() {
        let mut removals = Removals::default();
        let asked = question(settled(&mut removals, 12, 0, true));
        assert_eq!((asked.removes.len(), asked.kept), (12, false));
        let says = |remove| Answer { question: asked.id.clone(), remove, actor: "ana".into() };
        let later = Duration::from_secs(200);
        assert!(question(removals.decide(&objects(12), 0, true, Some(&says(false)), later)).kept);
        assert!(question(removals.decide(&objects(12), 0, true, None, later)).kept, "it is not asked again");
        removals.decide(&objects(13), 0, true, None, later);
        let other = removals.decide(&objects(13), 0, true, Some(&says(true)), later + GRACE);
        assert!(!question(other).kept, "another set asks again");
        assert_eq!(
            removals.decide(&objects(12), 1, false, Some(&says(true)), later + GRACE),
            Decision::Remove
        );
    }
}
