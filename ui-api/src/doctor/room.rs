//! Room: on the disk of the data directory, and on Docker's.

use std::path::Path;

use hearth_engine::store::{RoomReport, Space};

use super::Check;

/// With less than this free, in bytes, an image of usual size may not find room.
const LITTLE: u64 = 2 << 30;
/// Of a small disk this share of it instead.
const SHARE: u64 = 20;

/// What to do about a disk without room.
const MAKE_ROOM: &str = "delete what is not needed there, or give it more room; deleting, pausing and stopping \
                         still work";

/// The disk of the store, as the store itself finds it.
pub(super) fn of_store(folder: &Path, room: &RoomReport) -> Check {
    if let Some(trouble) = room.trouble() {
        return Check::failure("disk", trouble, MAKE_ROOM);
    }
    let Some(space) = room.space else {
        let message = format!("how much room there is on the disk of {} cannot be told", folder.display());
        return Check::warning("disk", message, "see `df` there, and the kernel's log with `dmesg`");
    };
    let check = of_space("disk", folder, space);
    if room.has_reserve || check.standing != super::Standing::Ok {
        return check;
    }
    let next = "it is made again by itself where there is room; may the folder be written to?";
    Check::warning("disk", format!("{}; the reserve for a full disk is missing", check.message), next)
}

/// The disk of a folder.
pub(super) fn of_folder(name: &str, folder: &Path) -> Check {
    match Space::of(folder) {
        Ok(space) if space.is_low() => {
            let message = format!("{}: nothing new is taken", words(folder, space));
            Check::failure(name, message, MAKE_ROOM)
        }
        Ok(space) => of_space(name, folder, space),
        Err(error) => {
            let message = format!("how much room there is in {} cannot be told: {error}", folder.display());
            Check::warning(name, message, format!("look with `df {}`, as root", folder.display()))
        }
    }
}

/// Docker's own disk. Where that folder is not seen from here, nothing is known, and that is told.
pub(super) fn of_docker(root: &Path) -> Check {
    match Space::of(root) {
        Ok(space) if space.is_low() => {
            let message = format!("{}: no image can be pulled", words(root, space));
            Check::failure(
                "docker-disk",
                message,
                "take away what is not used: `docker system df`, `docker image prune`",
            )
        }
        Ok(space) => of_space("docker-disk", root, space),
        Err(error) => {
            let message = format!("Docker's folder {} cannot be seen from here: {error}", root.display());
            Check::warning("docker-disk", message, format!("look with `df {}`, as root", root.display()))
        }
    }
}

fn of_space(name: &str, folder: &Path, space: Space) -> Check {
    let said = words(folder, space);
    if space.free_bytes < LITTLE.min(space.total_bytes / SHARE) {
        return Check::warning(name, said, "an image may find no room: take away what is not used");
    }
    Check::ok(name, said)
}

fn words(folder: &Path, space: Space) -> String {
    let floor = space.floor_words();
    format!("{} on the disk of {}; nothing new is taken below {floor}", space.words(), folder.display())
}
