//! Crash anywhere: a wish is carried out once to learn every moment at which something lasting changes, and then once
//! for each of them with a crash there.
//!
//! What a person does by hand is held to the same: a repair is crashed at each of its moments.
//!
//! A crash leaves the store's files and the machine. So two boundaries between which neither changed (a step is about
//! to begin, a reply is on its way) are one and the same crash, and it is tried once.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hearth_engine::{Clock, WriteError};
use hearth_pretend::Machine;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::settle::{CALM, QUIET, declare, key, remove};
use super::snapshot::{Snapshot, differences};
use super::{Trouble, TroubleKind, World};

/// What is written whole comes out in fewer or more writes by what happens to be gathered in one.
const GATHERED: &[&str] = &["write proxy", "reset proxy", "save files"];
/// What is tried a few times until the network is there that it needs, by a container and by the network itself; the
/// same twice is none the worse.
const TRIED: &[&str] = &["connect network", "disconnect network"];
/// How often one crash may make that be tried once more.
const TRIES: u64 = 6;
/// What is never asked for once more.
const EXACT: &[&str] = &["create", "make leaf", "remove leaf", "remove container"];

/// What somebody does to the machine.
type ByHand = Rc<dyn Fn(&Machine)>;

/// What a person asks for, in order; or what they do to the machine past everything, which is then put right.
#[derive(Clone, Default)]
pub struct Wish {
    asked: Vec<Asked>,
    by_hand: Option<ByHand>,
}

/// One thing that is asked for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// That this object be.
    Apply(Value),
    /// That an object be no more.
    Delete {
        /// Its kind.
        kind: String,
        /// `name` of the household, `namespace/name`, or `/name` of the machine.
        name: String,
    },
}

/// How often each change of the machine was asked for.
pub type Counts = BTreeMap<String, u64>;

/// Where a wish ends that nothing disturbs.
#[derive(Clone, Debug)]
pub struct End {
    /// How the home stands then.
    pub stands: Snapshot,
    /// How often each change of the machine was asked for on the way.
    pub counts: Counts,
}

impl Wish {
    /// All of this, in order.
    pub fn of(asked: Vec<Asked>) -> Self {
        Self { asked, by_hand: None }
    }

    /// That one object be.
    pub fn apply(object: Value) -> Self {
        Self::of(vec![Asked::Apply(object)])
    }

    /// That one object be no more.
    pub fn delete(kind: &str, name: &str) -> Self {
        Self::of(vec![Asked::Delete { kind: kind.to_owned(), name: name.to_owned() }])
    }

    /// That what somebody does to the machine be put right. It is done once, whatever crashes after it.
    pub fn repair(by_hand: impl Fn(&Machine) + 'static) -> Self {
        Self { asked: Vec::new(), by_hand: Some(Rc::new(by_hand)) }
    }

    /// What is asked for.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// How long nothing may move before it is carried out. What is done by hand may be told by no event, and is then
    /// found by the full look alone.
    fn calm(&self) -> Duration {
        if self.by_hand.is_some() { QUIET } else { CALM }
    }

    /// Asks for all of it, each once the one before is answered; it is written when the seed lets it be.
    pub fn ask(&self, world: &World) -> JoinHandle<Result<(), WriteError>> {
        if let Some(by_hand) = &self.by_hand {
            by_hand(&world.machine);
        }
        let (store, all) = (world.store(), self.asked.clone());
        world.spawn(async move {
            for asked in all {
                match asked {
                    Asked::Apply(object) => declare(&store, object).await?,
                    Asked::Delete { kind, name } => match remove(&store, key(&kind, &name)).await {
                        Ok(()) | Err(WriteError::NotFound(_)) => {}
                        Err(error) => return Err(error),
                    },
                }
            }
            Ok(())
        })
    }

    /// Asks for all of it and goes on until it is answered.
    ///
    /// # Errors
    /// Where something is refused, or something that must always hold does not.
    pub fn fulfil(&self, world: &mut World) -> Result<(), Trouble> {
        if let Some(by_hand) = &self.by_hand {
            by_hand(&world.machine);
        }
        self.asked.iter().try_for_each(|asked| match asked {
            Asked::Apply(object) => world.apply(object),
            Asked::Delete { kind, name } => world.delete(kind, name),
        })
    }
}

/// A home as a crash left it, and whether the person who wished had been answered.
pub struct Wreck {
    /// The home; nothing runs in it.
    pub world: World,
    /// Whether the person knows that the wish was taken.
    pub was_answered: bool,
    /// The last thing that happened.
    pub after: String,
}

/// Carries a wish out in a home like this one, which nobody serves, with nothing in its way.
///
/// # Errors
/// Where it does not come to rest, or something that must always hold does not.
pub fn undisturbed(base: &World, wish: &Wish) -> Result<End, Trouble> {
    let mut world = base.fork(base.seed)?;
    world.start()?;
    world.settle()?;
    world.judge();
    wish.fulfil(&mut world)?;
    world.settle()?;
    Ok(End { stands: world.snapshot(), counts: world.writes() })
}

/// Carries a wish out in a home that is served, and hands over a wreck of every moment at which something lasting
/// changed; says how many.
///
/// # Errors
/// Where a wreck cannot be had, or whoever takes them finds something wrong.
pub fn walk(
    world: &mut World,
    wish: &Wish,
    mut take: impl FnMut(Wreck) -> Result<(), Trouble>,
) -> Result<usize, Trouble> {
    let asked = wish.ask(world);
    let mut lasting = world.moved();
    let mut quiet_since = world.clock.elapsed();
    let mut count = 0;
    if wish.by_hand.is_some() {
        // It has happened, and nobody has looked yet.
        count += 1;
        take(Wreck { world: world.fork(world.seed)?, was_answered: true, after: "it was done".into() })?;
    }
    loop {
        world.step()?;
        world.rest();
        let (now, time) = (world.moved(), world.clock.elapsed());
        if now != lasting {
            (lasting, quiet_since) = (now, time);
            count += 1;
            let was_answered = asked.is_finished() || wish.asked.is_empty();
            let after = world.happened.tail(1);
            take(Wreck { world: world.fork(world.seed)?, was_answered, after })?;
        } else if time.saturating_sub(quiet_since) > wish.calm() && !world.waits() {
            return Ok(count);
        }
    }
}

/// Crashes at every boundary of a wish, in a home that nobody serves: each ends as without the crash. Says at how
/// many.
///
/// # Errors
/// Where one does not, with what differs and after what it crashed.
pub fn anywhere(base: &mut World, wish: &Wish) -> Result<usize, Trouble> {
    let end = undisturbed(base, wish)?;
    base.start()?;
    base.settle()?;
    walk(base, wish, |wreck| wreck.recovers(wish, &end))
}

impl Wreck {
    /// What is left comes up again and goes on to the end that was to come.
    fn recovers(self, wish: &Wish, end: &End) -> Result<(), Trouble> {
        let Self { mut world, was_answered, after } = self;
        let what = format!("crashed after {}", after.trim());
        world.happened.line(what.clone());
        world.judge();
        world.start().map_err(|trouble| trouble.of(&what))?;
        if !was_answered {
            wish.fulfil(&mut world).map_err(|trouble| trouble.of(&what))?;
        }
        settles_to(&mut world, &end.stands, &what)?;
        counts_hold(&world, &end.counts, 1, &what)
    }
}

/// At rest a home stands like this.
///
/// # Errors
/// How it differs.
pub fn settles_to(world: &mut World, end: &Snapshot, what: &str) -> Result<(), Trouble> {
    // Most are there at once; the rest is given all the time there is before it is called wrong.
    let settled = world.quiet_for(CALM);
    if settled.is_ok() && differences(end, &world.snapshot()).is_empty() {
        return Ok(());
    }
    world.settle().map_err(|trouble| trouble.of(what))?;
    let differences = differences(end, &world.snapshot());
    if differences.is_empty() {
        return Ok(());
    }
    let said = format!("{what}:\n{}\n{}", differences.join("\n"), world.everything());
    Err(world.trouble(TroubleKind::Broken, said))
}

/// Nothing was made or removed more often than without so many crashes, but for what each was in the middle of: that
/// may be asked for once more, where to ask again is harmless. What is made, and data, never is.
///
/// # Errors
/// What was asked for too often.
pub fn counts_hold(world: &World, expected: &Counts, crashes: u64, what: &str) -> Result<(), Trouble> {
    for (change, count) in &world.writes() {
        let begins = |with: &[&str]| with.iter().any(|beginning| change.starts_with(beginning));
        let more = match () {
            _ if begins(EXACT) => 0,
            _ if begins(TRIED) => crashes * TRIES,
            _ => crashes,
        };
        let most = expected.get(change).copied().unwrap_or(0) + more;
        if !begins(GATHERED) && *count > most {
            let said = format!("{change}: {count} times instead of {most}, {what}");
            return Err(world.trouble(TroubleKind::Broken, said));
        }
    }
    Ok(())
}
