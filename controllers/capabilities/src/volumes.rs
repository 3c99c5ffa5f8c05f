//! Folders of data, and the folder each instance has. Data folders are hostile: an app owns its leaf and can fill
//! it with links, so every path is opened level by level without following one.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;

use crate::Fault;

/// What a machine can do with the folders of instances.
#[async_trait]
pub trait Volumes: Send + Sync {
    /// What is at a leaf now.
    async fn inspect(&self, leaf: &Leaf) -> Result<LeafState, Fault>;

    /// Makes a leaf that is absent, with its marker, owner and mode, in one move: a crash leaves either nothing or
    /// the whole leaf. One that is there with the same marker is success; anything else a [`Fault::Conflict`].
    async fn make(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault>;

    /// Sets owner and mode of the leaf itself, never of what is in it; only where the marker matches.
    async fn set(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault>;

    /// Removes a leaf and everything in it, only where the marker matches; absent already is success.
    async fn remove(&self, leaf: &Leaf, marker: &str) -> Result<(), Fault>;

    /// Gives a leaf that is there another marker, for a person who says whose it is: only where it carries `from`,
    /// or none where that is `None`. One that carries `to` already is success; none there is [`Fault::Missing`], and
    /// any other marker a [`Fault::Conflict`]. What is in the leaf is not touched.
    async fn adopt(&self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault>;

    /// Every leaf that carries a marker.
    async fn list(&self) -> Result<Vec<ListedLeaf>, Fault>;

    /// Writes the author's and rendered files of an instance; each is replaced whole, files not named are removed.
    /// Paths are relative and plain. Nothing in `data/` is touched. Files are readable by their owner alone.
    async fn save_files(&self, instance: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault>;

    /// The files of an instance as [`Volumes::save_files`] left them; `None` means there is no such instance.
    async fn load_files(&self, instance: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Fault>;

    /// Every instance that has a folder, by name, sorted.
    async fn instances(&self) -> Result<Vec<String>, Fault>;

    /// Removes what [`Volumes::save_files`] and [`Volumes::give`] wrote, and the instance's folder if nothing else is
    /// left in it.
    async fn remove_files(&self, instance: &str) -> Result<(), Fault>;

    /// Where the files are that were given, in their order; `None` where they are not all there exactly as they
    /// should be, or one was put in the place of what was given. Asked for no files at all it tells whether there is
    /// anything to take back: `None` where the holder has nothing, nor is anything left of what it had.
    async fn find_given(&self, given: &Given) -> Result<Option<Vec<String>>, Fault>;

    /// Makes the files of a holder exactly these, and says where they are, in their order. A file that is there as it
    /// should be stays where it is; anything else is made in a new place, since who has the old one mounted goes on
    /// seeing that.
    async fn give(&self, given: &Given) -> Result<Vec<String>, Fault>;

    /// Removes every file that was given to a holder; none is success.
    async fn take_back(&self, instance: &str, holder: &str) -> Result<(), Fault>;

    /// The files of a package folder anywhere on the machine; links are refused, so are more than 16 MiB in all.
    async fn read_package(&self, path: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault>;
}

/// Files for one holder, a container of an instance. May hold secrets, so it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Given {
    /// The instance: one plain name.
    pub instance: String,
    /// Whose they are: one plain name.
    pub holder: String,
    /// The files.
    pub files: Vec<GivenFile>,
}

/// One file.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenFile {
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Its mode, 9 bits.
    pub mode: u32,
    /// Its owner's number.
    pub uid: u32,
    /// Its group's number.
    pub gid: u32,
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is in them may be secret, so it is left out.
        f.debug_struct("Given")
            .field("instance", &self.instance)
            .field("holder", &self.holder)
            .field("files", &self.files.len())
            .finish()
    }
}

/// Names a leaf: a folder under the `data/` of an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leaf {
    /// The instance: one plain name.
    pub instance: String,
    /// The path under its `data/`: plain parts with `/` between.
    pub path: String,
}

/// What is at a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeafState {
    /// Nothing is there.
    Absent,
    /// Something else is there, such as a link or a file; in words for people.
    Unsafe(String),
    /// A folder is there.
    Present(LeafFacts),
}

/// A folder of data as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFacts {
    /// The marker it carries; `None` means it was not made by Hearth, or its data was replaced.
    pub marker: Option<String>,
    /// Where it is on the machine, for binding it.
    pub host_path: String,
    /// Its owner's number.
    pub uid: u32,
    /// Its group's number.
    pub gid: u32,
    /// Its mode, 12 bits.
    pub mode: u32,
}

/// A leaf in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLeaf {
    /// Which leaf.
    pub leaf: Leaf,
    /// The marker it carries.
    pub marker: String,
}
