//! The Kubernetes protocol over any store. It names no kind: what it serves is what the store keeps.
//!
//! A request's way: `router` finds the place; `target` reads the path into a kind, a namespace, a name and a
//! subresource; `parameters` and `accept` read what is asked of it; `access` lets it through to the store, or names
//! the right that is missing; then
//!
//! - `read` gets and lists (`options` says what may be asked together, `paging` where a list goes on), `watch` streams changes (`together` of many kinds at once), both through a `projection` (object, table, metadata);
//! - `write` creates and updates, `delete` deletes, `patch` changes in part, `subresource` writes status,
//!   and `ownership` keeps who set which field;
//! - `views` shows what is stored as kinds that nobody stores, for reading;
//! - `events` shows the store's events as objects, `reviews` says what one may do;
//! - `discovery` and `openapi` tell clients what there is.
//!
//! The store admits every write (defaults, schema, rules, claims). Here is only what the protocol itself asks:
//! that path and body agree, that preconditions hold, that metadata is well formed. Every refusal is a
//! [`Failure`], the `Status` object clients know.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod access;
mod router;
mod target;
mod parameters;
mod accept;
mod body;
mod strict;
mod protobuf;
mod options;
mod paging;
mod read;
mod projection;
mod views;
mod table;
mod json_path;
mod watch;
mod together;
mod write;
mod delete;
mod metadata;
mod unknown_fields;
mod ownership;
mod patch;
mod subresource;
mod events;
mod reviews;
mod discovery;
mod openapi;
mod failure;

pub use access::{ALL, Actor, Asked, Gate, Grant, Granted, Rule, Strangers, Users, What};
pub use failure::Failure;
pub use router::{Wire, YamlReader, router};
pub use together::watch_together;
pub use views::{Source, Standing, View, standing};
