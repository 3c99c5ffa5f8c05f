//! Things on the machine that are not Hearth's, and that nothing of Hearth's may touch.

use std::collections::BTreeMap;

use futures::FutureExt;
use hearth_capabilities::containers::{ImageDefaults, JoinedNetwork, NewContainer};
use hearth_capabilities::networks::NewNetwork;
use hearth_capabilities::{Containers, Fault, Networks};
use hearth_pretend::Machine;

use super::case::Others;

/// Makes it.
///
/// # Errors
/// What the machine says.
pub(super) fn make(machine: &Machine, thing: &Others) -> Result<(), String> {
    if let (None, Some(name)) = (&thing.container, &thing.network) {
        let network = NewNetwork {
            name: name.clone(),
            subnet: thing.subnet.clone(),
            internal: false,
            labels: thing.labels.clone(),
        };
        return now(Networks::create(machine, &network)).map(drop);
    }
    let Some(name) = &thing.container else { return Ok(()) };
    let image = machine
        .put_image(&thing.image, ImageDefaults::default(), BTreeMap::new())
        .map_err(|fault| fault.to_string())?;
    now(Containers::create(machine, &container(name, image, thing)))?;
    if thing.runs {
        now(machine.start(name))?;
    }
    Ok(())
}

/// The machine answers a hand past Hearth at once.
fn now<T>(call: impl Future<Output = Result<T, Fault>>) -> Result<T, String> {
    match call.now_or_never() {
        Some(answer) => answer.map_err(|fault| fault.to_string()),
        None => Err("the machine does not answer".into()),
    }
}

fn container(name: &str, image_id: String, thing: &Others) -> NewContainer {
    NewContainer {
        command: Some(vec!["serve".into()]),
        network: thing.network.clone().map(|name| JoinedNetwork { name, aliases: Vec::new() }),
        labels: thing.labels.clone(),
        ..NewContainer::of(name, image_id, thing.image.clone())
    }
}
