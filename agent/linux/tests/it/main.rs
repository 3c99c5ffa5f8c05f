//! The promises of the folders of instances, kept by a real disk.
//!
//! As root the markers are `trusted.*` attributes and owners are given; otherwise they are `user.*` ones and owners
//! are left out. With `HEARTH_REAL=1` a temporary folder that cannot hold attributes fails the tests; without it
//! they say so and return.

#[cfg(test)]
mod real_linux;
