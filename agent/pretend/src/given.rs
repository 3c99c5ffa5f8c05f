//! Files that are given to containers, on the pretend machine.

use std::collections::BTreeMap;

use hearth_capabilities::Fault;
use hearth_capabilities::volumes::{Given, GivenFile};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::state::State;
use crate::volumes::{ROOT, check_instance};

/// Every given file of an instance, by its holder and then by its name.
pub(crate) type Files = BTreeMap<String, BTreeMap<String, Kept>>;

/// A file as it is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    mode: u32,
    uid: u32,
    gid: u32,
    /// Whether it was put in the place of the one that was given.
    is_another: bool,
}

impl Kept {
    fn is(&self, file: &GivenFile) -> bool {
        !self.is_another && self.told() == *file
    }

    fn told(&self) -> GivenFile {
        GivenFile { bytes: self.bytes.clone(), mode: self.mode, uid: self.uid, gid: self.gid }
    }
}

pub(crate) fn check(given: &Given) -> Result<(), Fault> {
    check_instance(&given.instance)?;
    check_instance(&given.holder)?;
    match given.files.iter().find(|file| file.mode > 0o777) {
        Some(file) => Err(Fault::Refused(format!("the mode {:o} has more than 9 bits", file.mode))),
        None => Ok(()),
    }
}

pub(crate) fn find(state: &State, given: &Given) -> Option<Vec<String>> {
    let held = state.disk.given(&given.instance)?.get(&given.holder)?;
    let names = given.files.iter().enumerate().map(|(place, file)| name_of(held, place, file));
    names.map(|name| name.map(|name| path(given, &name))).collect()
}

pub(crate) fn give(state: &mut State, given: &Given) -> Vec<String> {
    let before = state.disk.given(&given.instance).and_then(|all| all.get(&given.holder)).cloned();
    let before = before.unwrap_or_default();
    let mut after = BTreeMap::new();
    let mut paths = Vec::new();
    for (place, file) in given.files.iter().enumerate() {
        let name = name_of(&before, place, file).unwrap_or_else(|| {
            state.ids_given += 1;
            format!("{place}-{}", state.ids_given)
        });
        paths.push(path(given, &name));
        let GivenFile { bytes, mode, uid, gid } = file.clone();
        after.insert(name, Kept { bytes, mode, uid, gid, is_another: false });
    }
    state.disk.given_mut(&given.instance).insert(given.holder.clone(), after);
    paths
}

fn name_of(held: &BTreeMap<String, Kept>, place: usize, file: &GivenFile) -> Option<String> {
    let prefix = format!("{place}-");
    held.iter().find(|(name, kept)| name.starts_with(&prefix) && kept.is(file)).map(|(name, _)| name.clone())
}

fn path(given: &Given, name: &str) -> String {
    format!("{ROOT}/{}/given/{}/{name}", given.instance, given.holder)
}

/// Instance, holder and name of a path.
pub(crate) fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let (instance, rest) = path.strip_prefix(ROOT)?.strip_prefix('/')?.split_once("/given/")?;
    let (holder, name) = rest.split_once('/')?;
    Some((instance, holder, name))
}

/// Given files, looked at and changed by hand.
impl Machine {
    /// What is in a given file, by where it is on the machine.
    pub fn read_given(&self, path: &str) -> Option<GivenFile> {
        self.look(|state| {
            let (instance, holder, name) = parts(path)?;
            Some(state.disk.given(instance)?.get(holder)?.get(name)?.told())
        })
    }

    /// Changes what is in a given file, or puts another file in its place.
    pub fn change_given(&self, path: &str, text: &str, replaces: bool) {
        self.change(|state| {
            let Some((instance, holder, name)) = parts(path) else { return };
            let held = state.disk.given_mut(instance).get_mut(holder);
            if let Some(kept) = held.and_then(|held| held.get_mut(name)) {
                kept.bytes = text.as_bytes().to_vec();
                kept.is_another |= replaces;
            }
        });
    }
}
