//! What a case is held to besides its steps.

use std::ops::Range;

use super::asked::AskedFor;
use super::case::{Case, Verb};
use super::home::Home;
use super::run::{Failure, carry_out, failure, is_possible, the_end};
use crate::world::crash::{self, Wish};
use crate::world::random::Random;
use crate::world::settle::CALM;
use crate::world::snapshot::{Snapshot, differences};
use crate::world::{Trouble, World};

/// Why there is nothing to hold a case to.
pub(super) const NOTHING: &str = "nothing is asked for";

/// What came of a check that found nothing wrong.
pub(super) enum Checked {
    /// It holds, for so much.
    Holds(String),
    /// There was nothing to check, and why.
    Skipped(String),
}

/// All that was asked for is asked for again, in a home at rest: nothing is done and nothing is written.
///
/// # Errors
/// What moved, or that nothing can be asked for again though it stands.
pub(super) fn idempotent(home: &mut Home, asked_for: &AskedFor) -> Result<Checked, String> {
    if asked_for.is_empty() {
        return Ok(Checked::Skipped(NOTHING.into()));
    }
    let wish = asked_for.again(home)?;
    if wish.asked().is_empty() {
        return Ok(Checked::Skipped("nothing that was asked for stands".into()));
    }
    let before = home.world.moved();
    wish.fulfil(&mut home.world).map_err(|trouble| trouble.said)?;
    home.world.quiet_for(CALM).map_err(|trouble| trouble.said)?;
    let after = home.world.moved();
    if before == after {
        return Ok(Checked::Holds(format!("{} objects", wish.asked().len())));
    }
    Err(format!(
        "all of it was applied again, and that made {} writes of the store and {} changes of the machine",
        after.0 - before.0,
        after.1 - before.1
    ))
}

/// The wish is carried out with a crash at every boundary.
///
/// # Errors
/// After which crash it ends otherwise, and how.
pub(super) fn crash_anywhere(world: &mut World, wish: &Wish) -> Result<Checked, Trouble> {
    Ok(match crash::anywhere(world, wish)? {
        0 => Checked::Skipped("its last wish changes nothing, so there is nowhere to crash".into()),
        count => Checked::Holds(format!("{count} crashes")),
    })
}

/// The case is carried out again, restarted after one of its lasting changes as the seed says: it ends the same. What is
/// said to be so on the way is not looked at, since it may come a little later.
///
/// # Errors
/// A step that fails then, or how it ends.
pub(super) fn restarted(
    case: &Case,
    seed: u64,
    end: &Snapshot,
    on_the_way: Range<u64>,
) -> Result<Checked, Failure> {
    if case.steps.iter().any(|step| matches!(step.verb, Verb::Disturb(..))) {
        return Ok(Checked::Skipped(
            "it is disturbed at counted moments, which a restart would shift".into(),
        ));
    }
    let nowhere = |trouble: Trouble| Failure { said: trouble.to_string(), ..Failure::default() };
    let mut home = Home::new(seed).map_err(nowhere)?;
    let many = usize::try_from(on_the_way.end - on_the_way.start).unwrap_or(usize::MAX);
    let number = 1 + Random::new(seed).below(many) as u64;
    home.world.restart_at(on_the_way.start + number);
    for step in case.steps.iter().filter(|step| !only_looks(&step.verb)) {
        home.story.step(&step.words);
        is_possible(&home, step)?;
        carry_out(&mut home, step)?;
    }
    let step = the_end(case);
    if !home.world.is_served() {
        home.serve().map_err(nowhere)?;
    }
    home.mend(None).map_err(|said| failure(&home, &step, said))?;
    home.world.settle().map_err(|trouble| failure(&home, &step, trouble.said))?;
    if home.world.is_restart_to_come() {
        return Ok(Checked::Skipped("it ended sooner this time, before the restart".into()));
    }
    let differences = differences(end, &home.world.snapshot());
    if differences.is_empty() {
        return Ok(Checked::Holds(format!("after change {number} of {many}")));
    }
    let said = format!("restarted after change {number} of {many}:\n{}", differences.join("\n"));
    Err(failure(&home, &step, said))
}

/// What neither asks for anything nor lets anything happen.
fn only_looks(verb: &Verb) -> bool {
    matches!(verb, Verb::Assert(_) | Verb::AssertMachine(_) | Verb::Why(_) | Verb::Events(_))
}

#[cfg(test)]
mod tests {
    use super::{Checked, restarted};
    use crate::cases::home::Home;
    use crate::cases::run::carry_out;
    use crate::cases::{Case, Suite};
    use crate::world::snapshot::Snapshot;

    fn case() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("case.yaml");
        let secret = "{ apiVersion: v1, kind: Secret, metadata: { name: door }, stringData: { word: a } }";
        let text = format!(
            "apiVersion: test.hearth.dev/v1\nkind: Case\nname: a\nsteps:\n  - apply: {secret}\n  - settle\n"
        );
        std::fs::write(&path, text).unwrap();
        let suite = Suite::read(&path).unwrap_or_else(|why| panic!("{why:?}"));
        suite.files[0].cases[0].clone()
    }

    #[test]
    fn a_case_that_is_restarted_in_the_middle_has_to_end_the_same() {
        let case = case();
        let mut home = Home::new(1).unwrap();
        let began = home.world.lasting();
        for step in &case.steps {
            assert!(carry_out(&mut home, step).is_ok());
        }
        let (end, on_the_way) = (home.world.snapshot(), began..home.world.lasting());
        assert!(matches!(restarted(&case, 1, &end, on_the_way.clone()), Ok(Checked::Holds(_))));
        let failure = restarted(&case, 1, &Snapshot::new(), on_the_way).err().unwrap();
        assert!(failure.said.starts_with("restarted after change 1 of "), "{failure:?}");
        assert!(failure.said.contains("Secret household/door"), "{failure:?}");
    }
}
