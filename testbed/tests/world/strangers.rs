//! Things of others on the same machine, which nothing may ever touch: a person's own container and network, those of
//! another Hearth, and data that nobody here made.

use std::collections::BTreeMap;

use futures::FutureExt;
use hearth_capabilities::containers::{ImageDefaults, NewContainer};
use hearth_capabilities::networks::NewNetwork;
use hearth_capabilities::volumes::Leaf;
use hearth_capabilities::{Containers, Networks, Volumes};
use hearth_meta::labels;
use hearth_pretend::Machine;
use serde_json::{Value, json};

use crate::homes::put_package;

/// What another Hearth made them for.
const UID: &str = "5ef1b2f0-0000-4000-8000-000000000001";
/// What theirs are made of.
pub(crate) const IMAGE: &str = "stranger:1";

/// The same in steps of a case, but for the data, which is no case's to make.
pub(crate) fn steps() -> Vec<Value> {
    let others = json!({ (labels::UID): UID, (labels::LINEAGE): "another-home" });
    [("stranger", "192.168.7.0/24", json!({})), ("hearth_household_others", "192.168.8.0/24", others)]
        .into_iter()
        .flat_map(|(name, subnet, labels)| {
            [
                json!({ "others": { "network": name, "subnet": subnet, "labels": labels } }),
                json!({ "others": { "container": name, "image": IMAGE, "labels": labels } }),
            ]
        })
        .collect()
}

/// Puts them all there, and beside them the package that an app may be made from.
pub(crate) fn plant(machine: &Machine) {
    put_package(machine);
    let image = machine.put_image(IMAGE, ImageDefaults::default(), BTreeMap::new()).unwrap();
    let others = BTreeMap::from([
        (labels::UID.to_owned(), UID.to_owned()),
        (labels::LINEAGE.to_owned(), "another-home".to_owned()),
    ]);
    for (name, subnet, labels) in [
        ("stranger", "192.168.7.0/24", BTreeMap::new()),
        ("hearth_household_others", "192.168.8.0/24", others),
    ] {
        let network =
            NewNetwork { name: name.into(), subnet: subnet.into(), internal: false, labels: labels.clone() };
        now(Networks::create(machine, &network));
        now(Containers::create(machine, &container(name, &image, labels)));
        now(machine.start(name));
    }
    let leaf = Leaf { instance: "somebodys".into(), path: "letters".into() };
    now(machine.make(&leaf, "not-of-this-home", Some((1000, 1000)), Some(0o700)));
}

/// A container of somebody's.
pub(crate) fn container(name: &str, image: &str, labels: BTreeMap<String, String>) -> NewContainer {
    NewContainer {
        command: Some(vec!["serve".into()]),
        env: BTreeMap::from([("OWNER".into(), "somebody".into())]),
        labels,
        ..NewContainer::of(name, image, IMAGE)
    }
}

/// The machine answers a hand past Hearth at once.
pub(crate) fn now<T>(call: impl Future<Output = Result<T, hearth_capabilities::Fault>>) -> T {
    call.now_or_never().expect("it has no latency").unwrap()
}
