//! What a case is held to besides its steps.

use super::asked::AskedFor;
use super::home::Home;
use crate::world::crash::{self, Wish};
use crate::world::settle::CALM;
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
    if wish.0.is_empty() {
        return Ok(Checked::Skipped("nothing that was asked for stands".into()));
    }
    let before = home.world.moved();
    wish.fulfil(&mut home.world).map_err(|trouble| trouble.said)?;
    home.world.quiet_for(CALM).map_err(|trouble| trouble.said)?;
    let after = home.world.moved();
    if before == after {
        return Ok(Checked::Holds(format!("{} objects", wish.0.len())));
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
