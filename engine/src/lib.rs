//! The loop: keeps the world as objects say it should be. It names no kind.
//!
//! In reading order:
//!
//! - [`clock`]: time, which tests own.
//! - [`object`]: an object of any kind.
//! - [`store`]: every object in one SQLite file; one change log, one increasing resourceVersion.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod clock;
pub mod object;
pub mod store;

pub use clock::{Clock, ManualClock, SystemClock};
pub use object::{Key, Object};
pub use store::{OpenOptions, Query, Store, WriteError, WriteOptions};
