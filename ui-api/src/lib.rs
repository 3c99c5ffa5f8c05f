//! The face: the command line, the API server, and the wiring of the whole.
//!
//! - [`cli`]: every verb of `hearth`, over the same API as everyone's.
//! - [`serve`]: `hearth serve`, with its settings in [`config`]; the one place where hands are chosen.
//! - [`recover`]: what a person can do when the store and the machine do not belong together.
//! - [`server`]: TLS, sign-in, the Kubernetes protocol, and the few places beside it.
//! - [`world`]: the whole of it over a pretend machine, one happening at a time, for tests.
//! - [`cases`]: `hearth test`: cases over such a world.
//! - [`doctor`]: how everything stands that a home leans on, and what to do.
//! - [`support`]: what a helper elsewhere needs to see of a home, without its secrets.
//! - [`backup`]: a home's store, key and credentials in one file.
#![forbid(unsafe_code)]

mod access;
mod private_file;
mod written;
pub mod backup;
pub mod cli;
pub mod config;
pub mod doctor;
pub mod recover;
pub mod serve;
pub mod server;
pub mod support;
pub mod world;
pub mod cases;
