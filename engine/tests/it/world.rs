//! A toy world of bulbs and signs, the two controllers that keep it, and faults set from outside.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Reference, Report, Seen, Step, StepError, Triggers, Wait,
    Wake, Wanted,
};
use hearth_engine::driver::STALL_LIMIT;
use hearth_engine::{Key, Object, Query, Store, keep};
use hearth_meta::{Condition, FieldDiff, Progress, Reason, Timestamp};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::toys::{Lamp, LampStatus, Sign};

/// The world. Clones are the same one.
#[derive(Clone)]
pub(crate) struct World {
    state: Arc<Mutex<State>>,
    /// Slow work goes on only while this is open.
    pub(crate) gate: Arc<watch::Sender<bool>>,
    lineage: String,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) bulbs: BTreeMap<String, Bulb>,
    pub(crate) signs: BTreeMap<String, String>,
    /// Every step that was begun, in order.
    pub(crate) steps: Vec<String>,
    pub(crate) looks: usize,
    pub(crate) blind: bool,
    pub(crate) hung: Vec<String>,
    /// Steps that fail, and those that do nothing, by what they are doing.
    pub(crate) failing: Vec<String>,
    pub(crate) idle: Vec<String>,
    /// Where the controller panics: `observe`, `plan`, `act`, `status`, `survey`, `trigger`.
    pub(crate) panics: Vec<&'static str>,
    /// Lamps that wait for something, until then.
    pub(crate) waits: BTreeMap<String, Option<Timestamp>>,
    /// How often each lamp's slow step is to tell progress, without pause.
    pub(crate) tells: usize,
    pub(crate) listeners: Vec<mpsc::UnboundedSender<Wake>>,
    pub(crate) subscriptions: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bulb {
    pub(crate) uid: String,
    pub(crate) lineage: String,
    pub(crate) color: String,
    pub(crate) is_off: bool,
    /// The version of the store when it was screwed in.
    pub(crate) made_at: u64,
}

impl World {
    pub(crate) fn new(store: &Store) -> Self {
        Self {
            state: Arc::default(),
            gate: Arc::new(watch::channel(true).0),
            lineage: store.lineage().into(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn color(&self, name: &str) -> Option<String> {
        self.lock().bulbs.get(name).map(|bulb| bulb.color.clone())
    }

    /// Somebody changes a bulb by hand, and nobody hears of it.
    pub(crate) fn paint(&self, name: &str, color: &str) {
        self.lock().bulbs.get_mut(name).unwrap().color = color.into();
    }

    /// Somebody switches a bulb off, and nobody hears of it.
    pub(crate) fn switch_off(&self, name: &str) {
        self.lock().bulbs.get_mut(name).unwrap().is_off = true;
    }

    pub(crate) fn screw_in(&self, name: &str, uid: &str, lineage: &str) {
        let (lineage, color) = (lineage.into(), "grey".into());
        let bulb = Bulb { uid: uid.into(), lineage, color, is_off: false, made_at: 0 };
        self.lock().bulbs.insert(name.into(), bulb);
    }

    /// What was done since the last call.
    pub(crate) fn done(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().steps)
    }

    pub(crate) fn tell(&self, wake: &Wake) {
        self.lock().listeners.retain(|listener| listener.send(wake.clone()).is_ok());
    }

    fn panic_if(&self, place: &'static str) {
        let found = self.lock().panics.contains(&place);
        assert!(!found, "a bug in {place}");
    }

    fn begin(&self, doing: &str) -> Result<bool, StepError> {
        let mut state = self.lock();
        state.steps.push(doing.to_owned());
        if state.failing.iter().any(|word| doing.contains(word)) {
            return Err(StepError::new(Reason::StepFailed, "the fuse blew"));
        }
        Ok(!state.idle.iter().any(|word| doing.contains(word)))
    }

    fn listen(&self) -> BoxStream<'static, Wake> {
        let (sender, wakes) = mpsc::unbounded_channel();
        let mut state = self.lock();
        state.subscriptions += 1;
        if state.blind {
            return futures::stream::empty().boxed();
        }
        state.listeners.push(sender);
        futures::stream::unfold(wakes, |mut wakes| async { wakes.recv().await.map(|wake| (wake, wakes)) })
            .boxed()
    }
}

/// Whether a name is held up: it never answers.
async fn hang_if(is_hung: bool) {
    if is_hung {
        std::future::pending::<()>().await;
    }
}

pub(crate) struct Lamps(pub(crate) World);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LampStep {
    word: &'static str,
    name: String,
    color: String,
    is_slow: bool,
    is_dangerous: bool,
    is_patient: bool,
}

impl Step for LampStep {
    fn doing(&self) -> String {
        format!("{} {} {}", self.word, self.name, self.color).trim_end().to_owned()
    }
    fn done(&self) -> (&'static str, String) {
        ("Done", format!("Did {} {}", self.word, self.name))
    }
    fn is_slow(&self) -> bool {
        self.is_slow
    }
    fn is_dangerous(&self) -> bool {
        self.is_dangerous
    }
    fn limit(&self) -> Duration {
        if self.is_patient { Duration::from_secs(600) } else { STALL_LIMIT }
    }
}

#[async_trait]
impl Controller for Lamps {
    type Kind = Lamp;
    type Facts = BTreeMap<String, Bulb>;
    type Step = LampStep;
    const NAME: &'static str = "lamp";
    const TELLS_VERSIONS: bool = true;
    const SLOW_PLACES: usize = 3;

    fn triggers(&self) -> Triggers {
        let secrets = Reference::to("Secret", lamps_of_secret)
            .where_it(|old, new| old.body.get("data") != new.body.get("data") || lamp(old) != lamp(new));
        Triggers { owned: vec!["Card"], referenced: vec![secrets] }
    }

    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        Some(self.0.listen())
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        self.0.panic_if("survey");
        let state = self.0.lock();
        if state.blind {
            return Err(Blind("It is dark".into()));
        }
        let found = |(name, bulb): (&String, &Bulb)| Found {
            uid: bulb.uid.clone(),
            lineage: bulb.lineage.clone(),
            name: name.clone(),
            mark: format!("{} {}", bulb.color, bulb.is_off),
            made_at: bulb.made_at,
        };
        Ok(state.bulbs.iter().map(found).collect())
    }

    async fn observe(&self, wanted: &[Wanted<Lamp>]) -> Result<Self::Facts, Blind> {
        self.0.panic_if("observe");
        let is_hung = {
            let mut state = self.0.lock();
            state.looks += 1;
            wanted.iter().any(|w| state.hung.iter().any(|name| name == w.name()))
        };
        hang_if(is_hung).await;
        let state = self.0.lock();
        if state.blind { Err(Blind("It is dark".into())) } else { Ok(state.bulbs.clone()) }
    }

    fn diff(&self, wanted: &Wanted<Lamp>, facts: &Self::Facts) -> Seen {
        match facts.get(wanted.name()) {
            None => Seen::Absent,
            Some(bulb) if bulb.uid != wanted.uid() => Seen::Foreign("A bulb of another".into()),
            Some(bulb) => {
                let mut found = Vec::new();
                FieldDiff::compare(&mut found, "spec.color", &wanted.object.spec.color, &bulb.color);
                if bulb.is_off {
                    found.push(FieldDiff::new("spec.power", Some("on".into()), Some("off".into())));
                }
                Seen::Ours(found)
            }
        }
    }

    fn keep(&self, spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
        keep::plain(spec, difference)
    }

    fn plan(&self, wanted: &[Wanted<Lamp>], facts: &Self::Facts) -> Plan<LampStep> {
        self.0.panic_if("plan");
        let [wanted] = wanted else { return Plan::nothing() };
        let spec = &wanted.object.spec;
        let is = |way: &str| spec.ways.iter().any(|other| other == way);
        let step = |word, color: &str| LampStep {
            word,
            name: wanted.name().to_owned(),
            color: color.to_owned(),
            is_slow: is("slow"),
            is_dangerous: is("dangerous"),
            is_patient: is("patient"),
        };
        let mut plan = match (facts.get(wanted.name()), wanted.gone) {
            (Some(bulb), true) if bulb.uid == wanted.uid() => {
                Plan::steps(vec![LampStep { is_slow: false, is_dangerous: false, ..step("Remove", "") }])
            }
            (_, true) => Plan::nothing(),
            (None, false) => Plan::steps(vec![step("Install", ""), step("Paint", &spec.color)]),
            (Some(bulb), false) if bulb.color != spec.color && is("gradual") => {
                let done = if spec.color.starts_with(&bulb.color) { bulb.color.len() } else { 0 };
                Plan::steps(vec![step("Paint", &spec.color[..=done])])
            }
            (Some(bulb), false) if bulb.color != spec.color => Plan::steps(vec![step("Paint", &spec.color)]),
            (Some(bulb), false) if bulb.is_off => Plan::steps(vec![step("Light", "")]),
            (Some(_), false) => match self.0.lock().waits.get(wanted.name()) {
                Some(until) => {
                    Plan::wait(Wait { until: *until, ..Wait::new(Reason::Starting, "It warms up") })
                }
                None => Plan::nothing(),
            },
        };
        plan.holds_slot = is("slotted") && (!plan.steps.is_empty() || plan.wait.is_some());
        plan
    }

    async fn act(&self, step: &LampStep, wanted: &[Wanted<Lamp>], act: &Act) -> Result<(), StepError> {
        self.0.panic_if("act");
        let has_effect = self.0.begin(&step.doing())?;
        if step.is_slow {
            let tells = self.0.lock().tells;
            for done in 0..tells {
                (act.progress)(progress(done));
            }
            let mut gate = self.0.gate.subscribe();
            // The world outlives the test, so the gate is never gone.
            let _ = gate.wait_for(|is_open| *is_open).await;
        }
        if !has_effect {
            return Ok(());
        }
        let mut state = self.0.lock();
        match step.word {
            "Remove" => drop(state.bulbs.remove(&step.name)),
            "Install" => {
                let uid = wanted[0].uid().to_owned();
                let (lineage, made_at) = (self.0.lineage.clone(), act.store.resource_version());
                let bulb = Bulb { uid, lineage, color: "grey".into(), is_off: false, made_at };
                state.bulbs.insert(step.name.clone(), bulb);
            }
            "Light" => {
                if let Some(bulb) = state.bulbs.get_mut(&step.name) {
                    bulb.is_off = false;
                }
            }
            _ => {
                if let Some(bulb) = state.bulbs.get_mut(&step.name) {
                    bulb.color.clone_from(&step.color);
                }
            }
        }
        Ok(())
    }

    fn status(
        &self,
        wanted: &Wanted<Lamp>,
        seen: Result<&Self::Facts, &Blind>,
        outcome: &Outcome<LampStep>,
    ) -> Report<Lamp> {
        self.0.panic_if("status");
        let common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
        let is_ready = *outcome == Outcome::Steady;
        let conditions = vec![Condition::new("Ready", is_ready, Reason::InSync, "")];
        Report { status: LampStatus { common }, conditions }
    }

    async fn collect(&self, orphan: &Found) -> Result<(), StepError> {
        self.0.lock().steps.push(format!("Collect {}", orphan.name));
        let mut gate = self.0.gate.subscribe();
        let _ = gate.wait_for(|is_open| *is_open).await;
        let mut state = self.0.lock();
        state.bulbs.remove(&orphan.name);
        Ok(())
    }
}

fn progress(done: usize) -> Progress {
    Progress {
        step: "Painting".into(),
        index: 1,
        total: 1,
        unit: None,
        done: i64::try_from(done).ok(),
        of: None,
        started_at: None,
        last_advance_at: None,
    }
}

/// Each secret is for the lamp of its name, and for the one its label names; one called `broken` shows a bug.
fn lamps_of_secret(secret: &Object, store: &Store) -> Vec<Key> {
    assert_ne!(secret.name(), "broken", "a bug in trigger");
    let lamps = store.list(&Query::of("Lamp")).items;
    let label = lamp(secret);
    let is_for = |lamp: &str| lamp == secret.name() || label.is_some_and(|label| label == lamp);
    lamps.iter().filter(|lamp| is_for(lamp.name())).map(|lamp| lamp.key()).collect()
}

/// The lamp a secret names.
fn lamp(secret: &Object) -> Option<&String> {
    secret.metadata.labels.as_ref()?.get("lamp")
}

/// All signs are one set.
pub(crate) struct Signs(pub(crate) World);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteSigns(BTreeMap<String, String>);

impl Step for WriteSigns {
    fn doing(&self) -> String {
        format!("Write {} signs", self.0.len())
    }
    fn done(&self) -> (&'static str, String) {
        ("Written", "Wrote the signs".into())
    }
    fn is_slow(&self) -> bool {
        self.0.values().any(|text| text == "slow")
    }
}

#[async_trait]
impl Controller for Signs {
    type Kind = Sign;
    type Facts = BTreeMap<String, String>;
    type Step = WriteSigns;
    const NAME: &'static str = "sign";
    const IS_SET: bool = true;

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        Ok(Vec::new())
    }

    async fn observe(&self, _: &[Wanted<Sign>]) -> Result<Self::Facts, Blind> {
        let mut state = self.0.lock();
        state.looks += 1;
        if state.blind { Err(Blind("It is dark".into())) } else { Ok(state.signs.clone()) }
    }

    fn diff(&self, wanted: &Wanted<Sign>, facts: &Self::Facts) -> Seen {
        match facts.get(wanted.name()) {
            None => Seen::Absent,
            Some(text) => {
                let mut found = Vec::new();
                FieldDiff::compare(&mut found, "spec.text", &wanted.object.spec.text, text);
                Seen::Ours(found)
            }
        }
    }

    fn plan(&self, wanted: &[Wanted<Sign>], facts: &Self::Facts) -> Plan<WriteSigns> {
        let signs: BTreeMap<_, _> = wanted
            .iter()
            .filter(|sign| !sign.gone)
            .map(|sign| (sign.name().to_owned(), sign.object.spec.text.clone()))
            .collect();
        if signs == *facts { Plan::nothing() } else { Plan::steps(vec![WriteSigns(signs)]) }
    }

    async fn act(&self, step: &WriteSigns, _: &[Wanted<Sign>], _: &Act) -> Result<(), StepError> {
        let has_effect = self.0.begin(&step.doing())?;
        if step.is_slow() {
            let mut gate = self.0.gate.subscribe();
            let _ = gate.wait_for(|is_open| *is_open).await;
        }
        let mut state = self.0.lock();
        // Some signs cannot be written, like those whose text is refused.
        let kept: VecDeque<_> =
            step.0.iter().filter(|(name, _)| has_effect && !state.idle.contains(name)).collect();
        state.signs = kept.into_iter().map(|(name, text)| (name.clone(), text.clone())).collect();
        Ok(())
    }

    fn status(
        &self,
        wanted: &Wanted<Sign>,
        seen: Result<&Self::Facts, &Blind>,
        outcome: &Outcome<WriteSigns>,
    ) -> Report<Sign> {
        let common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
        Report { status: LampStatus { common }, conditions: Vec::new() }
    }
}
