//! *Makes true*: a folder of data exists, with the owner and mode that were declared.
//!
//! *Looks at*: the leaf, level by level, without following links.
//! *Owns*: the leaf itself and its marker, never what is in it.
//! *Woken by*: its own objects, and the engine's looks.
//! *Never*: makes a folder again that was there once: an empty one is never put in the place of lost data. Never
//! deletes data unless the object says `dataPolicy: Delete` and is deleted itself.
//! *When it cannot*: NeedsYou with `MarkerMissing` where the data is gone, with `UnsafePath` where a link or a file
//! stands in its place, with `NotOurs` where another folder does.

use std::sync::Arc;

use async_trait::async_trait;
use hearth_capabilities::Volumes;
use hearth_capabilities::volumes::{Leaf, LeafFacts, LeafState};
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Report, Seen, Step, StepError, Wanted,
};
use hearth_engine::{Store, keep};
use hearth_kinds::volume::Owner;
use hearth_kinds::{DataPolicy, Volume, VolumeStatus};
use hearth_meta::{FieldDiff, Reason, Time};
use serde_json::Value;

use crate::fault::{blind, failed};
use crate::ready::ready;

/// Keeps folders of data.
pub struct VolumeController {
    store: Store,
    volumes: Arc<dyn Volumes>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeStep {
    /// Makes the folder, for the first and only time.
    Make,
    /// Sets owner and mode as declared.
    Set,
    /// Removes the folder and everything in it.
    Remove,
}

impl VolumeController {
    /// A controller with these hands.
    pub fn new(store: Store, volumes: Arc<dyn Volumes>) -> Self {
        Self { store, volumes }
    }
}

#[async_trait]
impl Controller for VolumeController {
    type Kind = Volume;
    type Facts = LeafState;
    type Step = VolumeStep;

    const NAME: &'static str = "volume";

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        let mut found = Vec::new();
        for listed in self.volumes.list().await.map_err(blind)? {
            let state = self.volumes.inspect(&listed.leaf).await.map_err(blind)?;
            // A leaf without an object is data somebody kept: it has no lineage here, so it is never an orphan.
            let known = self.store.by_uid(&listed.marker).is_some();
            found.push(Found {
                uid: listed.marker,
                lineage: if known { self.store.lineage().to_owned() } else { String::new() },
                name: format!("{}/{}", listed.leaf.instance, listed.leaf.path),
                mark: format!("{state:?}"),
                made_at: 0,
            });
        }
        Ok(found)
    }

    async fn observe(&self, wanted: &[Wanted<Volume>]) -> Result<LeafState, Blind> {
        let Some(wanted) = wanted.first() else { return Err(Blind("no volume was asked for".into())) };
        self.volumes.inspect(&leaf(&wanted.object)).await.map_err(blind)
    }

    fn diff(&self, wanted: &Wanted<Volume>, facts: &LeafState) -> Seen {
        seen(wanted, facts)
    }

    /// What else differs is known to the machine by other names than the spec.
    fn keep(&self, spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
        match difference.field.as_str() {
            "spec.owner.uid" | "spec.owner.gid" | "spec.mode" => keep::plain(spec, difference),
            _ => Err(keep::NOT_A_WISH.into()),
        }
    }

    fn plan(&self, wanted: &[Wanted<Volume>], facts: &LeafState) -> Plan<VolumeStep> {
        wanted.first().map_or_else(Plan::nothing, |wanted| plan(wanted, facts))
    }

    async fn act(&self, step: &VolumeStep, wanted: &[Wanted<Volume>], _cx: &Act) -> Result<(), StepError> {
        let Some(wanted) = wanted.first() else { return Ok(()) };
        let (leaf, uid, spec) = (leaf(&wanted.object), wanted.uid(), &wanted.object.spec);
        let owner = spec
            .owner
            .and_then(|Owner { uid, gid }| Some((u32::try_from(uid).ok()?, u32::try_from(gid).ok()?)));
        match step {
            VolumeStep::Make => self.volumes.make(&leaf, uid, owner, spec.mode_bits()).await,
            VolumeStep::Set => self.volumes.set(&leaf, uid, owner, spec.mode_bits()).await,
            VolumeStep::Remove => self.volumes.remove(&leaf, uid).await,
        }
        .map_err(failed)
    }

    fn status(
        &self,
        wanted: &Wanted<Volume>,
        seen: Result<&LeafState, &Blind>,
        outcome: &Outcome<VolumeStep>,
    ) -> Report<Volume> {
        let before = wanted.object.status.clone().unwrap_or_default();
        let common = outcome.common(wanted.gone, seen.map(|_| ()), Reason::InSync);
        let mut status = VolumeStatus { common, ..before };
        if let Ok(LeafState::Present(leaf)) = seen
            && leaf.marker.as_deref() == Some(wanted.uid())
        {
            status.host_path = Some(leaf.host_path.clone());
            status.made_at = status.made_at.or(Some(Time(wanted.now)));
        }
        let holds = seen.map(|_| matches!(outcome, Outcome::Steady));
        let conditions = vec![ready(holds, &status.common)];
        Report { status, conditions }
    }
}

fn seen(wanted: &Wanted<Volume>, facts: &LeafState) -> Seen {
    match (facts, wanted.gone) {
        (LeafState::Absent, _) => Seen::Absent,
        // What is not ours, or stays by policy, does not stand against the object's going.
        (LeafState::Unsafe(_), true) => Seen::Absent,
        (LeafState::Present(leaf), true) => {
            if removes(wanted, leaf) {
                Seen::Ours(Vec::new())
            } else {
                Seen::Absent
            }
        }
        (LeafState::Unsafe(what), false) => {
            Seen::Ours(vec![FieldDiff::new("spec.path", Some("a folder".into()), Some(what.clone()))])
        }
        (LeafState::Present(leaf), false) if leaf.marker.as_deref() == Some(wanted.uid()) => {
            Seen::Ours(leaf_differences(&wanted.object, leaf))
        }
        (LeafState::Present(_), false) if was_made(wanted) => Seen::Ours(vec![FieldDiff::new(
            "spec.path",
            Some("the data that was here".into()),
            Some("another folder".into()),
        )]),
        (LeafState::Present(_), false) => {
            Seen::Foreign("A folder that this volume did not make is in its place".into())
        }
    }
}

fn plan(wanted: &Wanted<Volume>, facts: &LeafState) -> Plan<VolumeStep> {
    match facts {
        LeafState::Present(leaf) if wanted.gone && removes(wanted, leaf) => {
            Plan::steps(vec![VolumeStep::Remove])
        }
        _ if wanted.gone => Plan::nothing(),
        LeafState::Unsafe(what) => Plan::stuck(
            Reason::UnsafePath,
            format!("In the place of the data is {what}; nothing is started on it"),
        ),
        LeafState::Absent if was_made(wanted) => Plan::stuck(
            Reason::MarkerMissing,
            "The data is gone: its folder was here and is not any more; nothing is started on an empty one",
        ),
        LeafState::Absent => Plan::steps(vec![VolumeStep::Make]),
        LeafState::Present(leaf) if leaf.marker.as_deref() == Some(wanted.uid()) => {
            let same = leaf_differences(&wanted.object, leaf).is_empty();
            if same { Plan::nothing() } else { Plan::steps(vec![VolumeStep::Set]) }
        }
        LeafState::Present(_) if was_made(wanted) => Plan::stuck(
            Reason::MarkerMissing,
            "The data is gone: another folder is in its place; nothing is started on it",
        ),
        LeafState::Present(_) => {
            Plan::stuck(Reason::NotOurs, "A folder that this volume did not make is in its place")
        }
    }
}

impl Step for VolumeStep {
    fn doing(&self) -> String {
        match self {
            Self::Make => "Make the folder".into(),
            Self::Set => "Set the folder's owner and mode".into(),
            Self::Remove => "Remove the folder and the data in it".into(),
        }
    }

    fn done(&self) -> (&'static str, String) {
        match self {
            Self::Make => ("Made", "Made the folder".into()),
            Self::Set => ("Set", "Set the folder's owner and mode".into()),
            Self::Remove => ("Removed", "Removed the folder and the data in it".into()),
        }
    }
}

/// Names the leaf of a volume.
pub(crate) fn leaf(volume: &Volume) -> Leaf {
    Leaf { instance: volume.spec.instance.clone(), path: volume.spec.path.clone() }
}

/// Whether the folder was there once, as far as anything on record tells.
fn was_made(wanted: &Wanted<Volume>) -> bool {
    wanted.object.status.as_ref().is_some_and(|status| status.made_at.is_some())
}

fn removes(wanted: &Wanted<Volume>, leaf: &LeafFacts) -> bool {
    wanted.object.spec.data_policy == DataPolicy::Delete && leaf.marker.as_deref() == Some(wanted.uid())
}

fn leaf_differences(volume: &Volume, leaf: &LeafFacts) -> Vec<FieldDiff> {
    let mut differences = Vec::new();
    if let Some(owner) = volume.spec.owner {
        FieldDiff::compare(&mut differences, "spec.owner.uid", &owner.uid, &i64::from(leaf.uid));
        FieldDiff::compare(&mut differences, "spec.owner.gid", &owner.gid, &i64::from(leaf.gid));
    }
    if let Some(mode) = volume.spec.mode_bits() {
        FieldDiff::compare(
            &mut differences,
            "spec.mode",
            &format!("{mode:04o}"),
            &format!("{:04o}", leaf.mode),
        );
    }
    differences
}

#[cfg(test)]
mod tests;
