//! What stands on the machine: things with Hearth's labels, instances with their records, folders with their markers.

use std::collections::{BTreeMap, BTreeSet};

use hearth_capabilities::Fault;
use hearth_capabilities::volumes::ListedLeaf;
use hearth_controllers::app::{RECORD, Record};
use hearth_controllers::naming::{Naming, made_at, part_name};
use hearth_engine::Key;
use hearth_kinds::SYSTEM;
use hearth_meta::labels;

use crate::serve::bundle;
use crate::serve::wiring::Hands;

/// Everything of Hearth's on a machine, whichever home's.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Containers and networks.
    pub things: Vec<Thing>,
    /// Folders of instances.
    pub instances: Vec<Instance>,
}

/// A container or a network that Hearth made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// `Container` or `Network`.
    pub kind: &'static str,
    /// Its name in the container engine.
    pub name: String,
    /// The object that name stands for, where it is one of this home's names.
    pub key: Option<Key>,
    /// The uid of the object it was made for.
    pub uid: String,
    /// The uid of that object's owner.
    pub owner_uid: String,
    /// The lineage of the store that made it.
    pub lineage: String,
    /// The version that store had come to then; 0 where it does not tell.
    pub made_at: u64,
}

/// The folder of an instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name: the uid of its app, or what a Volume says.
    pub name: String,
    /// What its record says; `None` where there is none, and what is wrong with one that cannot be read.
    pub record: Option<Result<Record, String>>,
    /// Its folders of data.
    pub leaves: Vec<ListedLeaf>,
}

impl Instance {
    /// Its record, where one can be read.
    pub fn readable(&self) -> Option<&Record> {
        self.record.as_ref()?.as_ref().ok()
    }

    /// `namespace/name` of its app, or its own name where nothing tells.
    pub fn title(&self) -> String {
        match self.readable() {
            Some(record) => title(&record.app.key()),
            None => self.name.clone(),
        }
    }

    /// The uid of each Volume that its leaves tell of and its record does not.
    pub fn untold_volumes(&self) -> Vec<(Key, String)> {
        let Some(record) = self.readable() else { return Vec::new() };
        let namespace = record.app.metadata.namespace.clone().unwrap_or_default();
        let is_told = |leaf: &&ListedLeaf| record.parts.iter().any(|part| part.uid() == leaf.marker);
        let untold = self.leaves.iter().filter(|leaf| !is_told(leaf));
        let named = |leaf: &ListedLeaf| {
            let name = part_name(record.app.name(), &leaf.leaf.path);
            (Key::new("Volume", namespace.clone(), name), leaf.marker.clone())
        };
        untold.map(named).collect()
    }
}

/// `namespace/name`.
pub fn title(key: &Key) -> String {
    format!("{}/{}", key.namespace, key.name)
}

/// Looks at everything once.
///
/// # Errors
/// Where a part of the machine cannot be looked at: nothing is known then.
pub async fn look(hands: &Hands, naming: &Naming) -> Result<Standing, Fault> {
    let mut things = Vec::new();
    for container in hands.containers.list().await? {
        things.push(thing("Container", container.name, &container.labels, naming));
    }
    for network in hands.networks.list().await? {
        things.push(thing("Network", network.name, &network.labels, naming));
    }
    let mut leaves: BTreeMap<String, Vec<ListedLeaf>> = BTreeMap::new();
    for leaf in hands.volumes.list().await? {
        leaves.entry(leaf.leaf.instance.clone()).or_default().push(leaf);
    }
    let mut instances = Vec::new();
    for name in hands.volumes.instances().await? {
        let files = hands.volumes.load_files(&name).await?;
        let record = files.as_ref().and_then(|files| files.get(RECORD)).map(|bytes| record(&name, bytes));
        let leaves = leaves.remove(&name).unwrap_or_default();
        instances.push(Instance { name, record, leaves });
    }
    Ok(Standing { things, instances })
}

fn thing(kind: &'static str, name: String, labels_seen: &BTreeMap<String, String>, naming: &Naming) -> Thing {
    let label = |name: &str| labels_seen.get(name).cloned().unwrap_or_default();
    Thing {
        kind,
        key: naming.key(kind, &name),
        name,
        uid: label(labels::UID),
        owner_uid: label(labels::OWNER_UID),
        lineage: label(labels::LINEAGE),
        made_at: made_at(labels_seen),
    }
}

/// A record that lies in another instance's folder was copied there, and speaks of what is elsewhere.
fn record(instance: &str, bytes: &[u8]) -> Result<Record, String> {
    let record = Record::parse(bytes).map_err(|why| format!("its record {RECORD} {why}"))?;
    if record.app.uid() != instance {
        return Err(format!("its record {RECORD} is that of instance {}", record.app.uid()));
    }
    Ok(record)
}

impl Standing {
    /// The lineages that tell whose this home is, with how often each is told. The records lie in its own folder, so
    /// they go first; on the machine others may live beside it, under names of their own.
    pub fn lineages(&self) -> BTreeMap<String, usize> {
        let of_records = self.instances.iter().filter_map(|instance| instance.readable()?.lineage.clone());
        let of_records = counted(of_records);
        if !of_records.is_empty() {
            return of_records;
        }
        let named = self.things.iter().filter(|thing| thing.key.is_some());
        counted(named.map(|thing| thing.lineage.clone()))
    }

    /// The latest version that anything of a lineage was made at.
    pub fn latest(&self, lineage: &str) -> u64 {
        self.of(lineage).map(|thing| thing.made_at).max().unwrap_or(0)
    }

    /// The things of a lineage.
    pub fn of<'a>(&'a self, lineage: &'a str) -> impl Iterator<Item = &'a Thing> {
        self.things.iter().filter(move |thing| thing.lineage == lineage)
    }

    /// Whether anything runs for an app of this uid.
    pub fn has_things_of(&self, owner_uid: &str) -> bool {
        self.things.iter().any(|thing| thing.owner_uid == owner_uid)
    }

    /// The uids that Hearth's own parts have here: of what a lineage made, and of the proxy's folders.
    pub fn own_parts(&self, lineage: &str) -> Vec<(Key, String)> {
        let of_things = self.of(lineage).filter_map(|thing| Some((thing.key.clone()?, thing.uid.clone())));
        let own = of_things.filter(|(key, _)| key.namespace == SYSTEM);
        let bundle = self.instances.iter().filter(|instance| instance.name == bundle::INSTANCE);
        let leaves = bundle.flat_map(|instance| &instance.leaves).map(|leaf| {
            let name = bundle::volume_name(&leaf.leaf.path);
            (Key::new("Volume", SYSTEM, name), leaf.marker.clone())
        });
        own.chain(leaves).collect()
    }

    /// The uids of everything of a lineage whose key is known: by engine name, and by folder.
    pub fn uids(&self, lineage: &str) -> Vec<(Key, String)> {
        let of_things = self.of(lineage).filter_map(|thing| Some((thing.key.clone()?, thing.uid.clone())));
        let of_leaves = self.instances.iter().flat_map(Instance::untold_volumes);
        let mut seen = BTreeSet::new();
        let all = of_things.chain(self.own_parts(lineage)).chain(of_leaves);
        all.filter(|(key, uid)| !uid.is_empty() && seen.insert(key.clone())).collect()
    }
}

fn counted(lineages: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for lineage in lineages.filter(|lineage| !lineage.is_empty()) {
        *counts.entry(lineage).or_default() += 1;
    }
    counts
}
