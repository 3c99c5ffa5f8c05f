//! The hands on the Linux machine itself.
//!
//! - [`volumes`]: folders of data, their markers, and the folder each instance has.
//!
//! Accounts, Samba, Avahi and systemd join here as their kinds do. Nothing here decides anything: it carries out
//! one call and says what is there.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod volumes;

pub use volumes::LinuxVolumes;
