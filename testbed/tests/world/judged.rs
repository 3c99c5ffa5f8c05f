//! What may have come of a schedule besides how the home stands in the end: what became of data, how often things were
//! made, and how often a migration was run.

use std::collections::BTreeMap;

use hearth_capabilities::Volumes;
use hearth_pretend::{Backend, Op};

use crate::faults::{AGAIN, DELETED, DESTROYED, STOPPED};
use crate::schedule::{Act, Entry, is_lie};
use crate::strangers::now;
use crate::world::World;

/// Of each thing no more is made and removed than the disturbances and the wishes can have cost, one each; data is
/// removed only where that was wished, and a migration is run no more often than there is something new to migrate.
pub(crate) fn each_is_made_seldom(
    before: &BTreeMap<String, u64>,
    now: &BTreeMap<String, u64>,
    schedule: &[Entry],
) {
    let disturbances = disturbances(schedule);
    let destroys = wishes(schedule).contains(&DESTROYED);
    let runs = most_runs(schedule);
    for (what, count) in now {
        let more = count - before.get(what).copied().unwrap_or(0);
        let removes_data = what.starts_with("remove leaf") && more > 0;
        assert!(!removes_data || destroys, "{what}, and nobody asked for it");
        let is_counted = what.starts_with("create") || what.starts_with("remove container") || removes_data;
        assert!(
            !is_counted || more <= disturbances + 3,
            "{what}: {more} times for {disturbances} disturbances"
        );
        let is_run = what == "start container hearth_household_shop-migrate";
        assert!(!is_run || more <= runs, "the migration is run {more} times, and {runs} are called for");
    }
}

/// How often something goes wrong or is done.
pub(crate) fn disturbances(schedule: &[Entry]) -> u64 {
    let each = |entry: &Entry| if let Entry::Call(_, _, times, _) = entry { *times as u64 } else { 1 };
    schedule.iter().map(each).sum()
}

/// What is wished on the way, in order.
pub(crate) fn wishes(schedule: &[Entry]) -> Vec<usize> {
    let mut wishes: Vec<(u64, usize)> = schedule
        .iter()
        .filter_map(|e| if let Entry::At(at, Act::Wish(wish)) = e { Some((*at, *wish)) } else { None })
        .collect();
    wishes.sort_by_key(|(at, _)| *at);
    wishes.into_iter().map(|(_, wish)| wish).collect()
}

/// So many times the migration may be run: each time something new is to be migrated, and once more for each thing that
/// may have broken it off, or told that it had not run yet. In a home that only ever wished what was migrated when the
/// run began that is never, whatever becomes of its container.
fn most_runs(schedule: &[Entry]) -> u64 {
    /// Which app, by how often it was made anew, and its version; `None` where nobody can say what was done.
    type Done = Option<(u64, &'static str)>;
    let wishes = wishes(schedule);
    let last = wishes.last().copied().unwrap_or(0);
    let then = (last == AGAIN).then_some(0);
    let (mut made, mut done, mut runs): (u64, Done, u64) = (0, Some((0, "1")), 0);
    for wish in wishes.into_iter().chain([last]).chain(then) {
        match wish {
            DELETED | DESTROYED => made += 1,
            // What was under way is broken off.
            STOPPED => done = done.filter(|_| runs == 0),
            wish => {
                made += u64::from(wish == AGAIN);
                let needed = Some((made, if wish == 1 { "2" } else { "1" }));
                runs += u64::from(done != needed);
                done = needed;
            }
        }
    }
    let broken_off = |entry: &Entry| match entry {
        Entry::At(_, Act::Hand(hand)) => u64::from(hand.is_about("shop-migrate")),
        Entry::Call(Op::InspectContainer | Op::ListContainers | Op::LoadFiles, _, times, verdict)
            if is_lie(verdict) =>
        {
            *times as u64
        }
        _ => 0,
    };
    if runs == 0 { 0 } else { runs + schedule.iter().map(broken_off).sum::<u64>() }
}

/// Every folder of data before a run, and what may become of it.
pub(crate) struct Data {
    leaves: BTreeMap<String, String>,
    /// The instance of the shop.
    shop: String,
    wishes: Vec<usize>,
    /// Whether a look at the disk is lied to: what is gone by all that can be seen is not removed.
    is_lied_to: bool,
}

impl Data {
    pub(crate) fn of(world: &World, schedule: &[Entry]) -> Self {
        let lies = |entry: &Entry| match entry {
            Entry::Call(op, .., verdict) => op.backend() == Backend::Disk && is_lie(verdict),
            _ => false,
        };
        let leaves = leaves(world);
        let shop = leaves.keys().find_map(|leaf| leaf.strip_suffix("/rows")).unwrap().to_owned();
        Self { leaves, shop, wishes: wishes(schedule), is_lied_to: schedule.iter().any(lies) }
    }

    /// All is there but the data of an app that was to go with it; and that is gone.
    pub(crate) fn is_where_it_was_wished(&self, world: &World, wish: usize) {
        let now = leaves(world);
        let may_go = |leaf: &str| self.wishes.contains(&DESTROYED) && leaf.starts_with(&self.shop);
        for (leaf, marker) in self.leaves.iter().filter(|(leaf, _)| !may_go(leaf)) {
            assert_eq!(now.get(leaf), Some(marker), "the data in {leaf} is gone, and nobody wished it");
        }
        // Data that was kept by a wish before stays whatever is wished later.
        let is_kept = self.wishes.iter().any(|wish| [DELETED, AGAIN].contains(wish));
        if wish == DESTROYED && !is_kept && !self.is_lied_to {
            let left =
                now.keys().filter(|leaf| leaf.starts_with(&self.shop) || !self.leaves.contains_key(*leaf));
            let left: Vec<&String> = left.collect();
            assert!(left.is_empty(), "{left:?} should have gone with the app");
            let instances = world.machine.as_value()["disk"]["instances"].take();
            assert!(instances[&self.shop].is_null(), "files of the app are left: {}", instances[&self.shop]);
        }
    }
}

/// Every leaf of data, with its marker.
pub(crate) fn leaves(world: &World) -> BTreeMap<String, String> {
    now(Volumes::list(&world.machine))
        .into_iter()
        .map(|l| (format!("{}/{}", l.leaf.instance, l.leaf.path), l.marker))
        .collect()
}
