//! Tests of the whole: the house rules here, and the product from outside.
//!
//! A module whose name starts with `real` needs a real machine; `testbed/test`
//! offers one through `HEARTH_TEST_*` and counts those tests apart.

#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of this is tests; clippy sees only the functions marked as such"
)]

mod house;
mod machine;
mod home;
mod stories;
mod outside;

mod layering;
mod licences;
mod mutations;
mod names;
mod parity;
mod scenarios;
mod schemas;
mod tidy;
