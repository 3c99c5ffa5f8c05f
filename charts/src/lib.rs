//! The catalogue: what a package and its compose file mean, and what they may do.
//!
//! Pure code: text in, plain data or problems out. A tour, in the order a file travels:
//!
//! - [`yaml`]: YAML with the place of every field; also for the manifests people write.
//! - [`compose`]: the Compose format, read exactly as Docker Compose reads it.
//! - [`admit()`]: whether an app may do what its file asks, and the services that come of it.
//! - [`import()`]: a published compose file to a package of ours, with a report.
//!
//! Problems are [`hearth_meta::Problem`]: field path, sentence, file, line and column, all at once.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod node;
mod fault;
pub mod yaml;
pub mod compose;
pub mod admit;
pub mod import;

pub use admit::{Admitted, Package, admit};
pub use import::import;
