//! What a machine can do, as small traits in the words of the spec.
//!
//! Controllers see only these. The real hands stand in `agent/docker`, `agent/caddy` and `agent/linux`;
//! `agent/pretend` is an honest simulation of them all. [`contract`] holds one suite per capability that the
//! pretend and the real one both pass, which is what keeps the pretend one honest.
//!
//! Rules that hold for every method of every trait:
//!
//! - It may be called twice. What is there already, or gone already, is success.
//! - [`Fault::Blind`] means *could not tell* and is never taken for *not there*, which is `None`.
//! - Facts are what is there now, whole and as inspected, never what was last asked for.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod fault;
pub mod containers;
pub mod networks;
pub mod images;
pub mod events;
pub mod proxy;
pub mod volumes;
pub mod contract;

pub use containers::Containers;
pub use events::{Events, Happening};
pub use fault::Fault;
pub use images::Images;
pub use networks::Networks;
pub use proxy::Proxy;
pub use volumes::Volumes;
