//! What a running server finds of itself and of what it leans on.

use hearth_engine::{Engine, Store};

use super::{Check, Moment, certificates, declared, machine, room, store, time};
use crate::serve::manifests::Folder;
use crate::serve::wiring::Hands;

/// A home that is served.
pub struct Home<'a> {
    /// Its store.
    pub store: &'a Store,
    /// Its hands; `None` where it has none.
    pub hands: Option<&'a Hands>,
    /// What drives its controllers; `None` where nothing runs.
    pub engine: Option<&'a Engine>,
    /// Its folder of manifests, where there is one.
    pub manifests: Option<&'a Folder>,
    /// When it was started.
    pub started: Moment,
}

/// Looks at everything once.
pub async fn online(home: &Home<'_>) -> Vec<Check> {
    let store = home.store;
    let clock = &**store.clock();
    let data_dir = store.data_dir();
    let mut checks = Vec::new();
    if let Some(hands) = home.hands {
        let (docker, proxy) =
            tokio::join!(machine::docker(&*hands.containers, clock), machine::proxy(&*hands.proxy, clock));
        let (docker, facts) = docker;
        checks.push(docker);
        checks.extend([proxy, declared::edge(store)]);
        let root = facts.map(|facts| facts.root_folder).filter(|root| !root.is_empty());
        checks.extend(root.map(|root| room::of_docker(root.as_ref())));
    }
    checks.push(room::of_store(data_dir, &store.room()));
    checks.push(time::of_server(store, &home.started));
    checks.extend(store::open(store, home.started.age(clock)));
    checks.extend(certificates::of_folder(data_dir, clock.now()));
    checks.extend(home.manifests.map(|folder| declared::folder(&folder.standing())));
    checks.push(declared::objects(store));
    checks.extend(home.engine.map(declared::controllers));
    checks.extend(declared::pauses(store));
    checks.extend(home.engine.into_iter().flat_map(declared::questions));
    checks
}
