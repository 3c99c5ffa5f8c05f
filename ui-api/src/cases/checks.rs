//! What a case is held to besides its steps.

use super::case::Asking;
use super::home::Home;
use crate::world::crash::{self, Wish};
use crate::world::settle::CALM;
use crate::world::{Trouble, World};

/// All that was asked for is asked for again, in a home at rest: nothing is done and nothing is written. Says how many
/// objects that are.
///
/// # Errors
/// What moved.
pub(super) fn idempotent(home: &mut Home, applied: &[Asking]) -> Result<usize, String> {
    let before = home.world.moved();
    let wish = home.wish(applied)?;
    wish.fulfil(&mut home.world).map_err(|trouble| trouble.said)?;
    home.world.quiet_for(CALM).map_err(|trouble| trouble.said)?;
    let after = home.world.moved();
    if before == after {
        return Ok(wish.0.len());
    }
    Err(format!(
        "all of it was applied again, and that made {} writes of the store and {} changes of the machine",
        after.0 - before.0,
        after.1 - before.1
    ))
}

/// The wish is carried out with a crash at every boundary. Says at how many.
///
/// # Errors
/// After which crash it ends otherwise, and how.
pub(super) fn crash_anywhere(world: &mut World, wish: &Wish) -> Result<usize, Trouble> {
    crash::anywhere(world, wish)
}
