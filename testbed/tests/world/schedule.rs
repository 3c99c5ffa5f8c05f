//! What goes wrong in a run, and what people do in it, as a list that a seed makes and that can be cut short.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hearth::world::random::Random;
use hearth::world::{About, Point, Verdict};
use hearth_capabilities::{Fault, Happening, Volumes};
use hearth_pretend::{Backend, Op};

use crate::strangers::now;
use crate::world::World;

/// One thing that goes wrong, or that somebody does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// The so-manieth call of this operation goes on like this.
    Call(Op, usize, Verdict),
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
    Prune,
    Disconnect(&'static str),
    RemoveNetwork,
    ClearProxy,
    PruneImages,
    /// The one thing that no home recovers from by itself; no schedule is made with it.
    LoseRows,
}

/// Operations that a running home calls.
const CALLS: &[Op] = &[
    Op::ListContainers,
    Op::InspectContainer,
    Op::CreateContainer,
    Op::StartContainer,
    Op::StopContainer,
    Op::RemoveContainer,
    Op::ListNetworks,
    Op::InspectNetwork,
    Op::CreateNetwork,
    Op::RemoveNetwork,
    Op::ConnectNetwork,
    Op::InspectImage,
    Op::PullImage,
    Op::RemoveImage,
    Op::ReadProxy,
    Op::WriteProxy,
    Op::ResetProxy,
    Op::InspectLeaf,
    Op::MakeLeaf,
    Op::ListLeaves,
    Op::SaveFiles,
    Op::LoadFiles,
];

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
            let op = CALLS[random.below(CALLS.len())];
            let nth = random.below(if op.change().is_some() { 4 } else { 25 });
            Entry::Call(op, nth, verdict(random))
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
    match random.below(10) {
        0 | 1 => Hand::Remove(container),
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

/// Tells each point how to go on by a schedule, while it is armed.
pub(crate) fn verdicts(schedule: &[Entry], armed: &Rc<Cell<bool>>) -> Box<dyn FnMut(&Point) -> Verdict> {
    let (schedule, armed) = (schedule.to_vec(), armed.clone());
    let (mut calls, mut writes, mut events) = (BTreeMap::<Op, usize>::new(), 0, 0);
    Box::new(move |point| {
        if !armed.get() {
            return Verdict::Go;
        }
        let is_meant: Meant = match point {
            Point::Call(op, _) => {
                let (op, nth) = (*op, count(calls.entry(*op).or_default()));
                Box::new(move |entry| match entry {
                    Entry::Call(of, at, verdict) if *of == op && *at == nth => Some(verdict.clone()),
                    _ => None,
                })
            }
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

/// Counts one more, and says which it is.
fn count(counted: &mut usize) -> usize {
    *counted += 1;
    *counted - 1
}

impl Hand {
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
