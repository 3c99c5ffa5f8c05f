//! What a controller is: a handful of short functions. The engine does everything else, the same for all.
//!
//! The rhythm of one turn is observe, plan, act, observe again, status. `diff`, `plan` and `status` are pure, so
//! that `hearth diff`, a dry run, the drift report and a unit test are all the same call.
//!
//! Rules a controller keeps:
//!
//! - *Could not tell* is [`Blind`], never *not there*. Blind never leads to a write.
//! - Every step may run twice, and the world may have changed before it does.
//! - It never learns why it was called, and holds no progress in memory.
//! - Removal comes first in a plan; a wait names what is waited for; an empty plan is the normal case.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use hearth_meta::labels::OWNER_UID;
use hearth_meta::{FieldDiff, ObjectRef, Problem, Progress, Reason, Resource, Timestamp};
use kube::core::object::HasStatus;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::driver::STALL_LIMIT;
use crate::keep;
use crate::object::Object;
use crate::store::Store;

mod outcome;
mod triggers;

pub use outcome::{News, Outcome, Report};
pub use triggers::{Reference, Referrers, Triggers, Wake};

/// A controller of one kind.
#[async_trait]
pub trait Controller: Send + Sync + 'static {
    /// The kind it makes true.
    type Kind: Resource<Spec: Sync, Status: Sync>;
    /// What the machine says now, in the words of the spec.
    type Facts: Send + Sync + 'static;
    /// One repeat-safe change.
    type Step: Step;

    /// Its name, as in its finalizer and in events.
    const NAME: &'static str;

    /// Whether all objects of the kind are one set that is read and written together. A pause or a policy then
    /// holds a step only where it holds for every object that differs, and nothing is done at all while one of
    /// them cannot be read.
    const IS_SET: bool = false;

    /// How many of its slow steps, and removals of orphans, run at once; the rest wait for a place.
    const SLOW_PLACES: usize = 16;

    /// Whether what it makes tells the version its store had come to ([`Found::made_at`]). Then, after a start, no
    /// controller changes anything before this one has seen once what is there.
    const TELLS_VERSIONS: bool = false;

    /// What wakes it besides its own objects.
    fn triggers(&self) -> Triggers {
        Triggers::default()
    }

    /// What the backend says has happened; a stream that ends is asked for again.
    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        None
    }

    /// All of ours that exists in the backend: a cheap look, once a minute.
    async fn survey(&self) -> Result<Vec<Found>, Blind>;

    /// Everything `diff` and `plan` need to know. It has 30 seconds; then it could not tell.
    async fn observe(&self, wanted: &[Wanted<Self::Kind>]) -> Result<Self::Facts, Blind>;

    /// What is wanted of the backend, hashed by [`spec_hash`], where that is more than the spec: what
    /// [`crate::store::Intent::last_applied`] is compared with. By default it is not.
    fn target(&self, wanted: &Wanted<Self::Kind>, facts: &Self::Facts) -> Option<String> {
        let _ = (wanted, facts);
        None
    }

    /// How what is there differs from what is wanted, field by field, as inspected.
    fn diff(&self, wanted: &Wanted<Self::Kind>, facts: &Self::Facts) -> Seen;

    /// What to do next. Only the first step is taken; then it is observed and planned again.
    fn plan(&self, wanted: &[Wanted<Self::Kind>], facts: &Self::Facts) -> Plan<Self::Step>;

    /// What would be done towards a wish, for whoever asks before it is written. By default the steps of the plan; a
    /// controller whose plan ends at what has to be there first looks beyond it. Pure.
    fn foresee(&self, wanted: &Wanted<Self::Kind>, facts: &Self::Facts) -> Vec<Self::Step> {
        self.plan(std::slice::from_ref(wanted), facts).steps
    }

    /// Carries out one step. A quick one has [`Step::limit`], and a slow one as much without progress; then it is
    /// dropped where it stands and has failed.
    async fn act(&self, step: &Self::Step, wanted: &[Wanted<Self::Kind>], cx: &Act) -> Result<(), StepError>;

    /// What people are told.
    fn status(
        &self,
        wanted: &Wanted<Self::Kind>,
        seen: Result<&Self::Facts, &Blind>,
        outcome: &Outcome<Self::Step>,
    ) -> Report<Self::Kind>;

    /// Takes what is seen in one field into the spec, for a person who keeps what was changed from outside. A
    /// controller names the fields whose inspected form is the spec's own, and [`keep`] has what it needs; any other
    /// is refused, since a value that is only shown may not be what was meant.
    ///
    /// # Errors
    /// Why it cannot be taken over, in one sentence about the field.
    fn keep(&self, spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
        let _ = (spec, difference);
        Err(keep::NOT_A_WISH.into())
    }

    /// What in a change of status is worth an event of its own, besides what steps tell. Pure; told once, with the
    /// write of the status that says it.
    fn news(
        &self,
        before: Option<&<Self::Kind as HasStatus>::Status>,
        after: &<Self::Kind as HasStatus>::Status,
    ) -> Vec<News> {
        let _ = (before, after);
        Vec::new()
    }

    /// How long the removal of an orphan may take; then it is given up and tried again with the next survey.
    fn collect_limit(&self) -> Duration {
        STALL_LIMIT
    }

    /// Removes an orphan: ours, of our lineage, without an object, seen so twice. Never data. It runs on the pool
    /// for slow work, so that a long one holds up nothing else.
    async fn collect(&self, orphan: &Found) -> Result<(), StepError> {
        let _ = orphan;
        Ok(())
    }
}

/// The hash of a spec, as hex: equal specs give equal hashes.
pub fn spec_hash<T: serde::Serialize>(spec: &T) -> String {
    use sha2::{Digest, Sha256};
    // Through `Value`, whose maps are sorted, so that the order of fields in a struct does not matter.
    let value = serde_json::to_value(spec).unwrap_or_default();
    let text = serde_json::to_vec(&value).unwrap_or_default();
    crate::store::hex(&Sha256::digest(text)[..16])
}

/// One change to the world, which may be made twice. It names secrets and never holds them.
pub trait Step: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// What it does, as a sentence in the present tense, such as `Start container web`.
    fn doing(&self) -> String;

    /// What is told once it is done: a reason in one CamelCase word and a sentence in the past tense.
    fn done(&self) -> (&'static str, String);

    /// Whether it may take long; it then runs on the pool for slow work, with progress, and can be cancelled.
    fn is_slow(&self) -> bool {
        false
    }

    /// How long it may take, or, where it is slow, go without progress. One that must be given longer, such as a
    /// stop with its grace, should also be slow: a quick one holds up a worker.
    fn limit(&self) -> Duration {
        STALL_LIMIT
    }

    /// The objects that it writes into the store, where that is all it does: what comes of them is for the controllers
    /// of their kinds to say.
    fn writes(&self) -> &[Object] {
        &[]
    }

    /// Whether it ends what is there, so that what is wanted has to be made anew.
    fn takes_away(&self) -> bool {
        false
    }

    /// Whether it must not be taken again by itself after an interruption (AL-23): then the object waits for a
    /// newer spec, or for a person's poke.
    fn is_dangerous(&self) -> bool {
        false
    }
}

/// An object that is wanted, or wanted gone.
#[derive(Clone, Debug)]
pub struct Wanted<K> {
    /// The object, without its `metadata.managedFields`.
    pub object: Arc<K>,
    /// Whether its deletion was asked for.
    pub gone: bool,
    /// The time of this turn.
    pub now: Timestamp,
}

impl<K: Resource> Wanted<K> {
    /// Its name.
    pub fn name(&self) -> &str {
        self.object.meta().name.as_deref().unwrap_or_default()
    }

    /// Its namespace; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        self.object.meta().namespace.as_deref().unwrap_or_default()
    }

    /// Its uid.
    pub fn uid(&self) -> &str {
        self.object.meta().uid.as_deref().unwrap_or_default()
    }

    /// The uid of its first owner, or of the one it was made for and that is gone without it, or its own where it
    /// never had one: what stands for it was made in that name, and goes on in it.
    pub fn owner_uid(&self) -> &str {
        let meta = self.object.meta();
        let owner = meta.owner_references.iter().flatten().next().map(|owner| &owner.uid);
        let former = || meta.labels.as_ref()?.get(OWNER_UID);
        owner.or_else(former).map_or_else(|| self.uid(), String::as_str)
    }
}

/// A step that would be taken towards a wish that is not written yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// What it would do, as a sentence in the present tense.
    pub doing: String,
    /// Whether it would end what is there.
    pub takes_away: bool,
    /// The objects it would write, where that is all it does.
    pub writes: Vec<Object>,
}

/// The backend could not be read. Nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Blind(pub String);

/// Why a step did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError {
    /// Why, from the catalogue.
    pub reason: Reason,
    /// Why, in one sentence.
    pub message: String,
}

impl StepError {
    /// A failure with this reason.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// What is there, against what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing is there.
    Absent,
    /// Something is there that is not ours; in words for people.
    Foreign(String),
    /// Ours is there, with these differences. None means in sync.
    Ours(Vec<FieldDiff>),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S> {
    /// Steps in order. The first is taken.
    pub steps: Vec<S>,
    /// What is waited for, when there is no step.
    pub wait: Option<Wait>,
    /// Why it cannot go on by itself, when there is no step.
    pub stuck: Option<Stuck>,
    /// Whether this is an install or update under way, which needs one of the engine's slots (AL-59). The slot is
    /// held while the key works or waits, and given back when it settles, fails or is held back.
    pub holds_slot: bool,
}

impl<S> Plan<S> {
    /// Nothing to do.
    pub fn nothing() -> Self {
        Self { steps: Vec::new(), wait: None, stuck: None, holds_slot: false }
    }

    /// These steps.
    pub fn steps(steps: Vec<S>) -> Self {
        Self { steps, ..Self::nothing() }
    }

    /// Wait.
    pub fn wait(wait: Wait) -> Self {
        Self { wait: Some(wait), ..Self::nothing() }
    }

    /// Cannot go on by itself.
    pub fn stuck(reason: Reason, message: impl Into<String>) -> Self {
        Self { stuck: Some(Stuck { reason, message: message.into() }), ..Self::nothing() }
    }
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Why, from the catalogue.
    pub reason: Reason,
    /// Why, in one sentence.
    pub message: String,
    /// The objects waited for.
    pub on: Vec<ObjectRef>,
    /// When to look again at the latest; the change that is waited for wakes earlier.
    pub until: Option<Timestamp>,
}

impl Wait {
    /// Waits for something that has no object.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), on: Vec::new(), until: None }
    }

    /// Waits for these objects.
    #[must_use]
    pub fn on(mut self, objects: Vec<ObjectRef>) -> Self {
        self.on = objects;
        self
    }

    /// Looks again then at the latest.
    #[must_use]
    pub fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }
}

/// Why it cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Why, from the catalogue.
    pub reason: Reason,
    /// Why, in one sentence.
    pub message: String,
}

/// Something of ours in the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The uid of the object it was made for.
    pub uid: String,
    /// The lineage of the store that made it.
    pub lineage: String,
    /// Its name in the backend.
    pub name: String,
    /// Changes when it does, as far as a cheap look can tell.
    pub mark: String,
    /// The version its store had come to when it was made; 0 where it does not tell.
    pub made_at: u64,
}

/// What a step is carried out with.
#[derive(Clone)]
pub struct Act {
    /// The store.
    pub store: Store,
    /// Cancelled once nobody wants the step any more.
    pub cancel: CancellationToken,
    /// Tells how far a slow step has come; every call counts as an advance.
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

/// Problems as one sentence, for a [`Stuck`] or a [`StepError`].
pub fn sentence(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
