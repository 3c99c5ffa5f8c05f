//! A pretend machine: an honest, small simulation of all that Hearth reaches through its hands.
//!
//! One [`Machine`] is a container engine with its registry, a reverse proxy and a disk. It keeps state, takes its time
//! on the clock it is given, tells events as Docker does, and fails where it is told to. Tests drive it with
//! [`faults`] and with what a person does by [`hand`]; `hearth serve --pretend` runs on it.
//!
//! The same contract suites hold for it and for the real hands. Behaviour that a comment calls *seen* was looked up
//! on a real Docker 20.10 or Caddy 2.11.
//!
//! # What containers do
//!
//! A container runs on where its policy restarts it always, and otherwise does its work and ends with 0. Its health
//! check passes at the first look. Some words make it differ, for a test that needs no more than a command:
//!
//! | Command | What it does |
//! |---|---|
//! | `true`, `false`, `exit N` | ends at once with 0, 1 or `N` |
//! | `serve` | runs on, whatever its policy |
//! | `stubborn` | runs on and has to be killed |
//! | `write` | writes three lines and runs on |
//! | `no-such-program` | cannot be started |
//!
//! A health check with the word `fails` or `false` in it fails. [`Behaviour`] says more, also while it runs.
//!
//! It is deterministic: no randomness, no time but the clock's, everything in order of name.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod machine;
pub mod faults;
pub mod hand;
pub mod browser;
mod state;
mod containers;
mod networks;
mod images;
mod events;
mod proxy;
mod volumes;
mod given;
mod saved;

pub use browser::Reply;
pub use faults::{Backend, Latency, Op};
pub use hand::Behaviour;
pub use machine::Machine;
