//! [`Volumes`] of the pretend machine: folders by name, without what is in them.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hearth_capabilities::Fault;
use hearth_capabilities::volumes::{Given, Leaf, LeafFacts, LeafState, ListedLeaf, Volumes};
use serde::{Deserialize, Serialize};

use crate::faults::Op;
use crate::given;
use crate::machine::Machine;

/// Where the instances seem to be.
pub(crate) const ROOT: &str = "/srv/pretend/instances";

/// The limits of the real hands.
const MAX_PART_BYTES: usize = 220;
const MAX_LEAF_PARTS: usize = 8;
const MAX_FILE_PARTS: usize = 16;
const MAX_PACKAGE_BYTES: usize = 16 * 1024 * 1024;
const MAX_PACKAGE_FILES: usize = 1000;

/// Everything on the disk.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Disk {
    instances: BTreeMap<String, Instance>,
    packages: BTreeMap<String, Package>,
    /// Other folders that are known to be there. Below one of them nothing else is.
    pub(crate) folders: BTreeSet<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Instance {
    files: Option<BTreeMap<String, Vec<u8>>>,
    #[serde(default)]
    given: given::Files,
    /// What is under `data/`, by path. Folders on the way are not listed.
    data: BTreeMap<String, Node>,
}

/// What is at a path.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Node {
    Link,
    File,
    Folder { marker: Option<String>, uid: u32, gid: u32, mode: u32 },
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Package {
    files: BTreeMap<String, Vec<u8>>,
    has_link: bool,
}

impl Disk {
    /// Whether a folder or a given file of the machine is there, for binding it.
    pub(crate) fn has_folder(&self, path: &str) -> bool {
        if let Some((instance, holder, name)) = given::parts(path) {
            let held = self.given(instance).and_then(|all| all.get(holder));
            return held.is_some_and(|held| held.contains_key(name));
        }
        if let Some(rest) = path.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix('/')) {
            let Some((instance, path)) = rest.split_once("/data/") else {
                return self.instances.contains_key(rest.split('/').next().unwrap_or_default());
            };
            let leaf = Leaf { instance: instance.to_owned(), path: path.to_owned() };
            return matches!(self.state(&leaf), LeafState::Present(_));
        }
        let is_below_known =
            |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.folders.contains(path) || !self.folders.iter().any(is_below_known)
    }

    pub(crate) fn given(&self, instance: &str) -> Option<&given::Files> {
        self.instances.get(instance).map(|each| &each.given)
    }

    pub(crate) fn given_mut(&mut self, instance: &str) -> &mut given::Files {
        &mut self.instances.entry(instance.to_owned()).or_default().given
    }

    fn take_back(&mut self, name: &str, holder: &str) {
        if let Some(instance) = self.instances.get_mut(name) {
            instance.given.remove(holder);
            if instance.is_empty() {
                self.instances.remove(name);
            }
        }
    }

    pub(crate) fn put(&mut self, leaf: &Leaf, node: Option<Node>) {
        let data = &mut self.instances.entry(leaf.instance.clone()).or_default().data;
        match node {
            Some(node) => drop(data.insert(leaf.path.clone(), node)),
            None => drop(data.remove(&leaf.path)),
        }
    }

    pub(crate) fn find_mut(&mut self, leaf: &Leaf) -> Option<&mut Node> {
        self.instances.get_mut(&leaf.instance)?.data.get_mut(&leaf.path)
    }

    pub(crate) fn put_package(&mut self, path: &str, files: BTreeMap<String, Vec<u8>>) {
        self.packages.insert(path.to_owned(), Package { files, has_link: false });
    }

    pub(crate) fn link_in_package(&mut self, path: &str) {
        self.packages.entry(path.to_owned()).or_default().has_link = true;
    }

    /// What is wrong above a leaf.
    fn obstacle(&self, leaf: &Leaf) -> Option<String> {
        let data = &self.instances.get(&leaf.instance)?.data;
        leaf.path.match_indices('/').find_map(|(at, _)| {
            let above = &leaf.path[..at];
            match data.get(above)? {
                Node::Link => Some(format!("{above:?} on its path is a link")),
                Node::File => Some(format!("{above:?} on its path is a file")),
                Node::Folder { marker: Some(_), .. } => {
                    Some(format!("it would lie inside another leaf, {above:?}"))
                }
                Node::Folder { marker: None, .. } => None,
            }
        })
    }

    fn state(&self, leaf: &Leaf) -> LeafState {
        if let Some(why) = self.obstacle(leaf) {
            return LeafState::Unsafe(why);
        }
        let Some(instance) = self.instances.get(&leaf.instance) else { return LeafState::Absent };
        let present = |marker: &Option<String>, uid, gid, mode| {
            let host_path = format!("{ROOT}/{}/data/{}", leaf.instance, leaf.path);
            LeafState::Present(LeafFacts { marker: marker.clone(), host_path, uid, gid, mode })
        };
        match instance.data.get(&leaf.path) {
            Some(Node::Link) => LeafState::Unsafe("it is a link, not a folder".into()),
            Some(Node::File) => LeafState::Unsafe("it is a file, not a folder".into()),
            Some(Node::Folder { marker, uid, gid, mode }) => present(marker, *uid, *gid, *mode),
            // A folder on the way to others.
            None if instance.holds_below(&leaf.path) => present(&None, 0, 0, 0o700),
            None => LeafState::Absent,
        }
    }

    /// The marked folder of a leaf, or why it may not be touched.
    fn marked(&mut self, leaf: &Leaf, marker: &str) -> Result<Option<&mut Node>, Fault> {
        if let Some(why) = self.obstacle(leaf) {
            return Err(Fault::Refused(format!("cannot touch {leaf:?}: {why}")));
        }
        match self.state(leaf) {
            LeafState::Absent => return Ok(None),
            LeafState::Unsafe(why) => return Err(Fault::Conflict(format!("{leaf:?}: {why}"))),
            LeafState::Present(facts) if facts.marker.as_deref() == Some(marker) => {}
            LeafState::Present(_) => return Err(Fault::Conflict(format!("{leaf:?} is another's"))),
        }
        Ok(self.find_mut(leaf))
    }

    fn adopt(&mut self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault> {
        if let Some(why) = self.obstacle(leaf) {
            return Err(Fault::Refused(format!("cannot adopt {leaf:?}: {why}")));
        }
        match self.find_mut(leaf) {
            None => Err(Fault::Missing(format!("there is no {}", shown(leaf)))),
            Some(Node::Folder { marker, .. }) if marker.as_deref() == Some(to) => Ok(()),
            Some(Node::Folder { marker, .. }) if marker.as_deref() == from => {
                *marker = Some(to.to_owned());
                Ok(())
            }
            Some(_) => Err(Fault::Conflict(format!("{leaf:?} is not the one that was meant"))),
        }
    }

    fn remove_files(&mut self, name: &str) {
        if let Some(instance) = self.instances.get_mut(name) {
            instance.files = None;
            instance.given.clear();
            if instance.is_empty() {
                self.instances.remove(name);
            }
        }
    }
}

impl Instance {
    fn is_empty(&self) -> bool {
        self.files.is_none() && self.given.is_empty() && self.data.is_empty()
    }

    fn holds_below(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.data.keys().any(|each| each.starts_with(&below))
    }
}

#[async_trait]
impl Volumes for Machine {
    async fn inspect(&self, leaf: &Leaf) -> Result<LeafState, Fault> {
        check_leaf(leaf)?;
        self.call(Op::InspectLeaf, &shown(leaf), |state| Ok(state.disk.state(leaf))).await
    }

    async fn make(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        check_leaf(leaf)?;
        check_mode(mode)?;
        self.call(Op::MakeLeaf, &shown(leaf), |state| {
            if state.disk.marked(leaf, marker)?.is_none() {
                let (uid, gid) = owner.unwrap_or_default();
                let mode = mode.unwrap_or(0o755);
                let node = Node::Folder { marker: Some(marker.to_owned()), uid, gid, mode };
                state.disk.put(leaf, Some(node));
            }
            Ok(())
        })
        .await
    }

    async fn set(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        check_leaf(leaf)?;
        check_mode(mode)?;
        self.call(Op::SetLeaf, &shown(leaf), |state| match state.disk.marked(leaf, marker)? {
            Some(Node::Folder { uid, gid, mode: has, .. }) => {
                (*uid, *gid) = owner.unwrap_or((*uid, *gid));
                *has = mode.unwrap_or(*has);
                Ok(())
            }
            _ => Err(Fault::Missing(format!("there is no {}", shown(leaf)))),
        })
        .await
    }

    async fn remove(&self, leaf: &Leaf, marker: &str) -> Result<(), Fault> {
        check_leaf(leaf)?;
        self.call(Op::RemoveLeaf, &shown(leaf), |state| {
            if state.disk.marked(leaf, marker)?.is_some() {
                state.disk.put(leaf, None);
            }
            Ok(())
        })
        .await
    }

    async fn adopt(&self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault> {
        check_leaf(leaf)?;
        self.call(Op::AdoptLeaf, &shown(leaf), |state| state.disk.adopt(leaf, from, to)).await
    }

    async fn instances(&self) -> Result<Vec<String>, Fault> {
        self.call(Op::ListInstances, "", |state| Ok(state.disk.instances.keys().cloned().collect())).await
    }

    async fn list(&self) -> Result<Vec<ListedLeaf>, Fault> {
        self.call(Op::ListLeaves, "", |state| {
            let mut leaves = Vec::new();
            for (name, instance) in &state.disk.instances {
                for (path, node) in &instance.data {
                    if let Node::Folder { marker: Some(marker), .. } = node {
                        let leaf = Leaf { instance: name.clone(), path: path.clone() };
                        leaves.push(ListedLeaf { leaf, marker: marker.clone() });
                    }
                }
            }
            Ok(leaves)
        })
        .await
    }

    async fn save_files(&self, instance: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
        check_instance(instance)?;
        for path in files.keys() {
            check_path(path, MAX_FILE_PARTS)?;
            if path.match_indices('/').any(|(at, _)| files.contains_key(&path[..at])) {
                return Err(Fault::Refused(format!("{path:?} is below a file")));
            }
        }
        self.call(Op::SaveFiles, instance, |state| {
            state.disk.instances.entry(instance.to_owned()).or_default().files = Some(files.clone());
            Ok(())
        })
        .await
    }

    async fn load_files(&self, instance: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Fault> {
        check_instance(instance)?;
        self.call(Op::LoadFiles, instance, |state| {
            Ok(state.disk.instances.get(instance).and_then(|each| each.files.clone()))
        })
        .await
    }

    async fn remove_files(&self, instance: &str) -> Result<(), Fault> {
        check_instance(instance)?;
        self.call(Op::RemoveFiles, instance, |state| {
            state.disk.remove_files(instance);
            Ok(())
        })
        .await
    }

    async fn find_given(&self, given: &Given) -> Result<Option<Vec<String>>, Fault> {
        given::check(given)?;
        self.call(Op::FindGiven, &given.holder, |state| Ok(given::find(state, given))).await
    }

    async fn give(&self, given: &Given) -> Result<Vec<String>, Fault> {
        given::check(given)?;
        self.call(Op::Give, &given.holder, |state| Ok(given::give(state, given))).await
    }

    async fn take_back(&self, instance: &str, holder: &str) -> Result<(), Fault> {
        check_instance(instance)?;
        check_instance(holder)?;
        self.call(Op::TakeBack, holder, |state| {
            state.disk.take_back(instance, holder);
            Ok(())
        })
        .await
    }

    async fn read_package(&self, path: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        if !path.starts_with('/') || path.split('/').any(|part| part == "." || part == "..") {
            return Err(Fault::Refused(format!(
                "the package {path:?} must be an absolute path without . and .."
            )));
        }
        self.call(Op::ReadPackage, path, |state| {
            let package = state.disk.packages.get(path);
            let package = package.ok_or_else(|| Fault::Missing(format!("there is no package at {path}")))?;
            let bytes: usize = package.files.values().map(Vec::len).sum();
            if package.has_link || bytes > MAX_PACKAGE_BYTES || package.files.len() > MAX_PACKAGE_FILES {
                return Err(Fault::Refused(format!("the package at {path} holds a link or is too large")));
            }
            Ok(package.files.clone())
        })
        .await
    }
}

fn shown(leaf: &Leaf) -> String {
    format!("{}/{}", leaf.instance, leaf.path)
}

fn check_leaf(leaf: &Leaf) -> Result<(), Fault> {
    check_instance(&leaf.instance)?;
    check_path(&leaf.path, MAX_LEAF_PARTS)
}

pub(crate) fn check_instance(instance: &str) -> Result<(), Fault> {
    check_path(instance, 1)
}

fn check_path(path: &str, most_parts: usize) -> Result<(), Fault> {
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.contains('\0')
            && !part.starts_with(".hearth-")
            && part.len() <= MAX_PART_BYTES
    };
    if path.split('/').all(is_plain) && path.split('/').count() <= most_parts {
        Ok(())
    } else {
        Err(Fault::Refused(format!("the path {path:?} is not plain")))
    }
}

fn check_mode(mode: Option<u32>) -> Result<(), Fault> {
    match mode {
        Some(mode) if mode > 0o7777 => {
            Err(Fault::Refused(format!("the mode {mode:o} has more than 12 bits")))
        }
        _ => Ok(()),
    }
}
