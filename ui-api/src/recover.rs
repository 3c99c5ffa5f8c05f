//! The way out when the store and the machine do not belong together: a store that is lost, or that another home's
//! things stand beside.
//!
//! - `look`: what stands on the machine, by its labels, markers and records.
//! - `restore`: an app and its parts into a store, each with the uid it had.
//! - `rebuild`: a new store in the place of one that is lost, while no server runs.
//! - `adopt`: what stands here and is not this store's, taken over by a running server.
//! - `condition`: how a store stands that is not open, and what to do about it.
//!
//! None of it changes anything on the machine but the marker of a folder that a person names.

pub mod look;
pub mod restore;
pub mod rebuild;
pub mod adopt;
pub mod condition;
