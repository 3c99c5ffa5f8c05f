//! One suite of promises per capability, which the pretend machine and the real one both keep. That is what keeps
//! the pretend one honest.
//!
//! A side that keeps them gives a world ([`ContainerWorld`] for containers, networks, images and events) and makes
//! one test of each promise. [`container_promises`](crate::container_promises) names them all, so that neither side
//! can forget one:
//!
//! ```ignore
//! macro_rules! tests {
//!     ($($room:ident { $($promise:ident)* })*) => {
//!         $(mod $room { $(
//!             #[tokio::test]
//!             async fn $promise() {
//!                 let world = super::world().await;
//!                 hearth_capabilities::contract::keep(&world, concat!(stringify!($room), "::", stringify!($promise))).await;
//!             }
//!         )* })*
//!     };
//! }
//! hearth_capabilities::container_promises!(tests);
//! ```
//!
//! A promise panics when it is broken, as a test does, and leaves nothing behind either way.
#![allow(clippy::panic, reason = "a broken promise fails the test that asked for it")]

pub mod world;
pub mod containers;
pub mod networks;
pub mod images;
pub mod events;
pub mod proxy;
pub mod volumes;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::BoxFuture;

pub use world::{Check, ContainerWorld, Program, Scene};

/// One promise about containers, networks, images or events.
pub struct Promise {
    /// Its room and its sentence, such as `containers::start_is_repeatable`.
    pub name: &'static str,
    /// Sees whether it is kept.
    pub keep: for<'a> fn(&'a Scene<'a>) -> BoxFuture<'a, ()>,
}

/// Hands every promise about containers, networks, images and events to a macro, as
/// `room { promise promise ... } room { ... }`.
#[macro_export]
macro_rules! container_promises {
    ($callback:ident) => {
        $callback! {
            containers {
                what_is_not_there_is_none
            }
        }
    };
}

macro_rules! promises {
    ($($room:ident { $($promise:ident)* })*) => {
        /// Every promise about containers, networks, images and events.
        pub const ALL: &[Promise] = &[$($(Promise {
            name: concat!(stringify!($room), "::", stringify!($promise)),
            keep: |scene| Box::pin($room::$promise(scene)),
        }),*),*];
    };
}
container_promises!(promises);

/// Sees whether a world keeps the promise of that name, and clears away what was made for it either way.
///
/// # Panics
/// When the promise is broken, is not known, or something is left behind.
pub async fn keep(world: &dyn ContainerWorld, name: &str) {
    let promise = ALL.iter().find(|promise| promise.name == name).expect("the promise is one of ALL");
    let scene = Scene::new(world);
    let outcome = AssertUnwindSafe((promise.keep)(&scene)).catch_unwind().await;
    scene.clear().await;
    if let Err(broken) = outcome {
        resume_unwind(broken);
    }
}
