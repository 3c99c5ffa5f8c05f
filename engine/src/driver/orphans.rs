//! Orphans: which may go, what is asked about the rest, and what was answered.
//!
//! The question stands in memory and is found again after a restart. The answers are annotations on the Namespace of
//! the whole home: *remove*, which names the set that was shown, so that another set is asked about again; and
//! *keep*, which names each that stays, so that it stays whatever becomes of the others.

use std::collections::BTreeSet;

use hearth_meta::labels::{SYSTEM, keep_orphans, remove_orphans};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::survey::{Memory, name_of};
use super::{Runner, lock};
use crate::breaker;
use crate::controller::{Controller, Found};
use crate::object::Key;
use crate::pause;
use crate::store::{Past, Store, hex};

/// What stands of one kind without an object, where a person was asked about it or wants it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphans {
    /// The kind it was made for.
    pub kind: &'static str,
    /// Why a person is asked, where one is.
    pub why: Option<String>,
    /// What is asked about; nothing of it is removed before there is an answer.
    pub asked: Option<OrphanSet>,
    /// What a person wants kept.
    pub kept: Option<OrphanSet>,
}

/// Orphans that are answered for together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrphanSet {
    /// Names exactly these: with one more or one less it is another.
    pub id: String,
    /// Each of them.
    pub items: Vec<Orphan>,
}

/// One orphan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Orphan {
    /// Names it in an answer.
    pub id: String,
    /// Its name in the backend.
    pub name: String,
    /// The uid of the object it was made for.
    pub uid: String,
    /// That object, as the history knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// What a person has answered.
struct Answers {
    remove: Option<String>,
    keep: BTreeSet<String>,
}

impl Answers {
    fn read(store: &Store, kind: &str) -> Self {
        let home = store.get(&Key::new("Namespace", "", SYSTEM));
        let said = |name: &str| home.as_ref().and_then(|home| home.annotation(name)).map(str::to_owned);
        let keep = said(&keep_orphans(kind)).unwrap_or_default();
        let keep = keep.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect();
        Self { remove: said(&remove_orphans(kind)).map(|set| set.trim().to_owned()), keep }
    }
}

fn id_of(found: &Found) -> String {
    hex(&Sha256::digest(format!("{:?}", (&found.uid, &found.name)))[..4])
}

/// The id of a set; none of an empty one.
fn set_of(found: &[Found]) -> Option<String> {
    let ids: BTreeSet<String> = found.iter().map(id_of).collect();
    (!ids.is_empty()).then(|| hex(&Sha256::digest(format!("{ids:?}"))[..6]))
}

/// How a survey's orphans are dealt with.
#[derive(Default)]
pub(super) struct Question {
    asked: Vec<Found>,
    kept: Vec<Found>,
    why: Option<String>,
    /// What a person has said may go.
    allowed: BTreeSet<(String, String)>,
    /// The set that was told of last.
    told: Option<String>,
}

impl Question {
    pub(super) fn why(&self) -> Option<String> {
        self.why.clone()
    }

    /// Why a person is asked, where that is about another set than was told of last.
    pub(super) fn news(&mut self) -> Option<String> {
        let set = set_of(&self.asked);
        let is_new = set != self.told;
        self.told = set;
        self.why().filter(|_| is_new)
    }
}

impl Memory {
    /// What people are shown.
    pub(super) fn shown(&self, kind: &'static str) -> Option<Orphans> {
        let shown = |found: &Found| {
            let object =
                self.pasts.get(&found.uid).and_then(Option::as_ref).map(|past| past.object.to_string());
            Orphan { id: id_of(found), name: found.name.clone(), uid: found.uid.clone(), object }
        };
        let set = |found: &[Found]| {
            Some(OrphanSet { id: set_of(found)?, items: found.iter().map(shown).collect() })
        };
        let Question { asked, kept, why, .. } = &self.question;
        let orphans = Orphans { kind, why: why.clone(), asked: set(asked), kept: set(kept) };
        (orphans.asked.is_some() || orphans.kept.is_some()).then_some(orphans)
    }
}

impl<C: Controller> Runner<C> {
    /// Learns what the history knows of orphans not met before.
    pub(super) async fn look_up_pasts(&self, orphans: &[Found]) {
        let uids: Vec<String> = {
            let memory = lock(&self.survey);
            let unknown = orphans.iter().map(|found| &found.uid);
            unknown.filter(|uid| !memory.pasts.contains_key(*uid)).cloned().collect()
        };
        if uids.is_empty() {
            return;
        }
        match self.store.pasts(&uids).await {
            // Also that there is nothing to know, so that it is not asked every minute.
            Ok(mut pasts) => {
                let known = uids.into_iter().map(|uid| (uid.clone(), pasts.remove(&uid)));
                lock(&self.survey).pasts.extend(known);
            }
            // Of whom nothing is known nobody can say that it was deleted: it counts.
            Err(error) => {
                tracing::warn!(controller = C::NAME, error = %error, "the history of orphans could not be read");
            }
        }
    }

    /// Which of the orphans, of so many things of ours, may go now.
    pub(super) fn sort_out(&self, orphans: Vec<Found>, of: usize) -> Vec<Found> {
        let answers = Answers::read(&self.store, self.kind.kind);
        let mut memory = lock(&self.survey);
        let Memory { question, pasts, .. } = &mut *memory;
        // An older store does not know of what was made since: none of it is an orphan, and nobody is asked whether
        // it may go.
        if self.store.observe_only().is_some() || !self.first_look.is_over() {
            *question = Question::default();
            return Vec::new();
        }
        question.allowed.retain(|name| orphans.iter().any(|found| name_of(found) == *name));
        let is_allowed = |question: &Question, found: &Found| question.allowed.contains(&name_of(found));
        let was_deleted = |found: &Found| {
            pasts.get(&found.uid).and_then(Option::as_ref).is_some_and(Past::was_deleted_by_somebody)
        };
        let (kept, rest): (Vec<Found>, Vec<Found>) = orphans
            .into_iter()
            .partition(|found| answers.keep.contains(&id_of(found)) && !is_allowed(question, found));
        let (mut free, unasked): (Vec<Found>, Vec<Found>) =
            rest.into_iter().partition(|found| was_deleted(found) || is_allowed(question, found));
        let mut left = Vec::new();
        for set in [unasked, kept] {
            if answers.remove.is_some() && answers.remove == set_of(&set) {
                question.allowed.extend(set.iter().map(name_of));
                free.extend(set);
                left.push(Vec::new());
            } else {
                left.push(set);
            }
        }
        question.kept = left.pop().unwrap_or_default();
        let unasked = left.pop().unwrap_or_default();
        let trips = breaker::trips(unasked.len(), of);
        question.why = trips.then(|| format!("{} of {of} have no object in the store", unasked.len()));
        question.asked = if trips {
            unasked
        } else {
            free.extend(unasked);
            Vec::new()
        };
        let is_paused = pause::of_namespace(&self.store, "", self.clock.now()).is_some();
        if is_paused { Vec::new() } else { free }
    }
}
