//! The face: the command line, the API server, and the wiring of the whole.
//!
//! - [`cli`]: every verb of `hearth`, over the same API as everyone's.
//! - [`serve`]: `hearth serve`, with its settings in [`config`]; the one place where hands are chosen.
//! - [`server`]: TLS, sign-in, the Kubernetes protocol, and the few places beside it.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod serve;
pub mod server;
