//! What must hold at every moment, whatever goes wrong.
//!
//! *Truthful* (`truth`): nothing is called Ready by a look at which it was not, and none for longer than it takes to
//! look again. Between the look and the next one, or the event that wakes it, a status may lag; that is allowed and
//! bounded by `LAG`. An app is Ready only where all its parts say so.
//!
//! *Safe* (`data`): no data is called gone that no look found gone; data is removed only where a volume that is
//! deleted says so, once, and never under a running container; no two containers of one object ever run.
//!
//! The machine is read directly, past the gates, so that to judge changes nothing of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hearth_capabilities::containers::ContainerFacts;
use hearth_controllers::Naming;
use hearth_engine::store::Query;
use hearth_engine::{Key, Object, Store};
use hearth_meta::labels;
use hearth_pretend::{Machine, Op};

use super::gates::{Point, Verdict};
use super::{Seen, World};
use data::Data;
use truth::is_true;

mod truth;
mod data;

pub use truth::all_containers;

/// What says how it stands.
const JUDGED: &[&str] = &["Container", "Route", "Network", "Image", "Volume", "App"];
/// How often everything that is said to be Ready is compared with what is.
const ROUND: Duration = Duration::from_secs(30);
/// How long a status may be behind what it tells of where every event is lost: everything is looked at within 12
/// minutes, a look that hangs is given up after half a minute, and two rounds may be a minute and a half apart.
const LAG: Duration = Duration::from_secs(15 * 60);
/// How long before it is told a status may have been seen. A look is given up after half a minute, and what it saw is
/// written at once.
const FRESH: Duration = Duration::from_secs(2 * 60);

/// What is known of one object.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The happening at which what its Ready says was last seen to hold.
    held: u64,
    /// When that was, or when there last was an excuse.
    since: Duration,
    /// The happening at which it was last looked at.
    looked: u64,
    /// The happening and the time of the last look that was lied to.
    lied: Option<(u64, Duration)>,
}

impl Known {
    fn holds(&mut self, seen: &Seen<'_>) {
        (self.held, self.since) = (seen.count, seen.now);
    }
}

/// Watches a world, and remembers what it needs to judge.
#[derive(Default)]
struct Oracle {
    known: BTreeMap<String, Known>,
    next_round: Duration,
    data: Data,
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
            self.known.values_mut().for_each(|known| known.holds(seen));
        }
        if seen.now >= self.next_round {
            self.next_round = seen.now + ROUND;
            self.round(seen)?;
        }
        match seen.point {
            Point::Written(what) => self.written(seen, what)?,
            Point::Call(op, object) => self.note_look(seen, *op, object),
            Point::Reply(op, object) => self.note_reply(seen, *op, object),
            _ => {}
        }
        self.data.watch(seen)?;
        if matches!(seen.point, Point::Call(Op::StartContainer, _)) {
            no_two_run(seen.machine)?;
        }
        Ok(())
    }

    /// What is known of an object. What is said of one that was never seen before was said before this watch began.
    fn of(&mut self, seen: &Seen<'_>, object: &Object) -> &mut Known {
        let first = || Known { held: seen.count, since: seen.now, ..Known::default() };
        self.known.entry(object.uid().to_owned()).or_insert_with(first)
    }

    /// Nothing is said to be Ready for longer than it takes to find out that it is not.
    fn round(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let all = JUDGED.iter().flat_map(|kind| seen.store.list(&Query::of(kind)).items);
        for object in all {
            let holds = is_ready(&object) && is_true(seen, &object);
            let known = self.of(seen, &object);
            if holds {
                known.holds(seen);
            } else if is_ready(&object) && seen.now.saturating_sub(known.since) > LAG {
                return Err(format!(
                    "{} is still said to be Ready, and has not been since {:?}",
                    object.key(),
                    known.since
                ));
            }
        }
        Ok(())
    }

    fn written(&mut self, seen: &Seen<'_>, what: &str) -> Result<(), String> {
        for (word, object) in told_of(seen.store, what) {
            // What it is part of may have come to hold with it.
            for app in owners(&object).filter_map(|owner| seen.store.by_uid(owner)) {
                if app.kind == "App" && is_true(seen, &app) {
                    self.of(seen, &app).holds(seen);
                }
            }
            if !JUDGED.contains(&object.kind.as_str()) {
                continue;
            }
            if word == "status" {
                self.told(seen, &object)?;
            } else {
                self.of(seen, &object);
            }
        }
        Ok(())
    }

    /// A status was told just now: whoever says Ready has seen it, a moment ago at the most.
    fn told(&mut self, seen: &Seen<'_>, object: &Object) -> Result<(), String> {
        let (holds, now) = (is_true(seen, object), seen.now);
        let known = self.of(seen, object);
        if holds || !is_ready(object) {
            if holds {
                known.holds(seen);
            }
            return Ok(());
        }
        // Others look at the same folders, images and routes, so that nobody can tell whose look was the last.
        let is_looked_at_alone = ["Container", "Network", "App"].contains(&object.kind.as_str());
        let is_fresh = |time: Duration| now.saturating_sub(time) <= FRESH;
        let (is_a_lie, was_lied_to) = if is_looked_at_alone {
            (known.held < known.looked, known.lied.is_some_and(|(count, _)| count == known.looked))
        } else {
            (!is_fresh(known.since), known.lied.is_some_and(|(_, time)| is_fresh(time)))
        };
        if was_lied_to {
            // It is taken back once somebody looks again.
            known.since = now;
        } else if is_a_lie {
            return Err(format!(
                "{} is said to be Ready, and was not at the last look (happening {}, now {}; it was at {}): {}",
                object.key(),
                known.looked,
                seen.count,
                known.held,
                object.status()
            ));
        }
        Ok(())
    }

    /// A look that was carried out just now, at the truth or at a lie.
    fn note_look(&mut self, seen: &Seen<'_>, op: Op, named: &str) {
        if matches!(seen.verdict, Verdict::Fail(_) | Verdict::Hang(_) | Verdict::Lost) {
            return;
        }
        let is_lie = matches!(seen.verdict, Verdict::Stale(_) | Verdict::Empty | Verdict::Slow(_));
        for object in looked_at(seen.store, op, named) {
            let holds = is_true(seen, &object);
            let known = self.of(seen, &object);
            known.looked = seen.count;
            if is_lie {
                known.lied = Some((seen.count, seen.now));
            }
            if holds {
                known.holds(seen);
            }
        }
    }

    /// What was slow has been carried out by now, and the store may have gone on meanwhile.
    fn note_reply(&mut self, seen: &Seen<'_>, op: Op, named: &str) {
        for object in looked_at(seen.store, op, named) {
            if is_true(seen, &object) {
                self.of(seen, &object).holds(seen);
            }
        }
    }
}

/// The objects whose standing a call looks at.
fn looked_at(store: &Store, op: Op, named: &str) -> Vec<Arc<Object>> {
    let all = |kind: &str, is_meant: &dyn Fn(&Object) -> bool| {
        store.list(&Query::of(kind)).items.into_iter().filter(|object| is_meant(object)).collect()
    };
    let of_name = |kind: &str| names().key(kind, named).and_then(|key| store.get(&key)).into_iter().collect();
    match op {
        Op::InspectContainer => of_name("Container"),
        Op::InspectNetwork => of_name("Network"),
        Op::InspectImage => all("Image", &|image| image.spec()["reference"] == named),
        Op::InspectLeaf => all("Volume", &|volume| data::leaf_of(volume) == named),
        Op::ReadProxy => all("Route", &|_| true),
        Op::LoadFiles => store.by_uid(named).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What was written, word by word, with the object that it is about where that is still there.
fn told_of<'a>(store: &'a Store, written: &'a str) -> impl Iterator<Item = (&'a str, Arc<Object>)> {
    written.split(", ").filter_map(|words| {
        let (word, key) = words.split_once(' ')?;
        let (kind, name) = key.split_once(' ')?;
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        Some((word, store.get(&Key::new(kind, namespace, name))?))
    })
}

/// Whom it belongs to. An image is of the whole machine, and only its label tells.
fn owners(object: &Object) -> impl Iterator<Item = &str> {
    let label = object.metadata.labels.as_ref().and_then(|all| all.get(labels::OWNER_UID));
    object.owners().chain(label.map(String::as_str))
}

fn is_ready(object: &Object) -> bool {
    object.status()["summary"] == "Ready"
        && object.status()["observedGeneration"].as_i64() == object.metadata.generation
        && !object.is_going()
}

/// What a world's containers and networks are called in its engine.
fn names() -> Naming {
    Naming::new(super::PREFIX)
}

fn no_two_run(machine: &Machine) -> Result<(), String> {
    let mut running: BTreeMap<String, String> = BTreeMap::new();
    let is_running = |container: &ContainerFacts| container.state.running;
    for container in all_containers(machine).into_iter().filter(is_running) {
        let Some(uid) = container.labels.get(labels::UID) else { continue };
        if let Some(other) = running.insert(uid.clone(), container.name.clone()) {
            return Err(format!("{other} and {} both run for one object", container.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
