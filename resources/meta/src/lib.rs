//! What every Hearth object shares, whatever its kind.
//!
//! A newcomer's tour, in the order the words are needed:
//!
//! - [`resource`]: what makes a type an object ([`Resource`]) and what the rest of the
//!   system must be told of a kind without naming it ([`KindInfo`]).
//! - [`mod@reference`]: how one object names another ([`ObjectRef`]).
//! - [`verdict`], [`reason`], [`condition`], [`difference`], [`progress`], [`status`]: the words in
//!   which a status speaks. They are made once, on the server, and printed alike everywhere.
//! - [`problem`], [`schema`], [`name`], [`quantity`]: how bad input is told to the person who wrote it.
//! - [`labels`]: the names of the labels, annotations and finalizers Hearth writes.
//!
//! No I/O, no clock, no async: everything here is a plain value or a pure function.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod resource;
pub mod reference;
pub mod verdict;
pub mod reason;
pub mod condition;
pub mod difference;
pub mod progress;
pub mod status;
pub mod problem;
pub mod schema;
pub mod name;
pub mod quantity;
pub mod labels;

pub use condition::{Condition, ConditionStatus};
pub use difference::{DiffState, FieldDiff};
pub use problem::{Position, Problem};
pub use progress::{Progress, Unit};
pub use reason::{Class, Reason};
pub use reference::ObjectRef;
pub use resource::{Claim, KindInfo, Resource, Scope};
pub use status::{CommonStatus, Drift, HasCommon};
pub use verdict::Verdict;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference, Time};
pub use k8s_openapi::jiff::{SignedDuration, Timestamp};
