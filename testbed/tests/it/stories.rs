//! The stories: what people may count on, told from outside on the pretend machine and on a real one.
//!
//! One story is one function over a [`Home`](crate::home::Home); the tests above it are where it is told.

mod app;
mod hands;
mod data;
mod proxy;
mod walls;
mod change;
mod secret;
mod removal;
mod many;
mod pulls;
mod steady;
mod restart;
mod killed;
mod lies;
mod away;
mod crashes;
mod policy;
mod dozen;
mod drift;
mod pauses;
mod orphans;
mod loops;
mod folder;
mod imported;
mod given;
mod lost;
mod why;
