//! What must hold at every moment, whatever goes wrong.
//!
//! *Truthful*: no container is called Ready by a look at which it was not, and none for longer than it takes to look
//! again. No data is called gone that no look found gone. Between the look and the next one, or the event that wakes it, a status may lag; that is allowed and
//! bounded by `LAG`. An app is Ready only where all its containers say so.
//!
//! *Safe*: data is removed only where a volume that is deleted says so, once, and never under a running container;
//! no two containers of one object ever run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_capabilities::{Containers, Volumes};
use hearth_controllers::Naming;
use hearth_engine::store::Query;
use hearth_engine::{Object, Store};
use hearth_meta::{Reason, labels};
use hearth_pretend::{Machine, Op};

use super::gates::{Point, Verdict};
use super::{Seen, World, is_change};

/// How long a status may be behind what it tells of where every event is lost: everything is looked at within 12
/// minutes, and a look that hangs is given up after half a minute.
const LAG: Duration = Duration::from_secs(14 * 60);

/// What is known of one container or app.
#[derive(Clone, Debug, Default)]
struct Known {
    /// When what its Ready would say last held: happening and time.
    held: (u64, Duration),
    /// When it was last looked at.
    looked: u64,
    /// Whether that look was lied to.
    was_lied_to: bool,
}

/// Watches a world, and remembers what it needs to judge.
#[derive(Default)]
struct Oracle {
    known: BTreeMap<String, Known>,
    /// Whether any look at a folder of data saw something else than the data, or was lied to, since its volume last
    /// said that it is there.
    doubtful: BTreeMap<String, bool>,
    /// Data whose removal was asked for and is yet to be carried out.
    going: BTreeSet<String>,
}

impl World {
    /// From now on every moment is judged.
    pub fn judge(&mut self) {
        let mut oracle = Oracle::default();
        self.watcher = Some(Box::new(move |seen| oracle.watch(seen)));
    }
}

impl Oracle {
    fn watch(&mut self, seen: &mut Seen<'_>) -> Result<(), String> {
        if matches!(seen.point, Point::Write) && *seen.verdict != Verdict::Go {
            // No status can be told while the disk refuses; the store itself says so then.
            self.known.values_mut().for_each(|known| known.held = (seen.count, seen.now));
        }
        let is_news = match seen.point {
            Point::Call(Op::InspectContainer | Op::LoadFiles | Op::InspectLeaf, _)
            | Point::Reply(Op::RemoveLeaf, _)
            | Point::Written(_)
            | Point::Event(..) => true,
            point => is_change(point),
        };
        if !is_news {
            return Ok(());
        }
        let containers = seen.store.list(&Query::of("Container")).items;
        let apps = seen.store.list(&Query::of("App")).items;
        for object in &containers {
            let holds = is_true(seen.machine, object);
            self.judge(seen, object, holds)?;
        }
        for app in &apps {
            // A part that is no longer declared is on its way out.
            let children = seen.store.owned_by(app.uid());
            let mut parts = children.iter().filter(|child| child.kind == "Container" && !child.is_going());
            let holds = parts.all(|part| is_ready(part));
            self.judge(seen, app, holds)?;
        }
        if let Point::Written(what) = seen.point {
            self.is_gone_where_it_is_said(seen, what)?;
        }
        self.note_look(seen);
        self.note_folder(seen);
        match (seen.point, seen.verdict) {
            (Point::Call(Op::RemoveLeaf, leaf), Verdict::Go | Verdict::Lost) => data_goes(seen, leaf)?,
            // It is carried out later, and what it rests on must hold then as well.
            (Point::Call(Op::RemoveLeaf, leaf), Verdict::Slow(_)) => {
                data_goes(seen, leaf)?;
                self.going.insert(leaf.clone());
            }
            (Point::Reply(Op::RemoveLeaf, leaf), _) if self.going.remove(leaf) => data_goes(seen, leaf)?,
            _ => {}
        }
        if matches!(seen.point, Point::Call(Op::StartContainer, _)) {
            no_two_run(seen.machine)?;
        }
        Ok(())
    }

    fn judge(&mut self, seen: &Seen<'_>, object: &Object, holds: bool) -> Result<(), String> {
        // What is said of one that was never seen before was said before this watch began.
        let first = || Known { held: (seen.count, seen.now), ..Known::default() };
        let known = self.known.entry(object.uid().to_owned()).or_insert_with(first);
        if holds || !is_ready(object) {
            if holds {
                known.held = (seen.count, seen.now);
            }
            return Ok(());
        }
        let was_just_told = matches!(seen.point, Point::Written(what) if tells_status(what, object));
        if was_just_told && !known.was_lied_to && known.held.0 < known.looked {
            return Err(format!(
                "{} is said to be Ready, and was not at the last look (happening {}, now {}): {}",
                object.key(),
                known.looked,
                seen.count,
                object.status()
            ));
        }
        if seen.now.saturating_sub(known.held.1) > LAG {
            return Err(format!(
                "{} is still said to be Ready, and has not been since {:?}",
                object.key(),
                known.held.1
            ));
        }
        Ok(())
    }

    /// A look that was carried out just now, at the truth or at a lie.
    fn note_look(&mut self, seen: &Seen<'_>) {
        let Point::Call(op, object) = seen.point else { return };
        let of = match op {
            Op::InspectContainer => container_named(seen.store, object),
            Op::LoadFiles => Some(object.clone()),
            _ => None,
        };
        let Some(known) = of.and_then(|uid| self.known.get_mut(&uid)) else { return };
        if matches!(seen.verdict, Verdict::Fail(_) | Verdict::Hang(_) | Verdict::Lost) {
            return;
        }
        known.looked = seen.count;
        known.was_lied_to = matches!(seen.verdict, Verdict::Stale(_) | Verdict::Empty | Verdict::Slow(_));
    }
}

impl Oracle {
    /// A look at a folder of data that was answered just now, with the truth or with a lie.
    fn note_folder(&mut self, seen: &Seen<'_>) {
        let Point::Call(Op::InspectLeaf, shown) = seen.point else { return };
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
        *self.doubtful.entry(shown.clone()).or_default() |= !is_there || *seen.verdict != Verdict::Go;
    }

    /// Data that is said to be gone was gone when it was looked at: what cannot be looked at is not gone.
    fn is_gone_where_it_is_said(&mut self, seen: &Seen<'_>, written: &str) -> Result<(), String> {
        for volume in seen.store.list(&Query::of("Volume")).items {
            if !tells_status(written, &volume) {
                continue;
            }
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

/// Whether what was written says the status of this very object.
fn tells_status(written: &str, object: &Object) -> bool {
    let told = format!("status {}", object.key());
    written.split(", ").any(|word| word == told)
}

/// The folder of a volume, as a call names it.
fn leaf_of(volume: &Object) -> String {
    let word = |field: &str| volume.spec()[field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", word("instance"), word("path"))
}

fn data_goes(seen: &Seen<'_>, leaf: &str) -> Result<(), String> {
    let volumes = seen.store.list(&Query::of("Volume")).items;
    let volume = volumes.iter().find(|volume| leaf_of(volume) == leaf);
    let is_wished = volume.is_some_and(|volume| volume.is_going() && volume.spec()["dataPolicy"] == "Delete");
    if !is_wished {
        return Err(format!("the data in {leaf} is removed, and nobody wished it"));
    }
    let uses = |container: &&ContainerFacts| {
        container.state.running && container.mounts.iter().any(|mount| mount.host_path.ends_with(leaf))
    };
    let running = all_containers(seen.machine);
    let user = running.iter().find(uses);
    match user {
        Some(user) => Err(format!("the data in {leaf} is removed under {}", user.name)),
        None => Ok(()),
    }
}

fn is_ready(object: &Object) -> bool {
    object.status()["summary"] == "Ready"
        && object.status()["observedGeneration"].as_i64() == object.metadata.generation
        && !object.is_going()
}

/// What a world's containers are called in its engine.
fn names() -> Naming {
    Naming::new(super::PREFIX)
}

/// Whether the machine is as a Ready container says it is.
fn is_true(machine: &Machine, object: &Object) -> bool {
    let spec = object.spec();
    let engine_name = names().of(object.metadata.namespace.as_deref().unwrap_or_default(), object.name());
    let seen = Containers::inspect(machine, &engine_name).now_or_never().and_then(Result::ok).flatten();
    let ours = seen.filter(|seen| seen.labels.get(labels::UID).is_some_and(|uid| uid == object.uid()));
    if spec["power"] == "Stopped" {
        return ours.is_none_or(|ours| !ours.state.running);
    }
    if spec["type"] == "Job" {
        // Done once is done; the container may be pruned.
        return !object.status()["completedAt"].is_null()
            || ours.is_some_and(|ours| ours.state.status == "exited");
    }
    ours.is_some_and(|ours| ours.state.running && matches!(ours.state.health, None | Some(Health::Healthy)))
}

fn container_named(store: &Store, engine_name: &str) -> Option<String> {
    store.get(&names().key("Container", engine_name)?).map(|object| object.uid().to_owned())
}

/// Every container of a machine that takes no time.
pub fn all_containers(machine: &Machine) -> Vec<ContainerFacts> {
    let listed = Containers::list(machine).now_or_never().and_then(Result::ok).unwrap_or_default();
    let inspect = |name: &str| Containers::inspect(machine, name).now_or_never()?.ok()?;
    listed.iter().filter_map(|listed| inspect(&listed.name)).collect()
}

fn no_two_run(machine: &Machine) -> Result<(), String> {
    let mut running: BTreeMap<String, String> = BTreeMap::new();
    for container in all_containers(machine).into_iter().filter(|container| container.state.running) {
        let Some(uid) = container.labels.get(labels::UID) else { continue };
        if let Some(other) = running.insert(uid.clone(), container.name.clone()) {
            return Err(format!("{other} and {} both run for one object", container.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
