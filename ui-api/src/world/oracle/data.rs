//! That data is safe: it goes only where that is wished, under nobody, and is not called gone where it is not.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use hearth_capabilities::Volumes;
use hearth_capabilities::containers::ContainerFacts;
use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_engine::Object;
use hearth_engine::store::Query;
use hearth_meta::Reason;
use hearth_pretend::Op;

use super::{all_containers, told_of};
use crate::world::Seen;
use crate::world::gates::{Point, Verdict};

/// What is remembered of folders of data, by what a call names them.
#[derive(Default)]
pub(super) struct Data {
    /// Whether any look at it saw something else than the data, or was lied to, since its volume last said that it is
    /// there.
    doubtful: BTreeMap<String, bool>,
    /// Whose removal was asked for and is yet to be carried out.
    going: BTreeSet<String>,
}

impl Data {
    pub(super) fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match (seen.point, seen.verdict) {
            (Point::Written(what), _) => self.is_gone_where_it_is_said(seen, what),
            (Point::Call(Op::InspectLeaf, leaf), _) => {
                self.note_look(seen, leaf);
                Ok(())
            }
            (Point::Call(Op::RemoveLeaf, leaf), Verdict::Go | Verdict::Lost) => goes(seen, leaf),
            // It is carried out later, and what it rests on must hold then as well.
            (Point::Call(Op::RemoveLeaf, leaf), Verdict::Slow(_)) => {
                goes(seen, leaf)?;
                self.going.insert(leaf.clone());
                Ok(())
            }
            (Point::Reply(Op::RemoveLeaf, leaf), _) if self.going.remove(leaf) => goes(seen, leaf),
            _ => Ok(()),
        }
    }

    /// A look at a folder that was answered just now, with the truth or with a lie.
    fn note_look(&mut self, seen: &Seen<'_>, shown: &str) {
        let Some((instance, path)) = shown.split_once('/') else { return };
        let leaf = Leaf { instance: instance.to_owned(), path: path.to_owned() };
        // A disk out of reach answers nothing.
        let Some(Ok(there)) = Volumes::inspect(seen.machine, &leaf).now_or_never() else { return };
        if matches!(seen.verdict, Verdict::Fail(_) | Verdict::Hang(_) | Verdict::Lost) {
            return;
        }
        let is_of = |volume: &Object| leaf_of(volume) == *shown;
        let volumes = seen.store.list(&Query::of("Volume")).items;
        let uid = volumes.iter().find(|volume| is_of(volume)).map(|volume| volume.uid().to_owned());
        let is_there =
            matches!(there, LeafState::Present(facts) if facts.marker.is_some() && facts.marker == uid);
        *self.doubtful.entry(shown.to_owned()).or_default() |= !is_there || *seen.verdict != Verdict::Go;
    }

    /// Data that is said to be gone was gone when it was looked at: what cannot be looked at is not gone.
    fn is_gone_where_it_is_said(&mut self, seen: &Seen<'_>, written: &str) -> Result<(), String> {
        let told = told_of(seen.store, written);
        for (_, volume) in told.filter(|(word, told)| *word == "status" && told.kind == "Volume") {
            // Where no look was answered, none found it gone.
            let doubtful = self.doubtful.entry(leaf_of(&volume)).or_default();
            if volume.status()["reason"] != Reason::MarkerMissing.as_str() {
                *doubtful = false;
            } else if !*doubtful {
                return Err(format!(
                    "the data of {} is said to be gone, and no look found it so (now {})",
                    volume.key(),
                    seen.count
                ));
            }
        }
        Ok(())
    }
}

/// The folder of a volume, as a call names it.
pub(super) fn leaf_of(volume: &Object) -> String {
    let word = |field: &str| volume.spec()[field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", word("instance"), word("path"))
}

fn goes(seen: &Seen<'_>, leaf: &str) -> Result<(), String> {
    let volumes = seen.store.list(&Query::of("Volume")).items;
    let volume = volumes.iter().find(|volume| leaf_of(volume) == leaf);
    let is_wished = volume.is_some_and(|volume| volume.is_going() && volume.spec()["dataPolicy"] == "Delete");
    if !is_wished {
        return Err(format!("the data in {leaf} is removed, and nobody wished it"));
    }
    // The folders of an instance lie under its `data/`.
    let on_host = leaf.split_once('/').map(|(instance, path)| format!("/{instance}/data/{path}"));
    let is_it = |host_path: &str| on_host.as_ref().is_some_and(|leaf| host_path.ends_with(leaf));
    let uses = |container: &&ContainerFacts| {
        container.state.running && container.mounts.iter().any(|mount| is_it(&mount.host_path))
    };
    match all_containers(seen.machine).iter().find(uses) {
        Some(user) => Err(format!("the data in {leaf} is removed under {}", user.name)),
        None => Ok(()),
    }
}
