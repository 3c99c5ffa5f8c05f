//! The decisions: what is wanted, what is seen, and what to do about the difference, kind by kind.
//!
//! One file or folder per kind. A controller sees the machine only through the traits of `capabilities`; it
//! touches nothing itself. [`naming`] says what things are called in the container engine, [`fault`] what a
//! failed call means, `wakes` whom an event of the engine wakes.
//!
//! The App composes and touches no machine: it writes the other kinds and sums up what they say.
#![forbid(unsafe_code)]

pub mod naming;
pub mod fault;
mod ready;
pub mod jobs;
mod wakes;
pub mod image;
pub mod volume;
pub mod network;
pub mod container;
pub mod route;
pub mod app;

pub use app::AppController;
pub use container::ContainerController;
pub use image::ImageController;
pub use naming::Naming;
pub use network::NetworkController;
pub use route::RouteController;
pub use volume::VolumeController;
