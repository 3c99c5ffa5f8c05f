//! How much room there is on the store's disk, and what is kept so that a full one can be recovered from.
//!
//! Two lines of defence. Below a floor of free space, new wishes of people are refused, while deletions, pauses,
//! small changes, statuses, intents and events go on. And where the disk is full all the same, a reserve file beside
//! the store is given up, so that what was to be written can be; it is made again once there is room.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;

const MIB: u64 = 1 << 20;
/// Below this much free space nothing new is taken; a small disk keeps a share instead.
const FLOOR: u64 = 64 * MIB;
/// The reserve; a small disk keeps a share instead.
const RESERVE: u64 = 16 * MIB;
/// The share of a small disk, for each of the two.
const SHARE: u64 = 16;

/// The space of the disk a folder lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What may still be written, in bytes.
    pub free_bytes: u64,
    /// All there is, in bytes.
    pub total_bytes: u64,
}

impl Space {
    /// What the system says now.
    ///
    /// # Errors
    /// Where the system cannot tell.
    pub fn of(folder: &Path) -> std::io::Result<Self> {
        let found = statvfs(folder)?;
        Ok(Self {
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }

    /// Below this much free space, in bytes, nothing new is taken.
    pub fn floor_bytes(&self) -> u64 {
        FLOOR.min(self.total_bytes / SHARE)
    }

    fn reserve_bytes(&self) -> u64 {
        RESERVE.min(self.total_bytes / SHARE)
    }

    /// Whether nothing new is taken.
    pub fn is_low(&self) -> bool {
        self.free_bytes < self.floor_bytes()
    }

    /// In words, such as `3 MiB free of 1024 GiB`.
    pub fn words(&self) -> String {
        format!("{} free of {}", shown(self.free_bytes), shown(self.total_bytes))
    }

    /// The floor in words, such as `64 MiB`.
    pub fn floor_words(&self) -> String {
        shown(self.floor_bytes())
    }
}

/// A size as people read it.
fn shown(bytes: u64) -> String {
    match bytes / MIB {
        0 => format!("{} KiB", bytes >> 10),
        mib if mib < 10 << 10 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib >> 10),
    }
}

/// How the store stands on its disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomReport {
    /// The disk's space; absent where the system cannot tell.
    pub space: Option<Space>,
    /// Why nothing new is taken, if so.
    pub low: Option<String>,
    /// Why nothing at all can be written, if so: the last try failed for want of room.
    pub full: Option<String>,
    /// Whether the reserve is there.
    pub has_reserve: bool,
}

impl RoomReport {
    /// What is wrong, if anything is; the graver first.
    pub fn trouble(&self) -> Option<&str> {
        self.full.as_deref().or(self.low.as_deref())
    }
}

/// How space is measured: the system's word, or in tests theirs.
type Measure = fn(&Path) -> std::io::Result<Space>;

/// The room of one store.
pub(super) struct Room {
    folder: PathBuf,
    reserve: PathBuf,
    measure: Measure,
    full: Mutex<Option<String>>,
}

impl Room {
    pub(super) fn new(folder: &Path, measure: Measure) -> Self {
        Self {
            reserve: folder.join("store.reserve"),
            folder: folder.to_owned(),
            measure,
            full: Mutex::default(),
        }
    }

    /// How it stands now.
    pub(super) fn report(&self) -> RoomReport {
        let space = self.space();
        let low = space.filter(Space::is_low).map(|space| self.low_words(&space));
        RoomReport { space, low, full: self.lock().clone(), has_reserve: self.has_reserve() }
    }

    /// Why a new wish is refused, if it is. Where the system cannot tell how much is free, nothing is refused: the
    /// write itself will tell.
    pub(super) fn refusal(&self) -> Option<String> {
        let space = self.space();
        let low = space.filter(Space::is_low).map(|space| self.low_words(&space));
        low.or_else(|| self.lock().clone())
    }

    /// Whether the last write found no room.
    pub(super) fn is_known_full(&self) -> bool {
        self.lock().is_some()
    }

    /// A write failed for want of room; says why in words for people.
    pub(super) fn is_full(&self, why: &str) -> String {
        let free = self.space().map(|space| format!(" ({})", space.words())).unwrap_or_default();
        let words = format!(
            "the disk of {} is full{free}, and nothing of this was kept: {why}; delete what is not needed there, \
             or give it more room",
            self.folder.display()
        );
        *self.lock() = Some(words.clone());
        words
    }

    /// A write went well; whether the one before had not.
    pub(super) fn has_room_again(&self) -> bool {
        self.lock().take().is_some()
    }

    /// Whether the reserve is there, as far as can be told.
    pub(super) fn has_reserve(&self) -> bool {
        self.reserve.exists()
    }

    /// Makes the reserve where it is missing and there is room for it above the floor; whether it was made.
    pub(super) fn ensure_reserve(&self) -> std::io::Result<bool> {
        let Some(space) = self.space().filter(|_| !self.has_reserve()) else { return Ok(false) };
        if space.free_bytes < space.floor_bytes() + space.reserve_bytes() {
            return Ok(false);
        }
        // Beside first: what bears the name is whole, whenever we die.
        let half = self.reserve.with_extension("reserve.half");
        let made =
            allocate(&half, space.reserve_bytes()).and_then(|()| std::fs::rename(&half, &self.reserve));
        if made.is_err() {
            // What is left of it takes room from everybody; there is nothing more to be done if this fails.
            let _ = std::fs::remove_file(&half);
        }
        made.map(|()| true)
    }

    /// Gives the reserve up; whether there was one.
    pub(super) fn give_up_reserve(&self) -> bool {
        match std::fs::remove_file(&self.reserve) {
            Ok(()) => true,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(error = %error, "the reserve of the store could not be given up");
                }
                false
            }
        }
    }

    fn space(&self) -> Option<Space> {
        (self.measure)(&self.folder)
            .inspect_err(
                |error| tracing::warn!(error = %error, "the free space of the store's disk is not known"),
            )
            .ok()
    }

    fn low_words(&self, space: &Space) -> String {
        format!(
            "the disk of {} is nearly full ({}), and nothing new is taken before {} are free; delete what is not \
             needed there, or give it more room; deleting, pausing and stopping still work",
            self.folder.display(),
            space.words(),
            shown(space.floor_bytes())
        )
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file whose every block is there, so that giving it up frees as many.
fn allocate(path: &Path, bytes: u64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let block = [0; 64 << 10];
            let mut left = bytes;
            while left > 0 {
                let part = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
                file.write_all(&block[..part])?;
                left -= part as u64;
            }
        }
        Err(error) => return Err(error.into()),
    }
    // Not forced to the disk: the room is taken from now on, and what a power cut takes is made again.
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MIB, Room, Space};

    #[test]
    fn a_small_disk_keeps_a_share_and_a_large_one_a_fixed_room() {
        let space = |free_bytes, total_bytes| Space { free_bytes, total_bytes };
        assert_eq!(space(0, 1 << 40).floor_bytes(), 64 * MIB);
        assert_eq!(space(0, 32 * MIB).floor_bytes(), 2 * MIB);
        assert!(space(2 * MIB - 1, 32 * MIB).is_low() && !space(2 * MIB, 32 * MIB).is_low());
    }

    #[test]
    fn the_reserve_is_really_there_is_given_up_once_and_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let room = Room::new(folder.path(), |_| Ok(Space { free_bytes: 32 * MIB, total_bytes: 64 * MIB }));
        assert!(room.ensure_reserve().unwrap());
        let found = rustix::fs::stat(folder.path().join("store.reserve")).unwrap();
        assert_eq!(found.st_size, 4 << 20);
        assert!(
            found.st_blocks * 512 >= 4 << 20,
            "{} blocks: a sparse file would free nothing",
            found.st_blocks
        );
        assert!(!room.ensure_reserve().unwrap(), "there is one already");
        assert!(room.give_up_reserve() && !room.give_up_reserve());
        assert!(room.ensure_reserve().unwrap());
    }

    #[test]
    fn below_the_floor_it_says_which_disk_how_much_is_free_and_what_to_do() {
        let room =
            Room::new(Path::new("/home/hearth"), |_| Ok(Space { free_bytes: 3 * MIB, total_bytes: 1 << 40 }));
        let words = room.refusal().unwrap();
        for part in ["/home/hearth", "3 MiB free of 1024 GiB", "64 MiB are free", "delete"] {
            assert!(words.contains(part), "{part} in {words}");
        }
        let unknown = Room::new(Path::new("/home/hearth"), |_| Err(std::io::Error::other("no answer")));
        assert_eq!(unknown.refusal(), None, "not known is not full");
    }
}
