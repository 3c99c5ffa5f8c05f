//! The files a service is given, and what its processes find around them, from its compose file to its Container.

use hearth_charts::admit::{File, FileContent, Service};
use hearth_kinds::container::{AppFile, ExtraHost, GivenFile, Surroundings, Ulimit};

use super::render::Rendering;
use super::service::part;

pub(super) fn file(rendering: &Rendering<'_>, file: &File) -> GivenFile {
    let (parts, of_app) = match &file.content {
        FileContent::Parts(parts) => (parts.iter().map(|each| part(rendering.app(), each)).collect(), None),
        FileContent::OfPackage(path) => {
            let hash = rendering.hashes.get(path).cloned().unwrap_or_default();
            (Vec::new(), Some(AppFile { path: path.clone(), hash }))
        }
    };
    GivenFile {
        path: file.target.clone(),
        mode: format!("{:04o}", file.mode),
        uid: file.uid,
        gid: file.gid,
        parts,
        of_app,
    }
}

pub(super) fn surroundings(service: &Service) -> Surroundings {
    let number = |amount: Option<u64>| amount.map(|amount| i64::try_from(amount).unwrap_or(i64::MAX));
    let mut around = Surroundings {
        shm_size: number(service.shm_size),
        pids_limit: number(service.pids_limit),
        ulimits: service
            .ulimits
            .iter()
            .map(|limit| Ulimit { name: limit.name.clone(), soft: limit.soft, hard: limit.hard })
            .collect(),
        extra_hosts: service
            .extra_hosts
            .iter()
            .map(|(name, address)| ExtraHost { name: name.clone(), address: address.clone() })
            .collect(),
        groups: service.groups.clone(),
        tty: service.tty,
        stdin_open: service.stdin_open,
    };
    // Sorted, as they are seen.
    around.ulimits.sort();
    around.extra_hosts.sort();
    around.groups.sort();
    around
}
