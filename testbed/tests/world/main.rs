//! The whole product in one deterministic world: the real store and all real controllers over the pretend machine,
//! where one seed is one run.
//!
//! - `seeds`: which seeds are tried, and how a failing one is repeated.
//! - `gates`, `hands`: where everything that touches the world waits for the driver.
//! - `world`: the driver: it lets one thing happen at a time, and time pass when nothing is left to happen.
//! - `settle`: until nothing moves any more, and what still does.
//! - `homes`: what is declared.
//! - `snapshot`: how a home stands, without what differs from run to run.
//! - `oracle`: what must hold at every moment.
//! - `runs`: one trace per seed, settling, steadiness, restarts.
//! - `crash`: a crash at every boundary of a wish.
//! - `strangers`, `schedule`, `faults`: any fault in any order, beside things of others.

#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "all of this is tests; clippy sees only the functions marked as such"
)]

mod seeds;
mod gates;
mod hands;
mod world;
mod settle;
mod homes;
mod snapshot;
mod oracle;
mod runs;
mod crash;
mod strangers;
mod schedule;
mod faults;
