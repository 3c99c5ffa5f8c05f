//! The contract suite against the Docker of this machine, and what only a real one can show.

mod by_hand;
mod slow_registry;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use hearth_capabilities::contract;

use crate::machine::Machine;

async fn keep(promise: &str) {
    let Some(machine) = Machine::find().await else { return };
    let outcome = AssertUnwindSafe(contract::keep(&machine, promise)).catch_unwind().await;
    machine.clear().await;
    if let Err(broken) = outcome {
        resume_unwind(broken);
    }
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
