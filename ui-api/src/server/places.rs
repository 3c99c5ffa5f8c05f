//! What lies behind sign-in, and the door to it: a place gets at it only through a right that was checked.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use hearth_capabilities::Containers;
use hearth_engine::{Engine, Store};
use hearth_wire::{Actor, Asked, Failure, Gate, Granted};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::as_kubernetes::metrics::Meter;
use super::as_kubernetes::nodes::Seen;
use super::recover::MachineView;
use crate::doctor::Moment;
use crate::serve::manifests::Folder;

/// What the places need besides the store. Clones are the same.
#[derive(Clone)]
pub(super) struct Behind {
    pub(super) containers: Option<Arc<dyn Containers>>,
    pub(super) engine: Option<Engine>,
    pub(super) manifests: Option<Folder>,
    pub(super) machine: Option<MachineView>,
    /// Held while a backup is made: one at a time.
    pub(super) backup: Arc<Mutex<()>>,
    /// The last readings of what containers and the machine use.
    pub(super) meter: Meter,
    /// How the machine was last seen as a Node.
    pub(super) node: Seen,
    /// When the server was started.
    pub(super) started: Moment,
    /// Cancelled when the server stops.
    pub(super) closing: CancellationToken,
}

/// The door to all of it.
pub(super) type Door = Gate<Behind>;
/// All of it, for somebody who may.
pub(super) type Inside = Granted<Behind>;

/// A place that is no resource, for whoever may use it: the right is the method and the path.
pub(super) struct Allowed(pub(super) Inside);

impl FromRequestParts<Door> for Allowed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Failure> {
        let actor = parts.extensions.get::<Actor>();
        let actor = actor.ok_or_else(|| Failure::unauthorized("nobody is signed in"))?;
        let asked = Asked::path(&parts.method.as_str().to_lowercase(), parts.uri.path());
        door.open(actor, &asked).map(Self)
    }
}

/// What supervisors are told without signing in: nothing of any object.
#[derive(Clone)]
pub(super) struct LifeSigns {
    pub(super) store: Store,
    pub(super) closing: CancellationToken,
}
