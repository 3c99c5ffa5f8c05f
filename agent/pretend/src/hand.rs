//! What a person, a program or bad luck does to the machine behind Hearth's back.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_capabilities::Fault;
use hearth_capabilities::containers::{ContainerFacts, ImageDefaults};
use hearth_capabilities::proxy::SeenRoute;
use hearth_capabilities::volumes::Leaf;
use serde::{Deserialize, Serialize};

use crate::containers::record::{Container, Status};
use crate::containers::{facts_of, life};
use crate::images::{self, Says};
use crate::machine::Machine;
use crate::networks;
use crate::proxy::Entry;
use crate::state::State;
use crate::volumes::Node;

/// How a container behaves, other than usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behaviour {
    /// It ends so long after each start, with this code.
    Exits {
        /// How long it runs.
        after: Duration,
        /// The code it ends with.
        code: i64,
    },
    /// Its health check fails.
    Unhealthy,
    /// Its health check fails until it has run so long.
    HealthyAfter {
        /// How long it must have run.
        after: Duration,
    },
    /// The engine cannot start it.
    CannotStart {
        /// What the engine says.
        why: String,
    },
    /// It runs, but answers no request.
    Mute,
}

/// By hand, to containers.
impl Machine {
    /// From now on a container, by name, or every container of an image, by reference, behaves like this.
    pub fn behave(&self, name_or_reference: &str, behaviour: Behaviour) {
        self.change(|state| {
            state.behaviours.insert(name_or_reference.to_owned(), behaviour);
            check_those(state, name_or_reference);
        });
    }

    /// It behaves as usual again.
    pub fn behave_as_usual(&self, name_or_reference: &str) {
        self.change(|state| {
            state.behaviours.remove(name_or_reference);
            check_those(state, name_or_reference);
        });
    }

    /// Kills a container's process, not through the engine, so that the engine starts it again by its policy.
    pub fn kill(&self, name: &str) {
        self.exit(name, 137);
    }

    /// A container's process ends by itself.
    pub fn exit(&self, name: &str, code: i64) {
        self.change(|state| {
            if state.containers.get(name).is_some_and(|each| each.run.is_running()) {
                life::end(state, name, code);
            }
        });
    }

    /// A container's process is killed for using too much memory.
    pub fn run_out_of_memory(&self, name: &str) {
        self.change(|state| {
            let Some(container) = state.containers.get_mut(name) else { return };
            if container.run.is_running() {
                container.run.out_of_memory = true;
                life::tell(state, name, "oom");
                life::end(state, name, 137);
            }
        });
    }

    /// `docker stop`.
    pub fn stop_by_hand(&self, name: &str) {
        self.change(|state| life::stop(state, name));
    }

    /// `docker start`.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub fn start_by_hand(&self, name: &str) -> Result<(), Fault> {
        self.change(|state| match state.containers.get(name).map(|each| each.run.status) {
            Some(Status::Running) => Ok(()),
            _ => life::start(state, name),
        })
    }

    /// `docker rm -f`.
    pub fn remove_by_hand(&self, name: &str) {
        self.change(|state| life::remove(state, name));
    }

    /// `docker container prune`: takes away whatever does not run.
    pub fn prune_containers(&self) {
        self.change(|state| {
            let is_over = |each: &&Container| matches!(each.run.status, Status::Created | Status::Exited);
            let names: Vec<String> =
                state.containers.values().filter(is_over).map(|each| each.name.clone()).collect();
            for name in names {
                life::remove(state, &name);
            }
        });
    }

    /// Replaces a container by one that differs in some field, under the same id; how it runs stays.
    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut ContainerFacts)) {
        self.change(|state| {
            let facts = state.containers.get(name).and_then(|each| facts_of(state, each).ok());
            let Some(mut facts) = facts else { return };
            edit(&mut facts);
            if let Some(container) = state.containers.get_mut(name) {
                container.take_over(facts);
                life::tell(state, name, "update");
            }
        });
    }

    /// The engine loses everything it knew, as with its data folder deleted; nobody is told.
    pub fn forget(&self) {
        self.change(|state| {
            state.containers.clear();
            state.networks.clear();
            state.images.clear();
        });
    }
}

/// By hand, to networks and images.
impl Machine {
    /// `docker network disconnect`.
    pub fn disconnect(&self, network: &str, container: &str) {
        self.change(|state| networks::disconnect(state, network, container));
    }

    /// `docker network rm`, and before it every container is detached from the network.
    pub fn remove_network(&self, name: &str) {
        self.change(|state| {
            let Some(id) = state.networks.get(name).map(|network| network.id.clone()) else { return };
            for container in state.attached(&id) {
                networks::disconnect(state, name, &container);
            }
            // Nothing is attached any more, so nothing is in the way.
            let _ = networks::remove(state, &id);
        });
    }

    /// Sets something on a network that Hearth never sets.
    pub fn edit_network(&self, name: &str, foreign: &str) {
        self.change(|state| {
            if let Some(network) = state.networks.get_mut(name) {
                network.foreign.push(foreign.to_owned());
            }
        });
    }

    /// Puts an image there as if it had been pulled, with what it says of its containers. Returns its id.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] for what is no reference.
    pub fn put_image(
        &self,
        reference: &str,
        says: ImageDefaults,
        labels: BTreeMap<String, String>,
    ) -> Result<String, Fault> {
        self.change(|state| images::keep_as(state, reference, Some((Says::from(says), labels))))
    }

    /// `docker image prune -a`: takes away every image that no container uses.
    pub fn prune_images(&self) {
        self.change(|state| {
            let used: Vec<String> = state.containers.values().map(|each| each.image_id.clone()).collect();
            state.images.retain(|id, _| used.contains(id));
        });
    }

    /// Something new is in the registry under a tag. What was pulled before stays what it was.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] for what is no reference.
    pub fn publish(&self, reference: &str) -> Result<(), Fault> {
        let tagged = images::tagged(reference)?;
        self.change(|state| *state.registry.versions.entry(tagged).or_default() += 1);
        Ok(())
    }

    /// No registry knows this reference, or knows it again.
    pub fn unknown_image(&self, reference: &str, is_so: bool) {
        self.change(|state| put(&mut state.registry.unknown, reference, is_so));
    }

    /// The registry of this reference does not answer, or answers again.
    pub fn unreachable_image(&self, reference: &str, is_so: bool) {
        self.change(|state| put(&mut state.registry.unreachable, reference, is_so));
    }

    /// No registry answers, as without the Internet.
    pub fn registry_down(&self, is_so: bool) {
        self.change(|state| state.registry.is_down = is_so);
    }
}

/// By hand, to the proxy.
impl Machine {
    /// Changes the routes past Hearth.
    pub fn edit_proxy(&self, edit: impl FnOnce(&mut Vec<SeenRoute>)) {
        self.change(|state| {
            let mut routes: Vec<SeenRoute> = state.proxy.routes.iter().map(Entry::seen).collect();
            edit(&mut routes);
            state.proxy.set(|proxy| proxy.routes = routes.into_iter().map(Entry::from).collect());
        });
    }

    /// Breaks what is around the routes.
    pub fn break_proxy_base(&self, problem: &str) {
        self.change(|state| state.proxy.set(|proxy| proxy.base_problem = Some(problem.to_owned())));
    }

    /// The proxy was started anew, without any configuration.
    pub fn clear_proxy(&self) {
        self.change(|state| state.proxy.set(|proxy| proxy.clear()));
    }
}

/// By hand, to the disk.
impl Machine {
    /// `chmod` on a leaf.
    pub fn chmod_leaf(&self, leaf: &Leaf, to: u32) {
        self.change(|state| {
            if let Some(Node::Folder { mode, .. }) = state.disk.find_mut(leaf) {
                *mode = to;
            }
        });
    }

    /// `chown` on a leaf.
    pub fn chown_leaf(&self, leaf: &Leaf, to: (u32, u32)) {
        self.change(|state| {
            if let Some(Node::Folder { uid, gid, .. }) = state.disk.find_mut(leaf) {
                (*uid, *gid) = to;
            }
        });
    }

    /// A leaf's data is gone: an empty folder without a marker is in its place, as with a disk that is not mounted.
    pub fn lose_leaf(&self, leaf: &Leaf) {
        let empty = Node::Folder { marker: None, uid: 0, gid: 0, mode: 0o755 };
        self.change(|state| state.disk.put(leaf, Some(empty)));
    }

    /// `rm -r` on a leaf.
    pub fn remove_leaf_by_hand(&self, leaf: &Leaf) {
        self.change(|state| state.disk.put(leaf, None));
    }

    /// A link is in the place of a leaf.
    pub fn link_leaf(&self, leaf: &Leaf) {
        self.change(|state| state.disk.put(leaf, Some(Node::Link)));
    }

    /// A file is in the place of a leaf.
    pub fn file_leaf(&self, leaf: &Leaf) {
        self.change(|state| state.disk.put(leaf, Some(Node::File)));
    }

    /// A folder that is there for binding; nothing is below it. Elsewhere every folder that is asked for is there.
    pub fn put_folder(&self, path: &str) {
        self.change(|state| state.disk.folders.insert(path.to_owned()));
    }

    /// A package folder.
    pub fn put_package(&self, path: &str, files: BTreeMap<String, Vec<u8>>) {
        self.change(|state| state.disk.put_package(path, files));
    }

    /// A link inside a package folder.
    pub fn link_in_package(&self, path: &str) {
        self.change(|state| state.disk.link_in_package(path));
    }
}

fn put(set: &mut std::collections::BTreeSet<String>, what: &str, is_in: bool) {
    if is_in {
        set.insert(what.to_owned())
    } else {
        set.remove(what)
    };
}

/// What a container does has changed, so its health is looked at again.
fn check_those(state: &mut State, name_or_reference: &str) {
    let is_meant = |each: &&Container| state.goes_by(each, name_or_reference);
    let names: Vec<String> =
        state.containers.values().filter(is_meant).map(|each| each.name.clone()).collect();
    for name in names {
        life::check_again(state, &name);
    }
}
