//! What can be found without a server: where one cannot start, or should not.

use std::path::Path;
use std::sync::Arc;

use hearth_engine::{Clock, SystemClock};
use hearth_meta::Timestamp;

use super::{Check, certificates, machine, room, store, time};
use crate::config::Config;
use crate::recover::condition::condition;
use crate::serve::wiring;

/// Looks at a data directory and, unless it is that of a pretend machine, at the machine it is for.
pub async fn offline(config: &Config) -> Vec<Check> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let data_dir = &config.data_dir;
    let mut checks = match config.pretend {
        true => Vec::new(),
        false => of_machine(config, &clock).await,
    };
    checks.push(room::of_folder("disk", data_dir));
    checks.push(time::sane(clock.now(), newest(data_dir)));
    checks.push(of_store(data_dir).await);
    checks.push(store::copies_in(data_dir));
    checks.extend(certificates::of_folder(data_dir, clock.now()));
    checks.extend(config.manifests.as_deref().map(of_manifests));
    checks
}

async fn of_machine(config: &Config, clock: &Arc<dyn Clock>) -> Vec<Check> {
    let hands = match wiring::machine(config, clock) {
        Ok(hands) => hands,
        Err(error) => {
            let message = format!("the machine cannot be reached: {error:#}");
            return vec![Check::failure("docker", message, "mend what the message names")];
        }
    };
    let (docker, facts) = machine::docker(&*hands.containers, &**clock).await;
    let root = facts.map(|facts| facts.root_folder).filter(|root| !root.is_empty());
    let mut checks = vec![docker, machine::proxy(&*hands.proxy, &**clock).await];
    checks.extend(root.map(|root| room::of_docker(root.as_ref())));
    checks
}

/// When the store's mark was last written: the clock cannot truly be before that.
fn newest(data_dir: &Path) -> Option<Timestamp> {
    let written = std::fs::metadata(data_dir.join("store.db")).and_then(|found| found.modified());
    Timestamp::try_from(written.ok()?).ok()
}

async fn of_store(data_dir: &Path) -> Check {
    let found = condition(data_dir).await;
    let at = found
        .store
        .as_ref()
        .map(|store| format!(" (lineage {}, version {})", store.lineage, store.resource_version))
        .unwrap_or_default();
    let (message, next) = (format!("{}{at}", found.message), found.next.join("; or: "));
    match found.state {
        "Ready" => Check::ok("store", message),
        "InUse" => Check::warning("store", message, "a server runs; ask it with `hearth doctor`"),
        "None" => Check::warning("store", message, next),
        _ => Check::failure("store", message, next),
    }
}

fn of_manifests(folder: &Path) -> Check {
    match std::fs::read_dir(folder) {
        Ok(_) => Check::ok("manifests", format!("{} can be read", folder.display())),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", folder.display());
            Check::failure("manifests", message, "bring the folder back, or take --manifests away")
        }
    }
}
