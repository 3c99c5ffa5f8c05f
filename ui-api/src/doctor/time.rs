//! Time: whether the clock can be right, and whether it jumped.

use std::time::Duration;

use hearth_engine::{Clock, Store};
use hearth_meta::Timestamp;

use super::Check;

/// No machine that runs this program can truly be before this.
const EARLIEST: &str = "2026-01-01T00:00:00Z";
/// A jump of less than this is what a time server does every day, in seconds.
const JUMP: i64 = 60;

/// What to do about a wrong clock.
const SET: &str = "see `timedatectl`, and turn the time server on with `timedatectl set-ntp true`";

/// Both readings of a clock at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    wall: Timestamp,
    elapsed: Duration,
}

impl Moment {
    /// This moment.
    pub fn now(clock: &dyn Clock) -> Self {
        Self { wall: clock.now(), elapsed: clock.elapsed() }
    }

    /// How long ago this was, by the reading that never jumps.
    pub(super) fn age(&self, clock: &dyn Clock) -> Duration {
        clock.elapsed().saturating_sub(self.elapsed)
    }
}

/// Whether the clock can be right.
pub(super) fn sane(now: Timestamp, newest: Option<Timestamp>) -> Check {
    let earliest: Timestamp = EARLIEST.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let shown = Timestamp::from_second(now.as_second()).unwrap_or(now);
    if now < earliest {
        let message = format!("the clock says {shown}, and this program was made later");
        return Check::failure("time", message, SET);
    }
    match newest {
        Some(newest) if newest.as_second() - now.as_second() > JUMP => {
            let newest = Timestamp::from_second(newest.as_second()).unwrap_or(newest);
            let message = format!("the clock says {shown}, and something here was made at {newest}");
            Check::failure("time", message, SET)
        }
        _ => Check::ok("time", format!("the clock says {shown}")),
    }
}

/// Whether the clock of a server can be right and has not jumped since a moment.
pub(super) fn of_server(store: &Store, started: &Moment) -> Check {
    let clock = store.clock();
    let made = store
        .all()
        .into_iter()
        .filter_map(|object| Some(object.metadata.creation_timestamp.as_ref()?.0))
        .max();
    let now = clock.now();
    let check = sane(now, made);
    if check.standing != super::Standing::Ok {
        return check;
    }
    let by_wall = now.as_second() - started.wall.as_second();
    let by_count = i64::try_from(started.age(&**clock).as_secs()).unwrap_or(i64::MAX);
    let jump = by_wall.saturating_sub(by_count);
    if jump.abs() <= JUMP {
        return check;
    }
    let way = if jump > 0 { "forwards" } else { "backwards" };
    let message = format!("{}; since the server started it jumped {way} by {} s", check.message, jump.abs());
    Check::warning("time", message, format!("nothing counts by it, but events may be out of order; {SET}"))
}
