//! The kinds of Hearth: one file per kind with its spec, its status and its rules.
//!
//! [`all`] lists what the store and the wire need of each. Rules that a schema cannot say stand in the
//! kind's own file as pure functions over the typed object. No I/O, no async.
#![forbid(unsafe_code)]

pub mod app;
pub mod revision;
pub mod container;
pub mod network;
pub mod volume;
pub mod image;
pub mod route;
pub mod token;
pub mod core;
pub mod policy;
pub mod shared;
mod registry;

pub use app::{App, AppSpec, AppStatus};
pub use container::{Container, ContainerSpec, ContainerStatus};
pub use image::{Image, ImageSpec, ImageStatus};
pub use network::{Network, NetworkSpec, NetworkStatus};
pub use policy::{DataPolicy, DriftPolicy, Power};
pub use registry::{Settings, all, crds, for_editors, json_schemas};
pub use revision::{Revision, RevisionSpec, RevisionStatus};
pub use route::{Route, RouteSpec, RouteStatus};
pub use token::{Role, Token, TokenSpec, TokenStatus};
pub use volume::{Volume, VolumeSpec, VolumeStatus};

/// The namespace of what everybody shares.
pub const HOUSEHOLD: &str = "household";
/// The namespace of Hearth's own parts.
pub use hearth_meta::labels::SYSTEM;
