//! What goes wrong in a run, and what people do in it, as a list that a seed makes and that can be cut short.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hearth::world::random::Random;
use hearth::world::{About, Point, Verdict};
use hearth_capabilities::{Fault, Happening, Volumes};
use hearth_engine::{Clock, ManualClock};
use hearth_pretend::{Backend, Op};

use crate::homes::shelf_leaf;
use crate::strangers::now;
use crate::world::World;

/// One thing that goes wrong, or that somebody does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// The so-manieth call of this operation goes on like this, and so many in a row with it: a view that is stale stays
    /// frozen as long.
    Call(Op, usize, usize, Verdict),
    /// The so-manieth write of the store is refused, and so many after it: with an error, or for want of room.
    Disk(usize, usize, Verdict),
    /// The so-manieth event goes on like this: `Slow` is told twice, anything else but `Go` is lost.
    Event(usize, Verdict),
    /// From the so-manieth event on so many are lost to everybody: nobody sees the states in between.
    Unseen(usize, usize),
    /// After so many happenings, something.
    At(u64, Act),
}

/// What happens at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Everything but the store's files and the machine is gone, and comes up again.
    Crash,
    /// Every stream of events breaks off.
    Break,
    /// A part of the machine answers nothing for so long.
    Out(Backend, Duration),
    /// From then on the machine tells so much later of what happens to these.
    Late(About, Duration),
    /// The wall clock is set so many minutes ahead, or back.
    Wall(i64),
    /// Somebody asks for something else: a number among the wishes.
    Wish(usize),
    /// Somebody does something to the machine.
    Hand(Hand),
}

/// What is done to the machine past Hearth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hand {
    Remove(&'static str),
    Stop(&'static str),
    Kill(&'static str),
    Edit(&'static str),
    /// `chmod` on the folder that has a mode.
    Chmod,
    Prune,
    Disconnect(&'static str),
    RemoveNetwork,
    ClearProxy,
    PruneImages,
    /// The one thing that no home recovers from by itself; no schedule is made with it.
    LoseRows,
}

/// Calls that are not disturbed, and why. Every other one is.
const SPARED: &[(Op, &str)] = &[
    (Op::ReadLogs, "waits at no gate, since people read logs"),
    (Op::ReadUsage, "waits at no gate, since people read what is used"),
    (Op::ReadEngine, "waits at no gate, since people read what the engine is"),
    (Op::Subscribe, "waits at no gate: what is subscribed to breaks off, and each event waits by itself"),
    (Op::AdoptLeaf, "is called for a person who says whose data it is"),
    (Op::ListInstances, "is called by a server that starts, before anything runs, and for a person"),
];

/// Calls that are disturbed.
pub(crate) fn calls() -> Vec<Op> {
    let is_spared = |op: &Op| SPARED.iter().any(|(spared, _)| spared == op);
    Op::ALL.iter().copied().filter(|op| !is_spared(op)).collect()
}

/// So many calls in a row may go on alike.
const FROZEN: usize = 10;
/// So long at the most. A home that is lied to for longer than it takes to look again tells what it was told.
const THAWS_AFTER: Duration = Duration::from_secs(60);

/// By how many minutes a wall clock is set: a little, as the summer's hour comes and goes, by days, and by a battery
/// that was flat.
const WALLS: &[i64] = &[-1, 1, -60, 60, -90, 90, -3000, 3000, -60_000, 60_000, -20_000_000];

const CONTAINERS: &[&str] = &["shop-web", "shop-db", "shop-migrate"];

/// A schedule by the seed's numbers.
pub(crate) fn generate(random: &mut Random, wishes: usize) -> Vec<Entry> {
    (0..2 + random.below(6)).map(|_| entry(random, wishes)).collect()
}

fn entry(random: &mut Random, wishes: usize) -> Entry {
    let at = random.next() % 400;
    match random.below(19) {
        0..=6 => {
            let calls = calls();
            let op = calls[random.below(calls.len())];
            let nth = random.below(if op.change().is_some() { 4 } else { 25 });
            let times = if random.below(4) == 0 { 2 + random.below(FROZEN) } else { 1 };
            Entry::Call(op, nth, times, verdict(random))
        }
        7 => Entry::Disk(random.below(60), 1 + random.below(3), Verdict::Lost),
        16 => Entry::Disk(random.below(60), 1 + random.below(25), Verdict::Full),
        17 => Entry::Unseen(random.below(20), 2 + random.below(60)),
        8 => Entry::Event(random.below(30), if random.below(3) == 0 { slow(random) } else { Verdict::Lost }),
        9 => Entry::At(at, Act::Crash),
        10 => Entry::At(at, Act::Break),
        11 => {
            let backend = [Backend::Engine, Backend::Proxy, Backend::Disk][random.below(3)];
            Entry::At(at, Act::Out(backend, Duration::from_secs(1 + random.next() % 400)))
        }
        18 => {
            let about = About::ALL[random.below(About::ALL.len())];
            Entry::At(at, Act::Late(about, Duration::from_secs(60 * (1 + random.next() % 60))))
        }
        12 => Entry::At(at, Act::Wall(WALLS[random.below(WALLS.len())])),
        13 => Entry::At(at, Act::Wish(random.below(wishes))),
        _ => Entry::At(at, Act::Hand(hand(random))),
    }
}

fn slow(random: &mut Random) -> Verdict {
    Verdict::Slow(Duration::from_secs(1 + random.next() % 60))
}

fn verdict(random: &mut Random) -> Verdict {
    match random.below(8) {
        0 => Verdict::Fail(Fault::Blind("no answer: connection refused".into())),
        1 => Verdict::Fail(Fault::Failed("the engine says no".into())),
        2 => Verdict::Lost,
        3 => Verdict::Hang(Duration::from_secs(1 + random.next() % 900)),
        4 => slow(random),
        5 => Verdict::Stale(1 + random.below(12)),
        6 => Verdict::Empty,
        _ => Verdict::Partial,
    }
}

fn hand(random: &mut Random) -> Hand {
    let container = CONTAINERS[random.below(CONTAINERS.len())];
    match random.below(11) {
        0 | 1 => Hand::Remove(container),
        10 => Hand::Chmod,
        2 => Hand::Stop(container),
        3 => Hand::Kill(container),
        4 => Hand::Edit(container),
        5 => Hand::Prune,
        6 => Hand::Disconnect(container),
        7 => Hand::RemoveNetwork,
        8 => Hand::ClearProxy,
        _ => Hand::PruneImages,
    }
}

/// How an entry says that a point goes on, where it is about it.
type Meant = Box<dyn Fn(&Entry) -> Option<Verdict>>;

/// Tells each point how to go on by a schedule, while it is armed; nothing lasts longer than one call.
pub(crate) fn verdicts(schedule: &[Entry], armed: &Rc<Cell<bool>>) -> Box<dyn FnMut(&Point) -> Verdict> {
    verdicts_by(None, schedule, armed)
}

/// The same, where an answer may be false for several calls until it thaws, by this clock.
pub(crate) fn verdicts_by(
    clock: Option<&ManualClock>,
    schedule: &[Entry],
    armed: &Rc<Cell<bool>>,
) -> Box<dyn FnMut(&Point) -> Verdict> {
    let (schedule, armed) = (schedule.to_vec(), armed.clone());
    let mut calls = Calls { clock: clock.cloned(), counts: BTreeMap::new(), began: BTreeMap::new() };
    let (mut writes, mut events) = (0, 0);
    Box::new(move |point| {
        if !armed.get() {
            return Verdict::Go;
        }
        let is_meant: Meant = match point {
            Point::Call(op, object) => return calls.verdict(&schedule, *op, object),
            Point::Write => {
                let nth = count(&mut writes);
                Box::new(move |entry| match entry {
                    Entry::Disk(from, times, how) if (*from..from + times).contains(&nth) => {
                        Some(how.clone())
                    }
                    _ => None,
                })
            }
            // That somebody listens again is known to whoever does.
            Point::Event(_, happening) if *happening != Happening::Listening => {
                let nth = count(&mut events);
                Box::new(move |entry| match entry {
                    Entry::Event(at, verdict) if *at == nth => Some(verdict.clone()),
                    Entry::Unseen(from, count) if (*from..from + count).contains(&nth) => Some(Verdict::Lost),
                    _ => None,
                })
            }
            _ => return Verdict::Go,
        };
        schedule.iter().find_map(is_meant).unwrap_or(Verdict::Go)
    })
}

/// The calls so far.
struct Calls {
    clock: Option<ManualClock>,
    counts: BTreeMap<Op, usize>,
    /// Since when each entry is at work, by its place in the schedule.
    began: BTreeMap<usize, Duration>,
}

impl Calls {
    fn verdict(&mut self, schedule: &[Entry], op: Op, object: &str) -> Verdict {
        let nth = count(self.counts.entry(op).or_default());
        for (place, entry) in schedule.iter().enumerate() {
            let Entry::Call(of, at, times, verdict) = entry else { continue };
            let since = nth.checked_sub(*at).filter(|since| since < times);
            let Some(since) = since.filter(|_| *of == op && self.is_frozen(place)) else { continue };
            // Whether there is anything to take back is asked once, of what is gone for good then. Who hears that there
            // is nothing has no other way to know.
            let may_be_told = !(object.ends_with(" at all") && is_lie(verdict));
            return match verdict {
                _ if !may_be_told => Verdict::Go,
                // What it was at the same moment still.
                Verdict::Stale(looks) => Verdict::Stale(looks + since),
                other => other.clone(),
            };
        }
        Verdict::Go
    }

    /// Whether an entry is yet to thaw; from now on its time runs.
    fn is_frozen(&mut self, place: usize) -> bool {
        let Some(clock) = &self.clock else { return self.began.insert(place, Duration::ZERO).is_none() };
        let now = clock.elapsed();
        now.saturating_sub(*self.began.entry(place).or_insert(now)) <= THAWS_AFTER
    }
}

/// Whether an answer is not the truth, as against one that does not come.
pub(crate) fn is_lie(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Stale(_) | Verdict::Empty | Verdict::Partial)
}

/// Counts one more, and says which it is.
fn count(counted: &mut usize) -> usize {
    *counted += 1;
    *counted - 1
}

impl Hand {
    /// Whether it touches a container of that name.
    pub(crate) fn is_about(self, container: &str) -> bool {
        match self {
            Self::Remove(name)
            | Self::Stop(name)
            | Self::Kill(name)
            | Self::Edit(name)
            | Self::Disconnect(name) => name == container,
            Self::Prune => true,
            _ => false,
        }
    }

    pub(crate) fn act(self, world: &World) {
        let machine = &world.machine;
        let named = |name: &str| format!("hearth_household_{name}");
        match self {
            Self::Remove(name) => machine.remove_by_hand(&named(name)),
            Self::Stop(name) => machine.stop_by_hand(&named(name)),
            Self::Kill(name) => machine.kill(&named(name)),
            Self::Edit(name) => {
                machine.edit(&named(name), |facts| drop(facts.env.insert("BY_HAND".into(), "yes".into())));
            }
            Self::Chmod => machine.chmod_leaf(&shelf_leaf(), 0o777),
            Self::Prune => machine.prune_containers(),
            Self::Disconnect(name) => machine.disconnect("hearth_household_shop", &named(name)),
            Self::RemoveNetwork => machine.remove_network("hearth_household_shop"),
            Self::ClearProxy => machine.clear_proxy(),
            Self::PruneImages => machine.prune_images(),
            Self::LoseRows => {
                let leaves = now(Volumes::list(machine)).into_iter().map(|listed| listed.leaf);
                leaves.filter(|leaf| leaf.path == "rows").for_each(|leaf| machine.remove_leaf_by_hand(&leaf));
            }
        }
    }
}
