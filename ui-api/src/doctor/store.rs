//! The store and its copies.

use std::path::Path;
use std::time::Duration;

use hearth_engine::Store;
use hearth_engine::store::read_mark;
use hearth_meta::Timestamp;

use super::Check;

/// A copy is made every hour in which anything was written; the last one of a calm home may be older.
const NEW_HOME: Duration = Duration::from_secs(2 * 3600);

/// A store that a server has open.
pub(super) fn open(store: &Store, age: Duration) -> Vec<Check> {
    vec![of_itself(store), copies(store, age)]
}

fn of_itself(store: &Store) -> Check {
    let at = format!("lineage {}, version {}", store.lineage(), store.resource_version());
    if let Some(why) = store.observe_only() {
        let message = format!("nothing is changed on this machine: {why} ({at})");
        return Check::failure("store", message, "look at it with `hearth recover status`");
    }
    match read_mark(store.data_dir()) {
        Ok(Some((lineage, _))) if lineage == store.lineage() => {
            Check::ok("store", format!("open and checked whole at the start ({at})"))
        }
        Ok(Some((lineage, _))) => {
            let message = format!("the mark beside the store is of another, {lineage} ({at})");
            Check::failure("store", message, "stop the server and see `hearth recover status --data-dir`")
        }
        Ok(None) => {
            let message =
                format!("the mark beside the store is missing: an older copy would not be noticed ({at})");
            Check::warning("store", message, "it is written again with the next change; see who took it away")
        }
        Err(error) => {
            let message = format!("the mark beside the store cannot be read: {error}");
            Check::warning("store", message, "see who may read the data directory, and the disk")
        }
    }
}

fn copies(store: &Store, age: Duration) -> Check {
    let report = store.copies_report();
    if let Some(why) = report.failing {
        let message = format!("the last copy of the store failed: {why}");
        return Check::warning("copies", message, "it is tried again every five minutes; mend what it names");
    }
    newest(report.newest, age < NEW_HOME)
}

fn newest(newest: Option<Timestamp>, is_new: bool) -> Check {
    match newest {
        Some(at) => Check::ok("copies", format!("the newest copy of the store is of {at}")),
        None if is_new => {
            Check::ok("copies", "no copy of the store yet; one is made while something changes")
        }
        None => {
            Check::warning("copies", "there is no copy of the store", "make one with `hearth backup create`")
        }
    }
}

/// The copies of a store that nobody has open.
pub(super) fn copies_in(data_dir: &Path) -> Check {
    match crate::backup::copies_in(data_dir) {
        Ok(copies) => newest(copies.last().map(|copy| copy.at), false),
        Err(error) => {
            let message = format!("the copies of the store cannot be read: {error:#}");
            Check::warning("copies", message, "see who may read the data directory, and the disk")
        }
    }
}
