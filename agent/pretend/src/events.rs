//! [`Events`] of the pretend machine.

use futures::stream::{self, BoxStream, StreamExt as _};
use hearth_capabilities::Fault;
use hearth_capabilities::events::{Events, Happening};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::faults::Op;
use crate::machine::Machine;

type Told = Result<Happening, Fault>;

/// Where a listener stands.
enum Listening {
    NotYet(Machine),
    Hears(Machine, UnboundedReceiver<Told>),
    Over,
}

impl Events for Machine {
    fn subscribe(&self) -> BoxStream<'static, Told> {
        stream::unfold(Listening::NotYet(self.clone()), next).boxed()
    }
}

async fn next(listening: Listening) -> Option<(Told, Listening)> {
    let (machine, mut told) = match listening {
        Listening::NotYet(machine) => match subscribed(&machine).await {
            Ok(told) => (machine, told),
            Err(fault) => return Some((Err(fault), Listening::Over)),
        },
        Listening::Hears(machine, told) => (machine, told),
        Listening::Over => return None,
    };
    loop {
        // Whoever listens also lets time pass, or nobody would learn that a container has ended by itself.
        tokio::select! {
            biased;
            item = told.recv() => return match item? {
                Ok(happening) => Some((Ok(happening), Listening::Hears(machine, told))),
                Err(fault) => Some((Err(fault), Listening::Over)),
            },
            () = machine.next_change() => {}
        }
    }
}

async fn subscribed(machine: &Machine) -> Result<UnboundedReceiver<Told>, Fault> {
    machine.arrive(Op::Subscribe).await?;
    machine.listen()
}
