//! Leaves: looking at one, making, setting and removing one, and finding them all.

use std::path::Path;

use hearth_capabilities::Fault;
use hearth_capabilities::volumes::{Leaf, LeafFacts, LeafState, ListedLeaf};
use rustix::fs::{FileType, Gid, Mode, RenameFlags, Uid};

use super::fault::WriteFault;
use super::folder::{Folder, Found};
use super::{Disk, HIDDEN, MAX_LEAF_PARTS, NEW, check_instance, erase, plain_parts, private};

/// The mode of a leaf whose mode nobody declared.
const DEFAULT_MODE: u32 = 0o755;

/// The 12 bits of a mode.
const MODE_BITS: u32 = 0o7777;

/// Where a leaf is, or would be.
enum Place<'a> {
    /// A folder above it is not there, so the leaf is not either.
    NoParent,
    /// Something above it is not what it must be; in words for people.
    Unsafe(String),
    /// The opened folders above it, the root first, and its last name.
    In(Vec<Folder>, &'a str),
}

impl Disk {
    pub(super) fn inspect(&self, leaf: &Leaf) -> Result<LeafState, Fault> {
        let root = self.open()?;
        let (parents, name) = match self.locate(root, leaf, Folder::find)? {
            Place::NoParent => return Ok(LeafState::Absent),
            Place::Unsafe(why) => return Ok(LeafState::Unsafe(why)),
            Place::In(parents, name) => (parents, name),
        };
        match last(&parents).find(name)? {
            Found::Nothing => Ok(LeafState::Absent),
            Found::Other(what) => Ok(LeafState::Unsafe(format!("it is {what}, not a folder"))),
            Found::Folder(folder) => Ok(LeafState::Present(self.facts(&folder)?)),
        }
    }

    fn facts(&self, folder: &Folder) -> Result<LeafFacts, Fault> {
        let stat = folder.stat()?;
        Ok(LeafFacts {
            marker: self.marker.read(folder)?,
            host_path: text(folder.path())?,
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode & MODE_BITS,
        })
    }

    /// Nothing bears the leaf's name until it is whole, and a power cut at any line leaves nothing or the whole.
    pub(super) fn make(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        let mode = checked_mode(mode.unwrap_or(DEFAULT_MODE))?;
        let root = self.open_to_change()?;
        let (parents, name) = match self.locate(root, leaf, Folder::find_or_make)? {
            Place::In(parents, name) => (parents, name),
            Place::Unsafe(why) => return Err(Fault::Refused(format!("cannot make {}: {why}", shown(leaf)))),
            Place::NoParent => return Err(Fault::Failed(format!("a folder above {} vanished", shown(leaf)))),
        };
        let parent = last(&parents);
        erase::clear_unfinished(parent)?;
        match parent.find(name)? {
            Found::Nothing => {}
            Found::Other(what) => return Err(Fault::Conflict(format!("{} is {what}", shown(leaf)))),
            Found::Folder(folder) => return self.check_marker(&folder, leaf, marker),
        }
        let hidden = format!("{NEW}{name}");
        rustix::fs::mkdirat(parent.fd(), &hidden, private())
            .failed("make the folder", &parent.path_of(name))?;
        let Found::Folder(new) = parent.find(&hidden)? else {
            return Err(Fault::Blind(format!("{} changed while it was made", shown(leaf))));
        };
        self.marker.write(&new, marker)?;
        set_owner_and_mode(&new, owner, Some(mode))?;
        new.sync()?;
        match rustix::fs::renameat_with(parent.fd(), &hidden, parent.fd(), name, RenameFlags::NOREPLACE) {
            Ok(()) => parent.sync(),
            Err(errno) => Err(errno).failed("put in place", &parent.path_of(name)),
        }
    }

    pub(super) fn set(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        let mode = mode.map(checked_mode).transpose()?;
        let root = self.open_to_change()?;
        let missing = || Fault::Missing(format!("there is no {}", shown(leaf)));
        let (parents, name) = match self.locate(root, leaf, Folder::find)? {
            Place::In(parents, name) => (parents, name),
            Place::Unsafe(why) => return Err(Fault::Refused(format!("cannot set {}: {why}", shown(leaf)))),
            Place::NoParent => return Err(missing()),
        };
        match last(&parents).find(name)? {
            Found::Nothing => Err(missing()),
            Found::Other(what) => Err(Fault::Conflict(format!("{} is {what}", shown(leaf)))),
            Found::Folder(folder) => {
                self.check_marker(&folder, leaf, marker)?;
                set_owner_and_mode(&folder, owner, mode)?;
                folder.sync()
            }
        }
    }

    pub(super) fn remove(&self, leaf: &Leaf, marker: &str) -> Result<(), Fault> {
        let root = self.open_to_change()?;
        let (parents, name) = match self.locate(root, leaf, Folder::find)? {
            Place::NoParent => return Ok(()),
            Place::Unsafe(why) => {
                return Err(Fault::Refused(format!("cannot remove {}: {why}", shown(leaf))));
            }
            Place::In(parents, name) => (parents, name),
        };
        let parent = last(&parents);
        match parent.find(name)? {
            Found::Nothing => {}
            Found::Other(what) => return Err(Fault::Conflict(format!("{} is {what}", shown(leaf)))),
            Found::Folder(folder) => {
                self.check_marker(&folder, leaf, marker)?;
                erase::hide(parent, name)?;
            }
        }
        erase::clear_hidden(parent)?;
        remove_empty_parents(&parents, leaf)
    }

    /// One attribute is set in one step, so that a crash leaves the old marker or the new one.
    pub(super) fn adopt(&self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault> {
        let root = self.open_to_change()?;
        let missing = || Fault::Missing(format!("there is no {}", shown(leaf)));
        let (parents, name) = match self.locate(root, leaf, Folder::find)? {
            Place::In(parents, name) => (parents, name),
            Place::Unsafe(why) => return Err(Fault::Refused(format!("cannot adopt {}: {why}", shown(leaf)))),
            Place::NoParent => return Err(missing()),
        };
        let folder = match last(&parents).find(name)? {
            Found::Nothing => return Err(missing()),
            Found::Other(what) => return Err(Fault::Conflict(format!("{} is {what}", shown(leaf)))),
            Found::Folder(folder) => folder,
        };
        match self.marker.read(&folder)? {
            Some(found) if found == to => Ok(()),
            found if found.as_deref() == from => {
                self.marker.replace(&folder, to)?;
                folder.sync()
            }
            found => {
                let found = found.unwrap_or_else(|| "none".to_owned());
                Err(Fault::Conflict(format!("the marker of {} is {found}, not the one meant", shown(leaf))))
            }
        }
    }

    pub(super) fn instances(&self) -> Result<Vec<String>, Fault> {
        plain_folders(&self.open()?)
    }

    fn check_marker(&self, folder: &Folder, leaf: &Leaf, marker: &str) -> Result<(), Fault> {
        match self.marker.read(folder)? {
            Some(found) if found == marker => Ok(()),
            Some(found) => {
                Err(Fault::Conflict(format!("{} was made for another object, {found}", shown(leaf))))
            }
            None => Err(Fault::Conflict(format!("{} carries no marker of Hearth's", shown(leaf)))),
        }
    }

    /// Opens everything above a leaf, with `enter` for each level.
    ///
    /// Below `data/` no folder on the way may be a leaf itself: its app could move what is in it.
    fn locate<'a>(
        &self,
        root: Folder,
        leaf: &'a Leaf,
        enter: fn(&Folder, &str) -> Result<Found, Fault>,
    ) -> Result<Place<'a>, Fault> {
        check_instance(&leaf.instance)?;
        let mut parts = plain_parts(&leaf.path)?;
        if parts.len() > MAX_LEAF_PARTS {
            return Err(Fault::Refused(format!(
                "the path {:?} has more than {MAX_LEAF_PARTS} parts; make it shorter",
                leaf.path
            )));
        }
        let Some(name) = parts.pop() else { return Ok(Place::NoParent) };
        let mut parents = vec![root];
        for (level, part) in [leaf.instance.as_str(), "data"].into_iter().chain(parts).enumerate() {
            let folder = match enter(last(&parents), part)? {
                Found::Nothing => return Ok(Place::NoParent),
                Found::Other(what) => return Ok(Place::Unsafe(format!("{part:?} on its path is {what}"))),
                Found::Folder(folder) => folder,
            };
            if level >= 2 && self.marker.read(&folder)?.is_some() {
                return Ok(Place::Unsafe(format!("it would lie inside another leaf, {part:?}")));
            }
            parents.push(folder);
        }
        Ok(Place::In(parents, name))
    }

    pub(super) fn list(&self) -> Result<Vec<ListedLeaf>, Fault> {
        let root = self.open()?;
        let mut leaves = Vec::new();
        for instance in plain_folders(&root)? {
            let Found::Folder(folder) = root.find(&instance)? else { continue };
            let Found::Folder(data) = folder.find("data")? else { continue };
            self.list_in(&data, &instance, &mut Vec::new(), &mut leaves)?;
        }
        Ok(leaves)
    }

    /// Looks through folders that are no leaf themselves; what is in a leaf is the app's business.
    fn list_in(
        &self,
        folder: &Folder,
        instance: &str,
        path: &mut Vec<String>,
        leaves: &mut Vec<ListedLeaf>,
    ) -> Result<(), Fault> {
        for name in plain_folders(folder)? {
            let Found::Folder(child) = folder.find(&name)? else { continue };
            path.push(name);
            match self.marker.read(&child)? {
                Some(marker) => {
                    let leaf = Leaf { instance: instance.to_owned(), path: path.join("/") };
                    leaves.push(ListedLeaf { leaf, marker });
                }
                None if path.len() < MAX_LEAF_PARTS => self.list_in(&child, instance, path, leaves)?,
                None => {}
            }
            path.pop();
        }
        Ok(())
    }
}

/// The names of folders that Hearth could have made.
pub(super) fn plain_folders(folder: &Folder) -> Result<Vec<String>, Fault> {
    let entries = folder.entries()?.into_iter().filter(|entry| entry.kind == FileType::Directory);
    let names = entries.filter_map(|entry| entry.name.into_string().ok());
    Ok(names.filter(|name| !name.starts_with(HIDDEN)).collect())
}

/// Takes away folders above a removed leaf that hold nothing any more, up to `data/`, which stays.
fn remove_empty_parents(parents: &[Folder], leaf: &Leaf) -> Result<(), Fault> {
    let names: Vec<&str> = leaf.path.split('/').collect();
    // `parents` holds the root, the instance, `data/`, then one folder for each part but the last.
    for (level, name) in names.iter().enumerate().rev().skip(1) {
        let Some(above) = parents.get(level + 2) else { continue };
        if !above.remove_if_empty(name)? {
            break;
        }
    }
    Ok(())
}

fn set_owner_and_mode(folder: &Folder, owner: Option<(u32, u32)>, mode: Option<Mode>) -> Result<(), Fault> {
    if let Some((uid, gid)) = owner {
        if uid == u32::MAX || gid == u32::MAX {
            return Err(Fault::Refused(format!("{uid}:{gid} is no owner")));
        }
        rustix::fs::fchown(folder.fd(), Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
            .failed("give away", folder.path())?;
    }
    // After the owner, since a change of owner clears some bits of the mode.
    if let Some(mode) = mode {
        rustix::fs::fchmod(folder.fd(), mode).failed("set the mode of", folder.path())?;
    }
    Ok(())
}

fn checked_mode(mode: u32) -> Result<Mode, Fault> {
    if mode > MODE_BITS {
        return Err(Fault::Refused(format!("the mode {mode:o} has more than 12 bits")));
    }
    Ok(Mode::from_raw_mode(mode))
}

fn last(parents: &[Folder]) -> &Folder {
    parents.last().expect("the root is always among them")
}

fn shown(leaf: &Leaf) -> String {
    format!("the leaf {:?} of instance {:?}", leaf.path, leaf.instance)
}

fn text(path: &Path) -> Result<String, Fault> {
    let text = path.to_str().ok_or_else(|| Fault::Refused(format!("{} is not UTF-8", path.display())))?;
    Ok(text.to_owned())
}
