//! The driver's promises.

mod converging;
mod failing;
mod drifting;
mod matrix;
mod answering;
mod pausing;
mod interrupted;
mod slow;
mod slots;
mod sets;
mod waking;
mod cascading;
mod orphans;
mod panicking;
mod anything;
mod older;
