//! The hands on Caddy, through its admin API on a UNIX socket. Nothing outside this crate knows Caddy's JSON.
//!
//! - [`render`]: a route in words becomes Caddy's JSON. Pure.
//! - [`parse`]: Caddy's JSON becomes a route in words, but only what [`render`] would write just so. Pure.
//! - [`proxy`]: the calls.
//!
//! # What Caddy was seen to do (2.11.7)
//!
//! - Each change reloads the whole configuration and costs time linear in the number of routes, and a reload may
//!   cut a connection. So all routes are one write, and there is none when nothing differs.
//! - A configuration that is not accepted leaves the old one serving.
//! - An `Etag` names a path and a state. `If-Match` is judged by the path in it, not by the one that is written, so
//!   one read of everything guards a write of the routes alone.
//! - With `enforce_origin` a request without a known `Origin` is refused, on a UNIX socket too. Without a
//!   configuration it is the other way round: a request with an `Origin` is refused.
//! - Placeholders such as `{env.HOME}` are filled in, in pages as well. `\{` is a brace.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod render;
pub mod parse;
pub mod proxy;

pub use proxy::Caddy;
