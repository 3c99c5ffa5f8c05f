//! Data that a change of the compose file would leave behind.
//!
//! A folder that gets another name in the file is another folder, and it is empty: to people their data seems gone. So a
//! service that has run keeps the folder it has at a path, until its mount is taken out of the file for once.

use hearth_engine::Object;

use super::observe::AppSeen;
use super::render::Rendering;

/// What would be left behind, one sentence for each mount.
pub(super) fn detached(rendering: &Rendering<'_>, facts: &AppSeen) -> Vec<String> {
    let used: Vec<String> = rendering
        .services()
        .iter()
        .flat_map(|service| &service.mounts)
        .map(|mount| rendering.volume_name(&mount.source))
        .collect();
    let mut sentences = Vec::new();
    for service in rendering.services() {
        let Some(container) = facts.child("Container", &rendering.container_name(&service.name)) else {
            continue;
        };
        if container.status()["startedAt"].is_null() {
            continue;
        }
        for mount in &service.mounts {
            let new = rendering.volume_name(&mount.source);
            let Some(old) = mounted_at(container, &mount.target).filter(|old| *old != new) else { continue };
            let Some(kept) = facts.child("Volume", old).filter(|volume| !volume.is_going()) else { continue };
            // A folder that is there already, or data that goes on being used, is a change somebody thought of.
            if facts.child("Volume", &new).is_some() || used.iter().any(|used| used == old) {
                continue;
            }
            let folder = kept.spec()["path"].as_str().unwrap_or(old);
            sentences.push(format!(
                "services.{}.volumes: {} would be the empty folder {} while its data is in {folder}; keep ./{folder}, \
                 or, to begin with an empty one, take the mount out, apply, and put it in again",
                service.name, mount.target, mount.source
            ));
        }
    }
    sentences
}

/// The Volume a container has at a path.
fn mounted_at<'a>(container: &'a Object, path: &str) -> Option<&'a str> {
    let mounts = container.spec()["mounts"].as_array()?;
    mounts.iter().find(|mount| mount["path"] == path)?["volume"].as_str()
}
