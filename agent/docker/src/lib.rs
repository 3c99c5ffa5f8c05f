//! Docker, over its UNIX socket: [`Docker`] is the real hand for containers, networks, images and events.
//!
//! Only this crate knows Docker's JSON. What comes in is turned into the words of the spec by pure functions, and
//! what an image says of itself is told apart from what the container says. In reading order:
//!
//! - `client`: [`Docker`] itself, and the deadline every call has.
//! - `transport`: one connection per request, and the API version both sides speak.
//! - `failure`: how Docker's errors become a `Fault`; the one place where that is decided.
//! - `names`: which names and references may become part of a request.
//! - `containers`, `networks`, `images`, `events`: one capability each.
//!
//! Docker 20.10 (API 1.41) or newer.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod client;
mod transport;
mod failure;
mod names;
mod containers;
mod networks;
mod images;
mod events;

pub use client::Docker;
