//! What a process that died was in the middle of deleting: out of its place, and not erased yet.
//!
//! Whoever wished it gone has seen it gone, so nobody asks for it again; and it may be a secret, or somebody's data.

use hearth_capabilities::Fault;

use super::files::FILES;
use super::folder::{Folder, Found};
use super::given::GIVEN;
use super::leaf::plain_folders;
use super::{Disk, MAX_LEAF_PARTS, erase};

impl Disk {
    /// Erases all of it; says what could not be erased. It may take long, so it is done without the lock: what is
    /// hidden for deletion is never wanted again, and two may erase it at once.
    pub(super) fn erase_remains(&self) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        let instances = self.open().and_then(|root| Ok((plain_folders(&root)?, root)));
        match instances {
            Ok((instances, root)) => {
                for instance in &instances {
                    let erased = self.erase_remains_of(&root, instance).and_then(|()| self.tidy(instance));
                    faults.extend(erased.err());
                }
            }
            Err(fault) => faults.push(fault),
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    fn erase_remains_of(&self, root: &Folder, instance: &str) -> Result<(), Fault> {
        let Found::Folder(folder) = root.find(instance)? else { return Ok(()) };
        erase::clear_hidden(&folder)?;
        for own in [FILES, GIVEN] {
            if let Found::Folder(own) = folder.find(own)? {
                self.erase_below(&own, 0)?;
            }
        }
        match folder.find("data")? {
            Found::Folder(data) => self.erase_below(&data, 0),
            Found::Nothing | Found::Other(_) => Ok(()),
        }
    }

    /// In a folder and in those in it, but in no leaf: what is there is its app's, whatever it is called.
    fn erase_below(&self, folder: &Folder, depth: usize) -> Result<(), Fault> {
        erase::clear_hidden(folder)?;
        for name in plain_folders(folder)? {
            let Found::Folder(child) = folder.find(&name)? else { continue };
            if depth < MAX_LEAF_PARTS && self.marker.read(&child)?.is_none() {
                self.erase_below(&child, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Takes away the folders that only the remains had kept.
    fn tidy(&self, instance: &str) -> Result<(), Fault> {
        let root = self.open_to_change()?;
        let Found::Folder(folder) = root.find(instance)? else { return Ok(()) };
        folder.remove_if_empty(GIVEN)?;
        folder.remove_if_empty("data")?;
        root.remove_if_empty(instance)?;
        root.sync()
    }
}
