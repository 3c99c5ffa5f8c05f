//! The contract suite against the Docker of this machine, and what only a real one can show.

mod by_hand;
mod slow_registry;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use hearth_capabilities::contract::{self, Scene};

use crate::machine::Machine;

/// Plays on this machine, where there is one, and clears away whatever came of it.
async fn on_stage(play: impl AsyncFnOnce(&Machine, &Scene<'_>)) {
    let Some(machine) = Machine::find().await else { return };
    let scene = Scene::new(&machine);
    let outcome = AssertUnwindSafe(play(&machine, &scene)).catch_unwind().await;
    scene.clear().await;
    machine.clear().await;
    if let Err(broken) = outcome {
        resume_unwind(broken);
    }
}

async fn keep(promise: &str) {
    on_stage(async |machine, _| contract::keep(machine, promise).await).await;
}

macro_rules! tests {
    ($($room:ident { $($promise:ident)* })*) => {
        $(mod $room { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::keep(concat!(stringify!($room), "::", stringify!($promise))).await;
            }
        )* })*
    };
}
hearth_capabilities::container_promises!(tests);
