//! Folders of data on a real disk.
//!
//! ```text
//! instances/<instance>/files/...        the author's and the rendered files (0600, folders 0700)
//! instances/<instance>/given/<holder>/  files that are mounted into one container (folders 0700)
//! instances/<instance>/data/<leaf>      one folder of data, made once, with a marker
//! ```
//!
//! An app owns what is in its leaf and is not trusted with it. Three rules follow, and everything here keeps them:
//!
//! - A path is opened level by level from the root, one plain name at a time and never through a link, and the work
//!   is done on what was opened, not on the path.
//! - What must be whole is prepared under a hidden name beside its place and moved there in one step. A lock on the
//!   root lets one process change names at a time, so a hidden name that is found under the lock was left by one
//!   that died, and is cleared.
//! - What is to be deleted is moved to a hidden name first, so that half of a tree is never taken for the leaf.
//!
//! The marker is an extended attribute of the leaf: a file inside would upset databases that want an empty folder.

mod erase;
mod fault;
mod files;
mod folder;
mod given;
mod leaf;
mod marker;
mod package;
mod remains;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use hearth_capabilities::Fault;
use hearth_capabilities::volumes::{Given, Leaf, LeafState, ListedLeaf, Volumes};
use rustix::fs::{FlockOperation, Mode};

use fault::{ReadFault, WriteFault};
use folder::Folder;
use marker::Marker;

/// How every hidden name starts. No part of a leaf or of a file may start like this.
const HIDDEN: &str = ".hearth-";

/// What is being prepared.
const NEW: &str = ".hearth-new-";

/// What is being deleted.
const GONE: &str = ".hearth-gone-";

/// The longest part of a path: what a file system takes, less what a hidden name adds.
const MAX_PART_BYTES: usize = 220;

/// The most parts a leaf may have; keeps the search for leaves from wandering through an app's data.
const MAX_LEAF_PARTS: usize = 8;

/// Reads the files of a package from a folder that its packager works in, by the rules of
/// [`Volumes::read_package`]: whatever they would refuse on a machine is refused here. Only the way to the folder may
/// be any.
///
/// # Errors
/// [`Fault::Refused`] for a link, for what is neither file nor folder, or for too much; [`Fault::Blind`] where it
/// cannot be read.
pub fn read_package_folder(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    package::read_folder(&Folder::open_root(folder).blind("open", folder)?)
}

/// [`Volumes`] on a real disk. Clones are the same hands.
#[derive(Clone)]
pub struct LinuxVolumes {
    disk: Arc<Disk>,
}

/// Where the instances are and how their leaves are marked.
struct Disk {
    root: PathBuf,
    marker: Marker,
}

impl LinuxVolumes {
    /// Hands on the folder of instances; it is made where it is not there.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] where the folder cannot be made or its file system holds no extended attributes.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, Fault> {
        let root = root.into();
        make_root(&root)?;
        let folder = Folder::open_root(&root).refused("open", &root)?;
        let marker = Marker::choose(&folder)?;
        Ok(Self { disk: Arc::new(Disk { root, marker }) })
    }

    /// Erases what a process that died was in the middle of deleting, wherever it is; for whoever starts to serve. It
    /// takes as long as there is something to erase, and others may use these hands meanwhile.
    ///
    /// # Errors
    ///
    /// Everything that could not be erased; it is tried again with the next start.
    pub fn erase_remains(&self) -> Result<(), Vec<Fault>> {
        self.disk.erase_remains()
    }

    /// Disk work may wait long, so it never runs on the threads that answer.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let disk = Arc::clone(&self.disk);
        match tokio::task::spawn_blocking(move || work(&disk)).await {
            Ok(result) => result,
            Err(_) => Err(Fault::Blind("the work on the disk broke off".into())),
        }
    }
}

fn make_root(root: &std::path::Path) -> Result<(), Fault> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root);
    made.map_err(|error| Fault::Refused(format!("making the folder {}: {error}", root.display())))
}

impl Disk {
    /// Opens the root anew each time: the disk it lies on may have been mounted since.
    fn open(&self) -> Result<Folder, Fault> {
        Folder::open_root(&self.root).blind("open", &self.root)
    }

    /// Opens the root and takes the lock on it, which the system gives back when the folder is closed or the
    /// process dies.
    fn open_to_change(&self) -> Result<Folder, Fault> {
        let root = self.open()?;
        rustix::io::retry_on_intr(|| rustix::fs::flock(root.fd(), FlockOperation::LockExclusive))
            .failed("lock", &self.root)?;
        Ok(root)
    }
}

#[async_trait]
impl Volumes for LinuxVolumes {
    async fn inspect(&self, leaf: &Leaf) -> Result<LeafState, Fault> {
        let leaf = leaf.clone();
        self.on_disk(move |disk| disk.inspect(&leaf)).await
    }

    async fn make(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        let (leaf, marker) = (leaf.clone(), marker.to_owned());
        self.on_disk(move |disk| disk.make(&leaf, &marker, owner, mode)).await
    }

    async fn set(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        let (leaf, marker) = (leaf.clone(), marker.to_owned());
        self.on_disk(move |disk| disk.set(&leaf, &marker, owner, mode)).await
    }

    async fn remove(&self, leaf: &Leaf, marker: &str) -> Result<(), Fault> {
        let (leaf, marker) = (leaf.clone(), marker.to_owned());
        self.on_disk(move |disk| disk.remove(&leaf, &marker)).await
    }

    async fn adopt(&self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault> {
        let (leaf, from, to) = (leaf.clone(), from.map(str::to_owned), to.to_owned());
        self.on_disk(move |disk| disk.adopt(&leaf, from.as_deref(), &to)).await
    }

    async fn instances(&self) -> Result<Vec<String>, Fault> {
        self.on_disk(Disk::instances).await
    }

    async fn list(&self) -> Result<Vec<ListedLeaf>, Fault> {
        self.on_disk(Disk::list).await
    }

    async fn save_files(&self, instance: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
        let (instance, files) = (instance.to_owned(), files.clone());
        self.on_disk(move |disk| disk.save_files(&instance, &files)).await
    }

    async fn load_files(&self, instance: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Fault> {
        let instance = instance.to_owned();
        self.on_disk(move |disk| disk.load_files(&instance)).await
    }

    async fn remove_files(&self, instance: &str) -> Result<(), Fault> {
        let instance = instance.to_owned();
        self.on_disk(move |disk| disk.remove_files(&instance)).await
    }

    async fn find_given(&self, given: &Given) -> Result<Option<Vec<String>>, Fault> {
        let given = given.clone();
        self.on_disk(move |disk| disk.find_given(&given)).await
    }

    async fn give(&self, given: &Given) -> Result<Vec<String>, Fault> {
        let given = given.clone();
        self.on_disk(move |disk| disk.give(&given)).await
    }

    async fn take_back(&self, instance: &str, holder: &str) -> Result<(), Fault> {
        let (instance, holder) = (instance.to_owned(), holder.to_owned());
        self.on_disk(move |disk| disk.take_back(&instance, &holder)).await
    }

    async fn read_package(&self, path: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        let path = path.to_owned();
        self.on_disk(move |_| package::read(&path)).await
    }
}

/// Says what is wrong with a path that must be relative and plain; its parts where nothing is.
fn plain_parts(path: &str) -> Result<Vec<&str>, Fault> {
    let parts: Vec<&str> = path.split('/').collect();
    for part in &parts {
        check_part(part).map_err(|why| Fault::Refused(format!("the path {path:?} {why}")))?;
    }
    Ok(parts)
}

/// Says what is wrong with the name of an instance.
fn check_instance(instance: &str) -> Result<(), Fault> {
    let is_one = if instance.contains('/') { Err("may not hold /") } else { check_part(instance) };
    is_one.map_err(|why| Fault::Refused(format!("the instance {instance:?} {why}")))
}

fn check_part(part: &str) -> Result<(), &'static str> {
    match part {
        "" => Err("has an empty part; write names with one / between them"),
        "." | ".." => Err("may not hold . or .."),
        _ if part.contains('\0') => Err("may not hold a zero byte"),
        _ if part.starts_with(HIDDEN) => Err("may not hold a name that starts with .hearth-"),
        _ if part.len() > MAX_PART_BYTES => Err("has a name of more than 220 bytes"),
        _ => Ok(()),
    }
}

/// Folders of Hearth's own are for Hearth alone: whoever mounts a leaf does so as root.
fn private() -> Mode {
    Mode::from_raw_mode(0o700)
}
