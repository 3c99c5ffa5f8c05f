//! What the crate promises from outside: the contract suite against a real Docker, and how a Docker that hangs,
//! breaks off or speaks nonsense is told.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "everything here is a test")]

mod machine;
mod real_docker;
mod false_docker;
