//! The loop: keeps the world as objects say it should be. It names no kind.
//!
//! In reading order:
//!
//! - [`clock`]: time, which tests own; [`private_file`]: files that only their owner may read.
//! - [`object`], [`store`]: every object in one SQLite file; one change log, one increasing resourceVersion.
//! - [`controller`]: what a controller is, and the words it speaks.
//! - [`queue`]: the keys that are due.
//! - [`driver`]: one turn of one key, and everything the engine does around it, the same for all.
//! - [`breaker`]: how much may go at once without anybody having asked.
//! - [`pause`], [`keep`]: what people say about repairs: not now, and leave it so.
//! - [`owners`]: what becomes of what an owner leaves behind.
//! - [`engine`], [`diagnostics`]: all controllers of a process, and how they stand.
//!
//! How one change travels: a write is committed, its watch wakes keys, a worker takes a turn, the status is
//! committed, and every open watch sees it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod clock;
pub mod private_file;
pub mod object;
pub mod store;
pub mod controller;
pub mod queue;
pub mod driver;
pub mod breaker;
pub mod pause;
pub mod keep;
pub mod owners;
mod followed;
pub mod engine;
pub mod diagnostics;
mod panics;

pub use clock::{Clock, ManualClock, SystemClock};
pub use controller::Controller;
pub use engine::Engine;
pub use object::{Key, Object};
pub use store::{OpenOptions, Query, Store, WriteError, WriteOptions};
