//! The whole product in one deterministic world: the real store and all real controllers over the pretend machine,
//! where one seed is one run.
//!
//! - `seeds`: which seeds are tried, and how a failing one is repeated.
//! - `world`: the product's own world (`hearth::world`), whose troubles fail a test here.
//! - `homes`: what is declared.
//! - `runs`: one trace per seed, settling, steadiness, restarts.
//! - `crash`: a crash at every boundary of a wish.
//! - `edits`, `people`: every field of an app changed, rightly and wrongly, over any way.
//! - `starts`: from whatever is on record and stands on the machine.
//! - `older`: an older data folder that is put back. `overload`: more to do than can be done.
//! - `bounds`: what a wish may cost. `given`: files that are given to containers, and their end.
//! - `successors`: what has come to stand for a name since. `jobs`: that a migration runs once.
//! - `strangers`, `schedule`, `faults`, `judged`: any fault in any order, beside things of others.
//! - `shrink`, `said`, `told`: a failure is cut down, said as a case, and kept where it fails in the same way.

#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "all of this is tests; clippy sees only the functions marked as such"
)]

mod seeds;
mod world;
mod homes;
mod runs;
mod crash;
mod strangers;
mod shrink;
mod told;
mod said;
mod schedule;
mod judged;
mod faults;
mod edits;
mod people;
mod starts;
mod older;
mod overload;
mod bounds;
mod given;
mod successors;
mod jobs;
