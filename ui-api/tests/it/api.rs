//! The API over a real store and real TLS, as clients of the Kubernetes protocol use it.
#![allow(clippy::unwrap_used, reason = "everything here is a test")]

pub(crate) mod home;
mod leaks;
mod rights;
mod signing_in;
mod tokens;
mod reading;
mod watching;
mod together;
mod crowd;
mod ways;
mod paging;
mod writing;
mod deleting;
mod bodies;
mod patching;
mod applying;
mod asking;
mod beside;
